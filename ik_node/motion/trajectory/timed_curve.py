# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A smooth curve through joint positions at given times, from rest to rest, and how samples become
one.

It is the cubic spline whose slope is 0 at both ends, and on both sides of a pause, which is where
two points in a row are equal.

Points of a motion between which the jerk of each joint is constant.

The controller's quintic between two such points is the cubic itself, so the jerk between the
points is no larger than the mean jerk of the planned motion there, which keeps its limits also
where several jerk switches share a step.  What the mean leaves out of velocity and position, up to
1e-6 of the jerk limit per switch, is spread over the motion by the smallest change of the jerk.
"""

from __future__ import annotations

import numpy as np

from ik_node.kinematics.kernels import compiled

AVERAGE_HALF_S = 0.05         # on either side of a sample, from which its average is taken
MIN_SAMPLE_STEP_S = 1e-3      # between averages
MIN_KEPT_SPACING_S = 0.02     # between points that are kept


def curve_at(times: np.ndarray, q: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """
    Return the positions (m, n) of the curve.

    Parameters
    ----------
    times : (k,) array
        Of its points, s, increasing; two at least.
    q : (k, n) array
        Rad or m.
    wanted : (m,) array
        s.

    """
    steps = np.diff(times)
    lines = np.diff(q, axis=0) / steps[:, None]
    pauses = ~np.diff(q, axis=0).any(axis=1)
    slopes = _spline_slopes(steps, lines, np.append(True, pauses) | np.append(pauses, True))
    k = np.clip(np.searchsorted(times, wanted, side='right') - 1, 0, len(times) - 2)
    t, h = (wanted - times[k])[:, None], steps[k][:, None]
    m0, m1, line = slopes[k], slopes[k + 1], lines[k]
    return q[k] + t * (m0 + t / h * (3.0 * line - 2.0 * m0 - m1
                                     + t / h * (m0 + m1 - 2.0 * line)))


def _spline_slopes(steps: np.ndarray, lines: np.ndarray, flat: np.ndarray) -> np.ndarray:
    """Return the slopes (k, n) of the cubic spline, 0 where it is `flat` (k,)."""
    slopes, factor = np.zeros((len(flat), lines.shape[1])), np.zeros(len(flat))
    for i in np.flatnonzero(~flat):
        h0, h1 = steps[i - 1], steps[i]
        pivot = 2.0 * (h0 + h1) - h1 * factor[i - 1]
        factor[i] = h0 / pivot
        slopes[i] = (3.0 * (h1 * lines[i - 1] + h0 * lines[i]) - h1 * slopes[i - 1]) / pivot
    for i in np.flatnonzero(~flat)[::-1]:
        slopes[i] -= factor[i] * slopes[i + 1]
    return slopes


def averaged(times: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return samples without most of their noise, evenly spaced.

    Each is the value of the parabola through those within AVERAGE_HALF_S (Savitzky and Golay
    1964), before the first and after the last of which the arm is taken to rest.

    Parameters
    ----------
    times : (N,) array
        s, increasing; two at least.
    q : (N, n) array
        Rad or m.

    Returns
    -------
    times, q : (M,) and (M, n) arrays

    """
    step = max(float(np.median(np.diff(times))), MIN_SAMPLE_STEP_S)
    apart = [0]
    for k in range(1, len(times)):
        if times[k] - times[apart[-1]] >= 0.5 * step:
            apart.append(k)
    even = np.linspace(times[0], times[-1], max(round((times[-1] - times[0]) / step), 1) + 1)
    half = int(AVERAGE_HALF_S / step)
    x2 = np.arange(-half, half + 1.0)**2
    weights = (x2**2).sum() - x2.sum() * x2
    weights = weights / weights.sum() if half > 0 else np.ones(1)
    at = np.clip(curve_at(times[apart], q[apart], even), q.min(axis=0), q.max(axis=0)) \
        if len(apart) > 1 else np.tile(q[0], (len(even), 1))
    padded = np.pad(at, ((half, half), (0, 0)), 'edge')
    return even, np.column_stack([np.convolve(column, weights, 'valid') for column in padded.T])


def kept_samples(times: np.ndarray, q: np.ndarray, tolerance: float) -> tuple[np.ndarray, float]:
    """
    Return which samples suffice, so that the curve through them passes near all of them.

    Parameters
    ----------
    times : (N,) array
        s, increasing; two at least.
    q : (N, n) array
        Rad or m.
    tolerance : float
        Largest distance of a joint on the curve from a sample.

    Returns
    -------
    kept : (k,) int array
        Ascending, the first and the last sample among them, MIN_KEPT_SPACING_S apart at least.
    away : float
        The largest distance; above `tolerance` where samples jump.

    """
    kept = np.array([0, len(times) - 1])
    while True:
        away = np.abs(curve_at(times[kept], q[kept], times) - q).max(axis=1)
        added = []
        for first, last in zip(kept[:-1], kept[1:]):
            inside = np.arange(first + 1, last)
            inside = inside[(times[inside] - times[first] >= MIN_KEPT_SPACING_S)
                            & (times[last] - times[inside] >= MIN_KEPT_SPACING_S)]
            if len(inside) and away[first:last].max() > tolerance:
                added.append(inside[away[inside].argmax()])
        if not added:
            return kept, float(away.max())
        kept = np.union1d(kept, added)


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
