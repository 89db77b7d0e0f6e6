# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The command send_goal: send one goal to a running node, wait, and print its answer."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
import json
from math import radians
from pathlib import Path
import sys
from typing import Any

from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from ik_node.base.errors import IkNodeError, ParameterError
from ik_node.base.text import printable, quote
from ik_node.client.goals import GoalMethods
from ik_node.client.poses import PoseLike
from ik_node.model.joints import require_radians
from ik_node.motion.constrained.keep import Keep, read_keeps, upright
from ik_node.motion.joint_path.taught_path import TaughtPath
from ik_node.ros.messages.conversion import make_pose, quaternion_from_rpy, quaternion_of
from ik_node.ros.messages.goal_answers import GoalAnswers, GoalValues
from ik_node.ros.messages.goal_kinds import goal_options, KEPT_KIND, Orientation
from ik_node.ros.messages.kept_goals import kept_goal, KeptGoal
from ik_node.ros.messages.status_messages import GoalState, is_final, plain_values, stamp_text
from ik_node.ros.middleware.handshake import greet, wait_for
from ik_node.ros.middleware.process import run_tool
from ik_node.ros.middleware.qos import BEST_EFFORT_QOS
from ik_node.tools.arguments.send_goal import parse
from ik_node.tools.pose_files import read_poses, read_timed_poses

NO_ROTATION = 0.0, 0.0, 0.0, 1.0  # as a quaternion x, y, z, w
WAITING_NOTICE_S = 4.0            # discovery may take 3 s
TIP_POSE_WAIT_S = 5.0             # for the pose of the tip


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

    def _send(self, kind: str, message: Any, _keeps: tuple[Keep, ...]) -> tuple[str, Any]:
        return f'goal_{kind}', message

    def _base_frame(self) -> str:
        return self._frame


def make_goal(options: argparse.Namespace, base: str = '',
              present: Sequence[float] | None = None) -> tuple[str, Any]:
    """
    Return the topic of a goal, and its message without a stamp.

    Parameters
    ----------
    base : str
        Frame of poses where none is given.
    present : 4 floats, optional
        Orientation x, y, z, w where none is given; by default that of the frame.

    Raises
    ------
    ParameterError
        If joint values or a file are not usable.
    OSError
        If a file cannot be read.

    """
    given = argparse.Namespace(**vars(options))
    given.orientation = _quaternion(options, '')
    for option in goal_options():
        value = getattr(options, option.field)
        if value is None:
            continue
        if option.value == 'pose':
            orientation = given.orientation or present or NO_ROTATION
            if option.with_xyz:
                orientation = _quaternion(options, f'{option.field}_') or orientation
            value = [*value, *orientation]
        elif option.value in VALUE_READERS:
            value = VALUE_READERS[option.value](value)
        setattr(given, option.field, value)
    goal: tuple[str, Any] = options.goal_option.send(GoalMessages(options.frame or base), given)
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
    """Return the goal of ``NAME=VALUE`` texts, or of one value per joint in the chain's order."""
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


def _quaternion(options: argparse.Namespace, prefix: str) -> Sequence[float] | None:
    """Return the orientation that the options with a prefix give; None if they give none."""
    rpy: Sequence[float] | None = getattr(options, f'{prefix}rpy')
    if not rpy:
        return getattr(options, f'{prefix}quat')
    if options.degrees:
        rpy = [*map(radians, rpy)]
    else:
        require_radians(rpy, f'--{prefix.replace("_", "-")}rpy', ', or --degrees')
    return tuple(map(float, quaternion_from_rpy(*rpy)))


VALUE_READERS: dict[str, Callable[[Any], Any]] = {
    'joint_positions': joint_goal,
    'joint_path_file': TaughtPath.read,
    'pose_file': poses_of,
    'chunk_file': read_timed_poses,
}


