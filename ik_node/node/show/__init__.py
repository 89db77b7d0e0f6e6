# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What is shown, and moves nothing: previews, postures, clearance, the scene.

    clearance      The least distance of the present posture: ~/clearance_markers
    display        The latest goal or preview: ~/markers
    posture_list   All postures of a pose: ~/postures
    preview        A goal is solved and planned, and the arm stays: ~/preview
    scene_display  The bodies as they are checked: ~/scene_markers and ~/body_markers
"""
