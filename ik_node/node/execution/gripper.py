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
        self._sent: float | None = None  # the last opening of this goal
        self._task: GoalTask | None = None
        self._times, self._openings = np.empty(0), np.empty(0)
        self._done = -np.inf  # the time of the last one that was due
        self._timer = node.create_timer(LOOK_PERIOD_S, self._look, clock=steady_clock())
        self._timer.cancel()

    def follow(self, task: GoalTask, times: np.ndarray, openings: np.ndarray) -> None:
        """
        Send openings (k,) at monotonic times (k,), s, in place of those from the first on.

        Those before one that was sent are left out, but for the last: what is done is done.
        """
        left, first = self._times < times[0], min(
            int(np.searchsorted(times, self._done, side='right')), len(times) - 1)
        times, openings = times[first:], openings[first:]
        self._times = np.concatenate([self._times[left], times])
        self._openings = np.concatenate([self._openings[left], openings])
        self._task = task
        self._timer.reset()

    def _look(self) -> None:
        due = int(np.searchsorted(self._times, monotonic(), side='right'))
        if self._task.state is not GoalState.ACCEPTED:
            due = len(self._times)  # what is left is not sent any more
        elif due:
            self._done = float(self._times[due - 1])
            if not self._listens():
                self._node.get_logger().warning(
                    f'the openings of the chunks go to {quote(self._name)}, where nobody listens; '
                    'set chunk.gripper', throttle_duration_sec=60.0)
            opening = float(self._openings[due - 1])
            if self._sent is None or abs(opening - self._sent) > SAME_OPENING:
                self._sent = opening if self._send(opening) else None
        self._times, self._openings = self._times[due:], self._openings[due:]
        if not len(self._times):
            self._timer.cancel()
            self._sent = None  # it may be moved otherwise until the next ones


def _topic(node: Node, name: str) -> tuple[Callable[[float], bool], Callable[[], bool]]:
    """Return what publishes an opening, again and again, and whether anybody listens."""
    publisher = node.create_publisher(Float64MultiArray, name, 1)

    def send(opening: float) -> bool:
        publisher.publish(Float64MultiArray(data=[opening]))
        return False

    return send, lambda: publisher.get_subscription_count() > 0


def _action(node: Node, name: str) -> tuple[Callable[[float], bool], Callable[[], bool]]:
    """Return what sends an opening as a goal, if it can be, and whether anybody serves it."""
    try:
        from control_msgs.action import GripperCommand
    except ImportError:
        raise ParameterError(f'chunk.gripper is the action {quote(name)}, which needs the ROS '
                             'package control_msgs, which is not installed here: '
                             f'{how_to_install("control_msgs")}') from None
    client = ActionClient(node, GripperCommand, name)

    def send(opening: float) -> bool:
        if not client.server_is_ready():
            return False
        goal = GripperCommand.Goal()
        goal.command.position = opening
        client.send_goal_async(goal)
        return True

    return send, client.server_is_ready
