# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The topics and services of MoveIt, where moveit_msgs is installed."""

from __future__ import annotations

from ik_node.base.packages import how_to_install
from ik_node.node.doors.moveit_kinematics import MoveItKinematics
from ik_node.node.doors.moveit_motion import MoveItMotion
from ik_node.node.doors.moveit_requests import MoveItRequests
from ik_node.node.doors.moveit_scene import MoveItScene
from ik_node.node.intake.context import NodeParts
from ik_node.node.intake.goal_starter import GoalStarter
from ik_node.node.scene.scene_changes import SceneChanges
from ik_node.ros.messages.moveit_types import moveit_types


def offer_moveit(parts: NodeParts, changes: SceneChanges, starter: GoalStarter) -> None:
    """Take the topics of MoveIt, and offer its services if these are asked for."""
    node, options, types = parts.node, parts.options, moveit_types()
    if types is None:
        why = 'no topics and services of MoveIt: moveit_msgs is not installed'
        if options.moveit_services:
            node.get_logger().warning(f'{why}: {how_to_install("moveit_msgs")}')
        else:
            node.get_logger().debug(why)
        return
    MoveItScene(node, parts.holder, parts.arm, changes, options, types.msg, types.srv)
    if options.moveit_services:
        requests = MoveItRequests(parts.holder, parts.arm, parts.targets, changes, options)
        MoveItKinematics(node, requests, types.srv)
        MoveItMotion(parts, requests, starter, types.action, types.srv)
