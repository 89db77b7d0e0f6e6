# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Poses, Jacobians, singularities and torques of an arm.

    arguments       Check the arguments of callers before they reach compiled code
    arm             Kinematics of an arm, for Python callers: poses, Jacobians, singularities
    dynamics        Joint torques of an arm that moves, from the masses and inertias of its links
    jacobian_query  A point of a link, chosen axes, rows and locked joints
    jacobians       The Jacobian in its textbook forms: readable references for the compiled one
    kernels         Compiled forward kinematics, Jacobian and pose error
    links           Pose of any link of the tree in the frame of any other
    singularity     Distance of a posture to a singularity
"""
