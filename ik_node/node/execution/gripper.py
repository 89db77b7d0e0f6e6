# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Openings of a gripper, passed through when their time has come."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import numpy as np
from rclpy.action import ActionClient
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from ik_node.base.errors import ParameterError
from ik_node.base.system import how_to_install
from ik_node.base.text import quote
from ik_node.node.goals.goal import GoalTask
from ik_node.ros.messages.status_messages import GoalState
from ik_node.ros.middleware.clocks import steady_clock

ACTION_SUFFIX = 'gripper_cmd'  # of the actions of gripper controllers
LOOK_PERIOD_S = 0.01
SAME_OPENING = 1e-5  # m or rad; an action is not sent again for less


class Gripper:
    """
    Sends openings, each at its time, as long as the goal that they belong to is under way.

    Parameters
    ----------
    name : str
        A topic of std_msgs/Float64MultiArray, or an action control_msgs/GripperCommand if it ends
        with ACTION_SUFFIX.

    Raises
    ------
    ParameterError
        If it is an action, and control_msgs is not installed.

    """

    def __init__(self, node: Node, name: str) -> None:
        self._node, self._name = node, name
        self._send, self._listens = _action(node, name) if name.endswith(ACTION_SUFFIX) \
            else _topic(node, name)
        self._task: GoalTask | None = None
        self._times, self._openings = np.empty(0), np.empty(0)
        self._timer = node.create_timer(LOOK_PERIOD_S, self._look, clock=steady_clock())
        self._timer.cancel()

    def follow(self, task: GoalTask, times: np.ndarray, openings: np.ndarray) -> None:
        """Send openings (k,) at monotonic times (k,), s, in place of those from the first on."""
        left = self._times < times[0]
        self._times = np.concatenate([self._times[left], times])
        self._openings = np.concatenate([self._openings[left], openings])
        self._task = task
        self._timer.reset()

    def _look(self) -> None:
        due = int(np.searchsorted(self._times, monotonic(), side='right'))
        if self._task.state is not GoalState.ACCEPTED:
            due = len(self._times)  # what is left is not sent any more
        elif due:
            if not self._listens():
                self._node.get_logger().warning(
                    f'the openings of the chunks go to {quote(self._name)}, where nobody listens; '
                    'set chunk.gripper', throttle_duration_sec=60.0)
            self._send(float(self._openings[due - 1]))
        self._times, self._openings = self._times[due:], self._openings[due:]
        if not len(self._times):
            self._timer.cancel()


def _topic(node: Node, name: str) -> tuple[Callable[[float], None], Callable[[], bool]]:
    """Return what publishes an opening, and whether anybody listens."""
    publisher = node.create_publisher(Float64MultiArray, name, 1)
    return (lambda opening: publisher.publish(Float64MultiArray(data=[opening])),
            lambda: publisher.get_subscription_count() > 0)


def _action(node: Node, name: str) -> tuple[Callable[[float], None], Callable[[], bool]]:
    """Return what sends an opening as a goal, and whether anybody serves the action."""
    try:
        from control_msgs.action import GripperCommand
    except ImportError:
        raise ParameterError(f'chunk.gripper is the action {quote(name)}, which needs the ROS '
                             'package control_msgs, which is not installed here: '
                             f'{how_to_install("control_msgs")}') from None
    client, sent = ActionClient(node, GripperCommand, name), [np.inf]

    def send(opening: float) -> None:
        if abs(opening - sent[0]) > SAME_OPENING and client.server_is_ready():
            sent[0] = opening
            goal = GripperCommand.Goal()
            goal.command.position = opening
            client.send_goal_async(goal)

    return send, client.server_is_ready
