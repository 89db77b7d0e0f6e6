# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The node: a goal comes in, a trajectory goes out.

    components  The components of a configured node
    node        The ik_node: goals in, joint trajectories out, one answer for each goal
    recorder    Recordings of goals, for ik_replay: written beside the other work of the node
"""
