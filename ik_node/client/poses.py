# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Poses, positions, orientations and twists, as users write them, to messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

from ik_node.base.errors import ParameterError
from ik_node.base.text import shown
from ik_node.client.errors import ClientError
from ik_node.model.joint_values import require_radians
from ik_node.ros.messages.conversion import fill_pose, make_point, make_pose
from ik_node.ros.messages.rotations import quaternion_from_rotation, quaternion_from_rpy

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

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

    Raises
    ------
    ClientError
        If it is no pose.

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
