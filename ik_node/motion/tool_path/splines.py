# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled cubic splines through the nodes of a path.

Compiled moving averages of a motion along a path over time, by two box filters.

Biagiotti and Melchiorri 2012, "FIR filters for online trajectory planning with time- and
frequency-domain specifications".
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from ik_node.kinematics.kernels import compiled, inner


class Spline(NamedTuple):
    """Cubic splines of c channels through N nodes."""

    s: np.ndarray  # (N,), path coordinates of the nodes
    # values, first, second: (N, c), values at the nodes, first and second derivatives by s
    values: np.ndarray
    first: np.ndarray
    second: np.ndarray


@compiled
def fit(spline, part_starts):
    """
    Fit cubic splines, one for each part between two stops.

    Parameters
    ----------
    spline : Spline
        Its `first` and `second` are written.
    part_starts : (k + 1,) int array
        The first node of each part, and the end of the last part; a node at a stop belongs
        to two parts and appears twice.  A part has at least four nodes.

    """
    s, y, first, second = spline.s, spline.values, spline.first, spline.second
    channels = y.shape[1]
    factor, right = np.empty(s.shape[0]), np.empty(s.shape[0])
    for part in range(part_starts.shape[0] - 1):
        a, b = part_starts[part], part_starts[part + 1] - 1
        for c in range(channels):
            # End slopes: of the cubic through the four nodes there.
            left_slope = end_slope(s, y, c, a, 1)
            right_slope = end_slope(s, y, c, b, -1)
            h = s[a + 1] - s[a]
            factor[a] = 0.5
            right[a] = 3.0 / h * ((y[a + 1, c] - y[a, c]) / h - left_slope)
            for i in range(a + 1, b + 1):
                h0 = s[i] - s[i - 1]
                d0 = (y[i, c] - y[i - 1, c]) / h0
                if i < b:
                    h1 = s[i + 1] - s[i]
                    d1 = (y[i + 1, c] - y[i, c]) / h1
                else:
                    h1, d1 = 0.0, right_slope
                pivot = 2.0 * (h0 + h1) - h0 * factor[i - 1]
                factor[i] = h1 / pivot
                right[i] = (6.0 * (d1 - d0) - h0 * right[i - 1]) / pivot
            second[b, c] = right[b]
            for i in range(b - 1, a - 1, -1):
                second[i, c] = right[i] - factor[i] * second[i + 1, c]
            for i in range(a, b):
                h = s[i + 1] - s[i]
                first[i, c] = (y[i + 1, c] - y[i, c]) / h \
                    - h / 6.0 * (2.0 * second[i, c] + second[i + 1, c])
            first[b, c] = right_slope


@inner
def end_slope(s, y, c, i, direction):
    """Return the slope at node i of the cubic through it and the next three nodes."""
    total = 0.0
    for j in range(1, 4):
        # Derivative at x_i of the Lagrange polynomials, in terms of y_j - y_i.
        weight = 1.0 / (s[i + j * direction] - s[i])
        for k in range(1, 4):
            if k != j:
                weight *= (s[i] - s[i + k * direction]) / (s[i + j * direction]
                                                           - s[i + k * direction])
        total += weight * (y[i + j * direction, c] - y[i, c])
    return total


@inner
def cell_of(s, at, k):
    """Return the cell between nodes, of positive length, that contains `at`; search from k."""
    last = s.shape[0] - 2
    while k < last and at >= s[k + 1]:
        k += 1
    while k > 0 and at < s[k]:
        k -= 1
    while k > 0 and s[k + 1] <= s[k]:
        k -= 1
    return k


@inner
def spline_at(spline, cell, at, c):
    """Return value, first and second derivative of channel c at a coordinate in a cell."""
    s, y, second = spline.s, spline.values, spline.second
    h = s[cell + 1] - s[cell]
    a, b = (s[cell + 1] - at) / h, (at - s[cell]) / h
    m0, m1 = second[cell, c], second[cell + 1, c]
    value = a * y[cell, c] + b * y[cell + 1, c] \
        + ((a * a * a - a) * m0 + (b * b * b - b) * m1) * h * h / 6.0
    slope = (y[cell + 1, c] - y[cell, c]) / h \
        - (3.0 * a * a - 1.0) / 6.0 * h * m0 + (3.0 * b * b - 1.0) / 6.0 * h * m1
    return value, slope, a * m0 + b * m1


