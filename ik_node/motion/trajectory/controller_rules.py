# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Which joint trajectories a joint_trajectory_controller accepts.

The checks of ros2_controllers' joint_trajectory_controller (jazzy), in the same order.  The
node checks its own trajectories before it publishes them, the simulated controller all
that it receives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ik_node.base.text import quote

FLOAT_EPSILON = float(np.finfo(np.float32).eps)
POINT_FIELDS = ('positions', 'velocities', 'accelerations')


@dataclass(frozen=True)
class AcceptanceOptions:
    """
    Parameters of the controller, with the defaults of jazzy.

    Attributes
    ----------
    allow_partial_joints_goal : bool
        Accept trajectories for some of the joints only.
    allow_nonzero_velocity_at_trajectory_end : bool
        Accept trajectories that do not end at rest (the default on humble).
    allow_integration_in_goal_trajectories : bool
        Accept points without positions.

    """

    allow_partial_joints_goal: bool = False
    allow_nonzero_velocity_at_trajectory_end: bool = False
    allow_integration_in_goal_trajectories: bool = False


def seconds(stamp: Any) -> float:
    """Return a builtin_interfaces Time or Duration in seconds."""
    return stamp.sec + 1e-9 * stamp.nanosec


def refusal(message: Any, joints: Sequence[str], now: float,
            options: AcceptanceOptions = AcceptanceOptions()) -> str | None:
    """
    Return why a controller would reject a trajectory.

    Parameters
    ----------
    message : trajectory_msgs/JointTrajectory, or anything with its fields
    joints : sequence of str
        The controller's joints.
    now : float
        The controller's time (s).
    options : AcceptanceOptions

    Returns
    -------
    str or None
        A sentence about the first rule that is broken; None if it is accepted.

    """
    names, points = message.joint_names, message.points
    if not options.allow_partial_joints_goal and len(names) != len(joints):
        return (f'the trajectory has {len(names)} joints, the controller has {len(joints)} '
                f'({", ".join(map(quote, joints))})')
    if not names:
        return 'the trajectory names no joints'
    if not points:
        return 'the trajectory has no points'
    for name in names:
        if name not in joints:
            return (f'the joint {quote(name)} is not one of the controller '
                    f'({", ".join(map(quote, joints))})')
    if not options.allow_nonzero_velocity_at_trajectory_end:
        for name, velocity in zip(names, points[-1].velocities):
            if abs(velocity) > FLOAT_EPSILON:
                return (f'the velocity of the last point is not zero but {velocity:g} for '
                        f'joint {quote(name)}')
    start = seconds(message.header.stamp)
    end = start + seconds(points[-1].time_from_start)
    if start != 0.0 and end < now:
        return f'the trajectory ended {now - end:.3f} s ago (its stamp is {start:.3f})'
    return _refusal_of_points(points, len(names), options)


def _refusal_of_points(points: Sequence[Any], count: int,
                       options: AcceptanceOptions) -> str | None:
    before = None
    for i, point in enumerate(points):
        time = point.time_from_start.sec * 10**9 + point.time_from_start.nanosec
        if before is not None and time <= before:
            return f'time_from_start does not increase between the points {i - 1} and {i}'
        before = time
        integrated = options.allow_integration_in_goal_trajectories
        if integrated and not any(len(getattr(point, field)) for field in POINT_FIELDS):
            return f'point {i} has neither position, velocity nor acceleration'
        for field in POINT_FIELDS:
            size = len(getattr(point, field))
            optional = integrated or field != 'positions'
            if size != count and not (optional and size == 0):
                return f'point {i} has {size} {field} for {count} joints'
        if len(point.effort):
            return f'point {i} has effort, which a position controller does not take'
    return None
