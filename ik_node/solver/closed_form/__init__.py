# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled closed forms: all postures of arms whose geometry has one.

    closed_form      Compiled closed forms of spherical wrists, and of three parallel axes
    free_wrist       The straight wrist: axes 2, 3, 4 and 6 are parallel
    offset_wrist     The offset wrist: a search along one angle, then a closed form
    self_motions     The nearest posture of a redundant arm, over all self-motions
    seven_axes       All branches of seven axes, at many positions of the first or last joint
    solution_search  All postures of an arm without a closed form
    subproblems      Compiled subproblems of inverse kinematics
    wrist_equation   The equation of an offset wrist, and the other joints at a root of it
"""
