# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What makes a refused goal possible: another position or orientation, limit or option."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import degrees, radians

import numpy as np

from ik_node.base.se3 import pose, rotation_about
from ik_node.base.text import quote
from ik_node.solver.goal import Goal

METRES_PER_RADIAN_OF_TURN = 0.3  # to compare a turn with a shift


@dataclass(frozen=True, eq=False)
class Shift:
    """The goal at another position, with its orientation."""

    # (3,), from the goal to that position, m, in the axes of the base link; rounded to `decimals`
    offset: np.ndarray
    decimals: int
    base_link: str

    @property
    def size(self) -> float:
        """Return the length of the shift, m."""
        return float(np.linalg.norm(self.offset))

    @property
    def sentence(self) -> str:
        """Return the remedy in words."""
        return (f'shifted by {_vector(self.offset, self.decimals)} m in the axes of '
                f'{quote(self.base_link)}, {self.size:.3g} m in all, it can be reached')

    @property
    def values(self) -> dict[str, str]:
        """Return the numbers by their names."""
        return {'remedy_shift_m': _numbers(self.offset, self.decimals)}

    def applied(self, goal: Goal) -> Goal:
        """Return the goal that can be reached."""
        T = goal.T_base_tip.copy()
        T[:3, 3] += self.offset
        return Goal(T, goal.tolerance, goal.frame)


@dataclass(frozen=True, eq=False)
class Turn:
    """The goal with another orientation, at its position."""

    # (3,), in the axes of the tool at the goal, of length 1 but for its rounding to `decimals`
    axis: np.ndarray
    angle: float  # rad; a number of degrees rounded to `decimals` less two
    decimals: int

    @property
    def size(self) -> float:
        """Return the angle as a length, m, to compare it with a shift."""
        return METRES_PER_RADIAN_OF_TURN * self.angle

    @property
    def sentence(self) -> str:
        """Return the remedy in words."""
        return (f'turned by {_degrees(self)} degrees about the axis '
                f'{_vector(self.axis, self.decimals)} of the tool it can be reached')

    @property
    def values(self) -> dict[str, str]:
        """Return the numbers by their names."""
        return {'remedy_turn_deg': _degrees(self),
                'remedy_turn_axis': _numbers(self.axis, self.decimals)}

    def applied(self, goal: Goal) -> Goal:
        """Return the goal that can be reached."""
        R = rotation_about(self.axis / np.linalg.norm(self.axis), self.angle)
        return Goal(goal.T_base_tip @ pose(R, np.zeros(3)), goal.tolerance, goal.frame)


@dataclass(frozen=True)
class WiderLimit:
    """A position limit of one joint that is wider."""

    joint: str
    upper: bool   # whether it is the upper limit; else the lower one
    value: float  # where the limit has to be, rad or m
    revolute: bool

    @property
    def sentence(self) -> str:
        """Return the remedy in words."""
        value = f'{self.value:.3f} rad ({degrees(self.value):.1f} degrees)' if self.revolute \
            else f'{self.value:.4f} m'
        return (f'with the {self._end} limit of {quote(self.joint)} at {value} it could be '
                'reached')

    @property
    def values(self) -> dict[str, str]:
        """Return the numbers by their names."""
        return {'remedy_limit_joint': self.joint, 'remedy_limit_end': self._end,
                'remedy_limit': f'{self.value:.4f}'}

    @property
    def _end(self) -> str:
        return 'upper' if self.upper else 'lower'


@dataclass(frozen=True)
class OtherOption:
    """An option of the solver with another value."""

    option: str  # a field of :class:`~ik_node.solver.options.SolverOptions`
    value: float

    @property
    def sentence(self) -> str:
        """Return the remedy in words."""
        return f'with {self.option} at {self.value:.2f} it can be reached'

    @property
    def values(self) -> dict[str, str]:
        """Return the numbers by their names."""
        return {'remedy_option': self.option, 'remedy_value': f'{self.value:.2f}'}


Remedy = Shift | Turn | WiderLimit | OtherOption


def with_best(sentence: str, remedies: Sequence[Remedy]) -> str:
    """Return the sentence of a refusal, followed by the best remedy if there is one."""
    return f'{sentence}; {remedies[0].sentence}' if remedies else sentence


def remedy_values(remedies: Iterable[Remedy]) -> dict[str, str]:
    """Return the numbers of all remedies by their names."""
    return {name: value for remedy in remedies for name, value in remedy.values.items()}


def rounded_shift(offset: np.ndarray, extra: float, decimals: int, base_link: str) -> Shift:
    """Return the shift by `offset` (3,), m, and `extra` (m) more, rounded."""
    length = np.linalg.norm(offset)
    return Shift(np.round(offset * (1.0 + extra / length), decimals) + 0.0, decimals, base_link)


def rounded_turn(rotation: np.ndarray, extra: float, decimals: int) -> Turn:
    """Return the turn by a rotation vector (3,), rad, and `extra` (rad) more, rounded."""
    angle = float(np.linalg.norm(rotation))
    whole = round(degrees(angle + extra), decimals - 2)
    return Turn(np.round(rotation / angle, decimals) + 0.0, radians(whole), decimals)


def _degrees(turn: Turn) -> str:
    return f'{degrees(turn.angle):.{turn.decimals - 2}f}'


def _vector(values: np.ndarray, decimals: int) -> str:
    return f'[{", ".join(f"{value:.{decimals}f}" for value in values)}]'


def _numbers(values: np.ndarray, decimals: int) -> str:
    return ' '.join(f'{value:.{decimals}f}' for value in values)
