# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Plots of trajectories: plot_trajectory.

    command           Joints and their limits, tool speed, manipulability over time
    figures           Figures without a display: colours, panels, legends
    trajectory_files  Recorded trajectories and goals
"""
