# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The command send_goal: send one goal to a running node, wait, and print its answer."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
import json
from pathlib import Path
import sys
from typing import Any

from geometry_msgs.msg import PoseStamped
import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from ik_node.client.goals import GoalMethods
from ik_node.client.poses import PoseLike
from ik_node.command_line.send_goal import parse
from ik_node.command_line.signals import INTERRUPTED_CODE
from ik_node.commands.pose_files import read_poses
from ik_node.errors import IkNodeError, ParameterError
from ik_node.goal_kinds import goal_options
from ik_node.motion.taught_path import TaughtPath
from ik_node.ros.goal_answers import GoalAnswers, GoalValues
from ik_node.ros.handshake import greet, wait_for
from ik_node.ros.messages import make_pose
from ik_node.ros.process import leave
from ik_node.ros.rotations import quaternion_from_rpy
from ik_node.ros.status_messages import GoalState, is_final, stamp_text
from ik_node.text import printable

NO_ROTATION = 0.0, 0.0, 0.0, 1.0  # as a quaternion x, y, z, w
WAITING_NOTICE_S = 4.0            # discovery may take 3 s


class GoalMessages(GoalMethods[tuple[str, Any]]):
    """
    Makes the messages of goals, which are not sent: each method returns the topic and a message.

    Parameters
    ----------
    frame : str
        Frame of poses without one.

    """

    def __init__(self, frame: str) -> None:
        self._frame = frame

    def _send(self, kind: str, message: Any) -> tuple[str, Any]:
        return f'goal_{kind}', message

    def _base_frame(self) -> str:
        return self._frame


def make_goal(options: argparse.Namespace) -> tuple[str, Any]:
    """
    Return the topic of a goal, and its message without a stamp.

    Raises
    ------
    ParameterError
        If joint values or a file are not usable.
    OSError
        If a file cannot be read.

    """
    given = argparse.Namespace(**vars(options))
    given.orientation = _quaternion(options.rpy, options.quat)
    for option in goal_options():
        value = getattr(options, option.field)
        if value is None:
            continue
        if option.value == 'pose':
            orientation = given.orientation or NO_ROTATION
            if option.with_xyz:
                orientation = _quaternion(getattr(options, f'{option.field}_rpy'),
                                          getattr(options, f'{option.field}_quat')) or orientation
            value = [*value, *orientation]
        elif option.value in VALUE_READERS:
            value = VALUE_READERS[option.value](value)
        setattr(given, option.field, value)
    goal: tuple[str, Any] = options.goal_option.send(GoalMessages(options.frame), given)
    return goal


def poses_of(file: Path) -> list[PoseLike]:
    """Return the poses of a file, those with a frame as PoseStamped; errors as read_poses."""
    poses: list[PoseLike] = []
    for row in read_poses(file):
        if not row.frame:
            poses.append([*row.xyz, *row.quaternion])
            continue
        stamped = PoseStamped(pose=make_pose(row.xyz, row.quaternion))
        stamped.header.frame_id = row.frame
        poses.append(stamped)
    return poses


def joint_goal(values: Sequence[str]) -> JointState:
    """
    Return the goal of ``NAME=VALUE`` texts, or of one value per joint in the order of the chain.

    Raises
    ------
    ParameterError
        If only some values have a name, or a value is not a number.

    """
    goal = JointState()
    for text in values:
        name, equals, value = text.rpartition('=')
        if equals:
            goal.name.append(name)
        try:
            goal.position.append(float(value))
        except ValueError:
            raise ParameterError(f'--joints has {text!r}; it takes NAME=VALUE, or a number for '
                                 'each joint') from None
    if goal.name and len(goal.name) != len(goal.position):
        raise ParameterError('--joints has values with a name and values without; give a name to '
                             'all of them, or to none')
    return goal


def _quaternion(rpy: Sequence[float] | None,
                quat: Sequence[float] | None) -> Sequence[float] | None:
    return tuple(map(float, quaternion_from_rpy(*rpy))) if rpy else quat


VALUE_READERS: dict[str, Callable[[Any], Any]] = {
    'joint_positions': joint_goal,
    'joint_path_file': TaughtPath.read,
    'pose_file': poses_of,
}


class Sender(Node):
    """Publishes one goal and collects the answers to it."""

    def __init__(self, target: str, topic: str, kind: type) -> None:
        super().__init__('send_goal', start_parameter_services=False)
        self.answers: list[GoalValues] = []
        self.publisher = self.create_publisher(kind, f'{target}/{topic}', 10)
        self._expected = GoalAnswers(self, target)

    def send(self, goal: Any) -> None:
        """Stamp and publish the goal; its answers repeat the stamp."""
        goal.header.stamp = self.get_clock().now().to_msg()
        self._expected.expect(stamp_text(goal.header.stamp), self.answers.append)
        self.publisher.publish(goal)


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    options = parse(sys.argv[1:] if argv is None else argv)
    try:
        topic, goal = make_goal(options)
    except (IkNodeError, OSError) as error:
        print(f'send_goal: {error}', file=sys.stderr)
        sys.exit(2)
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = Sender(options.node, topic, type(goal))
    try:
        code = _run(node, goal, options)
    except KeyboardInterrupt:
        code = INTERRUPTED_CODE
    leave(node, code)


def _run(node: Sender, goal: Any, options: argparse.Namespace) -> int:
    there = greet(node, options.node, min(WAITING_NOTICE_S, options.wait), node.publisher)
    if not there and options.wait > WAITING_NOTICE_S:
        print(f'send_goal: waiting for {options.node} ...', file=sys.stderr)
        there = greet(node, options.node, options.wait - WAITING_NOTICE_S, node.publisher)
    if not there:
        print(f'send_goal: no node listens on {node.publisher.topic_name}; is it running, in '
              'this ROS_DOMAIN_ID and namespace (--node)?', file=sys.stderr)
        return 2
    node.send(goal)
    if not wait_for(node, lambda: bool(node.answers) and is_final(node.answers[-1]),
                    options.timeout):
        heard = printable(node.answers[-1]['message']) if node.answers else 'nothing'
        print(f'send_goal: no final answer within {options.timeout:g} s; the last was: {heard}',
              file=sys.stderr)
        return 1
    answer = node.answers[-1]
    if options.json:
        print(json.dumps(answer))
    else:
        print(printable(f'{answer["state"]} ({answer["reason"]}): {answer["message"]}'))
    return 0 if answer['state'] == GoalState.REACHED.value else 1
