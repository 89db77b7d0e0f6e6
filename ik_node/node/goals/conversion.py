# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Conversion of goal messages: to goals in the base link, and to solutions."""

from __future__ import annotations

from collections import deque
from time import monotonic, thread_time
from typing import Any

from geometry_msgs.msg import PointStamped, Pose, PoseStamped, PoseWithCovarianceStamped
from nav_msgs.msg import Path
import numpy as np
from rclpy.node import Node
from rclpy.time import Time
from std_msgs.msg import Header

from ik_node.base.errors import Reason
from ik_node.kinematics.arm import link_pose
from ik_node.motion.constrained.constraint import PathConstraint
from ik_node.motion.constrained.keep import START_FRAME
from ik_node.motion.requests import RemedyRequest, Rounds, SolveRequest
from ik_node.node.goals.goal import GoalTask, Plan
from ik_node.node.robot.robot import Robot
from ik_node.node.state.arm_state import ArmState
from ik_node.node.state.frames import Frames
from ik_node.ros.messages.conversion import (
    matrices_from_poses,
    matrix_from_pose,
    position_from_point,
    quaternion_norm,
    tolerance_from_covariance,
)
from ik_node.solver.branches import EXACT_AXES
from ik_node.solver.goal import Goal
from ik_node.solver.remedies.remedy import remedy_values, with_best
from ik_node.solver.remedies.remedy_search import REMEDIED_REASONS
from ik_node.solver.result import Result

REMEDY_TIME_S = 0.015  # of the processor, to look for what would make a refused goal possible
FEW_AXES_REASONS = Reason.ORIENTATION_OUT_OF_REACH, Reason.NO_SOLUTION
MAX_KEPT_SOLVES = 1000
NORM_ROUNDING = 1e-3  # error of the norm of a quaternion that is written with three digits


