# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What users give as positions and waypoints of the joints, as messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TYPE_CHECKING

import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from ik_node.client.errors import ClientError
from ik_node.errors import ParameterError
from ik_node.motion.taught_path import TaughtPath
from ik_node.ros.messages import way_points_message

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def joint_message(positions: Mapping[str, float] | ArrayLike | JointState) -> JointState:
    """Return positions as of :meth:`ik_node.client.Arm.joints` as a message, not yet stamped."""
    if isinstance(positions, JointState):
        return JointState(header=positions.header, name=positions.name,
                          position=positions.position)
    if isinstance(positions, Mapping):
        return JointState(name=[*positions],
                          position=[float(value) for value in positions.values()])
    return JointState(position=[
        float(value) for value in np.asarray(positions, dtype=float).ravel()])


def joint_path_message(points: TaughtPath | JointTrajectory | Sequence[Any],
                       times: ArrayLike | None = None,
                       own_joints: Callable[[TaughtPath], TaughtPath] = lambda path: path
                       ) -> JointTrajectory:
    """
    Return waypoints as a trajectory_msgs/JointTrajectory, not yet stamped.

    Parameters
    ----------
    points, times
        As of :meth:`ik_node.client.goals.GoalMethods.joint_path`.
    own_joints : callable, optional
        Returns a TaughtPath with the joints of the arm alone.

    Raises
    ------
    ClientError
        If they are none.

    """
    if isinstance(points, JointTrajectory):
        return points
    try:
        if isinstance(points, TaughtPath):
            path = own_joints(points)
            names, q = path.joint_names, path.q
            times = path.times if times is None else times
        else:
            names, q = _named_rows([*points])
        return way_points_message(names, q, None if times is None else np.asarray(
            times, dtype=float).reshape(len(q)))
    except ParameterError as error:
        raise ClientError(str(error)) from None
    except (TypeError, ValueError, OverflowError, AssertionError) as error:
        raise ClientError(f'these are no points and times of a path: {error}') from None


def _named_rows(points: list[Any]) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Return the names of the joints, none if there are none, and positions (m, n)."""
    if not any(isinstance(point, Mapping) for point in points):
        return (), np.array(points, dtype=float).reshape(len(points), -1)
    if not all(isinstance(point, Mapping) and {*point} == {*points[0]} for point in points):
        raise ValueError('each point must have positions of the same joints')
    return (*points[0],), np.array([[float(point[name]) for name in points[0]]
                                    for point in points])
