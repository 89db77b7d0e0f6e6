# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Stops by ``~/stop``, which is answered, and by ``~/halt``, which may be repeated."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from std_msgs.msg import Empty
from std_srvs.srv import Trigger

from ik_node.base.errors import IkNodeError, Reason
from ik_node.node.execution.motion import Motion
from ik_node.node.goals.goal_queue import GoalQueue
from ik_node.node.goals.goal_status import GoalTask
from ik_node.node.intake.goal_subscriptions import GoalSubscriptions
from ik_node.node.state.send_order import SendTime
from ik_node.ros.middleware.message_origin import MessageInfo, request_origin, tell_origin
from ik_node.ros.middleware.qos import BEST_EFFORT_QOS

STOP_SENTENCE = 'stopped by request'


class Stopping:
    """
    Brings the arm to rest, and answers the goals that were sent before the stop.

    What was sent after it goes on, so that a stop that comes late, or again, ends no goal that
    its sender did not know.  An arm that comes to rest already is left to it.
    """

    def __init__(self, node: Node, goals: GoalQueue, motion: Motion, intake: GoalSubscriptions
                 ) -> None:
        self._node = node
        self._goals = goals
        self._motion = motion
        self._intake = intake
        # Lost ones are not sent again by the middleware, but by their sender, at once.
        tell_origin(node.create_subscription(Empty, '~/halt', self._on_halt, BEST_EFFORT_QOS))
        node.create_service(Trigger, '~/stop', self._on_stop)

    def _on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        sent_at = self._goals.precedence.of_request(*request_origin(self._node, request))
        stops = self._stops(sent_at)
        try:
            response.message = self._motion.stop(Reason.STOPPED, STOP_SENTENCE, stops)
            response.success = True
        except IkNodeError as error:
            response.success, response.message = False, str(error)
            self._node.get_logger().error(f'stop: {error}', throttle_duration_sec=1.0)
        self._intake.stop(Reason.STOPPED, STOP_SENTENCE, stops)
        return response

    def _on_halt(self, _message: Empty, info: MessageInfo) -> None:
        stops = self._stops(self._goals.precedence.of_message(info))
        try:
            self._motion.stop(Reason.STOPPED, STOP_SENTENCE, stops)
        except IkNodeError as error:
            self._node.get_logger().error(f'halt: {error}', throttle_duration_sec=1.0)

    def _stops(self, sent_at: SendTime) -> Callable[[GoalTask], bool]:
        """Note a stop; return whether it is for a goal."""
        precedence = self._goals.precedence
        precedence.stopped(sent_at)
        return lambda task: precedence.is_before(task.sent_at, sent_at)
