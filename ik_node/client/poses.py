# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Poses, positions, orientations and twists, as users write them, to messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TYPE_CHECKING, Union

from geometry_msgs.msg import (
    Point,
    PointStamped,
    Pose,
    PoseStamped,
    Quaternion,
    QuaternionStamped,
    TwistStamped,
)
import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from ik_node.base.errors import ParameterError
from ik_node.base.text import shown
from ik_node.client.answers import ClientError
from ik_node.model.joints import require_radians
from ik_node.motion.joint_path.taught_path import TaughtPath
from ik_node.ros.messages.conversion import (
    fill_pose,
    make_point,
    make_pose,
    quaternion_from_rotation,
    quaternion_from_rpy,
    way_points_message,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

ROTATION_TOLERANCE = 1e-3  # by which R Rᵀ may differ from the identity
POSE_FORMS = ('a PoseStamped, a Pose, a matrix (4, 4), seven numbers x, y, z, qx, qy, qz, qw, or '
              'a position with quaternion=(x, y, z, w) or rpy=(roll, pitch, yaw)')

PoseLike = Union[PoseStamped, Pose, 'ArrayLike']
Frame = Callable[[], str]


def stamped_pose(pose: PoseLike, frame: str | None, default_frame: Frame,
                 quaternion: Sequence[float] | None = None,
                 rpy: Sequence[float] | None = None) -> PoseStamped:
    """
    Return a pose as a message.

    Parameters
    ----------
    pose : PoseStamped, Pose, or array
        As POSE_FORMS, m.
    frame : str, optional
        Frame of the pose, not with a PoseStamped, which has one.
    default_frame : callable
        Returns the frame if none is given.
    quaternion : 4 floats, optional
        x, y, z, w, with a position.
    rpy : 3 floats, optional
        Fixed-axis roll, pitch and yaw, rad, with a position.

    """
    if isinstance(pose, PoseStamped):
        if frame is not None or quaternion is not None or rpy is not None:
            raise ClientError('a PoseStamped has its frame and its orientation; leave out frame, '
                              'quaternion and rpy')
        return PoseStamped(header=pose.header, pose=pose.pose)
    message = PoseStamped(pose=_pose(pose, _turned(quaternion, rpy)))
    message.header.frame_id = default_frame() if frame is None else frame
    return message


def stamped_point(position: Any, frame: str | None, default_frame: Frame) -> PointStamped:
    """Return a position (3,), m, or a Point, as a message; a PointStamped as it is."""
    if isinstance(position, PointStamped):
        if frame is not None:
            raise ClientError('a PointStamped has its frame; leave out frame')
        return PointStamped(header=position.header, point=position.point)
    point = position if isinstance(position, Point) \
        else make_point(_floats(position, (3,), 'a position is three numbers, m'))
    message = PointStamped(point=point)
    message.header.frame_id = default_frame() if frame is None else frame
    return message


def stamped_orientation(orientation: Any, frame: str | None, default_frame: Frame,
                        rpy: Sequence[float] | None = None) -> QuaternionStamped:
    """Return a quaternion x, y, z, w, a matrix (3, 3), or `rpy` (rad) as a message."""
    if isinstance(orientation, QuaternionStamped):
        if frame is not None or rpy is not None:
            raise ClientError('a QuaternionStamped has its frame; leave out frame and rpy')
        return QuaternionStamped(header=orientation.header, quaternion=orientation.quaternion)
    if (orientation is None) == (rpy is None):
        raise ClientError('an orientation is a quaternion x, y, z, w, a matrix (3, 3), or '
                          'rpy=(roll, pitch, yaw); give one of them')
    if rpy is not None:
        numbers = _turned(None, rpy)
    elif isinstance(orientation, Quaternion):
        numbers = [getattr(orientation, name) for name in 'xyzw']
    elif np.shape(orientation) == (3, 3):
        numbers = [*map(float, quaternion_from_rotation(_rotation(np.array(orientation))))]
    else:
        numbers = _floats(orientation, (4,), 'a quaternion is four numbers x, y, z, w')
    message = QuaternionStamped(quaternion=make_pose((0.0, 0.0, 0.0), numbers).orientation)
    message.header.frame_id = default_frame() if frame is None else frame
    return message


def stamped_twist(linear: Sequence[float], angular: Sequence[float], frame: str | None,
                  default_frame: Frame) -> TwistStamped:
    """Return a linear and an angular velocity (3,) each as a message."""
    message = TwistStamped()
    for vector, numbers, name in ((message.twist.linear, linear, 'linear'),
                                  (message.twist.angular, angular, 'angular')):
        vector.x, vector.y, vector.z = _floats(
            numbers, (3,), f'{name} is three numbers, along x, y and z')
    message.header.frame_id = default_frame() if frame is None else frame
    return message


def _turned(quaternion: Sequence[float] | None,
            rpy: Sequence[float] | None) -> list[float] | None:
    if quaternion is not None and rpy is not None:
        raise ClientError('there are both quaternion and rpy; give one of them')
    if rpy is not None:
        angles = _floats(rpy, (3,), 'rpy is three angles roll, pitch, yaw, rad')
        try:
            require_radians(angles, 'rpy')
        except ParameterError as error:
            raise ClientError(str(error)) from None
        return [*map(float, quaternion_from_rpy(*angles))]
    return None if quaternion is None else _floats(
        quaternion, (4,), 'a quaternion is four numbers x, y, z, w')


def _pose(pose: PoseLike, turned: list[float] | None) -> Pose:
    shape = () if isinstance(pose, Pose) else np.shape(pose)
    if shape == (3,) and turned is not None:
        return make_pose(_floats(pose, (3,), ''), turned)
    if turned is not None or not (isinstance(pose, Pose) or shape in ((4, 4), (7,))):
        raise ClientError(f'{shown(pose)} is no pose' + (' with an orientation of its own'
                          if turned is not None else '') + f'; give {POSE_FORMS}')
    if isinstance(pose, Pose):
        return pose
    if shape == (7,):
        numbers = _floats(pose, (7,), '')
        return make_pose(numbers[:3], numbers[3:])
    T = np.array(_floats(pose, (4, 4), '')).reshape(4, 4)
    _rotation(T[:3, :3])
    message = Pose()
    fill_pose(message, T)
    return message


def _rotation(R: np.ndarray) -> np.ndarray:
    if not np.abs(R @ R.T - np.eye(3)).max() < ROTATION_TOLERANCE or np.linalg.det(R) < 0.0:
        raise ClientError(f'{shown(R.tolist())} is no rotation; its columns must be the axes of a '
                          'right-handed frame, of length 1')
    return R


def _floats(numbers: Any, shape: tuple[int, ...], sentence: str) -> list[float]:
    try:
        array = np.asarray(numbers, dtype=float)
    except (TypeError, ValueError):
        raise ClientError(f'{shown(numbers)} must be numbers; '
                          f'{sentence or "give " + POSE_FORMS}') from None
    if array.shape != shape:
        raise ClientError(f'{shown(numbers)} has the shape {array.shape}; {sentence}')
    return [float(number) for number in array.ravel()]


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
