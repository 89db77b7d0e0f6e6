# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The workspace of an arm: ik_workspace.

    command      Sample the workspace of an arm
    plots        Figures of a workspace: slices through it, with the arm
    point_cloud  Publish a workspace as a point cloud, for RViz and the viewer
    sampling     The cells that an arm reaches, and the orientations in each
"""
