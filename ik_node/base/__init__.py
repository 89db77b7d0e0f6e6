# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What all others stand on, and which imports none of them.

    argument_values  Types of command-line arguments
    compilation      Cache of compiled functions, and progress messages while they are compiled
    errors           Errors and their reasons
    se3              Rigid-body poses as 4x4 homogeneous matrices, and their twists
    system           Packages that may be missing
    text             Make names, sentences and values from outside safe to print
"""
