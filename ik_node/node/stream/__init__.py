# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Streams of poses, and jogging.

    jog     Jogging under the names of MoveIt Servo
    stream  Streams of poses and jog commands become short trajectories, cycle by cycle
"""
