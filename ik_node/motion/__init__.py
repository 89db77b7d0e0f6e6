# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
From postures, lines and streams to timed trajectories.

    action_goal         The goal of a follow_joint_trajectory action
    chunk               Poses at given times, one chunk after another
    constrained_motion  A motion within path constraints, direct or searched for
    detour              A motion around obstacles
    motion_remedies     What would make a refused path or sequence possible
    posture_report      What speaks for and against a posture that reaches a goal
    requests            All that the node asks of solver and planners, each with plan(solver)
    together            Whether arms on motions of their own keep apart from each other
    tree_motion         One motion of all joints of a kinematic tree
    change/             A motion under way: joined, watched, stopped, paused, resumed
    constrained/        Path constraints: what they are, and whether they are kept
    direct/             The direct motion between two postures
    following/          Streams and jogging
    joint_path/         Motions along postures that are given, and sequences of motions
    tool_path/          Lines, arcs and paths of the tool
    trajectory/         Trajectories as data: limits, times, values between points, the last check
"""
