# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Joints beside the arm in the collision check: where the joint states say that they are."""

from __future__ import annotations

from math import inf
from time import monotonic

from rclpy.node import Node

from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.distances.other_joints import OtherJointTracker
from ik_node.model.description.urdf import Tree
from ik_node.node.robot.collisions import assumed_positions
from ik_node.node.state.health_checks import Check
from ik_node.ros.messages.joint_states import JointStates

JOINT_LOOK_PERIOD_S = 0.02  # between two looks at joints beside the arm
IDLE_LOOK_PERIOD_S = 0.5    # between two looks whether there are any
WARN_PERIOD_S = 60.0


class OtherJoints:
    """
    Follows the joints beside the arm, or the arms, of a robot.

    Parameters
    ----------
    assumed : tuple of str
        The parameter collision.other_joints.

    """

    def __init__(self, node: Node, states: JointStates, assumed: tuple[str, ...]) -> None:
        self._logger, self._states, self._assumed = node.get_logger(), states, assumed
        self._robot: object = None
        self._tracker: OtherJointTracker | None = None
        self._said, self._said_at = '', -inf

    @property
    def period(self) -> float:
        """Return the time (s) until it is worth to look again."""
        return IDLE_LOOK_PERIOD_S if self._tracker is None else JOINT_LOOK_PERIOD_S

    @property
    def complaint(self) -> str:
        """Return of which of them it is not known where they are, in words; '' of none."""
        return '' if self._tracker is None else self._tracker.complaint

    def look(self, robot: object, tree: Tree,
             model: CollisionModel | None) -> CollisionModel | None:
        """
        Return a model with the joints where they are now; None if that changes nothing.

        Parameters
        ----------
        robot : object
            Another one has other joints.
        model : CollisionModel or None
            None: collisions are not checked.

        """
        if robot is not self._robot:
            self._robot, self._tracker = robot, None
            if model is not None and model.other_joints:
                self._tracker = OtherJointTracker(tree, model.other_joints,
                                                  assumed_positions(tree, self._assumed))
        found = None if self._tracker is None else self._tracker.look(self._states, monotonic())
        return None if found is None else model.with_others(found)

    def warn(self) -> None:
        """Say, now and then and when that changes, which joints are not known."""
        complaint, now = self.complaint, monotonic()
        if complaint and (complaint != self._said or now > self._said_at + WARN_PERIOD_S):
            self._said, self._said_at = complaint, now
            self._logger.warning(f'{complaint}; {Check.OTHER_JOINTS.advice}')
