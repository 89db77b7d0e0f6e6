# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A plan becomes a trajectory that is sent, watched, stopped.

    beside             Motions that are planned in another thread
    context            What all that moves the arm is given of the node
    gripper            Openings of a gripper, passed through when their time has come
    motion             Motions to goals: solve, plan, prove, send, supervise
    outputs            How trajectories go out: a topic, an action, or positions
    pace               Pause a motion on its path, go on with it, change its speed
    ramps              Bring the arm to rest: at a stop, or before what it cannot join or meets
    several_outputs    Several controllers as one output
    supervisor         Watches motions, and gives the final answer
    trajectory_sender  When a trajectory begins, so that the controller joins it to the present one
"""
