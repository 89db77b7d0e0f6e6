# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Options of tool paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from ik_node.base.checks import check_numbers, NOT_NEGATIVE, POSITIVE
from ik_node.base.errors import ParameterError
from ik_node.base.text import shown

BLEND_RADIUS = NOT_NEGATIVE._replace(words='a length in m, 0 = stop at corners')
ROTATION_AXES = 'rx', 'ry', 'rz'


@dataclass(frozen=True)
class PathOptions:
    """
    How a tool path is followed.

    Raises
    ------
    ParameterError
        If one is out of its range.

    """

    blend_radius: float = 0.0
    """Distance (m) from a corner within which the tip may leave the lines; 0 = it stops there."""
    position_deviation: float = 1e-4
    """Largest deviation of the tip from the path, m."""
    orientation_deviation: float = 1e-4
    """Largest deviation of the tip from the path, rad."""
    max_joint_step: float = 0.05
    """Largest motion of a joint between two neighbouring solutions, rad or m."""
    period: float = 0.02
    """Largest time between points (s)."""
    partial: bool = False
    """Follow the path as far as possible, instead of the whole path or nothing."""
    free_axes: tuple[str, ...] = ()
    """Axes of the poses about which the tip may be turned, of 'rx', 'ry' and 'rz'."""

    def __post_init__(self) -> None:
        check_numbers(vars(self), BLEND_RADIUS, 'blend_radius')
        check_numbers(vars(self), POSITIVE, 'position_deviation', 'orientation_deviation',
                      'max_joint_step', 'period')
        require_free_axes(self.free_axes)

    @property
    def least_deviation(self) -> float:
        """Return the smaller one of the deviations that are allowed, m and rad."""
        return min(self.position_deviation, self.orientation_deviation)

    @property
    def tolerance(self) -> tuple[float, ...]:
        """Return the tolerance of the poses, as that of a :class:`ik_node.solver.goal.Goal`."""
        return (0.0,) * 3 + tuple(inf if axis in self.free_axes else 0.0
                                  for axis in ROTATION_AXES)


def require_free_axes(axes: Sequence[str]) -> None:
    """Raise ParameterError if these are no axes that a path can leave free, each of them once."""
    for k, axis in enumerate(axes):
        if axis not in ROTATION_AXES:
            raise ParameterError(f'{shown(axis)} is no axis that a path can leave free; there are '
                                 f'{", ".join(ROTATION_AXES)}')
        if axis in axes[:k]:
            raise ParameterError(f'{shown(axis)} is among the free axes more than once; name each '
                                 'axis once')
