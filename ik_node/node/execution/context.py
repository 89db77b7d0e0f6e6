# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What all that moves the arm is given of the node."""

from __future__ import annotations

from dataclasses import dataclass

from rclpy.node import Node

from ik_node.node.execution.outputs import Output
from ik_node.node.execution.trajectory_sender import TrajectorySender
from ik_node.node.goals.queue import GoalQueue
from ik_node.node.robot.robot import RobotSlot
from ik_node.node.state.arm_state import ArmState
from ik_node.node.state.team import Seat


@dataclass(frozen=True, eq=False)
class MotionContext:
    """What plans, sends, watches and stops motions share."""

    node: Node                # creates publishers, subscriptions, services and timers
    robot_slot: RobotSlot     # the robot, once its description has arrived
    arm: ArmState             # the measured state
    output: Output            # sends trajectories to the controller
    goals: GoalQueue          # from arrival to exactly one final answer
    sender: TrajectorySender  # joins motions to the present one
    seat: Seat               # what other arms of the robot do
