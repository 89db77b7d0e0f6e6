# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The node: a goal comes in, a trajectory goes out.

    components  Builds all that a configured node has
    node        The ik_node: goals in, joint trajectories out, one answer for each goal
    recorder    Writes the recordings of goals
    arms/       The node of several arms
    doors/      MoveIt, behaviour trees, sequences
    execution/  A plan is sent, watched, stopped
    goals/      Goals: their order, their answers, what they ask of the planners
    intake/     Topics of goals and stops; health
    robot/      Settings, solver, bodies
    scene/      Objects from topics and from MoveIt
    show/       Previews, postures, clearance, bodies: what is shown, and moves nothing
    state/      Joint states, clocks, frames, names
    stream/     Streams and jogging
"""
