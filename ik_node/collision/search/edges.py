# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled check of edges: straight lines in joint space that must be free of collisions.

As in :mod:`ik_node.collision.distances.certificate` nothing between two postures is skipped.  What
is proved to be apart on an interval is not looked at again in its halves.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np

from ik_node.collision.bodies.shapes import shapes_of
from ik_node.collision.distances.certificate import (
    allowed_distances,
    undecided_blocks,
)
from ik_node.collision.distances.check import (
    block_distance,
    check_work,
    CheckWork,
    pair_distance,
    paired,
    Pairs,
    place_parts,
)
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.distances.sweeps import approach
from ik_node.kinematics.kernels import inner, shared
from ik_node.kinematics.tree.kinematic_tree import MovingFrames
from ik_node.model.chain import Chain

MAX_WAITING_INTERVALS = 2048  # an edge that needs more counts as blocked
COARSE_INTERVAL_M = 0.12      # of motion, at which the check of an edge begins
SCATTER_STRIDE = 7            # of intervals in the order in which they are looked at
EDGE_DOUBT_M = 2.5e-4         # a distance this little above the least counts as too near
KEPT_HITS = 8                 # pairs that blocked edges before, which are looked at first
HIT_SHARES = 1.0, 0.5         # of an edge, where they are
NO_PAIR = -1


class EdgeCheck(NamedTuple):
    """What an edge is checked with, and workspace."""

    check: Pairs
    # (K,), distance (m) that each pair must keep; below 0, minus the depth of an overlap
    least: np.ndarray
    margins: np.ndarray  # (B,), the largest of `least` of each block, and not negative
    doubt: float   # EDGE_DOUBT_M
    # lower, upper: (n,), joint limits, finite
    lower: np.ndarray
    upper: np.ndarray
    # (2, n), how far each joint moves from the middle of an interval, with its sign and without
    motion: np.ndarray
    # (B,) int, first the blocks that are not apart on the interval that is looked at
    near: np.ndarray
    # (MAX_WAITING_INTERVALS, 3), middle and half length of intervals that wait, as shares of the
    # edge, and how many of the near blocks are not proved to be apart there
    waiting: np.ndarray
    q: np.ndarray  # (n,)
    hits: np.ndarray  # (KEPT_HITS,) int, the pairs that blocked edges, the last one first; NO_PAIR
    work: CheckWork


def edge_check(model: CollisionModel, q_start: np.ndarray, goals: np.ndarray,
               lower: np.ndarray, upper: np.ndarray, margin: float) -> EdgeCheck:
    """
    Return what edges of a model are checked with.

    Pairs that are nearer than the margin at `q_start` (n,) may stay so, and come nearer by a
    little: the trajectory is judged by :func:`ik_node.collision.distances.certificate.certify`.  A
    margin above that of the model holds for pairs that keep it at the start and at all goals (g,
    n).
    """
    ends = np.vstack([q_start, goals])
    least = model.margins + (margin - model.margin)
    widest = float(least.max(initial=margin))
    for q in ends:
        least = np.minimum(least, model.distances(q, widest + EDGE_DOUBT_M) - EDGE_DOUBT_M)
    allowed = allowed_distances(model, q_start)
    least = np.where(allowed < model.margins, allowed - EDGE_DOUBT_M,
                     np.maximum(least, model.margins))
    return _edge_check(model.pairs_from(ends), least, lower, upper)


def unchecked_edges(chain: Chain, lower: np.ndarray, upper: np.ndarray) -> EdgeCheck:
    """Return the edge check of an arm without obstacles; its links are not checked either."""
    nothing = paired(MovingFrames(chain.table, chain.parents, chain.lower, chain.upper, {}),
                     shapes_of((), (), ())[0], (), ())
    return _edge_check(nothing, np.zeros(0), lower, upper)


