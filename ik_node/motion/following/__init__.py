# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Poses and velocities that stream.

    along_path       Compiled control cycle that keeps the tip on its path
    brake            Compiled jerk-limited stop of one joint
    collision_guard  Guard of a stream
    commanded        The commanded motion of a follower
    cycle            Compiled control cycle that follows a moving target
    follower         Following a target whose poses come as a stream
    jog              Jogging
    options          Options and results of following a target
    path_ahead       Compiled look at the joints' path ahead
    plan_proof       Compiled proof that the motion of a cycle, and the stop after it, is free
    pose_stream      The stream of target poses
    rates            Compiled joint rates that make the tip follow a moving target
"""
