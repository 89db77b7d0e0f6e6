# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Messages to and from values.

    conversion         Conversion between ROS messages and arrays; invalid numbers are refused here
    goal_answers       Goals that are sent to a node, and its answers to them
    goal_kinds         The kinds of goals, one entry for each
    joint_states       Joint positions and velocities by name, each with its age
    markers            Markers of the goal
    motion_primitives  Goals of ``~/motion_sequence``
    moveit_types       What all that speaks to MoveIt's clients needs
    status_messages    The content of ``~/status``, for the node and for its clients
"""
