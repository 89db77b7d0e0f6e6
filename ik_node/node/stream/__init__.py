# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Streams of poses, and jogging.

    jog           Jogging under the names of MoveIt Servo: twists, velocities of joints, pause
    jog_messages  The messages of jog commands: twists, and velocities of joints
    stream        Streaming: follows poses, or jog commands, with short trajectories or commands
"""
