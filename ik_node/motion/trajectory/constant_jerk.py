# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Points of a motion between which the jerk of each joint is constant.

The controller's quintic between two such points is the cubic itself, so the jerk between the
points is no larger than the mean jerk of the planned motion there, which keeps its limits also
where several jerk switches share a step.  What the mean leaves out of velocity and position, up to
1e-6 of the jerk limit per switch, is spread over the motion by the smallest change of the jerk.
"""

from __future__ import annotations

import numpy as np

from ik_node.kinematics.kernels import compiled

LEAST_PIVOT = 1e-14  # share of the largest; where few steps leave no choice


@compiled
def write_constant_jerk(times, end, states):
    """
    Write the states at points, and return the largest jerk between them.

    Parameters
    ----------
    times : (k + 1,) array
        From the start on, s.
    end : (n,) array
        Where the motion comes to rest, rad or m.
    states : (k + 1, 3, n) array, written
        q, qd, qdd.  The start and the planned accelerations are given; the last becomes rest at
        `end`.

    Returns
    -------
    (n,) array
        Largest jerk of each joint.

    """
    last, n = times.shape[0] - 1, states.shape[2]
    T = times[last] - times[0]
    # The change of the jerk that is smallest in its integral of squares is a quadratic in the
    # time that is left, u = (t_end - t) / T, or its mean on each step: x0 + x1 u + x2 u^2 / 2.
    # A jerk adds to qdd / T, qd / T^2 and q / T^3 at the end its integrals with 1, u, u^2 / 2.
    rows, G, x = np.empty((last, 3)), np.zeros((3, 3)), np.empty(3)
    for k in range(last):
        a, b = (times[last] - times[k]) / T, (times[last] - times[k + 1]) / T
        h = a - b
        rows[k, 0], rows[k, 1], rows[k, 2] = 1.0, 0.5 * (a + b), (a * a + a * b + b * b) / 6.0
        for i in range(3):
            for j in range(3):
                G[i, j] += h * rows[k, i] * rows[k, j]
    for i in range(3):  # G = L D L^T, in place
        for j in range(i):
            for m in range(j):
                G[i, j] -= G[i, m] * G[m, m] * G[j, m]
            G[i, j] /= G[j, j]
            G[i, i] -= G[i, j] * G[i, j] * G[j, j]
        G[i, i] = max(G[i, i], LEAST_PIVOT)
    peaks = np.zeros(n)
    for joint in range(n):
        q, qd = states[0, 0, joint], states[0, 1, joint]
        for k in range(last):
            h = times[k + 1] - times[k]
            now, then = states[k, 2, joint], states[k + 1, 2, joint]
            q += h * (qd + h * (2.0 * now + then) / 6.0)
            qd += 0.5 * h * (now + then)
        x[0], x[1] = -states[last, 2, joint] / T, -qd / (T * T)
        x[2] = (end[joint] - q) / (T * T * T)
        for i in range(3):
            for j in range(i):
                x[i] -= G[i, j] * x[j]
        for i in range(2, -1, -1):
            x[i] /= G[i, i]
            for j in range(i + 1, 3):
                x[i] -= G[j, i] * x[j]
        q, qd, before = states[0, 0, joint], states[0, 1, joint], states[0, 2, joint]
        now = before
        for k in range(last):
            h, planned = times[k + 1] - times[k], states[k + 1, 2, joint]
            jerk = (planned - before) / h + x[0] + x[1] * rows[k, 1] + x[2] * rows[k, 2]
            peaks[joint] = max(peaks[joint], abs(jerk))
            q += h * (qd + h * (0.5 * now + h * jerk / 6.0))
            qd += h * (now + 0.5 * h * jerk)
            now += h * jerk
            before = planned
            states[k + 1, 0, joint], states[k + 1, 1, joint] = q, qd
            states[k + 1, 2, joint] = now
        # Of few steps the last is a quintic: what is left out there is not spread any further.
        dq, dv, da = (end[joint] - q) / h**3, -qd / h**2, -now / h
        a = 60.0 * dq - 24.0 * dv + 3.0 * da  # added to the jerk at its begin
        b = 24.0 * (-15.0 * dq + 7.0 * dv - da)  # and by the time t / h, and its square
        c = 60.0 * (6.0 * dq - 3.0 * dv + 0.5 * da)
        t = min(max(-0.5 * b / c, 0.0), 1.0) if c != 0.0 else 0.0
        peaks[joint] = max(peaks[joint], abs(jerk + a), abs(jerk + a + b + c),
                           abs(jerk + a + t * (b + t * c)))
        states[last, 0, joint], states[last, 1, joint] = end[joint], 0.0
        states[last, 2, joint] = 0.0
    return peaks
