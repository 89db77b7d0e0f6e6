# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Search for a path that keeps constraints, among obstacles.

RRT-Connect (Kuffner and LaValle 2000) with samples and steps that are projected onto the
constraint (Berenson, Srinivasa, Ferguson and Kuffner 2009, "Manipulation planning on constraint
manifolds").  Each step is a short straight line in joint space, which is proved to be free of
collisions and to keep the constraint, or one that is not much wider.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.search.edges import edge_check, edge_free, EdgeCheck, unchecked_edges
from ik_node.collision.search.path_search import (
    distance,
    path_length,
    point_along,
    SearchLimits,
    TURN_ROOM_RAD,
)
from ik_node.collision.search.rrt_connect import (
    add_node,
    BLOCKED_NODE_RADIUS,
    enlarged,
    FROM_GOAL,
    FROM_START,
    MAX_REJECTED,
    MIN_NODE_RADIUS,
    nearest_node,
    planted_trees,
    RADIUS_CHANGE,
    random,
    step_towards,
    write_joined,
)
from ik_node.kinematics.kernels import compiled, copy, inner
from ik_node.model.chain import Chain
from ik_node.motion.constrained.constraint import PathConstraint
from ik_node.motion.constrained.proof import interval_verdict, KEPT, NOT_KEPT
from ik_node.motion.constrained.rows import (
    constraint_rows,
    constraint_work,
    ConstraintRows,
    ConstraintWork,
    project,
)

STEP = 0.25            # rad or m, of one projected step
MAX_DRIFT = 2.0        # times a step, that a projected step may be long
LEAST_PROGRESS = 0.1   # of a step, by which it must come nearer to where it is to go
EXTENSION_STEPS = 8    # of a tree towards a sample
STEP_ROOM = 5e-3       # m or rad, by which a step between two postures may leave a constraint
MAX_HALVINGS = 5       # of a step, until it is proved to keep the constraint
EXTRA_MARGIN_M = 5e-4  # that is kept above the margin of the model
BLOCK_ITERATIONS = 100
MAX_CHORDS = 40
MAX_FUTILE_CHORDS = 10
MIN_SHORTENING = 0.01  # share of the path's length that a chord must save
CHORD_NODES = 256      # of one chord at most


class ConstrainedSpace(NamedTuple):
    """With what steps are made and checked."""

    edge: EdgeCheck
    table: np.ndarray
    rows: ConstraintRows
    allowed: np.ndarray  # (r,), by how much a step may exceed the bound of a row
    work: ConstraintWork
    q: np.ndarray        # (n,)
    motion: np.ndarray   # (2, n)
    chord: np.ndarray    # (CHORD_NODES, n)


def find_constrained_path(chain: Chain, model: CollisionModel | None,
                          constraints: Sequence[PathConstraint], q_start: np.ndarray,
                          goals: np.ndarray, bounds: tuple[np.ndarray, np.ndarray],
                          limits: SearchLimits = SearchLimits()) -> np.ndarray | None:
    """
    Return postures (k, n) from a start to one of several goals, all within constraints.

    Parameters
    ----------
    q_start : (n,) array
    goals : (g, n) array
        Free postures within the constraints.
    bounds : two (n,) arrays
        Lower and upper joint limits, infinite for joints without.
    limits : SearchLimits
        When the search ends, and its random numbers.

    """
    ends, rows, n = np.vstack([q_start, goals]), constraint_rows(constraints), len(q_start)
    lower = np.where(np.isfinite(bounds[0]), bounds[0], ends.min(axis=0) - TURN_ROOM_RAD)
    upper = np.where(np.isfinite(bounds[1]), bounds[1], ends.max(axis=0) + TURN_ROOM_RAD)
    space = ConstrainedSpace(
        unchecked_edges(chain, lower, upper) if model is None else edge_check(
            model, q_start, goals, lower, upper, model.margin + EXTRA_MARGIN_M),
        chain.table, rows, np.full(len(rows.kinds), STEP_ROOM),
        constraint_work(rows, chain.table, n), np.zeros(n), np.zeros((2, n)),
        np.zeros((CHORD_NODES, n)))
    trees, buffers = planted_trees(q_start, goals, limits.seed), np.empty((3, n))
    while True:
        path = np.empty((2 * trees.parents.shape[1] + CHORD_NODES, n))
        count = search_constrained(space, trees, BLOCK_ITERATIONS, MAX_CHORDS, path, buffers)
        if count:
            return path[:count].copy()
        if not limits.goes_on():
            return None
        trees = enlarged(trees)


@compiled
def search_constrained(space, trees, iterations, chords, path, buffers):
    """
    Extend the trees; when they meet, write the shortened path.

    Parameters
    ----------
    space : ConstrainedSpace
    trees : Trees, changed
    iterations, chords : int
    path : (N, n) array, written
        With room for the nodes of both trees and CHORD_NODES.
    buffers : (3, n) array
        Workspace.

    Returns
    -------
    int
        How many postures the path has; 0 if the trees do not meet.

    """
    if not grow_constrained(space, trees, iterations, buffers):
        return 0
    count = write_joined(trees, path)
    return shorten_constrained(space, path, count, chords, trees.generator, buffers)


@inner
def grow_constrained(space, trees, iterations, buffers):
    """Extend the trees until they meet; return whether they do, for some iterations at most."""
    sample, new, n = buffers[0], buffers[1], space.q.shape[0]
    edge, side, rejected = space.edge, FROM_START, 0
    if trees.counts[FROM_START] == 1:
        for goal in range(trees.counts[FROM_GOAL]):
            if joined(space, trees, FROM_GOAL, goal, new, buffers[2]):
                return True
    for _ in range(iterations):
        if trees.counts[side] > trees.counts[1 - side]:
            side = 1 - side
        for i in range(n):
            sample[i] = edge.lower[i] + (edge.upper[i] - edge.lower[i]) * random(trees.generator)
        project(space.table, space.rows, edge.lower, edge.upper, sample, space.work)
        k, far = nearest_node(trees, side, sample)
        radii = trees.radii[side]
        if radii[k] < far:
            rejected += 1
            if rejected < MAX_REJECTED:
                continue
        rejected = 0
        last = walk(space, trees, side, k, sample, EXTENSION_STEPS, new)
        if last == k:
            radii[k] = BLOCKED_NODE_RADIUS if radii[k] == inf \
                else max(radii[k] * (1.0 - RADIUS_CHANGE), MIN_NODE_RADIUS)
            continue
        radii[k] *= 1.0 + RADIUS_CHANGE
        if joined(space, trees, side, last, new, buffers[2]):
            return True
        side = 1 - side
    return False


@inner
def joined(space, trees, side, node, new, target):
    """Walk from the nearest node of the other tree to a node; return whether it is reached."""
    copy(trees.nodes[side, node], target)
    other, _ = nearest_node(trees, 1 - side, target)
    last = walk(space, trees, 1 - side, other, target, trees.parents.shape[1], new)
    if distance(trees.nodes[1 - side, last], target) > 1e-9:
        return False
    trees.meeting[side], trees.meeting[1 - side] = node, last
    return True


@inner
def walk(space, trees, side, k, target, steps, new):
    """Extend a tree from node k towards a posture; return the last node."""
    for _ in range(steps):
        if trees.counts[side] >= trees.parents.shape[1] \
                or not stepped(space, trees.nodes[side, k], target, new):
            break
        k = add_node(trees, side, new, k)
        if distance(new, target) <= 1e-9:
            break
    return k


@inner
def stepped(space, q, target, new):
    """Write the posture one projected step from q to a target; return whether that is free."""
    far = distance(q, target)
    if far < 1e-9:
        return False
    if far <= STEP:
        copy(target, new)
    else:
        step_towards(q, target, STEP / far, new)
        if not project(space.table, space.rows, space.edge.lower, space.edge.upper, new,
                       space.work) or distance(q, new) > MAX_DRIFT * STEP \
                or distance(new, target) > far - LEAST_PROGRESS * STEP:
            return False
    return step_kept(space, q, new) and edge_free(space.edge, q, new)


@inner
def step_kept(space, q0, q1):
    """Return whether a straight line in joint space keeps the constraint, but for its room."""
    parts = 1
    for _ in range(MAX_HALVINGS):
        verdict = KEPT
        for part in range(parts):
            for i in range(q0.shape[0]):
                space.q[i] = q0[i] + (part + 0.5) / parts * (q1[i] - q0[i])
                space.motion[0, i] = 0.5 / parts * (q1[i] - q0[i])
                space.motion[1, i] = abs(space.motion[0, i])
            verdict = interval_verdict(space.table, space.rows, space.allowed, space.q,
                                       space.motion, space.work)
            if verdict != KEPT:
                break
        if verdict == KEPT:
            return True
        if verdict == NOT_KEPT:
            return False
        parts *= 2
    return False


@inner
def shorten_constrained(space, path, count, chords, generator, buffers):
    """Replace parts of a path (of `count` postures) by shorter chords; return the new count."""
    begin, end = buffers[0], buffers[1]
    futile = 0
    for _ in range(chords):
        if count < 3 or futile > MAX_FUTILE_CHORDS:
            break
        length = path_length(path, count)
        first, last = length * random(generator), length * random(generator)
        if first > last:
            first, last = last, first
        if first < 0.1 * length * random(generator):
            first = 0.0
        if last > length - 0.1 * length * random(generator):
            last = length
        futile += 1
        i = point_along(path, count, first, begin)
        j = point_along(path, count, last, end)
        # Nodes of the path, so that no posture between two of them has to be projected.
        j += 1
        saved = 0.0
        for k in range(i, j):
            saved += distance(path[k], path[k + 1])
        if j - i < 2 or saved - distance(path[i], path[j]) < MIN_SHORTENING * length:
            continue
        nodes = chord_between(space, path[i], path[j], saved, buffers[2])
        if nodes < 0 or count + nodes - (j - i - 1) > path.shape[0]:
            continue
        change = nodes - (j - i - 1)
        if change > 0:
            for k in range(count - 1, j - 1, -1):
                copy(path[k], path[k + change])
        elif change < 0:
            for k in range(j, count):
                copy(path[k], path[k + change])
        for k in range(nodes):
            copy(space.chord[k], path[i + 1 + k])
        count += change
        futile = 0
    return count


@inner
def chord_between(space, q0, q1, longest, new):
    """
    Write the projected steps from q0 to q1, without these, into ``space.chord``.

    Returns how many there are; -1 if it does not arrive, or is not shorter than `longest`.
    """
    count, length = 0, 0.0
    while count < CHORD_NODES:
        at = q0 if count == 0 else space.chord[count - 1]
        if not stepped(space, at, q1, new):
            return -1
        length += distance(at, new)
        if length > (1.0 - MIN_SHORTENING) * longest:
            return -1
        if distance(new, q1) <= 1e-9:
            return count
        copy(new, space.chord[count])
        count += 1
    return -1
