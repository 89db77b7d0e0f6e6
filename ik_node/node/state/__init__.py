# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What arrives from outside, and what goals ask of it: joint states, clocks, frames, names.

    arm_state        Joint states, checked; and joints beside the arm
    clocks           The age of goals, callbacks that are late, and clocks that jump
    duplicate_names  Whether another node has the same name
    frames           Frames of goals: links of the URDF, or TF
    health_checks    The table of what /diagnostics can find
    named_poses      Named poses, the SRDF, and named tools
    send_order       Which of two messages was sent first, though clocks differ
    team             The arms of one robot: where each is and what it does, for all others
"""
