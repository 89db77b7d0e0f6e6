# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Inverse kinematics: postures for a pose, with the joint limits, or why there are none.

    arm_geometry   Whether the inverse kinematics of an arm has a closed form
    batch          Solving many goals in parallel, on all cores of this machine or on an executor
    branches       All solutions of a goal, and the choice among them
    goal           The goal of a solve: a pose and its tolerances
    options        The options of a solver
    remedy         What makes a refused goal possible
    remedy_search  What would make a refused goal possible
    result         The result of a solve, and the metrics of a posture
    solver         The solver that the node uses: a pure function of chain, goal, seed and options
    tables         The arrays that the compiled code reads: of a solver, and of one goal
    unreachable    Why a goal has no solution, and which posture comes nearest to it
    warm_up        Loads or compiles the kernels of the solver before they are needed
"""
