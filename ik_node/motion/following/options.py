# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What can be chosen about following a target, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import inf

import numpy as np

from ik_node.errors import ParameterError
from ik_node.motion.trajectory import MotionState
from ik_node.text import shown

AXES = ('x', 'y', 'z', 'rx', 'ry', 'rz')


class Taken(str, Enum):
    """What became of a pose of the stream."""

    FOLLOWED = 'FOLLOWED'
    JUMPED = 'JUMPED'
    OUT_OF_ORDER = 'OUT_OF_ORDER'


class Phase(str, Enum):
    """What the arm does."""

    WAITING = 'WAITING'
    FOLLOWING = 'FOLLOWING'
    STALE = 'STALE'


@dataclass(frozen=True)
class FollowOptions:
    """
    How a target is followed.

    Attributes
    ----------
    lead : float
        s from now to the first state that is commanded; the controller has so long to
        take over, and the target is foreseen so far.
    timeout : float
        s without a pose after which the arm ramps down.
    gain : float
        1/s: an error that is left shrinks at this rate.
    memory : float
        s over which the movement of the target is estimated; longer is smoother, and
        slower to see a change.
    metres_per_radian : float
        Weight of a rad against a m where both cannot be had.
    tool_speed : float
        m/s, aimed at for the tip at most.
    free : tuple of str
        Axes of the pose that are not followed: of 'x', 'y', 'z', 'rx', 'ry', 'rz'.
    frame : str
        Whose axes they are, those of the 'tip' (of the target) or of the 'base'.
    bias : tuple of float
        1/s, one for all joints or one each: how fast a joint goes to its preferred
        position where the target leaves the arm free.
    preferred : tuple of float
        Preferred joint positions (rad or m); empty = middle of each range.

    """

    lead: float = 0.03
    timeout: float = 0.1
    gain: float = 15.0
    memory: float = 0.04
    metres_per_radian: float = 0.3
    tool_speed: float = inf
    free: tuple[str, ...] = ()
    frame: str = 'tip'
    bias: tuple[float, ...] = (0.5,)
    preferred: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name, low, high in (('lead', 0.0, 0.5), ('timeout', 0.01, 10.0), ('gain', 0.1, 50.0),
                                ('memory', 1e-3, 1.0), ('metres_per_radian', 1e-3, 1e3),
                                ('tool_speed', 1e-4, inf)):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ParameterError(f'{name} is {shown(value)}; it must be from {low:g} to '
                                     f'{high:g}')
        if self.frame not in ('tip', 'base'):
            raise ParameterError(f"frame is {shown(self.frame)}; it must be 'tip' or 'base'")
        unknown = [axis for axis in self.free if axis not in AXES]
        if unknown or len(set(self.free)) == len(AXES):
            raise ParameterError(f'free is {shown(self.free)}; it must name some, not all, of '
                                 f'{", ".join(AXES)}')


@dataclass(frozen=True, eq=False)
class Follow:
    """
    What one cycle decided.

    Attributes
    ----------
    phase : Phase
    state : MotionState
        Commanded `lead` seconds from now.
    position_error, orientation_error : float
        m, rad from the tip to the target where they are foreseen; NaN unless FOLLOWING.
    smallest : float
        Smallest singular value of the followed axes (m per unit of q), NaN unless FOLLOWING.
    scale : float
        Share of the wanted speed that the limits of velocity let through.

    """

    phase: Phase
    state: MotionState
    position_error: float = np.nan
    orientation_error: float = np.nan
    smallest: float = np.nan
    scale: float = 1.0
