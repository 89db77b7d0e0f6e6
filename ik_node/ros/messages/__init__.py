# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Messages to and from values.

    conversion         Messages and arrays; invalid numbers are refused here
    goal_answers       Stamps of goals, by which their answers are known
    goal_kinds         The kinds of goals: topic, message, description, options of send_goal
    joint_states       Joint positions and velocities by name, each with its age
    kept_goals         Goals within path constraints, as text
    markers            All markers: goals, reasons, paths, bodies
    motion_primitives  What ~/motion_sequence and ~/tools share with their clients
    moveit_types       The types of MoveIt, where they are installed
    status_messages    The content of an answer
"""
