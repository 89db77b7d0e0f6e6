# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What is shown, and moves nothing: previews, postures, clearance, the scene.

    display        The latest goal or preview: ~/markers
    preview        A goal is solved and planned, and the arm stays: ~/preview, ~/postures
    scene_display  The bodies as they are checked, and the least distance between them
"""
