# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled jerk-limited stopping of one joint, and what may be done before it.

The stop is the fastest one: the acceleration goes to ``-p``, stays, and returns
to zero, each at the jerk limit (Haschke, Weitnauer and Ritter 2008, "On-line
planning of time-optimal, jerk-limited trajectories").  A state is safe if its
stop keeps the limits.  A joint that goes from safe states to safe states never
breaks a limit, because its stop is always at hand (the viability kernel of
Decre, Smits et al. for limits of the third order).
"""

from __future__ import annotations

from math import sqrt

from ik_node.kinematics.kernels import inner

HALVINGS = 14  # of a cycle, to find how long the wanted jerk may last


@inner
def advance(q, v, a, j, t):
    """Return position, velocity and acceleration after `t` seconds of jerk `j`."""
    return (q + t * (v + t * (0.5 * a + t * j / 6.0)), v + t * (a + 0.5 * t * j), a + t * j)


@inner
def stop_phases(v, a, A, J):
    """
    Return the fastest stop from velocity `v` and acceleration `a`.

    Returns
    -------
    (float, float, float, float, float)
        Duration and jerk of the first phase, duration of the second without
        jerk, duration and jerk of the third.

    """
    way = 1.0 if v + 0.5 * a * abs(a) / J > 0.0 else -1.0
    w, b = way * v, way * a
    p = min(A, sqrt(max(0.5 * b * b + J * w, 0.0)))
    first = -J if b > -p else J
    t2 = 0.0
    if p > 0.0:
        t2 = max((w + 0.5 * (p * p - b * b) / first) / p - 0.5 * p / J, 0.0)
    return abs(b + p) / J, way * first, t2, p / J, way * J


@inner
def stop_reach(q, v, a, A, J):
    """Return the lowest and the highest position on the way of the fastest stop."""
    t1, j1, t2, t3, j3 = stop_phases(v, a, A, J)
    end, w, b = advance(q, v, a, j1, t1)
    end, w, b = advance(end, w, b, 0.0, t2)
    end, w, b = advance(end, w, b, j3, t3)
    turn = q
    if v * (v + 0.5 * a * abs(a) / J) < 0.0:
        # It moves away first: back at v + a t - J t^2 / 2 = 0.
        t = (abs(a) - sqrt(max(a * a - 2.0 * J * abs(v), 0.0))) / J
        turn, w, b = advance(q, v, a, j1, t)
    return min(q, end, turn), max(q, end, turn)


@inner
def top_speeds(v, a, J):
    """Return the lowest and the highest velocity on the way of the fastest stop."""
    ramp = 0.5 * a * abs(a) / J
    return min(v, v + ramp, 0.0), max(v, v + ramp, 0.0)


@inner
def safe_after(q, v, a, j, t, lower, upper, V, most, A, J):
    """Whether `t` seconds of jerk `j`, to `most` acceleration, and the stop keep the limits."""
    q1, v1, a1 = advance(q, v, a, j, t)
    if abs(a1) > most:
        return False
    slowest, fastest = top_speeds(v1, a1, J)
    if fastest > V or slowest < -V:
        return False
    if a * a1 < 0.0:
        # The velocity turns at a + j t = 0.
        peak = v - 0.5 * a * a / j
        if abs(peak) > V:
            return False
    lowest, highest = stop_reach(q1, v1, a1, A, J)
    if highest > upper or lowest < lower:
        return False
    # The position turns where v + a t + j t^2 / 2 = 0.
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
                at, _, _ = advance(q, v, a, j, turn)
                if at > upper or at < lower:
                    return False
    return True


@inner
def time_allowed(q, v, a, j, t, lower, upper, V, A, J):
    """
    Return how much of `t` seconds the jerk `j` may last before the fastest stop must begin.

    Limits that the stop from the present state breaks already (a joint that stood
    outside, limits that were lowered in motion) may not be broken further.
    """
    lowest, highest = stop_reach(q, v, a, A, J)
    slowest, fastest = top_speeds(v, a, J)
    lower, upper = min(lower, lowest), max(upper, highest)
    V, most = max(V, fastest, -slowest), max(A, abs(a))
    if safe_after(q, v, a, j, t, lower, upper, V, most, A, J):
        return t
    low, high = 0.0, t
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if safe_after(q, v, a, j, middle, lower, upper, V, most, A, J):
            low = middle
        else:
            high = middle
    return low


@inner
def state_after(q, v, a, j, tau, t, A, J):
    """Return the state at `t`: jerk `j` for `tau` seconds, then the fastest stop."""
    if t <= tau:
        return advance(q, v, a, j, t)
    q, v, a = advance(q, v, a, j, tau)
    t1, j1, t2, t3, j3 = stop_phases(v, a, A, J)
    t -= tau
    step = min(t, t1)
    q, v, a = advance(q, v, a, j1, step)
    step = min(t - t1, t2)
    if step > 0.0:
        q, v, a = advance(q, v, a, 0.0, step)
    step = min(t - t1 - t2, t3)
    if step > 0.0:
        q, v, a = advance(q, v, a, j3, step)
    if t >= t1 + t2 + t3:
        return q, 0.0, 0.0
    return q, v, a


@inner
def speed_to_stop(distance, A, J):
    """
    Return the velocity from which a stop needs `distance`, from and to no acceleration.

    ``d = v^2 / 2A + v A / 2J`` where the acceleration comes to its limit, else
    ``d = v^1.5 / J^0.5``.
    """
    half = 0.5 * A * A / J
    v = sqrt(half * half + 2.0 * A * distance) - half
    if v >= 2.0 * half:
        return v
    return (distance * distance * J) ** (1.0 / 3.0)
