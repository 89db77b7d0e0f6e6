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
    """Parts of one node, as :class:`ik_node.node.components.Components` makes them."""

    node: Node                  # creates publishers, subscriptions, services and timers
    options: StartOptions       # parameters that are read at the start
    active_flag: ActiveFlag     # whether anything may be sent to the arm
    robot_slot: RobotSlot       # the robot, once its description has arrived
    duplicates: DuplicateNames  # other nodes of the same name
    goals: GoalQueue            # from arrival to exactly one final answer
    output: Output              # sends trajectories to the controller
    delay: CallbackDelay        # how late callbacks are
    stamps: StampCheck          # the age of messages
    arm: ArmState               # the measured state
    others: OtherJoints         # joints beside the arm in the collision check
    conversion: GoalConversion  # messages to goals in the base link
    preparation: Preparation    # compiled code that goals to poses do not need
    sender: TrajectorySender    # joins motions to the present one
    ramps: Ramps                # brings the arm to rest
    motion: Motion              # plans, sends and supervises motions to goals
