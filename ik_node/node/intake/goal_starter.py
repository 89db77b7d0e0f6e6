# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the arm does for each kind of goal."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from geometry_msgs.msg import (
    PointStamped,
    Pose,
    PoseArray,
    PoseStamped,
    PoseWithCovarianceStamped,
    QuaternionStamped,
)
from nav_msgs.msg import Path
import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from ik_node.base.errors import GoalError, Reason
from ik_node.kinematics.arm import forward_kinematics
from ik_node.motion.requests import ArcPoses
from ik_node.motion.tool_path.options import ROTATION_AXES
from ik_node.motion.tool_path.path import MAX_PATH_POSES
from ik_node.motion.trajectory.trajectory import MotionState
from ik_node.node.execution.motion import Motion
from ik_node.node.goals import plans
from ik_node.node.goals.conversion import GoalConversion
from ik_node.node.goals.goal import GoalTask, Steps
from ik_node.node.goals.queue import POSE_NUMBER
from ik_node.node.intake.chunks import Chunks
from ik_node.node.robot.robot import Robot
from ik_node.node.state.arm_state import ArmState
from ik_node.node.state.named_poses import PoseTable
from ik_node.ros.messages.conversion import (
    joints_from_state,
    path_and_free_axes,
    way_points_from_message,
)
from ik_node.ros.messages.goal_kinds import CHUNK_KIND
from ik_node.solver.goal import FREE_AXIS, Goal

MAX_ALTERNATIVES = 50  # poses of which the first that can be reached is wanted

BeginGoal = Callable[[Any, GoalTask, Robot], Steps]


