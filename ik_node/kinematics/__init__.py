# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Poses, Jacobians, singularities and torques of an arm.

    arguments       Checks of what callers give
    arm             Kinematics of an arm, for Python callers: poses, Jacobians, singularities
    dynamics        Joint torques of an arm that moves, from the masses and inertias of its links
    jacobian_query  Which rows and columns of a Jacobian, of which point of a link
    jacobians       The Jacobian in its textbook forms, and its derivatives
    kernels         Compiled forward kinematics, Jacobian and pose error
    links           The pose of any link in the frame of any other
    singularity     How near a posture is to a singularity, and the motion that is lost there
    tree/           Several tips of one robot
"""
