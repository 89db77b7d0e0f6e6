# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Joints beside the arm in the collision check: where the joint states say that they are."""

from __future__ import annotations

from time import monotonic

from rclpy.node import Node

from ik_node.collision.other_joints import OtherJointTracker
from ik_node.node.collisions import assumed_positions
from ik_node.node.health_checks import Check
from ik_node.node.robot import Robot, RobotHolder
from ik_node.node.settings import StartOptions
from ik_node.ros.joint_states import JointStates

JOINT_LOOK_PERIOD_S = 0.02  # between two looks at joints beside the arm
IDLE_LOOK_PERIOD_S = 0.5    # between two looks whether there are any


class OtherJoints:
    """Places the joints beside the arm in the collision model of the robot."""

    def __init__(self, node: Node, holder: RobotHolder, states: JointStates,
                 options: StartOptions) -> None:
        self._logger, self._holder, self._states, self._options = \
            node.get_logger(), holder, states, options
        self._robot: Robot | None = None
        self._tracker: OtherJointTracker | None = None

    @property
    def period(self) -> float:
        """Return the time (s) until it is worth to look again."""
        return IDLE_LOOK_PERIOD_S if self._tracker is None else JOINT_LOOK_PERIOD_S

    @property
    def complaint(self) -> str:
        """Return of which of them it is not known where they are, in words; '' of none."""
        return '' if self._tracker is None else self._tracker.complaint

    def look(self) -> bool:
        """Place the joints where they are now; return whether that changed the model."""
        robot = self._holder.robot
        if robot is not self._robot:
            self._begin(robot)
        if self._tracker is None:
            return False
        found = self._tracker.look(self._states, monotonic())
        if found is None:
            return False
        robot.collisions = robot.collisions.with_others(found)
        return True

    def warn(self) -> None:
        """Say, now and then, which joints are not known."""
        if self.complaint:
            self._logger.warning(f'{self.complaint}; {Check.OTHER_JOINTS.advice}',
                                 throttle_duration_sec=60.0)

    def _begin(self, robot: Robot | None) -> None:
        self._robot, self._tracker = robot, None
        if robot is not None and robot.collisions is not None and robot.collisions.other_joints:
            self._tracker = OtherJointTracker(
                robot.tree, robot.collisions.other_joints,
                assumed_positions(robot.tree, self._options.collision_other_joints))
