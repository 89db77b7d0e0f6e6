# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Sequences of PTP, LIN and CIRC motions, by the action ``~/motion_sequence``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TYPE_CHECKING

from geometry_msgs.msg import PoseStamped
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState

from ik_node.base.errors import GoalError
from ik_node.base.system import how_to_install
from ik_node.base.text import quote, shown
from ik_node.client.answers import ClientError, NodeUnreachableError
from ik_node.client.handles import GoalHandle
from ik_node.client.poses import Frame, joint_message, PoseLike, stamped_pose
from ik_node.ros.messages.motion_primitives import (
    LIMIT_ARGUMENTS,
    motion_error,
    PrimitiveType,
    require_blend_radius,
    require_count,
    require_limit,
    SEQUENCE_ACTION,
    SEQUENCE_KIND,
)
from ik_node.ros.messages.status_messages import ACTION_GOAL_KEY, action_goal_text
from ik_node.ros.middleware.clocks import timed_goal_id

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ik_node.client.transport.connection import Connection

ACTION_PATIENCE_S = 5.0  # for a server that has been there
UNKNOWN_BASE = ''        # the frame of poses without one, until they are sent


@dataclass(frozen=True, eq=False)
class Motion:
    """One motion of a sequence; :func:`ptp`, :func:`lin` and :func:`circ` make it."""

    type: PrimitiveType
    poses: tuple[PoseStamped, ...] = ()
    """The end, and of an arc a pose in between; m.  Without a frame in the base link."""
    joints: JointState | None = None
    """Where the joints move to, rad or m, instead of a pose."""
    blend_radius: float = 0.0
    """Of the corner at its end, m."""
    velocity: float | None = None
    """Lowers the limit: of each joint (rad/s) for PTP, of the tip (m/s) for the others."""
    acceleration: float | None = None
    """Lowers the limit: of each joint (rad/s^2) for PTP, of the tip (m/s^2) for the others."""


def ptp(pose: PoseLike | None = None, quaternion: Sequence[float] | None = None, *,
        joints: Mapping[str, float] | ArrayLike | JointState | None = None,
        frame: str | None = None, rpy: Sequence[float] | None = None, blend_radius: float = 0.0,
        velocity: float | None = None, acceleration: float | None = None) -> Motion:
    """
    Return the fastest motion of the joints to a pose, or to joint positions.

    Parameters
    ----------
    pose, quaternion, frame, rpy
        As of :meth:`ik_node.client.goals.GoalMethods.move`.
    joints : mapping, (n,) array or JointState
        Instead of a pose: positions of all joints, rad or m, by their names or in the order of
        the chain.
    blend_radius : float
        If it is not 0 and another PTP motion follows, the joints pass the end without a rest.
    velocity, acceleration : float, optional
        Limits of each joint, rad/s and rad/s^2, below the limits of the node.

    Raises
    ------
    ClientError
        If that is no pose, or these are no joint positions.

    """
    if (pose is None) == (joints is None):
        raise ClientError('a PTP motion leads to a pose or to joints=; give one of them')
    if joints is None:
        return Motion(PrimitiveType.PTP, (_given(pose, frame, quaternion, rpy),), None,
                      blend_radius, velocity, acceleration)
    if any(each is not None for each in (frame, quaternion, rpy)):
        raise ClientError('frame, quaternion and rpy are of a pose; leave them out with joints')
    try:
        message = deepcopy(joint_message(joints))
    except (TypeError, ValueError, OverflowError, AssertionError):
        raise ClientError(f'{shown(joints)} are no joint positions; give them by name or in the '
                          'order of the chain, rad or m') from None
    return Motion(PrimitiveType.PTP, (), message, blend_radius, velocity, acceleration)


def lin(pose: PoseLike, quaternion: Sequence[float] | None = None, *, frame: str | None = None,
        rpy: Sequence[float] | None = None, blend_radius: float = 0.0,
        velocity: float | None = None, acceleration: float | None = None) -> Motion:
    """
    Return a motion of the tip to a pose in a straight line.

    Parameters
    ----------
    pose, quaternion, frame, rpy
        As of :meth:`ik_node.client.goals.GoalMethods.move`.
    blend_radius : float
        By how much (m) the tip may leave the corner to the next line or arc; 0 = it rests there.
    velocity, acceleration : float, optional
        Limits of the tip, m/s and m/s^2, below the limits of the node.

    Raises
    ------
    ClientError
        If that is no pose.

    """
    return Motion(PrimitiveType.LIN, (_given(pose, frame, quaternion, rpy),), None,
                  blend_radius, velocity, acceleration)


def circ(through: PoseLike, end: PoseLike, quaternion: Sequence[float] | None = None, *,
         frame: str | None = None, rpy: Sequence[float] | None = None, blend_radius: float = 0.0,
         velocity: float | None = None, acceleration: float | None = None) -> Motion:
    """
    Return a motion of the tip along a circular arc.

    Parameters
    ----------
    through : pose
        A pose in between, as of :meth:`ik_node.client.goals.GoalMethods.move`.
    end : pose
    quaternion, frame, rpy
        Of both poses.
    blend_radius, velocity, acceleration : float
        As of :func:`lin`.

    Raises
    ------
    ClientError
        If one of them is no pose.

    """
    poses = tuple(_given(pose, frame, quaternion, rpy) for pose in (end, through))
    return Motion(PrimitiveType.CIRC, poses, None, blend_radius, velocity, acceleration)


