# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Action server follow_joint_trajectory of the simulated controller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectoryPoint

from ik_node.motion.action_goal import ActiveGoal, GoalStatus
from ik_node.motion.trajectory.trajectory import MotionState
from ik_node.ros.action_client import ACTION_NAME
from ik_node.simulation.controller import Feedback, SimulatedController

RESULT_TIMEOUT_S = 10  # for which the server keeps a result


class TrajectoryServer:
    """
    Serves the action for a simulated controller.

    rclpy executes the handle of a goal only when the goal has ended, because a waiting
    coroutine would keep the executor busy; until then its status is ACCEPTED.

    Parameters
    ----------
    offer : callable
        Takes a trajectory and its ActiveGoal; returns why it is rejected, or None.
    cancel : callable
        Cancels an ActiveGoal.

    """

    def __init__(self, node: Node, kind: Any, offer: Callable[[Any, ActiveGoal], str | None],
                 cancel: Callable[[ActiveGoal], None]) -> None:
        self._kind = kind
        self._node = node
        self._offer = offer
        self._cancel = cancel
        self._open: list[tuple[Any, ActiveGoal]] = []
        self._ended: dict[bytes, ActiveGoal] = {}
        self._offered: ActiveGoal | None = None
        self._server = ActionServer(
            node, kind, ACTION_NAME, execute_callback=self._finish, goal_callback=self._on_goal,
            handle_accepted_callback=self._on_accepted,
            # update() cancels the goal once the handle is cancelling.
            cancel_callback=lambda handle: CancelResponse.ACCEPT, result_timeout=RESULT_TIMEOUT_S)

    def _on_goal(self, goal: Any) -> GoalResponse:
        offered = ActiveGoal(goal)
        if self._offer(goal.trajectory, offered) is not None:
            return GoalResponse.REJECT
        self._offered = offered
        return GoalResponse.ACCEPT

    def _on_accepted(self, handle: Any) -> None:
        self._open.append((handle, self._offered))

    def update(self, controller: SimulatedController) -> None:
        """Publish the feedback of the last cycle and the results of goals that have ended."""
        for handle, goal in self._open[:]:
            if goal.outcome is None and handle.is_cancel_requested:
                self._cancel(goal)
            if goal.outcome is not None:
                self._open.remove((handle, goal))
                self._ended[bytes(handle.goal_id.uuid)] = goal
                handle.execute()
            elif controller.feedback is not None and controller.is_judging(goal):
                handle.publish_feedback(self._feedback(controller.joints, controller.feedback))

    def _finish(self, handle: Any) -> Any:
        status, code, text = self._ended.pop(bytes(handle.goal_id.uuid)).outcome
        {GoalStatus.SUCCEEDED: handle.succeed, GoalStatus.ABORTED: handle.abort,
         GoalStatus.CANCELED: handle.canceled}[status]()
        return self._kind.Result(error_code=int(code), error_string=text)

    def _feedback(self, joints: tuple[str, ...], feedback: Feedback) -> Any:
        message = self._kind.Feedback(joint_names=list(joints))
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.desired = _point(feedback.desired)
        message.actual = _point(feedback.actual)
        message.error = JointTrajectoryPoint(positions=feedback.error.tolist())
        return message


def _point(state: MotionState) -> JointTrajectoryPoint:
    return JointTrajectoryPoint(positions=state.q.tolist(), velocities=state.qd.tolist(),
                                accelerations=state.qdd.tolist())
