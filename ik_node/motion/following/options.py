# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Options and results of following a target."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from ik_node.base.checks import between, check_numbers
from ik_node.base.errors import ParameterError
from ik_node.base.text import shown
from ik_node.collision.distances.certificate import Contact
from ik_node.motion.trajectory.trajectory import MotionState

POSE_AXES = ('x', 'y', 'z', 'rx', 'ry', 'rz')


class PoseStatus(str, Enum):
    """What the follower did with a pose of the stream."""

    FOLLOWED = 'FOLLOWED'
    JUMPED = 'JUMPED'
    OUT_OF_ORDER = 'OUT_OF_ORDER'


class Phase(str, Enum):
    """State of the follower."""

    WAITING = 'WAITING'
    FOLLOWING = 'FOLLOWING'
    STALE = 'STALE'


@dataclass(frozen=True)
class FollowOptions:
    """How a target is followed."""

    look_ahead: float = 0.03
    """Time (s) from now to the first state that is commanded: the controller has this long to
    join, and the target is predicted this far."""
    timeout: float = 0.1
    """Time (s) without a pose after which the arm ramps down."""
    gain: float = 15.0
    """Rate (1/s) at which the error decays."""
    memory: float = 0.04
    """Time constant (s) of the estimate of the target's motion; a longer one is smoother and
    slower to see a change."""
    metres_per_radian: float = 0.3
    """Weight of a rad against a m if not both can be reached."""
    free: tuple[str, ...] = ()
    """Axes of the pose that are not followed, of 'x', 'y', 'z', 'rx', 'ry', 'rz'."""
    frame: str = 'tip'
    """Frame of these axes: 'tip' (of the target) or 'base'."""
    bias: tuple[float, ...] = (0.5,)
    """Rate (1/s), one for all joints or one each, at which a joint goes to its preferred position
    where the target leaves the arm free."""
    preferred: tuple[float, ...] = ()
    """Preferred joint positions (rad or m); empty = middle of each range."""
    locked: tuple[str, ...] = ()
    """Joints that are not moved."""
    joins: bool = False
    """Whether the controller joins the active trajectory by the stamp.  If not, it interpolates
    across the look-ahead, for which a share of the acceleration is kept."""

    def __post_init__(self) -> None:
        for name, low, high in (('look_ahead', 0.0, 0.5), ('timeout', 0.01, 10.0),
                                ('gain', 0.1, 50.0), ('memory', 1e-3, 1.0),
                                ('metres_per_radian', 1e-3, 1e3)):
            check_numbers(vars(self), between(low, high), name)
        if self.frame not in ('tip', 'base'):
            raise ParameterError(f"frame is {shown(self.frame)}; it must be 'tip' or 'base'")
        unknown = [axis for axis in self.free if axis not in POSE_AXES]
        if unknown or len(set(self.free)) == len(POSE_AXES):
            raise ParameterError(f'free is {shown(self.free)}; it must name some, not all, of '
                                 f'{", ".join(POSE_AXES)}')


@dataclass(frozen=True, eq=False)
class FollowerOutput:
    """Result of one cycle."""

    phase: Phase
    state: MotionState
    """Commanded `look_ahead` seconds from now."""
    position_error: float = np.nan
    """Predicted distance from the tip to the target, m; NaN unless FOLLOWING."""
    orientation_error: float = np.nan
    """Predicted distance from the tip to the target, rad; NaN unless FOLLOWING."""
    smallest: float = np.nan
    """Smallest singular value of the followed axes (m per unit of q), NaN unless FOLLOWING."""
    scale: float = 1.0
    """Share of the desired speed that the velocity limits allow."""
    contact: Contact | None = None
    """What the motion to the target would touch; the arm slides along it, or stops before it."""
    leaves: bool = False
    """Whether the motion to the target would leave a path constraint; the arm stops before."""


class CycleReport(NamedTuple):
    """What the kernel of a cycle returns, named and described in :class:`FollowerOutput`."""

    position_error: float = np.nan
    orientation_error: float = np.nan
    smallest: float = np.nan
    scale: float = 1.0
