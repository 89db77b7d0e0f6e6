# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Lines, arcs and paths of the tool.

    averaging  Compiled moving averages of a motion along a path over time, by two box filters
    options    Options of tool paths
    pacing     Compiled time parameterisation of a joint path: how fast to move along it
    path       Geometry of tool paths: lines, arcs, and the corners between them
    plan       Motion of the tip along a path: straight lines, blended corners, arcs
    segments   Segments of tool paths, and compiled poses on them
    splines    Compiled cubic splines through the nodes of a path
    timing     Timing of a joint path
    tracing    Compiled inverse kinematics along a tool path, and the deviation of a motion from it
"""
