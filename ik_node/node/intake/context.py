# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The parts of the node that its goals, streams and services share."""

from __future__ import annotations

from dataclasses import dataclass

from rclpy.node import Node

from ik_node.node.execution.motion import Motion
from ik_node.node.execution.outputs import Output
from ik_node.node.execution.ramps import Ramps
from ik_node.node.execution.trajectory_sender import TrajectorySender
from ik_node.node.goals.conversion import GoalConversion
from ik_node.node.goals.preparation import Preparation
from ik_node.node.goals.queue import ActiveFlag, GoalQueue
from ik_node.node.robot.robot import RobotSlot
from ik_node.node.robot.settings import StartOptions
from ik_node.node.state.arm_state import ArmState, OtherJoints
from ik_node.node.state.clocks import CallbackDelay, StampCheck
from ik_node.node.state.duplicate_names import DuplicateNames


@dataclass(frozen=True, eq=False)
class NodeContext:
    """
    Parts of one node, made in dependency order by :class:`ik_node.node.components.Components`.

    Attributes
    ----------
    node : Node
        Creates publishers, subscriptions, services and timers.
    options : StartOptions
        Parameters that are read at the start.
    active_flag : ActiveFlag
        Whether anything may be sent to the arm.
    robot_slot : RobotSlot
        The robot, once its description has arrived.
    duplicates : DuplicateNames
        Other nodes of the same name.
    goals : GoalQueue
        From arrival to exactly one final answer.
    output : Output
        Sends trajectories to the controller.
    delay : CallbackDelay
        How late callbacks are.
    stamps : StampCheck
        The age of messages.
    arm : ArmState
        The measured state.
    others : OtherJoints
        Joints beside the arm in the collision check.
    conversion : GoalConversion
        Messages to goals in the base link.
    preparation : Preparation
        Compiled code that goals to poses do not need.
    sender : TrajectorySender
        Joins motions to the present one.
    ramps : Ramps
        Brings the arm to rest.
    motion : Motion
        Plans, sends and supervises motions to goals.

    """

    node: Node
    options: StartOptions
    active_flag: ActiveFlag
    robot_slot: RobotSlot
    duplicates: DuplicateNames
    goals: GoalQueue
    output: Output
    delay: CallbackDelay
    stamps: StampCheck
    arm: ArmState
    others: OtherJoints
    conversion: GoalConversion
    preparation: Preparation
    sender: TrajectorySender
    ramps: Ramps
    motion: Motion
