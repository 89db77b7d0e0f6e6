# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
How goals and stops come in, and how the health of the node goes out.

    chunks              Goals of poses at given times, one after another
    context             What goals, streams and services are given of the node
    goal_starter        What the arm does for each kind of goal
    goal_subscriptions  The topics of goals, ~/stop and ~/halt
    health              /diagnostics
"""
