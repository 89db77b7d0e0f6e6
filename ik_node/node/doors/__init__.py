# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Entrances that others define: MoveIt's services and actions, behaviour trees, sequences.

    motion_sequences   The action ~/motion_sequence: PTP, LIN and CIRC with blends
    moveit_goals       MoveIt's requests and constraints become goals
    moveit_kinematics  compute_ik and compute_fk; which doors of MoveIt are open
    moveit_motion      move_action, execute_trajectory, plan_kinematic_path, compute_cartesian_path
    moveit_scene       get_planning_scene and apply_planning_scene
    pose_actions       Actions to poses, for behaviour trees
"""
