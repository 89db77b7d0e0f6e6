# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled control cycle that follows a moving target.

All joints approach the desired rates in step, with limited acceleration and jerk; a joint
that could otherwise not stop within its limits begins to stop.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from ik_node.kinematics.kernels import compiled, inner
from ik_node.motion.following.along_path import along_cycle, TARGET_COURSE
from ik_node.motion.following.brake import bounds_of, plan_jerks, state_after, stop_phases
from ik_node.motion.following.pose_stream import predict
from ik_node.motion.following.rates import (
    bounded_rates,
    lag_of,
    RAMP_JERK_SHARE,
    resolved_rates,
)


class CycleTiming(NamedTuple):
    """Times of one cycle."""

    ahead: float  # from the time of the target to that of the state (s)
    # Share of its velocity with which the target is assumed to go on, 0 (at rest) to 1.
    target_share: float
    duration: float              # of the cycle (s)
    pace: float                  # share of the desired rates that is followed, up to 1
    course: int = TARGET_COURSE  # one of the courses of :mod:`ik_node.motion.following.along_path`
    # Share of the target's acceleration with which it is assumed to go on.
    swerve_share: float = 0.0


class CyclePlan(NamedTuple):
    """Jerk of each joint and how long (s) it lasts, (n,); then follows the fastest stop."""

    jerk: np.ndarray
    jerk_time: np.ndarray


@inner
def look_of(gain, duration):
    """Return the time (s) after the state of a cycle for which its rates are chosen."""
    return lag_of(gain, duration) + 0.5 * duration


@compiled
def follow_cycle(model, target, timing, state, plan, near, work, course):
    """
    Choose the motion of the next cycle: along the path, or as near to it as can be.

    Parameters
    ----------
    model : FollowModel
    target : TargetState
    timing : CycleTiming
    state : (3, n) array
        q, qd, qdd.
    plan : CyclePlan, written
    near : NearPairs
    work : RatesWork
    course : Course

    Returns
    -------
    (float, float, float, float)
        As :func:`ik_node.motion.following.rates.resolved_rates`.

    """
    kept, position_error, orientation_error, smallest, scale = along_cycle(
        model, target, timing, state, plan, near, work, course)
    if kept:
        return position_error, orientation_error, smallest, scale
    q, twist = work.q, work.twist
    # The joints reach the rates with a lag, so these are chosen for that time.
    look = look_of(model.gain, timing.duration)
    for k in range(state.shape[1]):
        q[k] = state[0, k] + look * (state[1, k] + 0.5 * look * state[2, k])
    ahead = timing.target_share * (timing.ahead + look)
    predict(target, ahead, model.goal[:12])
    for i in range(6):
        twist[i] = timing.target_share * (target.velocity[i] + ahead * target.acceleration[i])
    report = resolved_rates(model, twist, q, near, work)
    plan_to_rates(model, timing, state, plan, work)
    return report


@compiled
def joint_cycle(model, rates, timing, state, plan, near, work):
    """
    Choose the motion of the next cycle by the desired velocity of each joint.

    Parameters
    ----------
    rates : (n,) array
        Rad/s or m/s.
    others
        As :func:`follow_cycle`.

    Returns
    -------
    (float, float, float, float)
        NaN for the errors and the singular value; share of the rates that is allowed.

    """
    q = work.q
    look = look_of(model.gain, timing.duration)
    for k in range(state.shape[1]):
        q[k] = state[0, k] + look * (state[1, k] + 0.5 * look * state[2, k])
    share = bounded_rates(model, rates, q, near, work)
    plan_to_rates(model, timing, state, plan, work)
    return np.nan, np.nan, np.nan, share


@inner
def plan_to_rates(model, timing, state, plan, work):
    """Write the plan of a cycle towards the rates ``work.wanted`` (n,)."""
    n, dt = state.shape[1], timing.duration
    acceleration, jerk = model.limits.acceleration, model.limits.jerk
    jerks, jerk_times, wanted = plan.jerk, plan.jerk_time, work.wanted
    lag = lag_of(model.gain, dt)
    for k in range(n):
        wanted[k] *= timing.pace
    # All joints change their speed in step, so that the direction of the tip is kept.
    share = 1.0 / lag
    for k in range(n):
        change = abs(wanted[k] - state[1, k])
        if change > 0.0:
            share = min(share, acceleration[k] / change,
                        sqrt(2.0 * RAMP_JERK_SHARE * jerk[k] / change))
    for k in range(n):
        jerks[k] = share * (wanted[k] - state[1, k]) - state[2, k]
    plan_jerks(model.limits, dt, state, jerks, jerk_times)


@compiled
def plan_states(limits, state, plan, times, states):
    """Write the states (K, 3, n) of a plan at times (K,), s since it began in `state` (3, n)."""
    jerks, jerk_times = plan.jerk, plan.jerk_time
    for k in range(state.shape[1]):
        bounds = bounds_of(limits, k)
        begin = state[0, k], state[1, k], state[2, k]
        for i in range(times.shape[0]):
            states[i, 0, k], states[i, 1, k], states[i, 2, k] = state_after(
                begin, jerks[k], jerk_times[k], times[i], bounds)


@compiled
def plan_switches(limits, state, plan):
    """Return when (4 n,) the jerk of a plan switches, ascending; the last is its end."""
    switches = np.empty(4 * state.shape[1])
    write_switches(limits, state, plan, switches)
    return switches


@inner
def write_switches(limits, state, plan, switches):
    """Write what :func:`plan_switches` returns."""
    for k in range(state.shape[1]):
        bounds, jerk_time = bounds_of(limits, k), plan.jerk_time[k]
        _, v, a = state_after((state[0, k], state[1, k], state[2, k]), plan.jerk[k], jerk_time,
                              jerk_time, bounds)
        t1, _, t2, t3, _ = stop_phases(v, a, bounds.acceleration, bounds.jerk)
        switches[4 * k] = jerk_time
        switches[4 * k + 1] = jerk_time + t1
        switches[4 * k + 2] = jerk_time + t1 + t2
        switches[4 * k + 3] = jerk_time + t1 + t2 + t3
    for i in range(1, switches.shape[0]):  # insertion sort
        later, k = switches[i], i
        while k > 0 and switches[k - 1] > later:
            switches[k] = switches[k - 1]
            k -= 1
        switches[k] = later
