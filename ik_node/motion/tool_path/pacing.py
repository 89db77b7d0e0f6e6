# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled time parameterisation of a joint path: how fast to move along it.

Two steps.  The fastest motion within velocity and acceleration limits comes from
reachability analysis (Pham and Pham 2018, "A new approach to time-optimal path
parameterization based on reachability analysis"): with ``x = sd^2`` and ``u = sdd`` each
limit of a joint or the tip is linear in (x, u).  A backward pass gives how fast each node may
be passed, a forward pass the largest acceleration.  The acceleration of that motion jumps; so
it is averaged over time by two boxes (:mod:`ik_node.motion.tool_path.splines`), after which
acceleration and jerk are continuous.  Where the average exceeds a limit, the limits of the
first step are lowered nearby, and both steps are repeated.
"""

from __future__ import annotations

from math import cos, inf, pi, sin, sqrt
from typing import NamedTuple

import numpy as np

from ik_node.kinematics.kernels import compiled, inner
from ik_node.motion.tool_path.splines import average, cell_of, spline_at
from ik_node.motion.trajectory import quintic

TIP_ROWS = 8                   # acceleration limits of the tip: two octagons, linear and angular
MIN_FACTOR = 1e-12             # smaller factors of u and x are zero
MAX_SQUARED_SPEED = 1e4        # (m/s)^2, if nothing else limits the speed
SAMPLES_PER_STEP = 4           # between two points, to find peaks
JERK_LOWERING = 1.05           # limits are lowered by this much more than the jerk needs

velocity_at, acceleration_at, jerk_at = map(
    inner, (quintic.velocity, quintic.acceleration, quintic.jerk))


class PathConstraints(NamedTuple):
    """Limits at M nodes: ``|A u + B x| <= share * bound`` and ``x <= max_x``."""

    # A, B: (M, n + TIP_ROWS), factors of u and x, for n joints and the tip
    A: np.ndarray
    B: np.ndarray
    bound: np.ndarray  # (n + TIP_ROWS,), acceleration limits
    share: np.ndarray  # (M,), share of these that is used
    max_x: np.ndarray  # (M,), largest squared speed


def empty_constraints(M: int, n: int) -> PathConstraints:
    """Return constraints of M nodes and n joints, to be written."""
    rows = n + TIP_ROWS
    return PathConstraints(np.empty((M, rows)), np.empty((M, rows)), np.empty(rows), np.ones(M),
                           np.empty(M))


@compiled
def write_constraints(grid, limits, constraints):
    """
    Write the constraints at each node.

    Parameters
    ----------
    grid : Spline
        Nodes, with the derivatives of joints, tip position and tip rotation by s in
        ``first`` and ``second`` (M, n + 6).
    limits : LimitRows
    constraints : PathConstraints, written

    """
    s, first, second = grid.s, grid.first, grid.second
    velocity, jerk, tip = limits.velocity, limits.jerk, limits.tip
    A, B, max_x = constraints.A, constraints.B, constraints.max_x
    n = velocity.shape[0]
    for j in range(n):
        constraints.bound[j] = limits.acceleration[j]
    for h in range(2):
        for i in range(4):
            constraints.bound[n + 4 * h + i] = cos(pi / 8.0) * tip[2 + h]
    for k in range(s.shape[0]):
        x = MAX_SQUARED_SPEED
        for j in range(n):
            A[k, j], B[k, j] = first[k, j], second[k, j]
            if abs(first[k, j]) > MIN_FACTOR:
                x = min(x, (velocity[j] / first[k, j]) ** 2)
        for h in range(2):
            # Components of the second derivative along the motion of the tip and across it.
            square = along = total = 0.0
            for i in range(n + 3 * h, n + 3 * h + 3):
                square += first[k, i] ** 2
                along += first[k, i] * second[k, i]
                total += second[k, i] ** 2
            pace = sqrt(square)
            if pace > MIN_FACTOR:
                x = min(x, (tip[h] / pace) ** 2)
                along /= pace
            else:
                along = 0.0
            across = sqrt(max(total - along * along, 0.0))
            for i in range(4):
                angle = (2 * i - 3) * pi / 8.0
                A[k, n + 4 * h + i] = cos(angle) * pace
                B[k, n + 4 * h + i] = cos(angle) * along + sin(angle) * across
        max_x[k] = x
    for k in range(s.shape[0] - 1):
        # At a constant speed v the jerk is v^3 times the third derivative by s.
        step = s[k + 1] - s[k]
        for j in range(n):
            change = abs(second[k + 1, j] - second[k, j])
            if step > 0.0 and change > MIN_FACTOR:
                x = (jerk[j] * step / change) ** (2.0 / 3.0)
                max_x[k], max_x[k + 1] = min(max_x[k], x), min(max_x[k + 1], x)


@inner
def acceleration_bounds(constraints, k, step, x, next_x):
    """
    Return the lines ``l0 + l1 x <= u <= h0 + h1 x`` that bind at x, and the largest x besides.

    From the constraints at node k, those at node k + 1 after a step, and
    ``0 <= x + 2 step u <= next_x``.
    """
    A, B, bound, share = constraints.A, constraints.B, constraints.bound, constraints.share
    l0, l1, h0, h1 = 0.0, -0.5 / step, 0.5 * next_x / step, -0.5 / step
    low, high, max_x = l0 + l1 * x, h0 + h1 * x, inf
    for j in range(bound.shape[0]):
        if bound[j] == inf:
            continue
        for end in range(2):
            a, b, c = A[k + end, j], B[k + end, j], bound[j] * share[k + end]
            if end == 1:
                a += 2.0 * step * b
            if abs(a) > MIN_FACTOR:
                slope, half_width = -b / a, c / abs(a)
                if slope * x - half_width > low:
                    l0, l1 = -half_width, slope
                    low = l0 + l1 * x
                if slope * x + half_width < high:
                    h0, h1 = half_width, slope
                    high = h0 + h1 * x
            elif abs(b) > MIN_FACTOR:
                max_x = min(max_x, c / abs(b))
    return l0, l1, h0, h1, max_x


@compiled
def fastest_motion(s, constraints, reachable, x):
    """
    Write ``x = sd^2`` of the fastest motion through the nodes, at rest at both ends.

    The motion rests where two nodes have one coordinate.

    Parameters
    ----------
    s : (M,) array
    constraints : PathConstraints
    reachable : (M,) array
        Workspace: the largest x from which the end can be reached.
    x : (M,) array, written

    """
    max_x = constraints.max_x
    last = s.shape[0] - 1
    reachable[last] = 0.0
    for k in range(last - 1, -1, -1):
        step = s[k + 1] - s[k]
        if step <= 0.0:
            reachable[k] = reachable[k + 1] = 0.0
    for k in range(last - 1, -1, -1):
        step = s[k + 1] - s[k]
        rests = k == 0 or step <= 0.0 or s[k] - s[k - 1] <= 0.0
        if rests:
            reachable[k] = 0.0
            continue
        limit = max_x[k]
        for _ in range(50):
            l0, l1, h0, h1, bound = acceleration_bounds(constraints, k, step, limit,
                                                        reachable[k + 1])
            limit = min(limit, bound)
            gap = h0 + h1 * limit - l0 - l1 * limit
            if gap >= -1e-12 * (1.0 + abs(h0)):
                break
            # The gap is concave in x and not negative at 0: Newton's method from above.
            limit = max((h0 - l0) / (l1 - h1), 0.0)
        reachable[k] = limit
    x[0] = 0.0
    for k in range(last):
        step = s[k + 1] - s[k]
        if step <= 0.0:
            x[k + 1] = 0.0
            continue
        _, _, h0, h1, _ = acceleration_bounds(constraints, k, step, x[k], reachable[k + 1])
        x[k + 1] = min(max(x[k] + 2.0 * step * (h0 + h1 * x[k]), 0.0), reachable[k + 1])


@inner
def length_of(y, i):
    """Return the length of the vector of channels i to i + 2."""
    return sqrt(y[i] ** 2 + y[i + 1] ** 2 + y[i + 2] ** 2)


@compiled
def lower_where_exceeded(motion, boxes, spline, limits, samples, constraints):
    """
    Compare the averaged motion with the limits, and lower the constraints where it exceeds them.

    Parameters
    ----------
    motion : PathMotion
    boxes : BoxFilter
    spline : Spline
        Joints, tip position and tip rotation.
    limits : LimitRows
    samples : (float, float)
        Time between samples (s), and offset of the first as a share of it.
    constraints : PathConstraints
        Its `max_x` and `share` are changed.

    Returns
    -------
    (float, float, float)
        The largest share of the limits of velocity, acceleration and jerk.

    """
    velocity, acceleration, jerk = limits.velocity, limits.acceleration, limits.jerk
    tip, s, second = limits.tip, spline.s, spline.second
    share, max_x = constraints.share, constraints.max_x
    wide, narrow = boxes
    period, offset = samples
    n = velocity.shape[0]
    channels = n if tip.min() == inf else n + 6
    cells = np.zeros(4, dtype=np.int64)
    rate, gain = np.empty(channels), np.empty(channels)  # velocities, accelerations
    excess = np.ones(max_x.shape[0])
    worst_v = worst_a = worst_j = 0.0
    count = int((motion.time[-1] + wide + narrow) / period) + 1
    cell = 0
    for i in range(count + 1):
        at, v, a, j = average(motion, boxes, (i + offset) * period, cells)
        at = min(max(at, s[0]), s[-1])
        cell = cell_of(s, at, cell)
        h = s[cell + 1] - s[cell]
        share_v = share_a = share_j = from_path_jerk = 0.0
        for c in range(channels):
            _, d1, d2 = spline_at(spline, cell, at, c)
            rate[c], gain[c] = d1 * v, d1 * a + d2 * v * v
            if c < n:
                share_v = max(share_v, abs(rate[c]) / velocity[c])
                share_a = max(share_a, abs(gain[c]) / acceleration[c])
                d3 = (second[cell + 1, c] - second[cell, c]) / h
                joint_jerk = d1 * j + 3.0 * d2 * v * a + d3 * v * v * v
                share_j = max(share_j, abs(joint_jerk) / jerk[c])
                from_path_jerk = max(from_path_jerk, abs(d1 * j) / jerk[c])
        for k in range((channels - n) // 3):
            share_v = max(share_v, length_of(rate, n + 3 * k) / tip[k])
            share_a = max(share_a, length_of(gain, n + 3 * k) / tip[2 + k])
        worst_v, worst_a, worst_j = max(worst_v, share_v), max(worst_a, share_a), \
            max(worst_j, share_j)
        slower, softer = share_v, share_a
        if share_j > 1.0:
            if from_path_jerk > 0.5 * share_j:
                softer = max(softer, JERK_LOWERING * share_j)
            else:
                slower = max(slower, (JERK_LOWERING * share_j) ** (1.0 / 3.0))
        if max(slower, softer) > 1.0:
            for k in range(cells[0] + 1, cells[3] + 1):
                excess[k] = max(excess[k], softer)
                if slower > 1.0:
                    max_x[k] = min(max_x[k], (v / slower) ** 2)
    for k in range(excess.shape[0]):
        share[k] /= excess[k]
    return worst_v, worst_a, worst_j


@compiled
def peak_shares(lengths, c, limits):
    """
    Return the largest share of the limits of velocity, acceleration and jerk of quintics.

    Parameters
    ----------
    lengths, c : arrays
        From :func:`ik_node.motion.trajectory.interpolation.segments`.
    limits : LimitRows

    """
    velocity, acceleration, jerk = limits.velocity, limits.acceleration, limits.jerk
    v = a = j = 0.0
    for k in range(lengths.shape[0]):
        for i in range(velocity.shape[0]):
            segment = (c[0, k, i], c[1, k, i], c[2, k, i], c[3, k, i], c[4, k, i], c[5, k, i])
            for m in range(SAMPLES_PER_STEP + 1):
                t = lengths[k] * m / SAMPLES_PER_STEP
                v = max(v, abs(velocity_at(segment, t)) / velocity[i])
                a = max(a, abs(acceleration_at(segment, t)) / acceleration[i])
                j = max(j, abs(jerk_at(segment, t)) / jerk[i])
            # The jerk is a parabola: its extremum is where its derivative vanishes.
            if 5.0 * abs(segment[5]) * lengths[k] > abs(segment[4]):
                t = -segment[4] / (5.0 * segment[5])
                if t > 0.0:
                    j = max(j, abs(jerk_at(segment, t)) / jerk[i])
    return v, a, j
