# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A motion under way: joined by the next one, watched, stopped, paused, resumed.

    active_trajectory  The trajectory under way: where the next one joins it
    monitor            Whether the arm follows its trajectory, by the joint states
    path_pace          Rest on the path, go on, go slower or faster: the path stays
    thinning           Fewer points, for controllers that take only so many
"""
