# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled time parameterisation of a joint path: how fast to go along it.

Two steps.  The fastest motion within velocity and acceleration limits comes from
reachability analysis (Pham and Pham 2018, "A new approach to time-optimal path
parameterization based on reachability analysis"): with ``x = sd^2`` and ``u = sdd``
each limit of joint or tool is linear in (x, u), from the end backward follows how
fast each node may be passed, and from the begin forward the greatest acceleration.
That motion switches its acceleration at once; it is averaged over time by two
boxes (:mod:`ik_node.motion.tool_path.averaging`), after which acceleration and jerk are
continuous.  Where the average breaks a limit, the limits of the first step are
lowered in the neighbourhood, and both steps are done again.
"""

from __future__ import annotations

from math import cos, inf, pi, sin, sqrt

import numpy as np

from ik_node.kinematics.kernels import compiled, inner
from ik_node.motion.tool_path.averaging import average, cell_of, TIME
from ik_node.motion.tool_path.splines import spline_at

TOOL_ROWS = 8          # of the acceleration limits: an octagon each for position and rotation
TINY = 1e-12
FASTEST = 1e4          # (m/s)^2, where nothing else limits the speed
PEAK_LOOKS = 4         # parts of a step between points at whose ends it is looked at
LOWER_BY = 1.05        # lower the limits by so much more than seems to be needed for the jerk


@compiled
def limit_rows(s, slopes, bends, velocity, acceleration, jerk, tool, A, B, C, fastest):
    """
    Write the limits at each node as ``|A u + B x| <= C`` and ``x <= fastest``.

    Parameters
    ----------
    s : (M,) array
        Where the nodes are.
    slopes, bends : (M, n + 6) arrays
        First and second derivatives by s of joints, tip position and tip rotation.
    velocity, acceleration, jerk : (n,) arrays
    tool : (4,) array
        Speed (m/s), rotation speed (rad/s), acceleration (m/s^2), rotation
        acceleration (rad/s^2); may be infinite.
    A, B : (M, n + TOOL_ROWS) arrays, written
    C : (n + TOOL_ROWS,) array, written
    fastest : (M,) array, written

    """
    n = velocity.shape[0]
    for j in range(n):
        C[j] = acceleration[j]
    for h in range(2):
        for i in range(4):
            C[n + 4 * h + i] = cos(pi / 8.0) * tool[2 + h]
    for k in range(slopes.shape[0]):
        x = FASTEST
        for j in range(n):
            A[k, j], B[k, j] = slopes[k, j], bends[k, j]
            if abs(slopes[k, j]) > TINY:
                x = min(x, (velocity[j] / slopes[k, j]) ** 2)
        for h in range(2):
            # Along the way of the tip, and across it.
            square = along = bend = 0.0
            for i in range(n + 3 * h, n + 3 * h + 3):
                square += slopes[k, i] ** 2
                along += slopes[k, i] * bends[k, i]
                bend += bends[k, i] ** 2
            pace = sqrt(square)
            if pace > TINY:
                x = min(x, (tool[h] / pace) ** 2)
                along /= pace
            else:
                along = 0.0
            across = sqrt(max(bend - along * along, 0.0))
            for i in range(4):
                angle = (2 * i - 3) * pi / 8.0
                A[k, n + 4 * h + i] = cos(angle) * pace
                B[k, n + 4 * h + i] = cos(angle) * along + sin(angle) * across
        fastest[k] = x
    for k in range(slopes.shape[0] - 1):
        # At a constant speed v the jerk is v^3 times the third derivative by s.
        step = s[k + 1] - s[k]
        for j in range(n):
            jolt = abs(bends[k + 1, j] - bends[k, j])
            if step > 0.0 and jolt > TINY:
                x = (jerk[j] * step / jolt) ** (2.0 / 3.0)
                fastest[k], fastest[k + 1] = min(fastest[k], x), min(fastest[k + 1], x)


@inner
def bounds(A, B, C, k, ease, step, x, K):
    """
    Return the lines ``l0 + l1 x <= u <= h0 + h1 x`` that bind at x, and the largest x besides.

    The limits at node k, those at node k + 1 after a step, and ``0 <= x + 2 step u <= K``.
    """
    l0, l1, h0, h1 = 0.0, -0.5 / step, 0.5 * K / step, -0.5 / step
    low, high, most = l0 + l1 * x, h0 + h1 * x, inf
    for j in range(C.shape[0]):
        if C[j] == inf:
            continue
        for end in range(2):
            a, b, c = A[k + end, j], B[k + end, j], C[j] * ease[k + end]
            if end == 1:
                a += 2.0 * step * b
            if abs(a) > TINY:
                slope, room = -b / a, c / abs(a)
                if slope * x - room > low:
                    l0, l1 = -room, slope
                    low = l0 + l1 * x
                if slope * x + room < high:
                    h0, h1 = room, slope
                    high = h0 + h1 * x
            elif abs(b) > TINY:
                most = min(most, c / abs(b))
    return l0, l1, h0, h1, most


@compiled
def fastest_motion(s, A, B, C, fastest, ease, x, K):
    """
    Write ``x = sd^2`` of the fastest motion through the nodes, at rest at both ends.

    Where two nodes are at one place the motion rests.

    Parameters
    ----------
    s : (M,) array
    A, B, C, fastest :
        From :func:`limit_rows`.
    ease : (M,) array
        Shares of the acceleration limits that are used.
    x : (M,) array, written
    K : (M,) array
        Workspace: the largest x from which the end can be reached.

    """
    last = s.shape[0] - 1
    K[last] = 0.0
    for k in range(last - 1, -1, -1):
        step = s[k + 1] - s[k]
        if step <= 0.0:
            K[k] = K[k + 1] = 0.0
    for k in range(last - 1, -1, -1):
        step = s[k + 1] - s[k]
        rests = k == 0 or step <= 0.0 or s[k] - s[k - 1] <= 0.0
        if rests:
            K[k] = 0.0
            continue
        limit = fastest[k]
        for _ in range(50):
            l0, l1, h0, h1, most = bounds(A, B, C, k, ease, step, limit, K[k + 1])
            limit = min(limit, most)
            gap = h0 + h1 * limit - l0 - l1 * limit
            if gap >= -1e-12 * (1.0 + abs(h0)):
                break
            # The gap is concave in x and not negative at 0: Newton comes from above.
            limit = max((h0 - l0) / (l1 - h1), 0.0)
        K[k] = limit
    x[0] = 0.0
    for k in range(last):
        step = s[k + 1] - s[k]
        if step <= 0.0:
            x[k + 1] = 0.0
            continue
        _, _, h0, h1, _ = bounds(A, B, C, k, ease, step, x[k], K[k + 1])
        x[k + 1] = min(max(x[k] + 2.0 * step * (h0 + h1 * x[k]), 0.0), K[k + 1])


@inner
def length_of(y, i):
    """Return the length of the vector of channels i to i + 2."""
    return sqrt(y[i] ** 2 + y[i + 1] ** 2 + y[i + 2] ** 2)


@compiled
def measure(motion, wide, narrow, s, y, bends, velocity, acceleration, jerk, tool, period,
            phase, fastest, ease):
    """
    Compare the averaged motion with the limits, and lower these where it breaks them.

    Parameters
    ----------
    velocity, acceleration, jerk : (n,) arrays
    tool : (4,) array
        As in :func:`limit_rows`.
    period, phase : float
        Time between two looks (s), and where the first is, as a share of it.
    fastest, ease : (M,) arrays, changed
        As in :func:`fastest_motion`.

    Returns
    -------
    (float, float, float)
        The largest share of the limits of velocity, acceleration and jerk.

    """
    n = velocity.shape[0]
    channels = n if tool.min() == inf else n + 6
    cells, along = np.zeros(4, dtype=np.int64), np.empty(4)
    speed, gain = np.empty(channels), np.empty(channels)
    need = np.ones(fastest.shape[0])
    worst_v = worst_a = worst_j = 0.0
    count = int((motion[TIME, -1] + wide + narrow) / period) + 1
    cell = 0
    for i in range(count + 1):
        average(motion, (i + phase) * period, wide, narrow, cells, along)
        at, v, a, j = min(max(along[0], s[0]), s[-1]), along[1], along[2], along[3]
        cell = cell_of(s, at, cell)
        h = s[cell + 1] - s[cell]
        share_v = share_a = share_j = from_gain = 0.0
        for c in range(channels):
            _, slope, bend = spline_at(s, y, bends, cell, at, c)
            speed[c], gain[c] = slope * v, slope * a + bend * v * v
            if c < n:
                share_v = max(share_v, abs(speed[c]) / velocity[c])
                share_a = max(share_a, abs(gain[c]) / acceleration[c])
                third = (bends[cell + 1, c] - bends[cell, c]) / h
                jolt = slope * j + 3.0 * bend * v * a + third * v * v * v
                share_j = max(share_j, abs(jolt) / jerk[c])
                from_gain = max(from_gain, abs(slope * j) / jerk[c])
        for k in range((channels - n) // 3):
            share_v = max(share_v, length_of(speed, n + 3 * k) / tool[k])
            share_a = max(share_a, length_of(gain, n + 3 * k) / tool[2 + k])
        worst_v, worst_a, worst_j = max(worst_v, share_v), max(worst_a, share_a), \
            max(worst_j, share_j)
        slower, softer = share_v, share_a
        if share_j > 1.0:
            if from_gain > 0.5 * share_j:
                softer = max(softer, LOWER_BY * share_j)
            else:
                slower = max(slower, (LOWER_BY * share_j) ** (1.0 / 3.0))
        if max(slower, softer) > 1.0:
            for k in range(cells[0] + 1, cells[3] + 1):
                need[k] = max(need[k], softer)
                if slower > 1.0:
                    fastest[k] = min(fastest[k], (v / slower) ** 2)
    for k in range(need.shape[0]):
        ease[k] /= need[k]
    return worst_v, worst_a, worst_j


@compiled
def peaks(lengths, c, velocity, acceleration, jerk):
    """
    Return the largest share of the limits of velocity, acceleration and jerk, between points too.

    Parameters
    ----------
    lengths, c : arrays
        Of the quintics, from :func:`ik_node.motion.interpolation.segments`.

    """
    v = a = j = 0.0
    for k in range(lengths.shape[0]):
        for i in range(velocity.shape[0]):
            c1, c2, c3, c4, c5 = c[1, k, i], c[2, k, i], c[3, k, i], c[4, k, i], c[5, k, i]
            for m in range(PEAK_LOOKS + 1):
                t = lengths[k] * m / PEAK_LOOKS
                v = max(v, abs(c1 + t * (2.0 * c2 + t * (3.0 * c3 + t * (4.0 * c4 + t * 5.0 * c5)
                                                         ))) / velocity[i])
                a = max(a, abs(2.0 * c2 + t * (6.0 * c3 + t * (12.0 * c4 + t * 20.0 * c5)))
                        / acceleration[i])
                j = max(j, abs(6.0 * c3 + t * (24.0 * c4 + t * 60.0 * c5)) / jerk[i])
    return v, a, j
