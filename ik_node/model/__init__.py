# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A robot description becomes a chain: what is known of an arm before anything moves.

    arm_search    Which links of a tree are the arm: its base, its tip and its joints
    arms          Which arms a robot has: base, tips, names, and the controllers of their joints
    chain         The chain of an arm: tables of its joints, from its base link to its tip link
    joint_space   Limits and turns of the coordinates of an arm or a tree
    joints        Joints as rows of one degree of freedom each, and per-joint numbers of callers
    ros2_control  The ros2_control element of a description
    tool          The pose and the centre of mass of a tool, from parameters
    description/  URDF and xacro: the text, its elements, and the files that it names
    user_files/   YAML files of users: presets of arms, named poses, limits of joints
"""
