# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What all others stand on, and which imports none of them.

    argument_values  Types of command-line arguments
    call_types       Keeps the types that numba finds for calls of its own functions
    compilation      Cache of compiled functions, and progress messages while they are compiled
    errors           Errors and their reasons
    inner_functions  Compiles functions that only compiled functions call
    packages         Packages that may be missing, and the commands that install them
    se3              Rigid-body poses as 4x4 homogeneous matrices, and their twists
    share            Find the data files of this package
    signals          The signals that end a program
    text             Make names, sentences and values from outside safe to print
"""
