# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Inverse kinematics of several tips.

    tree_result  The result of a solve for several tips
    tree_solver  Inverse kinematics of several tips of one robot at once
"""
