# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled jerk-limited stop of one joint, and which jerk still allows a stop within the limits.

The fastest stop: the acceleration goes to ``-p``, stays there, and returns to zero, each at
the jerk limit (Haschke, Weitnauer and Ritter 2008, "On-line planning of time-optimal,
jerk-limited trajectories").  A state is safe if its fastest stop keeps the limits.  A joint
that goes from safe state to safe state never exceeds a limit, because it can always stop
(the viability kernel of Decre, Smits et al. for limits of third order).

A state is a tuple ``(q, v, a)``: rad or m, per s, per s^2.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from ik_node.kinematics.kernels import inner

CYCLE_BISECTIONS = 14  # of a cycle, to find how long the desired jerk may last


class JointBounds(NamedTuple):
    """Limits of one joint, in the units of ``MotionLimits``."""

    lower: float
    upper: float
    velocity: float
    acceleration: float
    jerk: float


@inner
def bounds_of(limits, k):
    """Return the JointBounds of joint k of LimitRows."""
    return JointBounds(limits.lower[k], limits.upper[k], limits.velocity[k],
                       limits.acceleration[k], limits.jerk[k])


@inner
def advance(state, j, t):
    """Return the state after `t` seconds of jerk `j`."""
    q, v, a = state
    return (q + t * (v + t * (0.5 * a + t * j / 6.0)), v + t * (a + 0.5 * t * j), a + t * j)


@inner
def stop_phases(v, a, A, J):
    """
    Return the fastest stop from velocity `v` and acceleration `a`.

    Parameters
    ----------
    A, J : float
        Limits of acceleration and jerk.

    Returns
    -------
    (float, float, float, float, float)
        Duration and jerk of the first phase, duration of the second without
        jerk, duration and jerk of the third.

    """
    sign = 1.0 if v + 0.5 * a * abs(a) / J > 0.0 else -1.0
    w, b = sign * v, sign * a
    p = min(A, sqrt(max(0.5 * b * b + J * w, 0.0)))
    first = -J if b > -p else J
    t2 = 0.0
    if p > 0.0:
        t2 = max((w + 0.5 * (p * p - b * b) / first) / p - 0.5 * p / J, 0.0)
    return abs(b + p) / J, sign * first, t2, p / J, sign * J


@inner
def stop_positions(state, bounds):
    """Return the lowest and the highest position during the fastest stop."""
    q, v, a = state
    A, J = bounds.acceleration, bounds.jerk
    t1, j1, t2, t3, j3 = stop_phases(v, a, A, J)
    end = advance(advance(advance(state, j1, t1), 0.0, t2), j3, t3)[0]
    turn = q
    if v * (v + 0.5 * a * abs(a) / J) < 0.0:
        # It moves away first: back at v + a t - J t^2 / 2 = 0.
        t = (abs(a) - sqrt(max(a * a - 2.0 * J * abs(v), 0.0))) / J
        turn = advance(state, j1, t)[0]
    return min(q, end, turn), max(q, end, turn)


@inner
def stop_velocities(v, a, J):
    """Return the lowest and the highest velocity during the fastest stop."""
    ramp = 0.5 * a * abs(a) / J
    return min(v, v + ramp, 0.0), max(v, v + ramp, 0.0)


@inner
def is_safe(state, j, t, bounds, peak_acceleration):
    """
    Return whether `t` seconds of jerk `j`, and the fastest stop after them, keep the bounds.

    The acceleration may go up to `peak_acceleration` meanwhile.
    """
    q, v, a = state
    lower, upper, V, J = bounds.lower, bounds.upper, bounds.velocity, bounds.jerk
    after = advance(state, j, t)
    _, v1, a1 = after
    if abs(a1) > peak_acceleration:
        return False
    slowest, fastest = stop_velocities(v1, a1, J)
    if fastest > V or slowest < -V:
        return False
    if a * a1 < 0.0:
        # The velocity is extreme at a + j t = 0.
        peak = v - 0.5 * a * a / j
        if abs(peak) > V:
            return False
    lowest, highest = stop_positions(after, bounds)
    if highest > upper or lowest < lower:
        return False
    # The position is extreme where v + a t + j t^2 / 2 = 0.
    root = a * a - 2.0 * v * j
    if root >= 0.0 and v != 0.0:
        far = -(a + (sqrt(root) if a > 0.0 else -sqrt(root)))
        for k in range(2):
            turn = -1.0
            if k == 0 and j != 0.0:
                turn = far / j
            elif k == 1 and far != 0.0:
                turn = 2.0 * v / far
            if 0.0 < turn < t:
                at = advance(state, j, turn)[0]
                if at > upper or at < lower:
                    return False
    return True


@inner
def max_jerk_time(state, j, t, bounds):
    """
    Return how much of `t` seconds the jerk `j` may last before the fastest stop must begin.

    Bounds that the stop from the present state exceeds already (a joint was outside, limits
    were lowered in motion) may not be exceeded further.
    """
    lowest, highest = stop_positions(state, bounds)
    slowest, fastest = stop_velocities(state[1], state[2], bounds.jerk)
    widened = JointBounds(min(bounds.lower, lowest), max(bounds.upper, highest),
                          max(bounds.velocity, fastest, -slowest), bounds.acceleration,
                          bounds.jerk)
    peak = max(bounds.acceleration, abs(state[2]))
    if is_safe(state, j, t, widened, peak):
        return t
    low, high = 0.0, t
    for _ in range(CYCLE_BISECTIONS):
        middle = 0.5 * (low + high)
        if is_safe(state, j, middle, widened, peak):
            low = middle
        else:
            high = middle
    return low


@inner
def plan_jerks(limits, dt, state, jerks, jerk_times):
    """
    Write jerks (n,) within their limits, and how long they may last in a cycle.

    Parameters
    ----------
    limits : LimitRows
    dt : float
        Of the cycle (s).
    state : (3, n) array
    jerks : (n,) array, changed
        Changes of acceleration that are wanted in the cycle.
    jerk_times : (n,) array, written

    """
    step = 1.0 / dt
    for k in range(jerks.shape[0]):
        if jerks[k] != 0.0:
            step = min(step, limits.jerk[k] / abs(jerks[k]))
    for k in range(jerks.shape[0]):
        jerks[k] *= step
        jerk_times[k] = max_jerk_time((state[0, k], state[1, k], state[2, k]), jerks[k], dt,
                                      bounds_of(limits, k))


@inner
def state_after(state, j, jerk_time, t, bounds):
    """Return the state at `t`: jerk `j` for `jerk_time` seconds, then the fastest stop."""
    if t <= jerk_time:
        return advance(state, j, t)
    state = advance(state, j, jerk_time)
    t1, j1, t2, t3, j3 = stop_phases(state[1], state[2], bounds.acceleration, bounds.jerk)
    t -= jerk_time
    state = advance(state, j1, min(t, t1))
    step = min(t - t1, t2)
    if step > 0.0:
        state = advance(state, 0.0, step)
    step = min(t - t1 - t2, t3)
    if step > 0.0:
        state = advance(state, j3, step)
    if t >= t1 + t2 + t3:
        return state[0], 0.0, 0.0
    return state


@inner
def speed_to_stop(distance, A, J):
    """
    Return the velocity from which a stop needs `distance`, starting without acceleration.

    ``d = v^2 / 2A + v A / 2J`` if the acceleration reaches its limit A, else
    ``d = v^1.5 / J^0.5``.
    """
    half = 0.5 * A * A / J
    v = sqrt(half * half + 2.0 * A * distance) - half
    if v >= 2.0 * half:
        return v
    return (distance * distance * J) ** (1.0 / 3.0)
