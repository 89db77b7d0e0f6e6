# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The panels of the page.

    box_panel        Boxes around the arm that are added, moved and removed on the page
    collision_panel  Collision checking: bodies of the links, the clearance, and boxes of the page
    goal_list        The last goals, newest first, one line each
    handle_view      The handle on the page: arrows, rings, buttons
    joint_sliders    Sliders of the joints, and buttons to jog
    panels           Where each panel is
    plots            Plots of joint positions and of the distance to singularities
    posture_panel    All postures that reach the pose of the handle: one button for each
    settings_panel   Sliders of parameters, named poses and tools
"""
