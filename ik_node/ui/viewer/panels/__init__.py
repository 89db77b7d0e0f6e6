# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The panels of the page.

    box_panel        Boxes around the arm that are added, moved and removed on the page
    collision_panel  Collision checking: bodies of the links, the clearance, and boxes of the page
    goal_list        The last goals, newest first, one line each
    handle_view      The handle on the page
    joint_sliders    Sliders for the joints, which follow the arm until they are touched
    panels           The panels beside the scene
    plots            Plots of joint positions and of the distance to singularities
    posture_panel    All postures that reach the pose of the handle: one button for each
    settings_panel   Sliders for parameters of an ik_node; they show the values that the node has
"""
