# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A robot description becomes a chain: what is known of an arm before anything moves.

    arm_search    Find the arm in a tree of links: its base link, its tip link and its joints
    chain         Build a serial chain, as plain arrays, from a checked tree and two of its links
    joint_space   The coordinates of an arm or of a kinematic tree: their limits and their turns
    joints        Joints as rows of one degree of freedom each
    ros2_control  The ros2_control part of a robot description, for hardware that others simulate
    tool          The pose and the centre of mass of a tool, from the numbers of parameters
"""
