# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
YAML files of users: presets of arms, named poses, limits of joints.

    joint_limits_file  Read the limits of joints from a joint_limits.yaml, as MoveIt has it
    named_poses        Joint positions that have a name, and YAML files of them
    plain_yaml         YAML files of users with one key, below which are named entries
    presets            Presets of arms: YAML files that name what a user would have to look up
"""
