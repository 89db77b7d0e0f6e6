# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The node of several arms: each by its own goals, or all on one clock.

    arm_nodes          A node for each arm, in the process of the robot's node
    arms_motion        One goal for all arms: plan, send to each controller, watch, stop
    arms_node          The node ik_arms
    arms_robot         The parameters of ik_arms, and what it knows of its robot
    controller_search  The controllers of the arms, among those that are up
"""
