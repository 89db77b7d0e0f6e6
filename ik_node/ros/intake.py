# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the messages of users become: checked, brought into the base link, solved, begun."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from geometry_msgs.msg import PointStamped, PoseArray, PoseStamped
from nav_msgs.msg import Path
import numpy as np
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from ik_node.errors import GoalError, Reason
from ik_node.kinematics.arm import forward_kinematics
from ik_node.ros.arm_state import ArmState
from ik_node.ros.goals import Goals
from ik_node.ros.health import Health
from ik_node.ros.messages import joints_from_state, KINDS
from ik_node.ros.motion import Motion
from ik_node.ros.robot import Robot, RobotHolder
from ik_node.ros.stamps import Stamps
from ik_node.ros.status import GoalTask
from ik_node.ros.targets import Targets
from ik_node.solver.goal import Goal
from ik_node.trajectory.path import MOST_POSES, ToolPath
from ik_node.trajectory.trajectory import MotionState

GOAL_DEPTH = 1000
MOST_BYTES = 2**18  # of a message: MOST_POSES with names of 50 letters; more is not even read

Take = Callable[[GoalTask, Robot], None]


class Intake:
    """Takes goals, each to its answer."""

    def __init__(self, node: Node, holder: RobotHolder, arm: ArmState, targets: Targets,
                 goals: Goals, motion: Motion, stamps: Stamps, health: Health) -> None:
        self._node = node
        self._holder = holder
        self._arm = arm
        self._targets = targets
        self._goals = goals
        self._motion = motion
        self._stamps = stamps
        self._health = health
        for kind, message in KINDS.items():
            node.create_subscription(message, f'~/goal_{kind}', partial(self._on_goal, kind),
                                     GOAL_DEPTH)
        node.create_subscription(JointState, '~/goal_joints', self._on_goal_joints, GOAL_DEPTH)
        for message, name, callback in ((Path, 'path', self._on_goal_path),
                                        (PoseArray, 'arc', self._on_goal_arc)):
            node.create_subscription(message, f'~/goal_{name}', partial(
                self._on_bytes, message, callback), GOAL_DEPTH, raw=True)

    # ---- one kind of goal each ----------------------------------------------

    def _on_bytes(self, kind: type, callback: Callable[[Any], None], data: bytes) -> None:
        """Read a message, unless that would take so long that all else would wait for it."""
        def refuse(_task: GoalTask, _robot: Robot) -> None:
            raise GoalError(f'the goal has {len(data)} bytes, at most {MOST_BYTES} are taken '
                            f'({MOST_POSES} poses); send it in parts', Reason.PATH_INVALID)

        if len(data) > MOST_BYTES:
            self._take(deserialize_message(data, Header), refuse)  # with which it begins
        else:
            callback(deserialize_message(data, kind))

    def _on_goal(self, kind: str, message: PoseStamped | PointStamped) -> None:
        def take(task: GoalTask, robot: Robot) -> None:
            task.goal = self._targets.goal(kind, message.header, message, robot)
            if kind == 'pose' and robot.settings['motion.straight']:
                self._motion.along(task, [task.goal.T_base_tip])
                return
            self._solve(task)

        self._take(message.header, take)

    def _on_goal_joints(self, message: JointState) -> None:
        def take(task: GoalTask, robot: Robot) -> None:
            q, _ = self._arm.measured(robot)
            task.q_goal = joints_from_state(message, robot.chain, q)
            self._motion.to_joints(task)

        self._take(message.header, take)

    def _on_goal_path(self, message: Path) -> None:
        def take(task: GoalTask, robot: Robot) -> None:
            if len(message.poses) > MOST_POSES:
                raise GoalError(f'the path has {len(message.poses)} poses, at most {MOST_POSES} '
                                'are taken; send it in parts', Reason.PATH_INVALID)
            poses = [
                self._targets.pose(Header(
                    frame_id=stamped.header.frame_id or message.header.frame_id,
                    stamp=message.header.stamp), stamped.pose, robot)
                for stamped in message.poses]
            _note_end(task, poses)
            self._motion.along(task, poses)

        self._take(message.header, take)

    def _on_goal_arc(self, message: PoseArray) -> None:
        def take(task: GoalTask, robot: Robot) -> None:
            poses = [self._targets.pose(message.header, pose, robot) for pose in message.poses]
            _note_end(task, poses)

            def arc(start: MotionState) -> ToolPath:
                if len(poses) == 3:
                    return ToolPath.arc(*poses)
                if len(poses) != 2:
                    raise GoalError(f'the arc has {len(poses)} poses; it needs one on the way and '
                                    'its end, before them its begin if it is not where the tip is',
                                    Reason.PATH_INVALID)
                if not start.rests:
                    raise GoalError('the arm moves, so it is not known where the arc would begin; '
                                    'send its begin, too, or wait', Reason.PATH_INVALID)
                return ToolPath.arc(forward_kinematics(robot.chain, start.q), *poses)

            self._motion.along(task, arc)

        self._take(message.header, take)

    def home(self) -> GoalTask:
        """Go to the preferred posture; return the task, which may have ended already."""
        task = self._goals.new(self._node.get_clock().now().to_msg())

        def go() -> None:
            task.q_goal = self._holder.require().settings.solver.preferred.copy()
            self._motion.to_joints(task)

        self._goals.attempt(task, go)
        return task

    # ---- what they share ----------------------------------------------------

    def _take(self, header: Header, take: Take) -> None:
        """Make a goal of a message, and its first step of `take`."""
        task = self._goals.new(header.stamp)

        def step() -> None:
            robot = self._holder.require()
            self._stamps.checked(header.stamp, robot.settings['goal.max_age'])
            take(task, robot)

        self._goals.attempt(task, step)

    def _solve(self, task: GoalTask) -> None:
        """Solve for ``task.goal`` and move there."""
        robot = self._holder.require()
        result = task.result = self._targets.solve(task.goal, robot)
        self._health.solve_times.append(result.time)
        task.figures |= {
            'solve_time_ms': f'{1e3 * result.time:.3f}', 'restarts': result.restarts,
            'iterations': result.iterations, 'solution': result.status.value,
            'position_error_m': f'{result.position_error:.3e}',
            'orientation_error_rad': f'{result.orientation_error:.3e}'}
        if not result.success:
            raise GoalError(result.message, result.status)
        task.figures |= {
            'limit_margin': f'{result.limit_margin:.4f}',
            'smallest_singular_value': f'{result.smallest_singular_value:.4f}'}
        robot.last_answer = task.q_goal = result.q
        self._motion.to_joints(task)


def _note_end(task: GoalTask, poses: list[np.ndarray]) -> None:
    """Note where a path ends, for those who draw it if it cannot be followed."""
    if poses:
        task.goal = Goal(poses[-1])
