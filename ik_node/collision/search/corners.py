# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled rounding of the corners of a way, as far as that is proved to be free.

The direction of a blend turns by 3 t^2 - 2 t^3, t from 0 to 1, so that its first and second
derivatives continue those of the lines; it is within the triangle of its ends and the corner.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from ik_node.collision.distances.certificate import (
    Allowed,
    contact_on_way,
    CONTACT_TIME_S,
    interval_work,
    JointCurve,
    NO_SEGMENT,
)
from ik_node.collision.distances.check import CheckWork
from ik_node.collision.distances.model import CollisionModel
from ik_node.kinematics.kernels import compiled, copy, inner

MAX_CUT_SHARE = 0.5          # of an edge that the blend of a corner takes at most
CUT_FACTOR = 0.5             # from one try of a blend to the next
MIN_CUT = 0.02               # rad or m; a corner with a shorter blend is a stop
BLEND_DOUBT_M = 1e-4         # a distance this little above the least counts as too near
CELLS_PER_EDGE = 8           # nodes on the straight part of an edge
CELLS_PER_BLEND = 12


def free_cuts(model: CollisionModel, way: np.ndarray, least: np.ndarray,
              work: CheckWork) -> np.ndarray:
    """
    Return how far (rad, or m) before and after each corner its blend begins; 0 = a stop.

    Parameters
    ----------
    way : (k, n) array
    least : (k - 2, K) array
        The distance (m) that each pair must keep at each corner.
    work : CheckWork
        For the pairs of the model.

    Returns
    -------
    (k - 2,) array

    """
    cuts, blocks = np.zeros(len(way) - 2), len(model.pairs.blocks)
    # So short that where it is blocked does not matter.
    blend = JointCurve(np.full(1, CONTACT_TIME_S), np.zeros((6, 1, way.shape[1])))
    write_cuts(model.pairs_from(way), way, least, interval_work(way.shape[1], blocks), blend, cuts,
               work)
    return cuts


@compiled
def write_cuts(check, way, least, intervals, blend, cuts, work):
    """
    Write what :func:`free_cuts` returns.

    Parameters
    ----------
    intervals : IntervalWork
    blend : JointCurve
        Of one segment; workspace but for its duration.

    """
    for k in range(cuts.shape[0]):
        cut = MAX_CUT_SHARE * min(edge_length(way, k), edge_length(way, k + 1))
        while cut >= MIN_CUT:
            write_blend(way, k + 1, cut, blend.lengths[0], blend.c)
            allowed = Allowed(least[k], least[k], BLEND_DOUBT_M)
            segment, _, _ = contact_on_way(check, blend, allowed, check.blocks.shape[0], intervals,
                                           work)
            if segment == NO_SEGMENT:
                cuts[k] = cut
                break
            cut *= CUT_FACTOR


@inner
def edge_length(way, k):
    """Return the length (rad, or m) of the edge after waypoint k."""
    square = 0.0
    for i in range(way.shape[1]):
        square += (way[k + 1, i] - way[k, i]) ** 2
    return sqrt(square)


@inner
def write_blend(way, k, cut, duration, c):
    """Write the blend at waypoint k as a polynomial (6, 1, n) of the time (s)."""
    before, after = edge_length(way, k - 1), edge_length(way, k)
    for i in range(way.shape[1]):
        first, last = (way[k, i] - way[k - 1, i]) / before, (way[k + 1, i] - way[k, i]) / after
        c[0, 0, i] = way[k, i] - cut * first
        c[1, 0, i] = 2.0 * cut * first / duration
        c[3, 0, i] = 2.0 * cut * (last - first) / duration**3
        c[4, 0, i] = -cut * (last - first) / duration**4


@compiled
def write_nodes(way, cuts, c, s, q, stops):
    """
    Write nodes along a way with blends.

    Parameters
    ----------
    way : (k, n) array
    cuts : (k - 2,) array
        As :func:`free_cuts` returns them.
    c : (6, 1, n) array
        Workspace, zeros.
    s : (N,) array, written
        Coordinates of the nodes, rad or m; N is 1 for the begin, and CELLS_PER_EDGE for each edge
        and CELLS_PER_BLEND for each corner at most.
    q : (N, n) array, written
    stops : (k - 2,) array, written
        Coordinates of the corners without a blend.

    Returns
    -------
    (int, int)
        How many nodes there are, and how many stops.

    """
    s[0], at, count, stopped, last = 0.0, 0.0, 1, 0, way.shape[0] - 1
    copy(way[0], q[0])
    for k in range(last):
        length = edge_length(way, k)
        begin, end = cuts[k - 1] if k > 0 else 0.0, cuts[k] if k < last - 1 else 0.0
        straight = length - begin - end
        for m in range(1, CELLS_PER_EDGE + 1):
            if straight <= 1e-9:
                break
            t = m / CELLS_PER_EDGE * straight
            s[count] = at + t
            for i in range(way.shape[1]):
                q[count, i] = way[k, i] + (begin + t) / length * (way[k + 1, i] - way[k, i])
            count += 1
        at += max(straight, 0.0)
        if end == 0.0:
            if k < last - 1:
                stops[stopped] = at
                stopped += 1
            continue
        write_blend(way, k + 1, end, 1.0, c)
        for m in range(1, CELLS_PER_BLEND + 1):
            t = m / CELLS_PER_BLEND
            s[count] = at + 2.0 * end * t
            for i in range(way.shape[1]):
                q[count, i] = c[0, 0, i] + t * (
                    c[1, 0, i] + t * t * (c[3, 0, i] + t * c[4, 0, i]))
            count += 1
        at += 2.0 * end
    copy(way[last], q[count - 1])
    return count, stopped