class GoalStarter:
    """Begins the motion to a goal of each kind."""

    def __init__(self, arm: ArmState, conversion: GoalConversion, motion: Motion,
                 named: PoseTable, chunks: Chunks) -> None:
        self._arm = arm
        self._conversion = conversion
        self._motion = motion
        self._named = named
        # By the names of ik_node.ros.messages.goal_kinds.GOAL_KINDS, but for streams: called with
        # the message, the task and the robot; returns the steps of the motion, and raises an
        # IkNodeError or NotYet if the goal cannot be begun.
        self.begin: dict[str, BeginGoal] = {kind: partial(self._begin, begin) for kind, begin in {
            'pose': partial(self._to_target, 'pose'),
            'pointing': partial(self._to_target, 'pointing'),
            'position': partial(self._to_target, 'position'),
            'region': self._to_region,
            'orientation': self._to_orientation,
            'joints': self._to_joints,
            'joint_path': self._through_joints,
            'named': self._to_named,
            'path': self._along_path,
            'free_path': partial(self._with_free_axes, self._along_path),
            'line': self._along_line,
            'first': self._to_first,
            'arc': self._along_pose_array,
            'free_arc': partial(self._with_free_axes, self._along_arc),
            CHUNK_KIND: chunks.begin,
        }.items()}

    def _begin(self, begin: BeginGoal, message: Any, task: GoalTask, robot: Robot) -> Steps:
        self._conversion.keep(task.plan, robot)
        return begin(message, task, robot)

    def _to_target(self, kind: str, message: PoseStamped | PointStamped, task: GoalTask,
                   robot: Robot) -> Steps:
        task.plan.goal = self._conversion.goal(kind, message.header, message, robot)
        return self._to_pose(task, robot) if kind == 'pose' else self._motion.to_goal(task)

    def _to_region(self, message: PoseWithCovarianceStamped, task: GoalTask,
                   robot: Robot) -> Steps:
        task.plan.goal = self._conversion.region(message, robot)
        return self._to_pose(task, robot) if task.plan.goal.is_exact \
            else self._motion.to_goal(task)

    def _to_orientation(self, message: QuaternionStamped, task: GoalTask, robot: Robot) -> Steps:
        T_base_tip = self._conversion.pose(
            message.header, Pose(orientation=message.quaternion), robot)
        q, _ = self._arm.measured(robot)
        T_base_tip[:3, 3] = forward_kinematics(robot.chain, q)[:3, 3]
        task.plan.goal = Goal(T_base_tip)
        return self._to_pose(task, robot)

    def _to_pose(self, task: GoalTask, robot: Robot) -> Steps:
        """Move to the full pose of ``plan.goal``, as the settings say."""
        return self._motion.along(task, [task.plan.goal.T_base_tip]) if robot.settings.straight \
            else self._motion.to_goal(task)

    def _to_joints(self, message: JointState, task: GoalTask, robot: Robot) -> Steps:
        here = self._arm.measured(robot)
        task.plan.q_goal = joints_from_state(message, robot.chain, here.q)
        return self._motion.to_joints(task, here)

    def _through_joints(self, message: JointTrajectory, task: GoalTask, robot: Robot) -> Steps:
        q, _ = self._arm.measured(robot)
        way = way_points_from_message(message, robot.chain, q)
        task.plan.q_goal = way.q[-1]
        task.values['way_points'] = len(way.q)
        return self._motion.planned_beside(
            task, lambda robot: plans.through_joints(task, robot, way))

    def _to_named(self, message: JointState, task: GoalTask, _robot: Robot) -> Steps:
        task.plan.q_goal = self._named.positions(message)
        task.values['named_pose'] = message.name[0]
        return self._motion.to_joints(task)

    def _along_path(self, message: Path, task: GoalTask, robot: Robot) -> Steps:
        if len(message.poses) > MAX_PATH_POSES:
            raise GoalError(f'the path has {len(message.poses)} poses, at most {MAX_PATH_POSES} '
                            'are taken; send it in parts', Reason.PATH_INVALID)
        poses = [*self._conversion.path(message, robot)]
        _note_end(task, poses)
        return self._motion.along(task, poses)

    def _with_free_axes(self, along: Callable[[Path, GoalTask, Robot], Steps],
                        message: MultiDOFJointTrajectory, task: GoalTask, robot: Robot) -> Steps:
        path, task.plan.free_axes = path_and_free_axes(message)
        return along(path, task, robot)

    def _along_line(self, message: PoseWithCovarianceStamped, task: GoalTask,
                    robot: Robot) -> Steps:
        goal = self._conversion.region(message, robot)
        if any(goal.tolerance[:3]) or not {*goal.tolerance[3:]} <= {0.0, FREE_AXIS}:
            raise GoalError('the covariance of a line must be 0, or that of a free rotation about '
                            'an axis, pi squared or more; tolerances are for ~/goal_region',
                            Reason.GOAL_TOLERANCE)
        task.plan.free_axes = tuple(axis for axis, width in zip(ROTATION_AXES, goal.tolerance[3:])
                               if width)
        _note_end(task, [goal.T_base_tip])
        return self._motion.along(task, [goal.T_base_tip])

    def _to_first(self, message: Path, task: GoalTask, robot: Robot) -> Steps:
        count = len(message.poses)
        if not 0 < count <= MAX_ALTERNATIVES:
            raise GoalError(f'the goal has {count} poses to choose from; 1 to {MAX_ALTERNATIVES} '
                            'are taken', Reason.PATH_INVALID)

        def attempt(number: int, T_base_tip: np.ndarray) -> Steps:
            task.values[POSE_NUMBER] = number
            task.plan.goal, task.plan.result = Goal(T_base_tip), None
            return self._to_pose(task, robot)

        steps = [partial(attempt, number, T_base_tip)
                 for number, T_base_tip in enumerate(self._conversion.path(message, robot), 1)]
        task.alternatives, task.refusals = steps[1:], []
        return steps[0]()

    def _along_pose_array(self, message: PoseArray, task: GoalTask, robot: Robot) -> Steps:
        return self._along_arc(Path(header=message.header, poses=[
            PoseStamped(pose=pose) for pose in message.poses]), task, robot)

    def _along_arc(self, message: Path, task: GoalTask, robot: Robot) -> Steps:
        poses = [*self._conversion.path(message, robot)]
        _note_end(task, poses)

        def arc(start: MotionState) -> ArcPoses:
            if len(poses) == 3:
                return ArcPoses(*poses)
            if len(poses) != 2:
                raise GoalError(f'the arc has {len(poses)} poses; it needs one on the way and '
                                'its end, before them its start if it is not where the tip is',
                                Reason.PATH_INVALID)
            if not start.rests:
                raise GoalError('the arm moves, so it is not known where the arc would begin; '
                                'send its start, too, or wait', Reason.PATH_INVALID)
            return ArcPoses(forward_kinematics(robot.chain, start.q), *poses)

        return self._motion.along(task, arc)

    def home(self, task: GoalTask, robot: Robot) -> Steps:
        """Begin the motion to the preferred posture."""
        self._conversion.keep(task.plan, robot)
        task.plan.q_goal = robot.settings.solver.preferred.copy()
        return self._motion.to_joints(task)


def _note_end(task: GoalTask, poses: list[np.ndarray]) -> None:
    """Note where a path ends, for the markers of a path that cannot be followed."""
    if poses:
        task.plan.goal = Goal(poses[-1])
