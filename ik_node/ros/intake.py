# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the messages of users become: checked, brought into the base link, solved, begun."""

from __future__ import annotations

from builtin_interfaces.msg import Time as TimeMessage
from geometry_msgs.msg import PoseStamped
import numpy as np
from rclpy.node import Node
from rclpy.time import Time

from ik_node.errors import GoalError, Reason
from ik_node.ros.arm_state import ArmState
from ik_node.ros.frames import Frames
from ik_node.ros.goals import Goals
from ik_node.ros.health import Health
from ik_node.ros.messages import matrix_from_pose
from ik_node.ros.motion import Motion
from ik_node.ros.robot import RobotHolder
from ik_node.ros.status import GoalTask
from ik_node.solver.goal import Goal
from ik_node.trajectory.settings import Settings

FUTURE_SLACK = 0.5  # s, clocks of two machines
GOAL_DEPTH = 1000


class Intake:
    """Takes goals, each to its answer."""

    def __init__(self, node: Node, holder: RobotHolder, arm: ArmState, frames: Frames,
                 goals: Goals, motion: Motion, health: Health) -> None:
        self._node = node
        self._holder = holder
        self._arm = arm
        self._frames = frames
        self._goals = goals
        self._motion = motion
        self._health = health
        node.create_subscription(PoseStamped, '~/goal_pose', self._on_goal_pose, GOAL_DEPTH)

    def _on_goal_pose(self, message: PoseStamped) -> None:
        task = self._goals.new(message.header.stamp)

        def take() -> None:
            robot = self._holder.require()
            stamp = self._checked_stamp(message.header.stamp, robot.settings)
            T_frame_tip = matrix_from_pose(message.pose)
            T_base_frame = self._frames.pose_of(
                message.header.frame_id, stamp, robot.tree, robot.chain.base_link,
                self._arm.joints.positions)
            task.goal = Goal(T_base_frame @ T_frame_tip)
            self._solve(task)

        self._goals.attempt(task, take)

    def home(self) -> GoalTask:
        """Go to the preferred posture; return the task, which may have ended already."""
        task = self._goals.new(self._node.get_clock().now().to_msg())

        def go() -> None:
            task.q_goal = self._holder.require().settings.solver.preferred.copy()
            self._motion.to_joints(task)

        self._goals.attempt(task, go)
        return task

    def _checked_stamp(self, message: TimeMessage, settings: Settings) -> Time:
        now = self._node.get_clock().now()
        if message.sec < 0:
            raise GoalError('the stamp of the goal is negative; set it to now, or to 0',
                            Reason.GOAL_STALE)
        stamp = Time.from_msg(message, clock_type=now.clock_type)
        if now.nanoseconds == 0:
            raise GoalError('use_sim_time is true, but no time has arrived on /clock',
                            Reason.CLOCK_STOPPED)
        if stamp.nanoseconds == 0:
            if self._health.was_paused():
                raise GoalError('the goal has no stamp, and this process was stopped for a while, '
                                'so it may be old; send it again', Reason.GOAL_STALE)
            return stamp
        age = 1e-9 * (now - stamp).nanoseconds
        if age > settings['goal.max_age']:
            raise GoalError(f'the goal is {age:.1f} s old by its stamp, at most '
                            f'{settings["goal.max_age"]:g} s are allowed; set the stamp to now, '
                            'or to 0', Reason.GOAL_STALE)
        if age < -FUTURE_SLACK:
            raise GoalError(f'the stamp of the goal is {-age:.1f} s in the future; do the clocks '
                            'agree?', Reason.GOAL_FROM_FUTURE)
        return stamp

    def _solve(self, task: GoalTask) -> None:
        """Solve for ``task.goal`` and move there."""
        robot = self._holder.require()
        q, _ = self._arm.measured(robot)
        seeds = [q] if robot.last_answer is None else [q, robot.last_answer]
        result = robot.settings.solver.solve(task.goal, np.array(seeds))
        self._health.solve_times.append(result.time)
        task.figures |= {
            'solve_time_ms': f'{1e3 * result.time:.3f}', 'restarts': result.restarts,
            'iterations': result.iterations, 'solution': result.status.value,
            'position_error_m': f'{result.position_error:.3e}',
            'orientation_error_rad': f'{result.orientation_error:.3e}'}
        if not result.success:
            raise GoalError(result.message, result.status)
        task.figures |= {
            'q': ' '.join(f'{value:.9f}' for value in result.q),
            'limit_margin': f'{result.limit_margin:.4f}',
            'smallest_singular_value': f'{result.smallest_singular_value:.4f}'}
        robot.last_answer = task.q_goal = result.q
        self._motion.to_joints(task)
