# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled control cycle that follows a moving target.

The wanted rates are approached by all joints in step, with limited acceleration and
jerk; where a joint could not stop in time any more, it begins to stop.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from ik_node.kinematics.kernels import compiled
from ik_node.motion.following.brake import state_after, stop_phases, time_allowed
from ik_node.motion.following.rates import GAIN, JERK, LOWER, MOST, rates, SPEED, UPPER
from ik_node.motion.following.target import ACCELERATION, predict, VELOCITY

RAMP = 0.6  # share of the jerk with which changes of speed are foreseen


@compiled
def follow_cycle(table, joints, settings, goal, target, ahead, moves, dt, state, plan, wanted,
                 found):
    """
    Choose the motion of the next `dt` seconds.

    Parameters
    ----------
    table : (m + 1, 16) array
        :attr:`ik_node.model.chain.Chain.table`.
    joints : (7, n) array
    settings : (4,) array
    goal : (19,) array, changed
        Its pose is written; see :mod:`ik_node.solver.compiled.layout`.
    target : (24,) array
        See :mod:`ik_node.motion.following.target`.
    ahead : float
        s from the time of the target to that of the state.
    moves : float
        Share of its movement with which the target goes on, 0 (it stands) to 1.
    state : (3, n) array
        q, qd, qdd.
    plan : (2, n) array, written
        Jerk of each joint and how long it lasts; then comes the fastest stop.
    wanted : (n,) array, written
        Rates that are aimed at.
    found : (4,) array, written

    """
    n, m = state.shape[1], table.shape[0] - 1
    work = (np.empty((m + 1, 12)), np.empty((n, 6)), np.empty((6, 6)), np.empty((6, 6)),
            np.empty((6, 3)), np.empty(6), np.empty(6), np.empty(6), np.empty(6), np.empty(n),
            np.empty(n), np.empty(n, dtype=np.bool_))
    # The rates are followed with a lag, and so are chosen for the time at which they are reached.
    lag = max(0.25 / settings[GAIN], 1.5 * dt)
    look = lag + 0.5 * dt
    q, twist = np.empty(n), np.empty(6)
    for k in range(n):
        q[k] = state[0, k] + look * (state[1, k] + 0.5 * look * state[2, k])
    ahead = moves * (ahead + look)
    predict(target, ahead, goal[:12])
    for i in range(6):
        twist[i] = moves * (target[VELOCITY + i] + ahead * target[ACCELERATION + i])
    rates(table, joints, settings, goal, twist, q, wanted, found, work)
    # All joints change their speed in step, so that the tip goes where the rates would take it.
    share = 1.0 / lag
    for k in range(n):
        more = abs(wanted[k] - state[1, k])
        if more > 0.0:
            share = min(share, joints[MOST, k] / more, sqrt(2.0 * RAMP * joints[JERK, k] / more))
    step = 1.0 / dt
    for k in range(n):
        plan[0, k] = share * (wanted[k] - state[1, k]) - state[2, k]
        if plan[0, k] != 0.0:
            step = min(step, joints[JERK, k] / abs(plan[0, k]))
    for k in range(n):
        plan[0, k] *= step
        plan[1, k] = time_allowed(state[0, k], state[1, k], state[2, k], plan[0, k], dt,
                                  joints[LOWER, k], joints[UPPER, k], joints[SPEED, k],
                                  joints[MOST, k], joints[JERK, k])


@compiled
def plan_states(joints, state, plan, times, states):
    """Write the states (K, 3, n) of a plan at some times (K,) since its begin."""
    for i in range(times.shape[0]):
        for k in range(state.shape[1]):
            states[i, 0, k], states[i, 1, k], states[i, 2, k] = state_after(
                state[0, k], state[1, k], state[2, k], plan[0, k], plan[1, k], times[i],
                joints[MOST, k], joints[JERK, k])


@compiled
def plan_switches(joints, state, plan):
    """Return when (4 n,) the jerk of a plan switches, in order; the last is its end."""
    n = state.shape[1]
    switches = np.empty(4 * n)
    for k in range(n):
        q, v, a = state_after(state[0, k], state[1, k], state[2, k], plan[0, k], plan[1, k],
                              plan[1, k], joints[MOST, k], joints[JERK, k])
        t1, _, t2, t3, _ = stop_phases(v, a, joints[MOST, k], joints[JERK, k])
        switches[4 * k] = plan[1, k]
        switches[4 * k + 1] = plan[1, k] + t1
        switches[4 * k + 2] = plan[1, k] + t1 + t2
        switches[4 * k + 3] = plan[1, k] + t1 + t2 + t3
    switches.sort()
    return switches