def _edge_check(pairs: Pairs, least: np.ndarray, lower: np.ndarray,
                upper: np.ndarray) -> EdgeCheck:
    n, firsts = len(lower), pairs.blocks[:, 2]
    margins = np.maximum.reduceat(least, firsts) if len(firsts) else np.empty(0)
    return EdgeCheck(
        pairs, least, np.maximum(margins, 0.0), EDGE_DOUBT_M, np.array(lower, dtype=float),
        np.array(upper, dtype=float), np.empty((2, n)),
        np.empty(len(pairs.blocks), dtype=np.int64), np.empty((MAX_WAITING_INTERVALS, 3)),
        np.empty(n), np.full(KEPT_HITS, NO_PAIR), check_work(pairs))


@shared
def edge_free(edge, q0, q1):
    """Return whether the straight line in joint space from q0 to q1 (n,) is proved to be free."""
    # Most edges of a search are blocked, and most of them by what blocked others: with this look
    # hard searches take half of the time.
    for i in range(len(HIT_SHARES)):
        point_on(edge, q0, q1, HIT_SHARES[i])
        place_parts(edge.check, edge.q, edge.work)
        if is_hit(edge):
            return False
    near, rate = near_blocks(edge, q0, q1)
    waiting = edge.waiting
    # First coarse intervals all over the edge, in scattered order: a collision is found early.
    parts = min(max(1, int(ceil(rate / COARSE_INTERVAL_M))), waiting.shape[0] // 2)
    stride = SCATTER_STRIDE if parts % SCATTER_STRIDE else 1
    for i in range(parts):
        waiting[i, 0] = ((i * stride) % parts + 0.5) / parts
        waiting[i, 1], waiting[i, 2] = 0.5 / parts, near
    count = parts if near > 0 else 0
    while count > 0:
        count -= 1
        middle, half, candidates = waiting[count, 0], waiting[count, 1], int(waiting[count, 2])
        point_on(edge, q0, q1, middle)
        place_parts(edge.check, edge.q, edge.work)
        for i in range(q0.shape[0]):
            edge.motion[0, i] = half * (q1[i] - q0[i])
            edge.motion[1, i] = abs(edge.motion[0, i])
        undecided, k = undecided_blocks(edge.check, edge.motion, edge.margins, edge.least,
                                        edge.near[:candidates], edge.doubt, edge.work)
        if undecided < 0:
            keep_hit(edge.hits, k)
            return False
        if undecided == 0:
            continue
        if count + 2 > waiting.shape[0]:
            return False
        for sign in (-0.5, 0.5):
            waiting[count, 0], waiting[count, 1] = middle + sign * half, 0.5 * half
            waiting[count, 2] = undecided
            count += 1
    return True


@inner
def is_hit(edge):
    """Return whether a pair that blocked an edge before is too near, after `place_parts`."""
    for i in range(KEPT_HITS):
        k = edge.hits[i]
        if k == NO_PAIR:
            return False
        if edge.least[k] >= 0.0 and pair_distance(edge.check, k, edge.least[k], edge.least[k],
                                                  edge.work) <= edge.least[k]:
            keep_hit(edge.hits, k)
            return True
    return False


@inner
def keep_hit(hits, k):
    """Write pair k in front of the others."""
    i = 0
    while i < KEPT_HITS - 1 and hits[i] != k:
        i += 1
    while i > 0:
        hits[i] = hits[i - 1]
        i -= 1
    hits[0] = k


@inner
def near_blocks(edge, q0, q1):
    """
    Write the blocks that are not apart on the whole edge, after `place_parts` in its middle.

    Returns how many there are, and how far (m) their groups move at most.
    """
    check, deviation = edge.check, edge.motion[1]
    for i in range(q0.shape[0]):
        deviation[i] = 0.5 * abs(q1[i] - q0[i])
    near, most = 0, 0.0
    for block in range(check.blocks.shape[0]):
        a, b = check.blocks[block, 0], check.blocks[block, 1]
        moved = approach(check, deviation,
                         (check.group_frames[a], check.group_frames[b]), (a, b))
        enough = edge.margins[block] + moved
        if block_distance(check, block, enough, edge.work) <= enough:
            edge.near[near] = block
            near, most = near + 1, max(most, 2.0 * moved)
    return near, most


@inner
def point_on(edge, q0, q1, share):
    """Write the posture at a share of the line from q0 to q1."""
    for i in range(q0.shape[0]):
        edge.q[i] = q0[i] + share * (q1[i] - q0[i])