class SequenceClient:
    """Sends sequences of motions to the node, for :meth:`ik_node.client.arm.Arm.sequence`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._name = f'{connection.target}/{SEQUENCE_ACTION}'
        self._client: ActionClient | None = None
        try:
            from control_msgs.action import ExecuteMotionPrimitiveSequence
        except ImportError:  # not installed, or older: said when it is needed
            return
        self._client = ActionClient(connection.node, ExecuteMotionPrimitiveSequence, self._name)

    def send(self, motions: Iterable[Motion], base_frame: Frame,
             joint_names: Callable[[], Sequence[str]]) -> GoalHandle:
        """
        Send a sequence.

        Parameters
        ----------
        base_frame : callable
            Returns the frame of poses without one.
        joint_names : callable
            Returns the joints in the order of the chain.

        Raises
        ------
        ClientError
            If control_msgs lacks the action, or a motion cannot be sent.

        """
        connection, client = self._connection, self._client
        if client is None:
            raise ClientError('sequences need ExecuteMotionPrimitiveSequence of the ROS package '
                              'control_msgs, which is not installed here, or is too old: '
                              f'{how_to_install("control_msgs")}')
        message = _goal(motions, base_frame, joint_names)
        connection.await_ready()
        goal = GoalHandle(connection, SEQUENCE_KIND)
        goal_id = timed_goal_id(connection.node, self._name)
        key = action_goal_text(goal_id)

        def is_ours(values: Mapping[str, str]) -> bool:
            return values.get(ACTION_GOAL_KEY) == key

        def on_response(future: Any) -> None:
            if future.exception() is None and not future.result().accepted:
                goal.finish(error=ClientError(f'the action {self._name} refuses the goal'))

        connection.answers.expect_where(is_ours, goal.take)
        goal.on_end(lambda: connection.answers.forget_where(is_ours))
        try:
            if not client.server_is_ready() and not connection.in_own_thread:
                connection.wait_until(lambda: client.server_is_ready() or goal.done,
                                      ACTION_PATIENCE_S)
            if not client.server_is_ready():
                raise NodeUnreachableError(f'nobody serves the action {self._name}; is '
                                           'control_msgs, as new as here, where the node runs?')
            connection.run_in_thread(lambda: client.send_goal_async(
                message, goal_uuid=goal_id).add_done_callback(on_response))
        except Exception as error:  # noqa: BLE001 - also of rclpy; the goal has one end
            goal.finish(error=error)
        return goal


def _given(pose: PoseLike, frame: str | None, quaternion: Sequence[float] | None,
           rpy: Sequence[float] | None) -> PoseStamped:
    """Return a pose as a message that does not change with what was given."""
    if isinstance(pose, PoseStamped) and not pose.header.frame_id:
        raise ClientError('the PoseStamped has no frame_id; give it one')
    return deepcopy(stamped_pose(pose, frame, lambda: UNKNOWN_BASE, quaternion, rpy))


def _goal(motions: Iterable[Motion], base_frame: Frame,
          joint_names: Callable[[], Sequence[str]]) -> Any:
    """Return the goal of the action; raise as :meth:`SequenceClient.send`."""
    from control_msgs.action import ExecuteMotionPrimitiveSequence
    from control_msgs.msg import MotionPrimitiveSequence
    if not isinstance(motions, Iterable):
        raise ClientError(f'{shown(motions)} is no sequence; give the motions in a list')
    given = [*motions]
    try:
        require_count(len(given))
        sequence = MotionPrimitiveSequence(motions=[
            _primitive(number, motion, base_frame, joint_names)
            for number, motion in enumerate(given, 1)])
    except GoalError as error:
        raise ClientError(str(error)) from None
    return ExecuteMotionPrimitiveSequence.Goal(trajectory=sequence)


def _primitive(number: int, motion: Motion, base_frame: Frame,
               joint_names: Callable[[], Sequence[str]]) -> Any:
    """Return a control_msgs/MotionPrimitive; raise a GoalError with the number of the motion."""
    from control_msgs.msg import MotionArgument, MotionPrimitive
    if not isinstance(motion, Motion):
        raise motion_error(number, f'{shown(motion)} is not a motion; use ptp(), lin() or circ()')
    message = MotionPrimitive(type=getattr(MotionPrimitive, motion.type.value),
                              blend_radius=_number(number, 'blend_radius', motion.blend_radius))
    require_blend_radius(number, message.blend_radius)
    for name in LIMIT_ARGUMENTS:
        limit = getattr(motion, name)
        if limit is not None:
            argument = MotionArgument(name=name, value=_number(number, name, limit))
            require_limit(number, name, argument.value)
            message.additional_arguments.append(argument)
    message.poses = [deepcopy(pose) for pose in motion.poses]
    for pose in message.poses:
        pose.header.frame_id = pose.header.frame_id or base_frame()
    if motion.joints is not None:
        message.joint_positions = _ordered(number, motion.joints, joint_names)
    return message


def _number(number: int, name: str, value: float) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise motion_error(number, f'{name} is {shown(value)}; give a number') from None


def _ordered(number: int, joints: JointState,
             joint_names: Callable[[], Sequence[str]]) -> list[float]:
    """Return joint positions (n,) in the order of the chain."""
    if not joints.name:
        return [*joints.position]
    names = joint_names()
    if sorted(joints.name) != sorted(names) or len(joints.position) != len(names):
        raise motion_error(number, f'there are {len(joints.position)} positions of '
                           f'{", ".join(map(quote, joints.name))}; give one for each of '
                           f'{", ".join(map(quote, names))}')
    positions = dict(zip(joints.name, joints.position))
    return [positions[name] for name in names]
