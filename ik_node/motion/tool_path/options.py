# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""How a tool path is followed."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from numbers import Real

import numpy as np

from ik_node.errors import ParameterError
from ik_node.text import shown


@dataclass(frozen=True)
class PathOptions:
    """
    How a path is followed.

    Attributes
    ----------
    velocity_scale, acceleration_scale : float
        Shares of the joints' limits that are used, above 0 to 1.
    tool_speed, tool_rotation_speed : float
        Largest speed of the tip, m/s and rad/s.
    tool_acceleration, tool_rotation_acceleration : float
        Largest acceleration of the tip, m/s^2 and rad/s^2.
    blend_radius : float
        So near to the corners the tip may leave the lines (m); 0 = it stops there.
    position_deviation, orientation_deviation : float
        How far the tip may be off the path, m and rad.
    max_joint_step : float
        Largest motion of a joint between two neighbouring solutions, rad or m.
    period : float
        Largest time between points, s.
    partial : bool
        Go as far as the arm can, instead of the whole path or nothing.

    Raises
    ------
    ParameterError
        If one is out of its range.

    """

    velocity_scale: float = 1.0
    acceleration_scale: float = 1.0
    tool_speed: float = inf
    tool_rotation_speed: float = inf
    tool_acceleration: float = inf
    tool_rotation_acceleration: float = inf
    blend_radius: float = 0.0
    position_deviation: float = 1e-4
    orientation_deviation: float = 1e-4
    max_joint_step: float = 0.05
    period: float = 0.02
    partial: bool = False

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name == 'partial':
                continue
            if not isinstance(value, Real):
                raise ParameterError(f'{name} is {shown(value)}; it must be a number')
            if name.endswith('_scale'):
                if not 0.0 < value <= 1.0:
                    raise ParameterError(f'{name} is {value}; it must be above 0 and at most 1')
            elif name == 'blend_radius':
                if not 0.0 <= value < inf:
                    raise ParameterError(f'{name} is {value}; it must be a length in m, 0 = stop '
                                         'at corners')
            elif not value > 0.0 or (value == inf and not name.startswith('tool_')):
                raise ParameterError(f'{name} is {value}; it must be positive')

    @property
    def tool(self) -> np.ndarray:
        """Return the limits of the tool as :func:`pacing.limit_rows` takes them, (4,)."""
        return np.array([self.tool_speed, self.tool_rotation_speed, self.tool_acceleration,
                         self.tool_rotation_acceleration], dtype=float)