class GoalConversion:
    """Transforms goals into the base link, and solves them from the present joint positions."""

    def __init__(self, node: Node, arm: ArmState, frames: Frames) -> None:
        self._node = node
        self._arm = arm
        self._frames = frames
        # Of the last goals: when (monotonic, s) they were solved, and how long (s) that took.
        self.solves: deque[tuple[float, float]] = deque(maxlen=MAX_KEPT_SOLVES)

    def goal(self, kind: str, header: Header, message: PoseStamped | PointStamped,
             robot: Robot) -> Goal:
        """
        Return the goal of a message of kind pose, pointing or position, in the frame of `header`.

        Raises
        ------
        GoalError, StateError, NotYet
            As :func:`matrix_from_pose` and :meth:`Frames.pose_of`.

        """
        if kind == 'position':
            p = position_from_point(message.point)
            T_base_frame = self.frame(header, robot)
            return Goal.position(T_base_frame[:3, :3] @ p + T_base_frame[:3, 3])
        T_base_tip = self.pose(header, message.pose, robot)
        return Goal(T_base_tip) if kind == 'pose' else Goal.pointing(T_base_tip)

    def region(self, message: PoseWithCovarianceStamped, robot: Robot) -> Goal:
        """Return the goal of a pose within tolerances; errors as :meth:`goal`, GOAL_TOLERANCE."""
        tolerance = tolerance_from_covariance(message.pose.covariance)
        return Goal(self.pose(message.header, message.pose.pose, robot), tolerance)

    def pose(self, header: Header, pose: Pose, robot: Robot) -> np.ndarray:
        """Return ``T_base_tip`` (4, 4) of a pose in the frame, and at the time, of `header`."""
        T_frame_tip = matrix_from_pose(pose)
        self._look_at_norm(pose)
        return self.frame(header, robot) @ T_frame_tip

    def path(self, message: Path, robot: Robot) -> np.ndarray:
        """Return ``T_base_tip`` (N, 4, 4) of a path, whose frame is that of poses without one."""
        poses = [stamped.pose for stamped in message.poses]
        T = matrices_from_poses(poses)
        for pose in poses:
            self._look_at_norm(pose)
        names = [stamped.header.frame_id or message.header.frame_id for stamped in message.poses]
        T_base = {name: self.frame(Header(frame_id=name, stamp=message.header.stamp), robot)
                  for name in dict.fromkeys(names)}
        return np.array([T_base[name] for name in names]).reshape(T.shape) @ T

    def _look_at_norm(self, pose: Pose) -> None:
        norm = quaternion_norm(pose.orientation)
        if abs(norm - 1.0) > NORM_ROUNDING:
            self._node.get_logger().warning(
                f'the quaternion of a goal has norm {norm:.4g}; it is normalised, this time and '
                'whenever it comes again: its sender should do that', once=True)

    def solve(self, goal: Goal, robot: Robot, q: np.ndarray,
              task: GoalTask | None = None) -> Result:
        """Solve a goal, starting from joint positions `q` (n,); a task notes the request."""
        seeds = [q] if robot.last_answer is None else [q, robot.last_answer]
        result = robot.settings.plan(SolveRequest(goal, np.array(seeds)), task and task.requests)
        if task is not None:
            self.solves.append((monotonic(), result.time))
        return result

    def refusal(self, result: Result, robot: Robot,
                task: GoalTask | None = None) -> tuple[str, dict[str, str]]:
        """
        Return why a goal has no solution, with what would help, and the numbers of that.

        A task notes the request.
        """
        remedies = ()
        if result.status in REMEDIED_REASONS:
            end = thread_time() + REMEDY_TIME_S
            remedies = robot.settings.plan(RemedyRequest(
                result.goal, result.seeds.copy(), result.status, result.q.copy(),
                Rounds(lambda: thread_time() < end)), task and task.requests)
        return (with_best(result.message + _few_axes(result, robot), remedies),
                remedy_values(remedies))

    def keep(self, plan: Plan, robot: Robot) -> None:
        """
        Note what a motion keeps: what the parameters say, and the goal.

        Raises
        ------
        GoalError, StateError, NotYet
            As :meth:`frame`.

        """
        plan.constraints, plan.framed = (), tuple(
            (keep, None if isinstance(keep, PathConstraint) or keep.frame == START_FRAME
             else self.frame(Header(frame_id=keep.frame or robot.chain.base_link), robot))
            for keep in (*robot.settings.keep, *plan.keeps))

    def link_of(self, frame: str, robot: Robot) -> str | None:
        """Return the link of the robot that a frame is; None if it is none."""
        return self._frames.link_of(frame, robot.tree)

    def frame(self, header: Header, robot: Robot) -> np.ndarray:
        """Return ``T_base_frame`` (4, 4) of the frame of `header`, at its time."""
        chain, links = robot.chain, robot.tree.links
        if header.frame_id == robot.settings.tool_frame and header.frame_id not in links:
            return link_pose(robot.tree, chain.tip_link, chain.base_link,
                             self._arm.joints.positions) @ chain.T_link_tool
        stamp = Time.from_msg(header.stamp, clock_type=self._node.get_clock().clock_type)
        return self._frames.pose_of(header.frame_id, stamp, robot.tree, robot.chain.base_link,
                                    self._arm.joints.positions)


def result_values(result: Result) -> dict[str, Any]:
    """Return what an answer tells of how a goal was solved."""
    return {'solve_time_ms': f'{1e3 * result.time:.3f}', 'restarts': result.restarts,
            'iterations': result.iterations, 'solution': result.status.value,
            'position_error_m': f'{result.position_error:.3e}',
            'orientation_error_rad': f'{result.orientation_error:.3e}'}


def margin_values(result: Result) -> dict[str, Any]:
    """Return what an answer tells of the posture that is gone to, computed when it is given."""
    return {'limit_margin': lambda: f'{result.limit_margin:.4f}',
            'smallest_singular_value': lambda: f'{result.smallest_singular_value:.4f}'}


def _few_axes(result: Result, robot: Robot) -> str:
    """Return what to ask of an arm that reaches few orientations, if that is why it refuses."""
    moving = robot.chain.n - len(robot.settings.solver.tables.locked)
    if moving >= EXACT_AXES or not result.goal.is_exact or result.status not in FEW_AXES_REASONS:
        return ''
    return (f'; {moving} axes reach few orientations at a position: leave the orientation free '
            '(send_goal --position, ~/goal_position) or the rotation about the tool (--pointing, '
            '~/goal_pointing), or set solver.nearest and solver.nearest_keeps_position')
