# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A motion under way: joined, watched, stopped, paused, resumed.

    active_trajectory    The trajectory that the controller executes, and where the next one starts
    monitor              Checks by the joint states whether the arm follows its trajectory
    path_rate            Change the speed of the active motion on its path
    path_resume          The rest of a motion that was paused: on its path, from rest to its end
    path_stop            Ramps to rest among obstacles
    path_tolerance       Path tolerance
    received_trajectory  A trajectory that was planned before, joined to where the arm is now
    thinning             Trajectories of fewer points, for controllers that take only so many
"""
