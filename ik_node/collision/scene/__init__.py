# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Objects around the arm, and the files that say which pairs may touch.

    scene       The scene: the objects around the arm and in its hand, for the collision check
    scene_file  Scenes as YAML files
    srdf        SRDF: which pairs of links are not checked, and named poses
    tool_file   Tools that have a name, from YAML files
"""
