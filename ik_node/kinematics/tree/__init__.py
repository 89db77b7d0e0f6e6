# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Several tips of one robot.

    kinematic_tree  The joints between a base link and several tips, and the frames that move
    tree_kernels    Compiled forward kinematics and Jacobians of a kinematic tree
"""
