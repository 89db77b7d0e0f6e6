# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Motions along postures that are given, and sequences of motions.

    motion_sequence  Sequences of motions: joints, lines, arcs, with blends
    plan             One motion of the joints through waypoints
    taught_path      Waypoints and recorded motions of joints, and their YAML files
    waypoints        Joint positions to pass in one motion
"""
