# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a goal can be reached, and how well: a colour and a sentence, before any motion."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from ik_node.base.errors import ParameterError, Reason
from ik_node.base.text import quote
from ik_node.solver.result import PostureMetrics, Result


class Colour(str, Enum):
    """Colour in which a goal is drawn."""

    GREEN = 'green'  # reachable
    AMBER = 'amber'  # reachable, with a warning
    RED = 'red'      # not reachable


@dataclass(frozen=True)
class Thresholds:
    """
    When a reachable posture gets a warning.

    Attributes
    ----------
    far : float
        A joint that would move farther than this (rad or m) is on another branch.
    limit_margin : float
        A joint nearer to a limit than this (rad or m) is close to it.
    singular_value : float
        An arm with a smaller singular value is close to a singularity.

    Raises
    ------
    ParameterError
        If one is negative or NaN.

    """

    far: float = 1.6
    limit_margin: float = 0.05
    singular_value: float = 0.03

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value >= 0.0:
                raise ParameterError(f'the threshold {name} is {value}; it must be 0 or more')


@dataclass(frozen=True)
class ReachabilityReport:
    """
    Whether a goal can be reached, and how well.

    Attributes
    ----------
    colour : Colour
    reason : Reason
        SOLVED, or why the goal is not reachable.
    sentence : str
        The same in words.
    limit_margin : float
        Smallest distance of a joint to its limits (rad or m).
    smallest_singular_value : float
        Of the Jacobian.
    jump : float
        Largest change of a joint from its present position (rad or m).
    limiting_joint : str
        The joint close to its limit; if the goal is not reachable, the joint at its limit, or
        the one that would be farthest beyond it; empty if there is none.

    """

    colour: Colour
    reason: Reason
    sentence: str
    limit_margin: float
    smallest_singular_value: float
    jump: float
    limiting_joint: str


def judge(found: PostureMetrics, thresholds: Thresholds) -> ReachabilityReport:
    """
    Judge a posture; its seed is the present posture of the arm.

    Parameters
    ----------
    found : Result or Posture
        A result that is not SOLVED is red, with its own message; so is a result with
        the nearest pose within reach.

    """
    margin, smallest = found.limit_margin, found.smallest_singular_value
    if isinstance(found, Result) and found.status is not Reason.SOLVED:
        beyond = max(found.excess, key=found.excess.get) if found.excess else ''
        limiting = beyond or next(iter(found.limiting_joints), '')
        return ReachabilityReport(Colour.RED, found.status, found.message, margin, smallest,
                                  found.distance, limiting)
    limiting = found.tightest_joint if margin < thresholds.limit_margin else ''
    warnings = []
    if found.distance > thresholds.far:
        k = int(np.abs(found.q - found.seed).argmax())
        warnings.append(f'on a far branch: {quote(found.chain.joint_names[k])} would move by '
                        f'{found.distance:.3g} {_unit(found, k)}')
    if limiting:
        k = found.chain.joint_names.index(limiting)
        warnings.append(f'close to a limit: {quote(limiting)} would stand {max(margin, 0.0):.2g} '
                        f'{_unit(found, k)} from it')
    if smallest < thresholds.singular_value:
        warnings.append('close to a singularity: the smallest singular value would be '
                        f'{smallest:.2g}')
    sentence = f'reachable, but {", and ".join(warnings)}' if warnings else 'reachable'
    colour = Colour.AMBER if warnings else Colour.GREEN
    return ReachabilityReport(colour, Reason.SOLVED, sentence, margin, smallest, found.distance,
                              limiting)


def _unit(found: PostureMetrics, k: int) -> str:
    return 'rad' if found.chain.revolute[k] else 'm'
