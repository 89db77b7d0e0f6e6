# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Actions and services: those of MoveIt, of behaviour trees, sequences.

    motion_sequences   Sequences of PTP
    moveit_goals       Goals of MoveIt
    moveit_kinematics  Inverse and forward kinematics by the services of MoveIt; nothing moves
    moveit_motion      Motions by the services and actions of MoveIt
    moveit_requests    What requests of MoveIt have in common
    moveit_scene       Objects around the arm that are told by the messages and services of MoveIt
    pose_actions       Goals to poses as actions with feedback
"""
