# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Distances of postures, and proofs of what lies between them.

    beside        Compiled placement of what joints beside a chain carry
    certificate   Proof that a timed trajectory is free at every instant, also between its points
    check         Compiled check of postures: the distances of all pairs that may meet
    depth         How deep two convex parts overlap: the least shift that brings them apart
    distance      Compiled distance of two convex parts
    model         The collision model: which pairs of links and objects, and their margins
    other_joints  Links behind joints that are not of the arm
    sweeps        Compiled bounds of how far parts move in an interval, and what comes near
"""
