# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Ways around obstacles.

    corners      Compiled rounding of the corners of a way, as far as that is free
    edges        Compiled proof that a straight line between two postures is free
    path_search  Search for a path among obstacles, its shortcuts, and the way out of a contact
    rrt_connect  Compiled search for a path between postures by two trees
    slides       Compiled slides: a hand moves on in one direction and hardly turns
"""
