# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a goal can be reached, and how well: a colour and a sentence, before anything moves."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from ik_node.errors import ParameterError, Reason
from ik_node.solver.result import Figures, Result
from ik_node.text import quote


class Colour(str, Enum):
    """What a goal is drawn in."""

    GREEN = 'green'  # reachable
    AMBER = 'amber'  # reachable, but
    RED = 'red'      # not reachable


@dataclass(frozen=True)
class Thresholds:
    """
    From where on a posture is reachable, but not well.

    Attributes
    ----------
    far : float
        A joint farther from where it is (rad or m) is on another branch.
    limit_margin : float
        Nearer to a limit (rad or m) a joint is close to it.
    singular_value : float
        With a smaller singular value the arm is close to a singularity.

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
class Prospect:
    """
    What is to be expected of a goal.

    Attributes
    ----------
    colour : Colour
    reason : Reason
        SOLVED, or why the goal is not reachable.
    sentence : str
        For people.
    limit_margin : float
        Smallest distance of a joint to its limits (rad or m).
    smallest_singular_value : float
        Of the Jacobian.
    jump : float
        Largest distance of a joint from where it is (rad or m).
    limiting_joint : str
        The joint that is close to its limit; if the goal is not reachable, the one that stands
        on it, or would be beyond it most; empty if there is none.

    """

    colour: Colour
    reason: Reason
    sentence: str
    limit_margin: float
    smallest_singular_value: float
    jump: float
    limiting_joint: str


def judge(found: Figures, thresholds: Thresholds) -> Prospect:
    """
    Judge a posture, seen from its seed: where the arm is.

    Parameters
    ----------
    found : Result or Posture
        A result that does not do what was asked for is red, with its own sentence; that
        of the nearest pose within reach, too.

    """
    margin, smallest = found.limit_margin, found.smallest_singular_value
    if isinstance(found, Result) and found.status is not Reason.SOLVED:
        beyond = max(found.excess, key=found.excess.get) if found.excess else ''
        limiting = beyond or next(iter(found.limiting_joints), '')
        return Prospect(Colour.RED, found.status, found.message, margin, smallest,
                        found.distance, limiting)
    limiting = found.tightest_joint if margin < thresholds.limit_margin else ''
    but = []
    if found.distance > thresholds.far:
        k = int(np.abs(found.q - found.seed).argmax())
        but.append(f'on a far branch: {quote(found.chain.joint_names[k])} would move by '
                   f'{found.distance:.3g} {_unit(found, k)}')
    if limiting:
        k = found.chain.joint_names.index(limiting)
        but.append(f'close to a limit: {quote(limiting)} would stand {max(margin, 0.0):.2g} '
                   f'{_unit(found, k)} from it')
    if smallest < thresholds.singular_value:
        but.append(f'close to a singularity: the smallest singular value would be {smallest:.2g}')
    sentence = f'reachable, but {", and ".join(but)}' if but else 'reachable'
    return Prospect(Colour.AMBER if but else Colour.GREEN, Reason.SOLVED, sentence, margin,
                    smallest, found.distance, limiting)


def _unit(found: Figures, k: int) -> str:
    return 'rad' if found.chain.turning[k] else 'm'
