# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Distances of postures, and proofs of what lies between them.

    certificate   Proof that a timed trajectory keeps its distance from collisions at every instant
    check         Compiled check of postures: the distances of all pairs of parts that may meet
    depth         How deep two convex parts overlap: the least shift that brings them apart
    distance      Compiled distance of two convex parts
    model         The collision model of an arm and its surroundings
    near_pairs    Compiled search for what the arm is near to
    other_joints  Joints beside a chain that carry links of the robot
    sweeps        Compiled bounds of how far parts move in an interval of a motion
"""
