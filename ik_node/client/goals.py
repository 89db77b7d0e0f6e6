# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The methods of the client that send goals, of each kind in goal_kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TYPE_CHECKING, TypeVar

from geometry_msgs.msg import PoseArray, PoseStamped
from nav_msgs.msg import Path
import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from ik_node.base.errors import ConstraintError, GoalError, ParameterError
from ik_node.client.answers import ClientError
from ik_node.client.poses import (
    joint_message,
    joint_path_message,
    PoseLike,
    stamped_orientation,
    stamped_point,
    stamped_pose,
)
from ik_node.motion.constrained.keep import Keep, read_keeps
from ik_node.motion.joint_path.taught_path import TaughtPath
from ik_node.motion.tool_path.options import PathOptions, require_free_axes
from ik_node.ros.messages.conversion import chunk_message, free_path, line_to, pose_within
from ik_node.ros.messages.goal_kinds import CHUNK_KIND

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Sent = TypeVar('Sent')


class GoalMethods(ABC, Generic[Sent]):
    """
    Make the messages of goals, and send them.

    Each method returns what :meth:`_send` returns, of an :class:`ik_node.client.arm.Arm` a
    GoalHandle.  Poses and their parameters are as described there.  With `keep`, a
    :class:`~ik_node.motion.constrained.keep.Keep`, a mapping or a text of its fields, or a list of
    these, the tip keeps that during the whole motion: ``keep=upright(0.1)`` a level to 0.1 rad.
    """

    @abstractmethod
    def _send(self, kind: str, message: Any, keeps: tuple[Keep, ...]) -> Sent:
        """Stamp and send the message of a goal, whose kind is a name in goal_kinds."""

    @abstractmethod
    def _base_frame(self) -> str:
        """Return the frame of poses without one."""

    def _own_joints(self, path: TaughtPath) -> TaughtPath:
        """Return a path of the joints that the arm has; raise ParameterError if it has none."""
        return path

    def move(self, pose: PoseLike, quaternion: Sequence[float] | None = None, *,
             frame: str | None = None, rpy: Sequence[float] | None = None,
             position_tolerance: ArrayLike = 0.0,
             orientation_tolerance: ArrayLike = 0.0, keep: Any = None) -> Sent:
        """
        Move the tip to a pose, by the fastest motion or as ``motion.straight`` says.

        With a tolerance the tip ends anywhere within it, always by the fastest motion.

        Parameters
        ----------
        position_tolerance : float or (3,) array
            Largest distance from the pose along its x, y and z, m; infinite = free.
        orientation_tolerance : float or (3,) array
            Largest rotation about x, y and z of the pose, rad; pi or more = free.

        """
        stamped = self._pose(pose, quaternion, frame, rpy)
        if not np.any(position_tolerance) and not np.any(orientation_tolerance):
            return self._ask(keep, 'pose', stamped)
        try:
            message = pose_within(stamped, position_tolerance, orientation_tolerance)
        except GoalError as error:
            raise ClientError(str(error)) from None
        return self._ask(keep, 'region', message)

    def line(self, pose: PoseLike, quaternion: Sequence[float] | None = None, *,
             frame: str | None = None, rpy: Sequence[float] | None = None,
             free: Sequence[str] = (), keep: Any = None) -> Sent:
        """
        Move the tip to a pose in a straight line.

        Parameters
        ----------
        free : sequence of str
            Axes of the pose about which the tip may be turned on the way: 'rx', 'ry', 'rz'.

        """
        end = self._pose(pose, quaternion, frame, rpy)
        if free:
            axes = PathOptions(free_axes=_free_axes(free))
            return self._ask(keep, 'line', pose_within(end, 0.0, axes.tolerance[3:]))
        return self._ask(keep, 'path', line_to(end.pose, end.header.frame_id))

    def path(self, poses: Sequence[PoseLike], *, frame: str | None = None,
             free: Sequence[str] = (), keep: Any = None) -> Sent:
        """
        Move the tip through poses in straight lines.

        Each is as one argument of :meth:`move`; `frame` is for those without a frame.

        Parameters
        ----------
        free : sequence of str
            As of :meth:`line`, of each pose; the poses are in one frame then.

        """
        path = self._path(poses, frame)
        if not free:
            return self._ask(keep, 'path', path)
        return self._ask(keep, 'free_path',
                          free_path(_in_one_frame(path, 'path'), _free_axes(free)))

    def chunk(self, poses: Sequence[PoseLike], times: ArrayLike, *,
              gripper: ArrayLike | None = None, frame: str | None = None,
              keep: Any = None) -> Sent:
        """
        Pass poses at given times; :class:`ik_node.client.Chunks` sends one after another.

        Parameters
        ----------
        poses : sequence of k poses
            Each as one argument of :meth:`move`.
        times : (k,) array
            When the tip is there, s from now on, increasing; what is past is left out.
        gripper : (k,) array, optional
            Openings of the gripper, passed through at these times.
        frame : str, optional
            Of all poses.

        """
        if not len(poses):
            raise ClientError('the chunk has no poses')
        path = _in_one_frame(self._path(poses, frame), 'chunk')
        given = [np.atleast_1d(np.asarray(each, dtype=float))
                 for each in (times, gripper) if each is not None]
        if any(each.shape != (len(path.poses),) or not np.isfinite(each).all() for each in given):
            raise ClientError(f'a chunk of {len(path.poses)} poses needs as many finite times, '
                              'and openings of the gripper if there are any')
        return self._ask(keep, CHUNK_KIND, chunk_message(path, *given))

    def first(self, poses: Sequence[PoseLike], *, frame: str | None = None,
              keep: Any = None) -> Sent:
        """
        Move the tip to the first of some poses that can be reached.

        Each is as one argument of :meth:`move`; `frame` is for those without a frame.  The
        answer has the ``pose_number``, from 1.
        """
        return self._ask(keep, 'first', self._path(poses, frame))

    def arc(self, through: PoseLike, end: PoseLike, *, start: PoseLike | None = None,
            frame: str | None = None, free: Sequence[str] = (), keep: Any = None) -> Sent:
        """
        Move the tip along a circular arc.

        Parameters
        ----------
        through : pose
            A pose in between, as one argument of :meth:`move`; with seven numbers or a matrix.
        end : pose
        start : pose, optional
            By default where the tip is, and the arm must be at rest.
        frame : str, optional
            Of all poses.
        free : sequence of str
            As of :meth:`line`, of each pose.

        """
        path = _in_one_frame(Path(poses=[self._pose(each, None, frame)
                                         for each in (start, through, end) if each is not None]),
                             'arc')
        if free:
            return self._ask(keep, 'free_arc', free_path(path, _free_axes(free)))
        return self._ask(keep, 'arc', PoseArray(
            header=path.header, poses=[each.pose for each in path.poses]))

    def position(self, position: ArrayLike, *, frame: str | None = None, keep: Any = None) -> Sent:
        """Move the tip to a position (3,), m, in any orientation; also Point, PointStamped."""
        return self._ask(keep, 'position', stamped_point(position, frame, self._base_frame))

    def point(self, pose: PoseLike, quaternion: Sequence[float] | None = None, *,
              frame: str | None = None, rpy: Sequence[float] | None = None,
              keep: Any = None) -> Sent:
        """Move the tip to a pose with its z axis as in the pose; the angle about it is free."""
        return self._ask(keep, 'pointing', self._pose(pose, quaternion, frame, rpy))

    def turn(self, orientation: Any = None, *, frame: str | None = None,
             rpy: Sequence[float] | None = None, keep: Any = None) -> Sent:
        """
        Turn the tip where it is.

        Parameters
        ----------
        orientation : (4,) or (3, 3) array, Quaternion or QuaternionStamped, optional
            A quaternion x, y, z, w, or a rotation matrix.
        rpy : 3 floats, optional
            Instead: fixed-axis roll, pitch, yaw, rad.
        frame : str, optional
            'tool0', or how the tip is called, for a rotation about the tool.

        """
        return self._ask(keep, 'orientation', stamped_orientation(
            orientation, frame, self._base_frame, rpy))

    def joints(self, positions: Mapping[str, float] | ArrayLike | JointState, *,
               keep: Any = None) -> Sent:
        """
        Move joints.

        Parameters
        ----------
        positions : mapping, (n,) array or JointState
            Rad or m: of joints by their names, the others stay; or of all joints, in the order
            of the chain.

        """
        return self._ask(keep, 'joints', joint_message(positions))

    def joint_path(self, points: TaughtPath | JointTrajectory | Sequence[Any],
                   times: ArrayLike | None = None, *, keep: Any = None) -> Sent:
        """
        Move the joints through positions in one motion.

        Parameters
        ----------
        points : TaughtPath, JointTrajectory, or sequence of mappings or (n,) arrays
            Rad or m: of joints by their names, the same in each, the others stay; or of all
            joints, in the order of the chain.  Joints of a TaughtPath that the arm lacks are
            left out.
        times : (m,) array, optional
            When to pass each of them at the earliest, s, increasing; a first one of 0 means that
            the arm is there.  By default as soon as the limits allow.

        """
        return self._ask(keep, 'joint_path', joint_path_message(points, times, self._own_joints))

    def named(self, name: str, *, keep: Any = None) -> Sent:
        """
        Move to a named pose.

        Parameters
        ----------
        name : str
            Of a group state of the SRDF, or of a pose in the file of named poses of the node;
            :meth:`named_poses` has them all.

        """
        return self._ask(keep, 'named', JointState(name=[name]))

    def _ask(self, keep: Any, kind: str, message: Any) -> Sent:
        """Send a goal; `keep` is what :func:`read_keeps` reads."""
        try:
            return self._send(kind, message, read_keeps(keep))
        except ConstraintError as error:
            raise ClientError(str(error)) from None

    def _pose(self, pose: PoseLike, quaternion: Sequence[float] | None = None,
              frame: str | None = None, rpy: Sequence[float] | None = None) -> PoseStamped:
        return stamped_pose(pose, frame, self._base_frame, quaternion, rpy)

    def _path(self, poses: Sequence[PoseLike], frame: str | None) -> Path:
        return Path(poses=[
            self._pose(each, None, None if isinstance(each, PoseStamped) else frame)
            for each in poses])


def _free_axes(axes: Sequence[str]) -> tuple[str, ...]:
    """Return axes about which the tip may be turned; raise ClientError if one is none."""
    try:
        require_free_axes(axes)
    except ParameterError as error:
        raise ClientError(str(error)) from None
    return tuple(axes)


def _in_one_frame(path: Path, what: str) -> Path:
    """Return a path in the frame of its poses; raise ClientError if they have several."""
    frames = sorted({each.header.frame_id for each in path.poses})
    if len(frames) > 1:
        raise ClientError(f'the poses of the {what} are in the frames {", ".join(frames)}; give '
                          'them in one')
    path.header.frame_id = ''.join(frames)
    return path