class Sender(Node):
    """Publishes one goal and collects the answers to it."""

    def __init__(self, target: str, topic: str, kind: type, keeps: tuple[Keep, ...] = ()) -> None:
        super().__init__('send_goal', start_parameter_services=False)
        self.answers: list[GoalValues] = []
        self._kind, self._keeps = topic.removeprefix('goal_'), keeps
        self.publisher = self.create_publisher(String, f'{target}/goal_{KEPT_KIND}', 10) \
            if keeps else self.create_publisher(kind, f'{target}/{topic}', 10)
        self.tip_poses: list[PoseStamped] = []
        self._tip_topic = f'{target}/tip_pose'
        self._expected = GoalAnswers(self, target)

    def tip_pose(self) -> PoseStamped | None:
        """Return the pose of the tip now; None if none comes."""
        listener = self.create_subscription(PoseStamped, self._tip_topic, self.tip_poses.append,
                                            BEST_EFFORT_QOS)
        wait_for(self, lambda: self.tip_poses, TIP_POSE_WAIT_S)
        self.destroy_subscription(listener)
        return self.tip_poses[-1] if self.tip_poses else None

    def send(self, goal: Any) -> None:
        """Stamp and publish the goal; its answers repeat the stamp."""
        goal.header.stamp = self.get_clock().now().to_msg()
        self._expected.expect(stamp_text(goal.header.stamp), self.answers.append)
        self.publisher.publish(kept_goal(KeptGoal(self._kind, goal, self._keeps))
                               if self._keeps else goal)


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    options = parse(sys.argv[1:] if argv is None else argv)
    try:
        keeps = kept_by(options)
        topic, goal = make_goal(options)
    except (IkNodeError, OSError) as error:
        print(f'send_goal: {error}', file=sys.stderr)
        sys.exit(2)
    run_tool('send_goal', partial(_run, goal=goal, options=options),
             lambda: Sender(options.node, topic, type(goal), keeps))


def kept_by(options: argparse.Namespace) -> tuple[Keep, ...]:
    """Return what the tip keeps on its way; raise ConstraintError if it cannot be used."""
    keeps = read_keeps([keep for text in options.keep for keep in read_keeps(text)])
    return keeps if options.keep_upright is None else (
        *keeps, upright(radians(options.keep_upright)))


def _completed(node: Sender, goal: Any, options: argparse.Namespace) -> Any:
    """Return the goal with the frame and the orientation that are not given; None if unknown."""
    turned = options.goal_option.orientation is not Orientation.OPTIONAL \
        or options.rpy or options.quat
    if isinstance(goal, JointState) and options.joints and options.degrees:
        return _in_radians(goal, options)
    if isinstance(goal, (JointState, JointTrajectory)) or turned and options.frame:
        return goal
    tip = node.tip_pose()
    if tip is None and not turned:
        print(f'send_goal: no pose of the tip came on {options.node}/tip_pose within '
              f'{TIP_POSE_WAIT_S:g} s, so that its orientation is not known; give --rpy or '
              '--quat, or ask ik_doctor why', file=sys.stderr)
        return None
    base = 'base_link' if tip is None else tip.header.frame_id
    keeps = not turned and options.frame in (None, base)
    if not turned:
        print('send_goal: without --rpy or --quat the tip '
              + ('keeps its orientation' if keeps else f'gets that of {quote(options.frame)}'),
              file=sys.stderr)
    return make_goal(options, base, quaternion_of(tip.pose.orientation) if keeps else None)[1]


def _in_radians(goal: JointState, options: argparse.Namespace) -> JointState:
    """Return a goal whose joints that turn are given in degrees."""
    from ik_node.client.arm import Arm
    with Arm(options.node, timeout=options.wait) as arm:
        names, turning = goal.name or arm.joint_names, arm.turning_joints
    return JointState(name=goal.name, position=[
        radians(value) if name in turning else value
        for name, value in zip(names, goal.position)] if len(names) == len(goal.position)
        else goal.position)


def _run(node: Sender, goal: Any, options: argparse.Namespace) -> int:
    there = greet(node, options.node, min(WAITING_NOTICE_S, options.wait), node.publisher)
    if not there and options.wait > WAITING_NOTICE_S:
        print(f'send_goal: waiting for {options.node} ...', file=sys.stderr)
        there = greet(node, options.node, options.wait - WAITING_NOTICE_S, node.publisher)
    if not there:
        print(f'send_goal: no node listens on {node.publisher.topic_name}; is it running, in '
              'this ROS_DOMAIN_ID and namespace (--node)?', file=sys.stderr)
        return 2
    goal = _completed(node, goal, options)
    if goal is None:
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
        print(json.dumps(plain_values(answer)))
    else:
        print(printable(f'{answer["state"]} ({answer["reason"]}): {answer["message"]}'))
    return 0 if answer['state'] == GoalState.REACHED.value else 1
