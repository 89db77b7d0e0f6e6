# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The node of several arms, which move on one clock.

    arms_motion  One goal for all arms: plan, send to each controller, watch, stop
    arms_node    The node ik_arms
    arms_robot   The parameters of ik_arms, and what it knows of its robot: tree, solver, bodies
"""
