# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What arrives from outside and is asked by goals: joint states, clocks, frames, names.

    active_flag           Whether the node is active: only then may it move the arm
    arm_state             The measured state of the arm
    callback_delay        How late the callbacks of the node are
    duplicate_names       Whether another node has the name of this one
    frames                Goal frames
    health_checks         The checks of the node's health
    named_poses           Named poses of the arm
    other_joints          Joints beside the arm in the collision check
    semantic_description  The SRDF
    send_order            Which of two messages was sent first
    stamp_check           Checks of the age of goals
    time_jumps            Forward jumps of simulated time, which make motions and stamps look late
    tools                 The tools of the arm, from a file, and the mounted one
"""
