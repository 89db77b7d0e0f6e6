# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the demonstration observes on the ROS graph, as anybody else could."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from ik_node.motion.trajectory.controller_rules import seconds
from ik_node.node.state.health_checks import READY_TEXT
from ik_node.ros.messages.goal_answers import publish_stamped
from ik_node.ros.messages.joint_states import JointStates
from ik_node.ros.messages.status_messages import GoalState, is_final, values_of
from ik_node.ros.middleware.handshake import greet, wait_for
from ik_node.ros.middleware.qos import BEST_EFFORT_QOS, STATUS_QOS
from ik_node.tools.arguments.send_goal import parse
from ik_node.tools.send_goal import make_goal

JOINT_STATE_TIMEOUT_S = 10.0


class Witness(Node):
    """
    Observes joint states, diagnostics and answers to goals.

    Attributes
    ----------
    ours : set of str
        Stamps of the goals that this demonstration has sent.

    """

    def __init__(self) -> None:
        super().__init__('demo', start_parameter_services=False)
        self.states = JointStates()
        self.ours: set[str] = set()
        self._goals: dict[str, dict[str, str]] = {}  # stamp -> latest answer
        self._goal_publishers: dict[str, Publisher] = {}  # topic -> publisher
        self._taken = False  # somebody has dragged the handle, or ended a goal of ours
        self._health = ''
        self.create_subscription(DiagnosticStatus, 'ik_node/status', self._on_status, STATUS_QOS)
        self.create_subscription(DiagnosticStatus, 'ik_node/preview', self._on_preview, 1)
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)
        self.create_subscription(
            JointState, 'joint_states', self._on_joint_states, BEST_EFFORT_QOS)

    def ready(self) -> bool:
        """Return whether the node says that it is ready for goals."""
        return self._health.startswith(READY_TEXT)

    def taken_over(self) -> bool:
        """Return whether somebody else has sent a goal, stopped ours, or dragged the handle."""
        return self._taken or bool(self._goals.keys() - self.ours)

    def send(self, command: list[str]) -> str:
        """Publish the goal of a send_goal command; return its stamp."""
        topic, goal = make_goal(parse(command))
        if topic not in self._goal_publishers:
            self._goal_publishers[topic] = self.create_publisher(type(goal), f'ik_node/{topic}', 1)
            greet(self, 'ik_node', JOINT_STATE_TIMEOUT_S, self._goal_publishers[topic])
        stamp = publish_stamped(self, self._goal_publishers[topic], goal)
        self.ours.add(stamp)
        return stamp

    def final_answer(self, stamp: str) -> dict[str, str] | None:
        """Return the final answer to a goal, if there is one."""
        answer = self._goals.get(stamp)
        return answer if answer is not None and is_final(answer) else None

    def _on_status(self, message: DiagnosticStatus) -> None:
        values = values_of(message)
        self._goals[values['stamp']] = {**values, 'message': message.message}
        # Of our own goals each is sent after the end of the one before.
        self._taken |= values['state'] in (GoalState.SUPERSEDED, GoalState.STOPPED)

    def _on_preview(self, _message: DiagnosticStatus) -> None:
        self._taken = True

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == '/ik_node: health':
                self._health = status.message

    def fresh_positions(self, names: tuple[str, ...]) -> dict[str, float]:
        """Return joint positions; the stamps for `names` are newer than the call."""
        # An old message may have waited while this process waited for another one.
        called = 1e-9 * self.get_clock().now().nanoseconds
        wait_for(self, lambda: self.states.age(names, called) < 0.0, JOINT_STATE_TIMEOUT_S)
        return self.states.positions

    def _on_joint_states(self, message: JointState) -> None:
        self.states.take(message, seconds(message.header.stamp))
