# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled search for a path between postures by two trees.

RRT-Connect (Kuffner and LaValle 2000, "RRT-Connect: an efficient approach to single-query path
planning"), with trees kept in balance, and nodes near obstacles extended within a radius only
(Yershova et al. 2005, "Dynamic-domain RRTs").  Now and then a blocked node is extended by a slide
(:mod:`ik_node.collision.search.slides`).
"""

from __future__ import annotations

from math import ceil, inf, sqrt
from typing import NamedTuple

import numpy as np

from ik_node.collision.search.edges import edge_free
from ik_node.collision.search.slides import slide, SLIDE_STEPS
from ik_node.kinematics.kernels import copy, inner

EXTENSION_RANGE = 1.0       # longest edge of a tree, rad or m
BLOCKED_NODE_RADIUS = 4.0   # within which a node is extended after it was blocked first
MIN_NODE_RADIUS = 1.0
MAX_REJECTED = 30            # samples in sequence that are outside; the next one counts in part
RADIUS_CHANGE = 1e-4        # share by which a radius falls or grows at each extension
FIRST_AROUND = 1.0           # rad or m beyond start and goal, where the first samples are
AROUND_GROWTH = 0.01         # with each sample
BLOCKED_PER_SLIDE = 4        # extensions, after which one is tried as a slide
MIN_SLIDE = 2                # steps
FIRST_TREE_ROOM = 1000       # nodes; twice as many when one of the trees is full
FROM_START, FROM_GOAL = 0, 1  # which tree
SAMPLES, BLOCKED = 0, 1      # of what is counted
ROOT_NODE = -1              # parent of the first nodes


class Trees(NamedTuple):
    """The tree from the start and the tree from the goals."""

    nodes: np.ndarray      # (2, N, n), postures; there is room for N of each tree
    parents: np.ndarray    # (2, N) int
    radii: np.ndarray      # (2, N)
    counts: np.ndarray     # (2,) int, how many nodes there are
    meeting: np.ndarray    # (2,) int, the nodes at which the trees meet
    generator: np.ndarray  # (1,) uint64, state of the random numbers
    tried: np.ndarray      # (2,) int, how many samples there were, and blocked extensions
    slid: np.ndarray       # (SLIDE_STEPS + 1, n), a slide; workspace
    columns: np.ndarray    # (n, 6), workspace
    direction: np.ndarray  # (4,), of a slide; workspace


def planted_trees(q_start: np.ndarray, goals: np.ndarray, seed: int) -> Trees:
    """Return the tree of a start (n,) and that of goals (g, n)."""
    size = 2, max(FIRST_TREE_ROOM, len(goals))
    nodes = np.empty((*size, len(q_start)))
    nodes[FROM_START, 0], nodes[FROM_GOAL, :len(goals)] = q_start, goals
    return Trees(nodes, np.full(size, ROOT_NODE), np.full(size, inf), np.array([1, len(goals)]),
                 np.zeros(2, dtype=np.int64), np.array([seeded(seed)], dtype=np.uint64),
                 np.zeros(2, dtype=np.int64), np.empty((SLIDE_STEPS + 1, len(q_start))),
                 np.empty((len(q_start), 6)), np.empty(4))


def enlarged(trees: Trees) -> Trees:
    """Return the trees, with twice the room if one of them is full."""
    room = trees.parents.shape[1]
    if trees.counts.max() < room:
        return trees
    return trees._replace(
        nodes=np.concatenate([trees.nodes, np.empty_like(trees.nodes)], axis=1),
        parents=np.concatenate([trees.parents, np.full((2, room), ROOT_NODE)], axis=1),
        radii=np.concatenate([trees.radii, np.full((2, room), inf)], axis=1))


def seeded(seed: int) -> int:
    """Return the state of random numbers that belongs to a seed."""
    return (seed * 2654435761 + 88172645463325252) % 2**64


@inner
def grow(edge, trees, iterations, rows):
    """
    Extend the trees until they meet, for some iterations at most.

    Parameters
    ----------
    edge : EdgeCheck
    trees : Trees, changed
    rows : (2, n) array
        Workspace.

    Returns
    -------
    bool
        Whether they meet; then ``trees.meeting`` says where.

    """
    n, capacity = edge.q.shape[0], trees.parents.shape[1]
    side, rejected = FROM_START, 0
    for _ in range(iterations):
        if trees.counts[side] > trees.counts[1 - side]:
            side = 1 - side
        sample, new = rows[0], rows[1]
        around = FIRST_AROUND + AROUND_GROWTH * trees.tried[SAMPLES]
        for i in range(n):
            # First between start and goal and not far beyond, then ever farther: the ways are
            # 5 % shorter.
            a, b = trees.nodes[FROM_START, 0, i], trees.nodes[FROM_GOAL, 0, i]
            low = max(edge.lower[i], min(a, b) - around)
            high = min(edge.upper[i], max(a, b) + around)
            sample[i] = low + (high - low) * random(trees.generator)
        trees.tried[SAMPLES] += 1
        k, distance = nearest_node(trees, side, sample)
        radii = trees.radii[side]
        share = min(1.0, EXTENSION_RANGE / max(distance, 1e-12))
        if radii[k] < distance:
            rejected += 1
            if rejected < MAX_REJECTED:
                continue
            share *= random(trees.generator)
        rejected = 0
        step_towards(trees.nodes[side, k], sample, share, new)
        if not edge_free(edge, trees.nodes[side, k], new):
            radii[k] = BLOCKED_NODE_RADIUS if radii[k] == inf \
                else max(radii[k] * (1.0 - RADIUS_CHANGE), MIN_NODE_RADIUS)
            last = slid_node(edge, trees, side, k)
            if last == k:
                continue
            copy(trees.nodes[side, last], new)
        elif trees.counts[side] >= capacity:
            return False
        else:
            radii[k] *= 1.0 + RADIUS_CHANGE
            last = add_node(trees, side, new, k)
        # The new node is connected to the other tree, as far as it goes.
        other, distance = nearest_node(trees, 1 - side, new)
        steps = max(1, int(ceil(distance / EXTENSION_RANGE)))
        target = trees.nodes[1 - side, other]
        for s in range(steps):
            if s == steps - 1:
                copy(target, sample)
            else:
                step_towards(new, target, 1.0 / (steps - s), sample)
            if trees.counts[side] >= capacity or not edge_free(edge, new, sample):
                break
            last = add_node(trees, side, sample, last)
            copy(sample, new)
            if s == steps - 1:
                trees.meeting[side], trees.meeting[1 - side] = last, other
                return True
    return False


@inner
def slid_node(edge, trees, side, k):
    """Add a slide from node k, now and then; return its last node, or k if there is none."""
    trees.tried[BLOCKED] += 1
    if trees.tried[BLOCKED] % BLOCKED_PER_SLIDE:
        return k
    while True:  # evenly in a ball
        square = 0.0
        for i in range(3):
            trees.direction[i] = 2.0 * random(trees.generator) - 1.0
            square += trees.direction[i] ** 2
        if 1e-3 < square <= 1.0:
            break
    trees.direction[3] = random(trees.generator)
    copy(trees.nodes[side, k], trees.slid[0])
    steps = slide(edge, trees.direction, trees.slid, trees.columns)
    if steps < MIN_SLIDE or trees.counts[side] + steps > trees.parents.shape[1]:
        return k
    for i in range(steps):
        k = add_node(trees, side, trees.slid[i + 1], k)
    return k


@inner
def add_node(trees, side, q, parent):
    """Add a node to a tree; return its index."""
    k = trees.counts[side]
    copy(q, trees.nodes[side, k])
    trees.parents[side, k] = parent
    trees.counts[side] = k + 1
    return k


@inner
def nearest_node(trees, side, q):
    """Return the node of a tree that is nearest to q (n,), and its distance."""
    best, found = inf, 0
    nodes = trees.nodes[side]
    for k in range(trees.counts[side]):
        square = 0.0
        for i in range(q.shape[0]):
            square += (nodes[k, i] - q[i]) ** 2
        if square < best:
            best, found = square, k
    return found, sqrt(best)


@inner
def step_towards(a, b, share, out):
    """Write the posture at a share of the line from a to b (n,)."""
    for i in range(a.shape[0]):
        out[i] = a[i] + share * (b[i] - a[i])


@inner
def random(generator):
    """Return a random number of [0, 1) (Marsaglia 2003, "Xorshift RNGs")."""
    x = generator[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    generator[0] = x
    return float(x >> np.uint64(11)) / 9007199254740992.0


@inner
def write_joined(trees, path):
    """Write the postures (N, n) from the start to a goal, when the trees meet; return how many."""
    count, k = 0, trees.meeting[FROM_START]
    while k != ROOT_NODE:
        count, k = count + 1, trees.parents[FROM_START, k]
    i, k = count, trees.meeting[FROM_START]
    while k != ROOT_NODE:
        i -= 1
        copy(trees.nodes[FROM_START, k], path[i])
        k = trees.parents[FROM_START, k]
    # Where they meet is a node of both.
    k = trees.parents[FROM_GOAL, trees.meeting[FROM_GOAL]]
    while k != ROOT_NODE:
        copy(trees.nodes[FROM_GOAL, k], path[count])
        count, k = count + 1, trees.parents[FROM_GOAL, k]
    return count
