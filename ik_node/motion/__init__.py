# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
From postures, lines and streams to timed trajectories.

    action_goal      The goal of a follow_joint_trajectory action
    detour           Motion around obstacles
    motion_remedies  Remedies for a refused path or sequence
    posture_report   What speaks for and against a posture that reaches a goal
    requests         Requests to the solver and the planners, as values
    tree_motion      One motion of all joints of a kinematic tree
"""
