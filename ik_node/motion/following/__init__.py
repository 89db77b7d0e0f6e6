# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Streams and jogging: poses and velocities that are followed as they come.

    along_path        Compiled control cycle that keeps the tip on its path
    brake             Compiled jerk-limited stop of one joint
    collision_guard   What a stream or a jog may do beside obstacles, and the proof of it
    commanded         What was commanded last, and the trajectory of it
    constraint_guard  The same of path constraints, and of the speed limit of the tip
    cycle             Compiled control cycle that follows a moving target
    follower          One cycle after another: poses or velocities in, a short trajectory out
    jog               Velocities that are commanded by hand
    options           Options and results of following a target
    path_ahead        Compiled look at the joints' path ahead
    pose_stream       The poses that came, what is expected next, and the way to it
    rates             Compiled joint rates that make the tip follow a moving target
"""
