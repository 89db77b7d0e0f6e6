# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Inverse kinematics: postures for a pose, with the joint limits, or why there are none.

    arm_geometry   Which arms have a closed form, and the numbers for it
    batch          Many goals at once
    branches       All postures of a goal, those that are free, and the choice among them
    goal           The goal of a solve: a pose and its tolerances
    options        The options of a solver, and its methods by name
    result         The result of a solve for one tip or several, and the name of its branch
    solver         The solver: a pure function of chain or tree, goal, seed and options
    tables         The arrays that compiled code reads of a solver and of a goal
    tree_search    The search of a tree: several tips at once
    unreachable    Why a goal has no posture, and which posture comes nearest
    warm_up        Loads or compiles the kernels of a solver
    closed_form/   Compiled closed forms
    descent/       Compiled iterations
    remedies/      What would make a refused goal possible
"""
