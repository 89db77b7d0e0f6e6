# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A motion under way: joined, watched, stopped, paused, resumed.

    active_trajectory  The trajectory that the controller executes, and where the next one starts
    monitor            Checks by the joint states whether the arm follows its trajectory
    path_pace          Ramps to rest among obstacles
    thinning           Trajectories of fewer points, for controllers that take only so many
"""
