# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The parts of the node that its goals, streams and services share."""

from __future__ import annotations

from dataclasses import dataclass

from ik_node.node.execution.context import MotionContext
from ik_node.node.execution.motion import Motion
from ik_node.node.execution.ramps import Ramps
from ik_node.node.goals.conversion import GoalConversion
from ik_node.node.goals.preparation import Preparation
from ik_node.node.goals.queue import ActiveFlag
from ik_node.node.robot.settings import StartOptions
from ik_node.node.state.arm_state import OtherJoints
from ik_node.node.state.clocks import CallbackDelay, StampCheck
from ik_node.node.state.duplicate_names import DuplicateNames


@dataclass(frozen=True, eq=False)
class NodeContext(MotionContext):
    """Parts of one node, as :class:`ik_node.node.components.Components` makes them."""

    options: StartOptions       # parameters that are read at the start
    active_flag: ActiveFlag     # whether anything may be sent to the arm
    duplicates: DuplicateNames  # other nodes of the same name
    delay: CallbackDelay        # how late callbacks are
    stamps: StampCheck          # the age of messages
    others: OtherJoints         # joints beside the arm in the collision check
    conversion: GoalConversion  # messages to goals in the base link
    preparation: Preparation    # compiled code that goals to poses do not need
    ramps: Ramps                # brings the arm to rest
    motion: Motion              # plans, sends and supervises motions to goals
