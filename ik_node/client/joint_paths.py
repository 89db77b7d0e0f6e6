# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What users give as positions and waypoints of the joints, as messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TYPE_CHECKING

import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from ik_node.base.errors import ParameterError
from ik_node.base.text import shown
from ik_node.client.errors import ClientError
from ik_node.motion.joint_path.taught_path import TaughtPath
from ik_node.ros.messages.conversion import way_points_message

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def joint_message(positions: Mapping[str, float] | ArrayLike | JointState) -> JointState:
    """Return positions as of :meth:`ik_node.client.Arm.joints` as a message, not yet stamped."""
    if isinstance(positions, JointState):
        return JointState(header=positions.header, name=positions.name,
                          position=positions.position)
    if isinstance(positions, Mapping):
        return JointState(name=[*positions], position=_row([*positions.values()], 'the positions'))
    return JointState(position=_row(positions, 'the positions'))


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
        if times is not None and len(times := _row(times, 'the times')) != len(q):
            raise ClientError(f'there are {len(times)} times for {len(q)} points; give one for '
                              'each, or none')
        return way_points_message(names, q, None if times is None else np.array(times))
    except ParameterError as error:
        raise ClientError(str(error)) from None
    except (OverflowError, ValueError, AssertionError):  # of numbers that no message can have
        raise ClientError('the points or times have a number that is infinite, NaN or too large '
                          'for a path') from None


def _named_rows(points: list[Any]) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Return the names of the joints, none if there are none, and positions (m, n)."""
    if not points:
        raise ClientError('the path has no point; give one at least')
    names = (*points[0],) if isinstance(points[0], Mapping) else ()
    if not all(isinstance(point, Mapping) == bool(names)
               and (not names or {*point} == {*names}) for point in points):
        raise ClientError('the points of a path are of different joints; give each of them '
                          'positions of the same joints')
    rows = [_row([point[name] for name in names] if names else point, f'point {k} of the path')
            for k, point in enumerate(points, 1)]
    for k, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise ClientError(f'point {k} of the path has {len(row)} positions, and the first one '
                              f'{len(rows[0])}; give one for each joint')
    return names, np.array(rows)


def _row(values: Any, what: str) -> list[float]:
    """Return numbers in a row, as the caller gives them."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of several lengths
        array = np.array(None)
    if array.dtype.kind not in 'fiu' or array.ndim > 2 \
            or array.size != max(array.shape, default=0):
        raise ClientError(f'{what} {shown(values)} must be numbers in a row, rad or m')
    return [float(value) for value in array.ravel()]
