# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Send one goal pose to a running node, wait, and print what became of it."""

from __future__ import annotations

import argparse
import json
import sys

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node

from ik_node.ros.greeting import greet, wait_for
from ik_node.ros.process import leave
from ik_node.ros.rotations import quaternion_from_rpy
from ik_node.ros.status import GoalState, STATUS_QOS

NOTICE_AFTER = 4.0  # s; discovery may take 3


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog='send_goal', description=__doc__,
        epilog='exit code: 0 reached, 1 not reached, 2 wrong usage or no node')
    parser.add_argument('--xyz', nargs=3, type=float, required=True, metavar=('X', 'Y', 'Z'),
                        help='position of the tip, m')
    turn = parser.add_mutually_exclusive_group()
    turn.add_argument('--rpy', nargs=3, type=float, metavar=('ROLL', 'PITCH', 'YAW'),
                      help='orientation by fixed-axis angles, rad (default 0 0 0)')
    turn.add_argument('--quat', nargs=4, type=float, metavar=('X', 'Y', 'Z', 'W'),
                      help='orientation by a quaternion')
    parser.add_argument('--frame', default='base_link',
                        help='frame of the pose: a link or a TF frame (default base_link)')
    parser.add_argument('--node', default='ik_node',
                        help='name of the node, with its namespace if it has one')
    parser.add_argument('--wait', type=float, default=30.0, metavar='S',
                        help='how long to wait for the node, s (default 30)')
    parser.add_argument('--timeout', type=float, default=60.0, metavar='S',
                        help='how long to wait for the answer, s (default 60)')
    parser.add_argument('--json', action='store_true', help='print the answer as one JSON line')
    return parser.parse_args(argv)


class Sender(Node):
    """Publishes one goal and keeps the answers to it."""

    def __init__(self, target: str) -> None:
        super().__init__('send_goal', start_parameter_services=False)
        self.answers: list[dict[str, str]] = []
        self._stamp = ''
        self.publisher = self.create_publisher(PoseStamped, f'{target}/goal_pose', 10)
        self.subscription = self.create_subscription(
            DiagnosticStatus, f'{target}/status', self._on_status, STATUS_QOS)

    def send(self, goal: PoseStamped) -> None:
        """Stamp and publish the goal; the stamp is how its answers are known."""
        goal.header.stamp = self.get_clock().now().to_msg()
        self._stamp = f'{goal.header.stamp.sec}.{goal.header.stamp.nanosec:09d}'
        self.publisher.publish(goal)

    def _on_status(self, message: DiagnosticStatus) -> None:
        values = {pair.key: pair.value for pair in message.values}
        if values.get('stamp') == self._stamp:
            self.answers.append({**values, 'message': message.message})


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    options = parse(sys.argv[1:] if argv is None else argv)
    goal = PoseStamped()
    goal.header.frame_id = options.frame
    p, o = goal.pose.position, goal.pose.orientation
    p.x, p.y, p.z = options.xyz
    o.x, o.y, o.z, o.w = options.quat or map(float, quaternion_from_rpy(*(options.rpy
                                                                         or (0.0, 0.0, 0.0))))
    rclpy.init()
    node = Sender(options.node)
    try:
        code = _run(node, goal, options)
    except (KeyboardInterrupt, ExternalShutdownException):
        code = 130
    leave(node if rclpy.ok() else None, code)


def _run(node: Sender, goal: PoseStamped, options: argparse.Namespace) -> int:
    there = greet(node, options.node, min(NOTICE_AFTER, options.wait))
    if not there and options.wait > NOTICE_AFTER:
        print(f'send_goal: waiting for {options.node} ...', file=sys.stderr)
        there = greet(node, options.node, options.wait - NOTICE_AFTER)
    if not there:
        print(f'send_goal: no node listens on {node.publisher.topic_name}; is it running, in '
              'this ROS_DOMAIN_ID and namespace (--node)?', file=sys.stderr)
        return 2
    node.send(goal)
    final = {state.value for state in GoalState} - {GoalState.ACCEPTED.value}
    if not wait_for(node, lambda: bool(node.answers) and node.answers[-1]['state'] in final,
                    options.timeout):
        heard = node.answers[-1]['message'] if node.answers else 'nothing'
        print(f'send_goal: no final answer within {options.timeout:g} s; the last was: {heard}',
              file=sys.stderr)
        return 1
    answer = node.answers[-1]
    if options.json:
        print(json.dumps(answer))
    else:
        print(f'{answer["state"]} ({answer["reason"]}): {answer["message"]}')
    return 0 if answer['state'] == GoalState.REACHED.value else 1
