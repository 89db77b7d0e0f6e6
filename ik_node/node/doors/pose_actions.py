# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Goals to poses as actions with feedback, of the types of Nav2, for behaviour trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any

from nav_msgs.msg import Path
import numpy as np
from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.duration import Duration
from rclpy.node import Node

from ik_node.base.errors import ConstraintError, GoalError, IkNodeError, Reason
from ik_node.kinematics.arm import forward_kinematics
from ik_node.motion.constrained.keep import read_keeps
from ik_node.motion.trajectory.sampling import TipWay
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.node.goals.goal import GoalTask, Steps
from ik_node.node.intake.context import NodeContext
from ik_node.node.intake.goal_starter import GoalStarter
from ik_node.node.robot.robot import Robot
from ik_node.ros.messages.conversion import pose_stamped
from ik_node.ros.messages.status_messages import GoalState
from ik_node.ros.middleware.clocks import steady_clock


class AnsweredActionServer(ActionServer):
    """
    Accepts every goal, begins it by a callback, and ends it by :meth:`answer`.

    rclpy expects a callback that returns the result, which would have to wait in it.

    Parameters
    ----------
    node : Node
    kind : type
        Of the action.
    name : str
    begin : callable
        Called with the handle of each new goal, whose state is EXECUTING.
    cancel : callable
        Called with the handle of a goal that is to be cancelled, once its state is CANCELING.

    """

    def __init__(self, node: Node, kind: Any, name: str,
                 begin: Callable[[ServerGoalHandle], None],
                 cancel: Callable[[ServerGoalHandle], None]) -> None:
        self._begin, self._cancel, self._owner = begin, cancel, node
        super().__init__(node, kind, name, execute_callback=lambda handle: kind.Result(),
                         handle_accepted_callback=self._on_accepted,
                         cancel_callback=self._on_cancel)

    def _on_accepted(self, handle: ServerGoalHandle) -> None:
        handle.execute()
        self._begin(handle)

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        # The state is CANCELING only after this returns.
        self._owner.executor.create_task(self._cancel, handle)
        return CancelResponse.ACCEPT

    def notify_execute(self, goal_handle: ServerGoalHandle, execute_callback: Any) -> None:
        """Do nothing: a goal ends by :meth:`answer`."""

    def answer(self, handle: ServerGoalHandle, result: Any, success: bool) -> None:
        """
        End a goal with its result: succeeded or, without success, canceled or aborted.

        A goal ends as canceled if that was asked for.
        """
        def end(handle: ServerGoalHandle) -> Any:
            if success:
                handle.succeed()
            elif handle.is_cancel_requested:
                handle.canceled()
            else:
                handle.abort()
            return result

        super().notify_execute(handle, end)

    def tell(self, handle: ServerGoalHandle, **feedback: Any) -> None:
        """Publish feedback of a goal."""
        handle.publish_feedback(self.action_type.Feedback(**feedback))


PROGRESS_PERIOD_S = 0.1  # of the feedback
UNNAMED_ERROR_CODE = 9000  # UNKNOWN of later versions
CODE_NAMES_BY_REASON = {Reason.FRAME_MISSING: 'TF_ERROR', Reason.FRAME_UNKNOWN: 'TF_ERROR',
                        Reason.DEADLINE: 'TIMEOUT'}

Begin = Callable[[Any, GoalTask, Robot], tuple[np.ndarray, Steps]]


@dataclass(eq=False)
class OpenGoal:
    """A goal without its result."""

    server: AnsweredActionServer
    handle: ServerGoalHandle
    task: GoalTask
    began: float  # monotonic time (s) at which it came
    points: np.ndarray  # (k, 3), positions in the base frame (m) that the tip has to pass
    sent: Trajectory | None = None  # the trajectory that `way` belongs to
    way: TipWay | None = None
    # (k,), when the tip passes each of the points, s on that trajectory
    passed: np.ndarray | None = None


