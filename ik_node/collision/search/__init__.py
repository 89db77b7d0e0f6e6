# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Ways around obstacles.

    edges        Compiled proof that a straight line between two postures is free
    path_search  Search for a path among obstacles: waypoints whose straight connections are free
    rrt_connect  Compiled search for a path between postures by two trees
    shortcuts    Compiled shortening of a path between postures
    way_out      How an arm that is too near to something leaves it
"""
