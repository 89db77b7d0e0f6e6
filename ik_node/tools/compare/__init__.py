# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Methods of inverse kinematics side by side: compare_methods.

    command       Compare methods of inverse kinematics side by side, on any arm
    compare_runs  Runs of all methods on the same goals, their table and their figures
"""
