# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled iterations: damped steps, null space, nearest posture, for chains and trees.

    damped       Compiled damped least squares with hard joint limits and restarts
    entry        The compiled functions that Python calls to solve one goal or many
    layout       Layout of the arrays that Python and the compiled solver exchange
    nearest      The posture nearest to the seed, and the self-motion at a goal
    nullspace    Compiled null-space bias: where a goal leaves the arm free, to a posture
    residual     Compiled error of a pose against a goal with tolerances
    tree_damped  Compiled damped least squares for several tips of a tree at once
"""
