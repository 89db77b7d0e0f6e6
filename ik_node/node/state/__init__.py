# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What arrives from outside and is asked by goals: joint states, clocks, frames, names.

    arm_state        The measured state of the arm
    clocks           Checks of the age of goals
    duplicate_names  Whether another node has the name of this one
    frames           Goal frames
    health_checks    The checks of the node's health
    named_poses      Named poses of the arm
    send_order       Which of two messages was sent first
    tools            The tools of the arm, from a file, and the mounted one
"""
