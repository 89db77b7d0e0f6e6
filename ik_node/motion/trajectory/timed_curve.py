# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A smooth curve through joint positions at given times, from rest to rest, and how samples become
one.

It is the cubic spline whose slope is 0 at both ends, and on both sides of a pause, which is where
two points in a row are equal.
"""

from __future__ import annotations

import numpy as np

AVERAGE_HALF_S = 0.05         # on either side of a sample, from which its average is taken
MIN_SAMPLE_STEP_S = 1e-3      # between averages
MIN_KEPT_SPACING_S = 0.02     # between points that are kept


def curve_at(times: np.ndarray, q: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the positions (m, n) of the curve; the arguments are those of curve_states."""
    return curve_states(times, q, wanted)[:, 0]


def curve_states(times: np.ndarray, q: np.ndarray, wanted: np.ndarray,
                 begin: np.ndarray | float = 0.0, end: np.ndarray | float = 0.0) -> np.ndarray:
    """
    Return positions, velocities and accelerations (m, 3, n) of the curve.

    At its ends it has the velocities `begin` and `end`, (n,).

    Parameters
    ----------
    times : (k,) array
        Of its points, s, increasing; two at least.
    q : (k, n) array
        Rad or m.
    wanted : (m,) array
        s; within the times.

    """
    steps = np.diff(times)
    lines = np.diff(q, axis=0) / steps[:, None]
    pauses = ~np.diff(q, axis=0).any(axis=1)
    slopes = np.zeros(q.shape)
    slopes[0], slopes[-1] = begin, end
    _fill_slopes(slopes, steps, lines, np.append(True, pauses) | np.append(pauses, True))
    k = np.clip(np.searchsorted(times, wanted, side='right') - 1, 0, len(times) - 2)
    t, h = (wanted - times[k])[:, None], steps[k][:, None]
    m0, m1, line = slopes[k], slopes[k + 1], lines[k]
    bend, twist = (3.0 * line - 2.0 * m0 - m1) / h, (m0 + m1 - 2.0 * line) / h**2
    return np.stack([q[k] + t * (m0 + t * (bend + t * twist)),
                     m0 + t * (2.0 * bend + 3.0 * t * twist), 2.0 * bend + 6.0 * t * twist],
                    axis=1)


def _fill_slopes(slopes: np.ndarray, steps: np.ndarray, lines: np.ndarray, known: np.ndarray
                 ) -> None:
    """Write the slopes (k, n) of the cubic spline where they are not `known` (k,)."""
    factor = np.zeros(len(known))
    for i in np.flatnonzero(~known):
        h0, h1 = steps[i - 1], steps[i]
        pivot = 2.0 * (h0 + h1) - h1 * factor[i - 1]
        factor[i] = h0 / pivot
        slopes[i] = (3.0 * (h1 * lines[i - 1] + h0 * lines[i]) - h1 * slopes[i - 1]) / pivot
    for i in np.flatnonzero(~known)[::-1]:
        slopes[i] -= factor[i] * slopes[i + 1]


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
