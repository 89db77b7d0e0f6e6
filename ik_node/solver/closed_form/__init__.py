# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled closed forms: all postures of arms whose geometry has one.

    closed_form      Compiled closed-form inverse kinematics of six revolute joints
    free_wrist       The straight wrist of an arm whose axes 2, 3, 4 and 6 are parallel
    offset_wrist     Compiled inverse kinematics of six revolute joints with an offset wrist
    solution_search  Compiled search for all distinct solutions of a goal
    subproblems      Compiled subproblems of inverse kinematics
"""
