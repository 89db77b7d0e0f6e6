# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A plan becomes a trajectory that is sent, watched, stopped.

    motion             Motions of the arm: plan, send, watch, stop
    outputs            How trajectories go out: a topic, an action, or positions
    pause              Rest on the path, and go on
    trajectory_sender  When a trajectory begins, so that the controller joins it to the present one
"""