class PoseActions:
    """
    Offers ``~/move_to_pose`` and ``~/move_through_poses``, where nav2_msgs is installed.

    Their goals are handled as goals of the topics ``~/goal_pose`` and ``~/goal_path``.
    """

    def __init__(self, context: NodeContext, starter: GoalStarter) -> None:
        node = context.node
        try:
            from nav2_msgs.action import NavigateThroughPoses, NavigateToPose
        except ImportError:
            node.get_logger().debug('no ~/move_to_pose: nav2_msgs is not installed')
            return
        self._node, self._robot_slot, self._arm = node, context.robot_slot, context.arm
        self._conversion, self._goals, self._starter = context.conversion, context.goals, starter
        self._ramps, self._prefix = context.ramps, context.options.frame_prefix
        self._open: dict[bytes, OpenGoal] = {}
        self._serve(NavigateToPose, '~/move_to_pose', 'pose', self._to_pose)
        self._serve(NavigateThroughPoses, '~/move_through_poses', 'path', self._through_poses)
        self._timer = node.create_timer(PROGRESS_PERIOD_S, self._tell, clock=steady_clock())
        self._timer.cancel()

    def _serve(self, action: Any, name: str, kind: str, begin: Begin) -> None:
        server = AnsweredActionServer(self._node, action, name,
                                      lambda handle: self._on_goal(server, handle, kind, begin),
                                      self._on_cancel)

    def _on_goal(self, server: AnsweredActionServer, handle: ServerGoalHandle, kind: str,
                 begin: Begin) -> None:
        key = bytes(handle.goal_id.uuid)

        def on_final(task: GoalTask, reason: Reason, sentence: str) -> None:
            del self._open[key]
            server.answer(handle, _result(server.action_type.Result(), task, reason, sentence),
                          task.state is GoalState.REACHED)

        def start() -> Steps:
            try:
                task.plan.keeps = read_keeps(handle.request.behavior_tree)
            except ConstraintError as error:
                raise GoalError('behavior_tree must be empty, as this node has none, or what the '
                                f'tip keeps on its way: {error}', Reason.CALL_INVALID) from None
            goal.points, steps = begin(handle.request, task, self._robot_slot.require())
            return steps

        task = self._goals.new(self._node.get_clock().now().to_msg(), kind, on_final=on_final)
        goal = self._open[key] = OpenGoal(server, handle, task, monotonic(), np.empty((0, 3)))
        self._timer.reset()
        self._goals.attempt(task, start)

    def _to_pose(self, request: Any, task: GoalTask, robot: Robot) -> tuple[np.ndarray, Steps]:
        steps = self._starter.begin['pose'](request.pose, task, robot)
        return task.plan.goal.T_base_tip[None, :3, 3], steps

    def _through_poses(self, request: Any, task: GoalTask, robot: Robot
                       ) -> tuple[np.ndarray, Steps]:
        poses = getattr(request.poses, 'goals', request.poses)  # jazzy: without a header
        path = Path(poses=poses, header=poses[0].header) if poses else Path()
        points = self._conversion.path(path, robot)[:, :3, 3]
        return points, self._starter.begin['path'](path, task, robot)

    def _on_cancel(self, handle: ServerGoalHandle) -> None:
        """Bring the arm to rest, if it moves for this goal."""
        goal = self._open.get(bytes(handle.goal_id.uuid))
        if goal is not None:
            self._ramps.cancel(goal.task, 'cancelled by its client')

    # ---- feedback -----------------------------------------------------------

    def _tell(self) -> None:
        robot = self._robot_slot.robot
        for goal in [*self._open.values()]:
            if robot is not None and goal.task is self._goals.current:
                self._tell_of(goal, robot)
        if not self._open:
            self._timer.cancel()

    def _tell_of(self, goal: OpenGoal, robot: Robot) -> None:
        """Publish the feedback of the goal for which the arm moves."""
        try:
            q, _ = self._arm.measured(robot)
        except IkNodeError:
            return
        feedback = goal.server.action_type.Feedback()
        feedback.current_pose = pose_stamped(forward_kinematics(robot.chain, q),
                                             self._prefix + robot.chain.base_link)
        feedback.current_pose.header.stamp = self._node.get_clock().now().to_msg()
        feedback.navigation_time = Duration(seconds=monotonic() - goal.began).to_msg()
        paused = goal.task.execution.paused
        trajectory = goal.task.execution.trajectory if paused is None else paused.trajectory
        if trajectory is not None:
            if trajectory is not goal.sent:
                goal.sent, goal.way = trajectory, TipWay(robot.chain, trajectory)
                goal.passed = goal.way.passed_at(goal.points) if len(goal.points) else None
            elapsed = paused.place if paused is not None else \
                0.0 if robot.active is None else monotonic() - robot.active.began
            time, way = goal.way.left(elapsed)
            feedback.estimated_time_remaining = Duration(seconds=time).to_msg()
            feedback.distance_remaining = way
            if goal.passed is not None and hasattr(feedback, 'number_of_poses_remaining'):
                feedback.number_of_poses_remaining = int((goal.passed > elapsed).sum())
        goal.handle.publish_feedback(feedback)


def _result(result: Any, task: GoalTask, reason: Reason, sentence: str) -> Any:
    """Fill in what a result has: older versions of nav2_msgs have no error_code or error_msg."""
    if task.state is not GoalState.REACHED and hasattr(result, 'error_code'):
        name = CODE_NAMES_BY_REASON.get(reason, 'UNKNOWN')
        # Jazzy names no code but NONE.
        result.error_code = getattr(result, name, getattr(result, 'UNKNOWN', UNNAMED_ERROR_CODE))
    if hasattr(result, 'error_msg'):
        result.error_msg = sentence if task.state is GoalState.REACHED \
            else f'{reason.value}: {sentence}'
    return result
