# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Jogging under the names of MoveIt Servo: twists, velocities of joints, pause.

Joints need control_msgs, which is not on PyPI; without it twists are taken alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from geometry_msgs.msg import Twist, TwistStamped
import numpy as np
from rclpy.node import Node
from std_srvs.srv import SetBool

from ik_node.base.errors import GoalError, IkNodeError, Reason
from ik_node.base.system import how_to_install
from ik_node.base.text import quote
from ik_node.kinematics.links import link_pose, path_between
from ik_node.model.chain import Chain
from ik_node.motion.following.jog import JogCommand, JogOptions
from ik_node.node.execution.ramps import Ramps
from ik_node.node.goals.conversion import GoalConversion
from ik_node.node.goals.queue import GoalQueue
from ik_node.node.robot.robot import Robot, RobotSlot
from ik_node.node.state.clocks import FUTURE_SLACK_S, StampCheck
from ik_node.node.stream.stream import Feed, Stream, StreamedMessage
from ik_node.ros.messages.moveit_types import moveit_types
from ik_node.ros.messages.status_messages import JOG_KIND
from ik_node.ros.middleware.clocks import MessageInfo, tell_origin
from ik_node.ros.middleware.qos import BEST_EFFORT_QOS


def joint_jog_type() -> Any:
    """Return control_msgs' JointJog; None where control_msgs is not installed."""
    try:
        from control_msgs.msg import JointJog
    except ImportError:
        return None
    return JointJog


def twist_numbers(message: Twist) -> np.ndarray:
    """Return the numbers (6,) of a twist, linear before angular."""
    v, w = message.linear, message.angular
    return np.array([v.x, v.y, v.z, w.x, w.y, w.z])


def joint_rates(message: Any, chain: Chain, options: JogOptions) -> np.ndarray:
    """
    Return the velocity (n,) of each joint (rad/s or m/s); joints that are not named rest.

    Parameters
    ----------
    message : control_msgs/JointJog
        Its velocities count; displacements are refused, the duration is not used.

    """
    names, velocities = list(message.joint_names), np.array(message.velocities, dtype=float)
    if len(message.displacements):
        raise GoalError('the jog has displacements; joints are jogged by velocities alone',
                        Reason.GOAL_JOINTS)
    if not names or len(names) != len(velocities) or len(set(names)) != len(names):
        raise GoalError(f'the jog has {len(names)} names ({len(set(names))} different) and '
                        f'{len(velocities)} velocities; give one velocity to each name',
                        Reason.GOAL_JOINTS)
    unknown = [name for name in names if name not in chain.joint_names]
    if unknown:
        raise GoalError(f'the joint {quote(unknown[0])} is not one of '
                        f'{", ".join(map(quote, chain.joint_names))}', Reason.GOAL_JOINTS)
    rates = np.zeros(chain.n)
    rates[[chain.joint_names.index(name) for name in names]] = options.rates(velocities)
    return rates


class Jog:
    """
    Hands the commands on ``~/delta_twist_cmds`` and ``~/delta_joint_cmds`` to the stream.

    The newest counts, whichever its topic.  Zeros are no command: they bring the arm to rest, and
    begin no jog.
    """

    def __init__(self, node: Node, robot_slot: RobotSlot, conversion: GoalConversion,
                 goals: GoalQueue, ramps: Ramps, stamps: StampCheck, stream: Stream) -> None:
        self._node = node
        self._robot_slot = robot_slot
        self._conversion = conversion
        self._goals = goals
        self._ramps = ramps
        self._stamps = stamps
        self._stream = stream
        self._paused = False
        tell_origin(node.create_subscription(TwistStamped, '~/delta_twist_cmds', self._on_twist,
                                             BEST_EFFORT_QOS))
        joint_jog = joint_jog_type()
        if joint_jog is None:
            node.get_logger().debug('joints cannot be jogged: control_msgs is not installed: '
                                    + how_to_install('control_msgs'))
        else:
            tell_origin(node.create_subscription(joint_jog, '~/delta_joint_cmds',
                                                 self._on_joints, BEST_EFFORT_QOS))
        node.create_service(SetBool, '~/pause_servo', self._on_pause)
        types = moveit_types()
        # Older versions of moveit_msgs do not have it.
        switch = getattr(types.srv, 'ServoCommandType', None) if types is not None else None
        if switch is not None:
            node.create_service(switch, '~/switch_command_type', self._on_switch)

    def _on_twist(self, message: TwistStamped, info: MessageInfo) -> None:
        self._take(message, info, twist_numbers(message.twist), self._read_twist)

    def _on_joints(self, message: Any, info: MessageInfo) -> None:
        self._take(message, info, message.velocities, self._read_joints)

    def _take(self, message: Any, info: MessageInfo, numbers: Sequence[float],
              read: Callable[[Any, MessageInfo], Feed]) -> None:
        streamed = StreamedMessage(JOG_KIND, message.header.stamp, partial(read, message, info),
                                   self._goals.precedence.of_message(info))
        if self._paused:
            self._node.get_logger().warning('jog commands are ignored: ~/pause_servo was called '
                                            'with true', throttle_duration_sec=5.0)
        elif len(numbers) and not np.any(numbers):
            self._stream.release(streamed)
        else:
            self._stream.take(streamed)

    def _read_twist(self, message: TwistStamped, info: MessageInfo) -> Feed:
        robot = self._checked(message, info)
        twist = robot.settings.jogging.twist(twist_numbers(message.twist))
        R, in_tip = self._axes(message, robot)
        command = JogCommand(twist, R, in_tip)
        return lambda follower, now: follower.jog(command, now)

    def _read_joints(self, message: Any, info: MessageInfo) -> Feed:
        robot = self._checked(message, info)
        command = JogCommand(rates=joint_rates(message, robot.chain, robot.settings.jogging))
        return lambda follower, now: follower.jog(command, now)

    def _checked(self, message: Any, info: MessageInfo) -> Robot:
        """Return the robot; raise if a command is older than the timeout (clocks may differ)."""
        robot = self._robot_slot.require()
        self._stamps.checked(message.header.stamp, min(
            robot.settings.max_goal_age, robot.settings.following.timeout + FUTURE_SLACK_S), info)
        return robot

    def _axes(self, message: TwistStamped, robot: Robot) -> tuple[np.ndarray, bool]:
        """Return the axes (3, 3) of a twist, and whether they are fixed to the tip."""
        frame, chain = message.header.frame_id, robot.chain
        link = self._conversion.link_of(frame, robot)
        if link is None and frame == robot.settings.tool_frame:
            return np.eye(3), True
        if link is not None and not any(
                joint.moves for joint, _ in path_between(robot.tree, chain.tip_link, link)):
            R_tip_link = link_pose(robot.tree, link, chain.tip_link, {})[:3, :3]
            return chain.T_link_tool[:3, :3].T @ R_tip_link, True
        return self._conversion.frame(message.header, robot)[:3, :3], False

    # ---- services -----------------------------------------------------------

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        response.success, self._paused = True, request.data
        response.message = 'jog commands are ignored' if request.data else 'jog commands are taken'
        current = self._goals.current
        if request.data and current is not None and current.kind == JOG_KIND:
            try:
                response.message += '; ' + self._ramps.stop(
                    Reason.STOPPED, 'stopped by ~/pause_servo')
            except IkNodeError as error:
                response.success, response.message = False, str(error)
        return response

    def _on_switch(self, _request: Any, response: Any) -> Any:
        """Agree: commands of every type are taken at any time."""
        response.success = True
        return response
