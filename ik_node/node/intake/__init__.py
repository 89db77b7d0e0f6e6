# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
How goals and stops come in, and how the health of the node goes out.

    context             The parts of the node that its goals, streams and services share
    goal_starter        What the arm does for each kind of goal
    goal_subscriptions  Subscriptions to goals
    health              Health of the node on /diagnostics
"""
