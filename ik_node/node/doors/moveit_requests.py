# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What requests of MoveIt have in common: links, frames, robot states, scales, error codes."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from geometry_msgs.msg import Pose
import numpy as np
from std_msgs.msg import Header

from ik_node.base.errors import IkNodeError, Reason, StateError
from ik_node.base.text import quote
from ik_node.kinematics.links import link_pose, path_between
from ik_node.node.goals.conversion import GoalConversion
from ik_node.node.robot.robot import Robot, RobotSlot
from ik_node.node.robot.settings import StartOptions
from ik_node.node.scene.scene_changes import SceneChanges
from ik_node.node.state.arm_state import ArmState
from ik_node.node.state.frames import NotYet

CONSTRAINT_KINDS = ('joint_constraints', 'position_constraints', 'orientation_constraints',
                    'visibility_constraints')
FRAME_REASONS = Reason.FRAME_MISSING, Reason.FRAME_UNKNOWN


class RequestError(Exception):
    """A request has no answer: the name of an error code of MoveIt, and a sentence."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class MoveItRequests:
    """
    Reads what requests of MoveIt have in common.

    Each method raises a :class:`RequestError` if a request cannot be answered.
    """

    def __init__(self, robot_slot: RobotSlot, arm: ArmState, conversion: GoalConversion,
                 changes: SceneChanges, options: StartOptions) -> None:
        self._robot_slot = robot_slot
        self.changes = changes  # of what came before a request
        self._arm = arm
        self._conversion = conversion
        self._group, self.prefix = options.moveit_group, options.frame_prefix

    def robot(self, group: str | None = None) -> Robot:
        """Return the robot, whose arm must be the group that is named, unless that is None."""
        if self._group and group is not None and group != self._group:
            raise RequestError('INVALID_GROUP_NAME', f'the group {quote(group)} is not that of '
                               f'moveit.group, {quote(self._group)}')
        try:
            return self._robot_slot.require()
        except IkNodeError as error:
            raise RequestError('FAILURE', str(error)) from None

    def pose(self, header: Header, pose: Pose, robot: Robot) -> np.ndarray:
        """Return ``T_base_pose`` (4, 4) of a pose in the frame of a header."""
        try:
            return self._conversion.pose(header, pose, robot)
        except (NotYet, StateError) as error:
            raise RequestError('FRAME_TRANSFORM_FAILURE', str(error)) from None
        except IkNodeError as error:
            code = 'FRAME_TRANSFORM_FAILURE' if error.reason in FRAME_REASONS \
                else 'INVALID_GOAL_CONSTRAINTS'
            raise RequestError(code, str(error)) from None

    def frame(self, header: Header, robot: Robot) -> np.ndarray:
        """Return ``T_base_frame`` (4, 4) of a header."""
        here = Pose()
        here.orientation.w = 1.0
        return self.pose(header, here, robot)

    def tip_in_link(self, link: str, robot: Robot) -> np.ndarray:
        """
        Return ``T_link_tip`` (4, 4) of a link fixed to the tip link.

        The tip is the tool centre point, if there is a tool; '' and the parameter tool.frame
        stand for it.
        """
        tree, tip = robot.tree, robot.chain.tip_link
        if link in ('', robot.settings.tool_frame) and link not in tree.links:
            return np.eye(4)
        if link not in tree.links \
                or any(joint.moves for joint, _ in path_between(tree, tip, link)):
            raise RequestError('INVALID_LINK_NAME', f'{quote(link)} is not a link that is fixed '
                               f'to the tip {quote(tip)}')
        return link_pose(tree, tip, link, {}) @ robot.chain.T_link_tool

    def positions(self, robot: Robot, state: Any) -> dict[str, float]:
        """Return the measured positions, replaced by a moveit_msgs/RobotState where given."""
        joints = state.joint_state
        if state.attached_collision_objects or state.multi_dof_joint_state.joint_names:
            raise RequestError('INVALID_ROBOT_STATE', 'attached objects and joints of several '
                               'axes in a robot state are not read; attach objects by '
                               'attached_collision_object')
        if len(joints.name) != len(joints.position) or len({*joints.name}) < len(joints.name):
            raise RequestError('INVALID_ROBOT_STATE', f'the robot state has {len(joints.name)} '
                               f'joint names ({len({*joints.name})} different) and '
                               f'{len(joints.position)} positions')
        # Joint states may be of several robots.
        given = {name: position for name, position in zip(joints.name, joints.position)
                 if name in robot.joint_names}
        for name, position in given.items():
            if not isfinite(position):
                raise RequestError('INVALID_ROBOT_STATE', f'the robot state has the position '
                                   f'{position} for {quote(name)}; it must be a finite number')
        return {**self.measured(robot), **given}

    def measured(self, robot: Robot) -> Mapping[str, float]:
        """Return the positions of the joints of the robot that are known, by name."""
        return {name: position for name, position in self._arm.joints.positions.items()
                if name in robot.joint_names}

    def joint_vector(self, robot: Robot, positions: Mapping[str, float]) -> np.ndarray:
        """Return the positions (n,) of the joints of the chain."""
        missing = [name for name in robot.chain.joint_names if name not in positions]
        if missing:
            raise RequestError('INVALID_ROBOT_STATE', 'neither the request nor joint states have '
                               'the position of ' + ', '.join(map(quote, missing)))
        return np.array([positions[name] for name in robot.chain.joint_names])


def require_no_constraints(constraints: Any, what: str = '') -> None:
    """Refuse constraints (moveit_msgs/Constraints), which are not kept; `what` they are for."""
    for kind in CONSTRAINT_KINDS:
        if getattr(constraints, kind):
            raise RequestError('INVALID_GOAL_CONSTRAINTS',
                               f'{kind.replace("_", " ")}{what} are not kept; leave them out')
