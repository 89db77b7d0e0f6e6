# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A thin client of the action follow_joint_trajectory.

The type comes from control_msgs, where it is installed; nothing else here needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from builtin_interfaces.msg import Duration
from rclpy.action import ActionClient
from rclpy.node import Node
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectory

from ik_node.base.errors import ParameterError, Reason, TrajectoryError
from ik_node.base.system import how_to_install
from ik_node.motion.action_goal import conclusion, Execution
from ik_node.motion.change.monitor import Verdict

ACTION_NAME = 'follow_joint_trajectory'


def action_type() -> Any:
    """Return control_msgs' FollowJointTrajectory; None where control_msgs is not installed."""
    try:
        from control_msgs.action import FollowJointTrajectory
    except ImportError:
        return None
    return FollowJointTrajectory


class TrajectoryAction:
    """
    Sends trajectories as goals of an action; the newest counts.

    It does not use the topic: a message there during a goal would replace the path
    without a word.

    Parameters
    ----------
    node : Node
    name : str
        Of the action.
    on_end : callable
        Called once with the Verdict of a goal that was sent, unless a newer one
        has been sent since.
    kind : type, optional
        FollowJointTrajectory, or a type with its fields.

    Raises
    ------
    ParameterError
        If control_msgs is not installed.

    """

    def __init__(self, node: Node, name: str, on_end: Callable[[Verdict], None],
                 kind: Any = None) -> None:
        self._kind = action_type() if kind is None else kind
        if self._kind is None:
            raise ParameterError('the output "action" needs the ROS package control_msgs, which '
                                 f'is not installed here: {how_to_install("control_msgs")}; or '
                                 'set the output to "topic"')
        self._client = ActionClient(node, self._kind, name)
        self._name = node.resolve_topic_name(name)
        self._on_end = on_end
        self._execution: Execution | None = None
        self._handle: Any = None
        # The latest message of the present goal: desired, actual, error.
        self.feedback: Any = None
        # Of a joint in all feedback of the present goal, rad or m.
        self.largest_error: float | None = None

    @property
    def name(self) -> str:
        """Return the full name of the action."""
        return self._name

    def server_is_ready(self) -> bool:
        """Return whether a server is there."""
        return self._client.server_is_ready()

    def require_server(self) -> None:
        """Raise a TrajectoryError, NO_LISTENER, if no server is there."""
        if not self.server_is_ready():
            raise TrajectoryError(
                f'nobody serves the action {self._name}; start the controller, or name it by '
                'the parameter controller', Reason.NO_LISTENER)

    def send(self, message: JointTrajectory, goal_time: float = 0.0) -> Execution:
        """
        Send a trajectory; an active goal is preempted by it, and no longer reported.

        Parameters
        ----------
        message : JointTrajectory
        goal_time : float
            s after its end by which the arm must be at the goal; 0: as the
            controller is set, which may mean for ever.

        Raises
        ------
        TrajectoryError
            If no server is there.

        """
        self.require_server()
        whole = int(goal_time)
        goal = self._kind.Goal(trajectory=message, goal_time_tolerance=Duration(
            sec=whole, nanosec=int(1e9 * (goal_time - whole))))
        self.feedback = self._handle = self.largest_error = None
        execution = self._execution = Execution()

        def on_feedback(received: Any) -> None:
            if execution is self._execution:
                self.feedback = received.feedback
                self.largest_error = max([self.largest_error or 0.0,
                                          *map(abs, self.feedback.error.positions)])

        def on_answer(future: Future) -> None:
            handle = future.result()
            execution.answered(handle.accepted)
            if not handle.accepted:
                self._report(execution)
                return
            if execution is self._execution:
                self._handle = handle
                if execution.cancelling:
                    handle.cancel_goal_async()
            handle.get_result_async().add_done_callback(on_result)

        def on_result(future: Future) -> None:
            answer = future.result()
            if execution.end(conclusion(answer.status, answer.result.error_code,
                                        answer.result.error_string)):
                self._report(execution)

        self._client.send_goal_async(goal, on_feedback).add_done_callback(on_answer)
        return execution

    def cancel(self) -> bool:
        """Ask to give the present goal up; return whether there is one.  Its end follows."""
        if self._execution is None or self._execution.verdict is not None:
            return False
        if not self._execution.cancelling:
            self._execution.cancelling = True
            if self._handle is not None:
                self._handle.cancel_goal_async()
        return True

    def _report(self, execution: Execution) -> None:
        if execution is self._execution:
            self._on_end(execution.verdict)
