# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The workspace of an arm: ik_workspace.

    colours       Colours of a workspace, for figures and RViz; needs no ROS
    command       Sample the workspace of an arm
    orientations  Evenly distributed orientations and directions, for any number of them
    plots         Figures of a workspace: slices through it, with the arm
    point_cloud   Publish a workspace as a point cloud, for RViz and the viewer
    sampling      Sample the workspace of an arm on a grid of cells
"""
