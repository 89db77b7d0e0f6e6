# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What is drawn in the scene of the page.

    marker_view  The markers of an ik_node in the scene, without the ghost
    robot_view   A robot in the scene, what is drawn of it, and the ghost
    scene        The scene: robot, ghost, markers, workspace, ground, points
"""
