# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What is shown, and moves nothing: previews, postures, clearance, the scene.

    clearance      Display of the least distance in the present posture: ~/clearance_markers
    display        Display of the latest goal or preview
    posture_list   All postures of the latest preview, each with what speaks for and against it
    preview        Previews: solve and display a possible goal, and plan its motion
    scene_display  Display of the collision bodies: ~/scene_markers and ~/body_markers
"""
