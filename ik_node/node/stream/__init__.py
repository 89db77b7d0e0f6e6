# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Streams of poses, and jogging.

    jog     Jogging under the names of MoveIt Servo: twists, velocities of joints, pause
    stream  Streaming: follows poses, or jog commands, with short trajectories or commands
"""
