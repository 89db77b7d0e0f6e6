# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Path constraints: what the tip keeps during a motion, a level, a plane, a corridor.

    constraint  What is kept: a box of the tip's pose in a frame, or a largest tilt
    keep        The same as users write it, in frames that are known when a motion begins
    proof       Whether a timed trajectory keeps it, at every instant
    rows        Compiled: how far outside a posture is, and the nearest one inside
    search      Compiled: two trees of postures within constraints, among obstacles
"""
