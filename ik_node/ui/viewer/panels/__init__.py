# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The panels of the page.

    collision_panel  Collision checking: bodies of the links, the clearance, and boxes of the page
    handle_view      The handle on the page: arrows, rings, buttons
    joint_sliders    Sliders of the joints, and buttons to jog
    panels           Where each panel is; the small ones: plots, the last goals, postures
    settings_panel   Sliders of parameters, named poses and tools
"""
