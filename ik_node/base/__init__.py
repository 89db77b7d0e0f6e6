# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What all others stand on, and which imports none of them.

    argument_values  Types of command-line arguments
    checks           Numbers, rotations and quaternions that come from outside
    compilation      Cache of compiled functions, and progress messages while they are compiled
    errors           Errors, and the words by which goals are refused, each with its remedy
    se3              Rigid-body poses as 4x4 homogeneous matrices, and their twists
    system           Shipped files, packages that may be missing, signals that end a program
    text             Names, sentences and values from outside, safe to print
"""
