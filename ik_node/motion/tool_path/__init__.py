# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Lines, arcs and paths of the tool.

    options   What a user may choose of lines, arcs and paths
    pacing    Compiled time parameterisation of a joint path: how fast to move along it
    path      Geometry of tool paths: lines, arcs, and the corners between them
    plan      A tool path becomes a trajectory, or how far it can be followed
    segments  Segments of tool paths, and compiled poses on them
    splines   Compiled cubic splines through the nodes of a path, and averages over time
    timing    When the tip is where on its path
    tracing   Compiled inverse kinematics along a path, and by how much a motion leaves it
"""
