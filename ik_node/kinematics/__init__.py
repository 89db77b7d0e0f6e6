# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Poses, Jacobians, singularities and torques of an arm.

    arguments  Checks of what callers give, and which Jacobian they ask for
    arm        Kinematics of an arm, for Python callers: poses, Jacobians, singularities
    dynamics   Joint torques of an arm that moves, from the masses and inertias of its links
    jacobians  The Jacobian in its textbook forms, its derivatives, and its singularities
    kernels    Compiled forward kinematics, Jacobian and pose error
    links      The pose of any link in the frame of any other
    tree/      Several tips of one robot
"""
