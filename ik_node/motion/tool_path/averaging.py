# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled averages of a motion along a path over time, by two boxes.

Biagiotti and Melchiorri 2012, "FIR filters for online trajectory planning with
time- and frequency-domain specifications".
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from ik_node.kinematics.kernels import compiled, inner
from ik_node.motion.tool_path.splines import spline_at

# Rows of the motion along the path in time, (6, M).
TIME, PLACE, SPEED, GAIN, AREA, MOMENT = range(6)


@compiled
def in_time(s, x, pause, motion):
    """
    Write when each node is passed, and the integrals that the averages need.

    Between nodes the acceleration is constant; where two are at one place the
    motion rests for `pause` (s).

    Parameters
    ----------
    motion : (6, M) array, written
        Time, place, speed, acceleration from here on, and the first and second
        integral of the place over time.

    """
    last = s.shape[0] - 1
    motion[:, 0] = 0.0
    for k in range(last + 1):
        motion[PLACE, k], motion[SPEED, k] = s[k], sqrt(x[k])
    for k in range(last):
        step = s[k + 1] - s[k]
        v0, v1 = motion[SPEED, k], motion[SPEED, k + 1]
        if step > 0.0:
            d = 2.0 * step / max(v0 + v1, 1e-9)
        else:
            d = pause
        a = (v1 - v0) / d
        motion[GAIN, k] = a
        motion[TIME, k + 1] = motion[TIME, k] + d
        motion[AREA, k + 1] = motion[AREA, k] + d * (s[k] + d * (v0 / 2.0 + d * a / 6.0))
        motion[MOMENT, k + 1] = motion[MOMENT, k] + d * (
            motion[AREA, k] + d * (s[k] / 2.0 + d * (v0 / 6.0 + d * a / 24.0)))
    motion[GAIN, last] = 0.0


@inner
def at_time(motion, t, k):
    """Return cell, speed, place and its integrals at time t; the cell is looked for from k."""
    last = motion.shape[1] - 1
    while k < last and t >= motion[TIME, k + 1]:
        k += 1
    while k > 0 and t < motion[TIME, k]:
        k -= 1
    if t < 0.0:
        return k, 0.0, 0.0, 0.0, 0.0
    d = t - motion[TIME, k]
    s, v, a, area = motion[PLACE, k], motion[SPEED, k], motion[GAIN, k], motion[AREA, k]
    return (k, v + d * a, s + d * (v + d * a / 2.0), area + d * (s + d * (v / 2.0 + d * a / 6.0)),
            motion[MOMENT, k] + d * (area + d * (s / 2.0 + d * (v / 6.0 + d * a / 24.0))))


@inner
def average(motion, t, wide, narrow, cells, along):
    """
    Write place, speed, acceleration and jerk along the path, averaged by two boxes, at t.

    `t` runs from 0, half of both boxes before the motion begins.
    `cells` (4,) remembers where to look.
    """
    outer, inside = 0.5 * (wide + narrow), 0.5 * (wide - narrow)
    t -= outer
    cells[0], v0, s0, area0, moment0 = at_time(motion, t - outer, cells[0])
    cells[1], v1, s1, area1, moment1 = at_time(motion, t - inside, cells[1])
    cells[2], v2, s2, area2, moment2 = at_time(motion, t + inside, cells[2])
    cells[3], v3, s3, area3, moment3 = at_time(motion, t + outer, cells[3])
    scale = 1.0 / (wide * narrow)
    along[0] = (moment3 - moment2 - moment1 + moment0) * scale
    along[1] = (area3 - area2 - area1 + area0) * scale
    along[2] = (s3 - s2 - s1 + s0) * scale
    along[3] = (v3 - v2 - v1 + v0) * scale


@inner
def cell_of(s, at, k):
    """Return the cell of nodes, not an empty one, that a coordinate lies in; look from k on."""
    last = s.shape[0] - 2
    while k < last and at >= s[k + 1]:
        k += 1
    while k > 0 and at < s[k]:
        k -= 1
    while k > 0 and s[k + 1] <= s[k]:
        k -= 1
    return k


@compiled
def sample(motion, wide, narrow, s, y, bends, times, q, qd, qdd):
    """Write the joint motion (N, n) at times (N,)."""
    cells, along = np.zeros(4, dtype=np.int64), np.empty(4)
    cell = 0
    for i in range(times.shape[0]):
        average(motion, times[i], wide, narrow, cells, along)
        at = min(max(along[0], s[0]), s[-1])
        cell = cell_of(s, at, cell)
        for j in range(q.shape[1]):
            value, slope, bend = spline_at(s, y, bends, cell, at, j)
            q[i, j] = value
            qd[i, j] = slope * along[1]
            qdd[i, j] = slope * along[2] + bend * along[1] ** 2


@compiled
def places(motion, wide, narrow, s, times, at):
    """Write the path coordinates (N,) at times (N,)."""
    cells, along = np.zeros(4, dtype=np.int64), np.empty(4)
    for i in range(times.shape[0]):
        average(motion, times[i], wide, narrow, cells, along)
        at[i] = min(max(along[0], s[0]), s[-1])