class PathMotion(NamedTuple):
    """Motion along the path in time; the acceleration is constant between nodes."""

    # time, position, speed, acceleration: (M,), at each node, and the acceleration from there on
    time: np.ndarray
    position: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray
    # integral, second_integral: (M,), of the position over time, from the first node
    integral: np.ndarray
    second_integral: np.ndarray


class BoxFilter(NamedTuple):
    """Widths (s) of the two boxes, ``wide >= narrow``."""

    wide: float
    narrow: float


@compiled
def pass_in_time(s, x, rest, motion):
    """
    Write when each node is passed.

    Parameters
    ----------
    s, x : (M,) arrays
        Path coordinates and squared speeds at the nodes.
    rest : float
        How long (s) the motion rests where two nodes have one coordinate.
    motion : PathMotion, written

    """
    time, position, speed = motion.time, motion.position, motion.speed
    acceleration, area, moment = motion.acceleration, motion.integral, motion.second_integral
    last = s.shape[0] - 1
    time[0] = area[0] = moment[0] = 0.0
    for k in range(last + 1):
        position[k], speed[k] = s[k], sqrt(x[k])
    for k in range(last):
        step = s[k + 1] - s[k]
        v0, v1 = speed[k], speed[k + 1]
        if step > 0.0:
            d = 2.0 * step / max(v0 + v1, 1e-9)
        else:
            d = rest
        a = (v1 - v0) / d
        acceleration[k] = a
        time[k + 1] = time[k] + d
        area[k + 1] = area[k] + d * (s[k] + d * (v0 / 2.0 + d * a / 6.0))
        moment[k + 1] = moment[k] + d * (
            area[k] + d * (s[k] / 2.0 + d * (v0 / 6.0 + d * a / 24.0)))
    acceleration[last] = 0.0


@inner
def at_time(motion, t, k):
    """Return cell, speed, position and its two integrals at time t; search from cell k."""
    time = motion.time
    last = time.shape[0] - 1
    while k < last and t >= time[k + 1]:
        k += 1
    while k > 0 and t < time[k]:
        k -= 1
    if t < 0.0:
        return k, 0.0, 0.0, 0.0, 0.0
    d = t - time[k]
    s, v, a, area = motion.position[k], motion.speed[k], motion.acceleration[k], motion.integral[k]
    return (k, v + d * a, s + d * (v + d * a / 2.0), area + d * (s + d * (v / 2.0 + d * a / 6.0)),
            motion.second_integral[k] + d * (area + d * (s / 2.0 + d * (v / 6.0 + d * a / 24.0))))


@inner
def average(motion, boxes, t, cells):
    """
    Return position, speed, acceleration and jerk along the path, averaged by two boxes, at t.

    `t` runs from 0, half of both boxes before the motion begins.  `cells` (4,) remembers
    where to search.
    """
    wide, narrow = boxes
    outer, inside = 0.5 * (wide + narrow), 0.5 * (wide - narrow)
    t -= outer
    cells[0], v0, s0, area0, moment0 = at_time(motion, t - outer, cells[0])
    cells[1], v1, s1, area1, moment1 = at_time(motion, t - inside, cells[1])
    cells[2], v2, s2, area2, moment2 = at_time(motion, t + inside, cells[2])
    cells[3], v3, s3, area3, moment3 = at_time(motion, t + outer, cells[3])
    scale = 1.0 / (wide * narrow)
    return ((moment3 - moment2 - moment1 + moment0) * scale,
            (area3 - area2 - area1 + area0) * scale, (s3 - s2 - s1 + s0) * scale,
            (v3 - v2 - v1 + v0) * scale)


@compiled
def sample(motion, boxes, spline, times, states):
    """Write the joint states (3, N, n) at times (N,)."""
    s = spline.s
    cells = np.zeros(4, dtype=np.int64)
    cell = 0
    for i in range(times.shape[0]):
        at, speed, acceleration, _ = average(motion, boxes, times[i], cells)
        at = min(max(at, s[0]), s[-1])
        cell = cell_of(s, at, cell)
        for j in range(states.shape[2]):
            value, first, second = spline_at(spline, cell, at, j)
            states[0, i, j] = value
            states[1, i, j] = first * speed
            states[2, i, j] = first * acceleration + second * speed ** 2


@compiled
def coordinates(motion, boxes, s, times, at):
    """Write the path coordinates (N,) at times (N,)."""
    cells = np.zeros(4, dtype=np.int64)
    for i in range(times.shape[0]):
        position, _, _, _ = average(motion, boxes, times[i], cells)
        at[i] = min(max(position, s[0]), s[-1])
