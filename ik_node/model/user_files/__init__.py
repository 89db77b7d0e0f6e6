# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
YAML files of users: presets of arms, named poses, limits of joints.

    joint_limits_file  joint_limits.yaml, as MoveIt has it
    named_poses        Joint positions that have a name, and YAML files of them
    plain_yaml         What all these files have in common
    presets            Presets of arms, and the descriptions that they name
"""
