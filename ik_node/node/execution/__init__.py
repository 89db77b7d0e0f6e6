# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A plan becomes a trajectory that is sent, watched, stopped.

    motion             Motions of the arm: plan, send, monitor, stop
    outputs            Outputs to the controller
    pause              Pause a motion on its path, and go on with it
    trajectory_sender  Trajectories sent so that the controller joins them to the present motion
"""
