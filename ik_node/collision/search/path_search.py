# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Search for a path among obstacles: waypoints whose straight connections are free.

Compiled shortening of a path between postures.

First waypoints are left out, then random chords between two points of the path replace what
is between them (Geraerts and Overmars 2007, "Creating high-quality paths for motion planning").

Way out of a contact: from a posture in which pairs are too near, or overlap, to one that is free.

Each step is the least one that brings all pairs that are too near apart by some millimetres, to
first order, and none too near that is not: the least-squares problem with inequalities of
Hildreth (1957), "A quadratic programming procedure".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from math import sqrt

import numpy as np

from ik_node.collision.distances.certificate import certify_edge
from ik_node.collision.distances.check import check_work
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.distances.sweeps import find_near_pairs, near_pairs
from ik_node.collision.search.edges import edge_check, edge_free
from ik_node.collision.search.rrt_connect import (
    enlarged,
    grow,
    planted_trees,
    random,
    step_towards,
    write_joined,
)
from ik_node.kinematics.kernels import compiled, copy, inner

MAX_FUTILE_CHORDS = 12   # in sequence; then the path counts as short
MIN_SHORTENING = 0.01    # share of the path's length that a chord must save
CHORD_POINTS = 2         # that a chord adds to a path at most


@inner
def shorten(edge, path, count, chords, generator, rows):
    """
    Shorten a path in place.

    Parameters
    ----------
    edge : EdgeCheck
    path : (N, n) array, changed
        Postures, of which the first `count` are the path; N is count + CHORD_POINTS at least.
    chords : int
        How many random chords are tried at most.
    generator : (1,) uint64 array, changed
    rows : (2, n) array
        Workspace.

    Returns
    -------
    int
        How many postures are left.

    """
    # From each waypoint straight to the farthest that can be reached.
    i = 0
    while i < count - 2:
        j = count - 1
        while j > i + 1:
            if edge_free(edge, path[i], path[j]):
                count = replace_between(path, count, i, j, rows, 0)
                break
            j = i + 1 + (j - i - 1) // 2 if j - i > 4 else j - 1
        i += 1
    futile = 0
    for _ in range(chords):
        if count < 3 or futile > MAX_FUTILE_CHORDS:
            break
        length = path_length(path, count)
        begin, end = length * random(generator), length * random(generator)
        if begin > end:
            begin, end = end, begin
        i = point_along(path, count, begin, rows[0])
        j = point_along(path, count, end, rows[1])
        futile += 1
        if i == j or end - begin - distance(rows[0], rows[1]) < MIN_SHORTENING * length \
                or count + CHORD_POINTS > path.shape[0] \
                or not edge_free(edge, rows[0], rows[1]):
            continue
        futile = 0
        count = replace_between(path, count, i, j + 1, rows, CHORD_POINTS)
        i = 1
        while i < count - 1:
            if edge_free(edge, path[i - 1], path[i + 1]):
                count = replace_between(path, count, i - 1, i + 1, rows, 0)
            else:
                i += 1
    return count


@inner
def replace_between(path, count, i, j, rows, new):
    """Replace the waypoints between i and j by the first `new` of rows; return the count."""
    shift = new - (j - i - 1)
    if shift < 0:
        for k in range(j, count):
            copy(path[k], path[k + shift])
    elif shift > 0:
        for k in range(count - 1, j - 1, -1):
            copy(path[k], path[k + shift])
    for k in range(new):
        copy(rows[k], path[i + 1 + k])
    return count + shift


@inner
def point_along(path, count, length, q):
    """Write the posture at a length along the path; return the edge that it is on."""
    for k in range(count - 1):
        step = distance(path[k], path[k + 1])
        if length <= step or k == count - 2:
            step_towards(path[k], path[k + 1], min(1.0, length / max(step, 1e-12)), q)
            return k
        length -= step
    return 0


@inner
def path_length(path, count):
    """Return the length (rad, or m) of the first `count` postures of a path."""
    length = 0.0
    for k in range(count - 1):
        length += distance(path[k], path[k + 1])
    return length


@inner
def distance(a, b):
    """Return the distance (rad, or m) of two postures."""
    square = 0.0
    for i in range(a.shape[0]):
        square += (a[i] - b[i]) ** 2
    return sqrt(square)


BLOCK_ITERATIONS = 1000       # between two questions whether to go on
MAX_CHORDS = 100              # that are tried to shorten a path
TURN_ROOM_RAD = np.pi         # that a joint without limits may turn beyond start and goals


@dataclass(frozen=True)
class SearchLimits:
    """How long and by which random numbers a path is searched for."""

    iterations: int | None = None
    """Extensions of the trees after which the search ends; None = it ends when `goes_on` says
    so."""
    goes_on: Callable[[], bool] = lambda: True
    """Asked now and then whether to search on."""
    seed: int = 0
    """Of the random numbers."""
    chords: int = MAX_CHORDS
    """How many random chords are tried at most, to shorten the path."""


def find_path(model: CollisionModel, q_start: np.ndarray, goals: np.ndarray,
              lower: np.ndarray, upper: np.ndarray, margin: float | None = None,
              limits: SearchLimits = SearchLimits()) -> np.ndarray | None:
    """
    Return waypoints from a posture to one of several goals, whose connections are free.

    Each straight connection in joint space keeps the margin of the model, which is proved; a
    pair that is too near at the start may stay so.  Equal arguments give equal paths.

    Parameters
    ----------
    q_start : (n,) array
    goals : (g, n) array
        Free postures.  The path leads to the one that the search comes to first.
    lower, upper : (n,) arrays
        Joint limits, infinite for joints without; the start may be outside.
    margin : float, optional
        A distance (m) above the margin of the model, which is kept except by pairs that do not
        keep it at a goal.
    limits : SearchLimits
        When the search ends, and its random numbers.

    Returns
    -------
    (k, n) array or None
        From the start to a goal; None if none was found.

    """
    ends = np.vstack([q_start, goals])
    lower = np.where(np.isfinite(lower), lower, ends.min(axis=0) - TURN_ROOM_RAD)
    upper = np.where(np.isfinite(upper), upper, ends.max(axis=0) + TURN_ROOM_RAD)
    edge = edge_check(model, q_start, goals, lower, upper,
                      model.margin if margin is None else margin)
    trees = planted_trees(q_start, goals, limits.seed)
    rows = np.empty((2, len(q_start)))
    for _ in repeat(None) if limits.iterations is None \
            else range(limits.iterations // BLOCK_ITERATIONS):
        path = np.empty((2 * trees.parents.shape[1], len(q_start)))
        count = search(edge, trees, BLOCK_ITERATIONS, limits.chords, path, rows)
        if count:
            return path[:count].copy()
        if not limits.goes_on():
            return None
        trees = enlarged(trees)
    return None


@compiled
def search(edge, trees, iterations, chords, path, rows):
    """
    Extend the trees; when they meet, write the shortened path.

    Parameters
    ----------
    edge : EdgeCheck
    trees : Trees, changed
    iterations, chords : int
        Extensions of the trees, and random chords of the path, at most.
    path : (N, n) array, written
        With room for the nodes of both trees.
    rows : (2, n) array
        Workspace.

    Returns
    -------
    int
        How many postures the path has; 0 if the trees do not meet.

    """
    if not grow(edge, trees, iterations, rows):
        return 0
    count = write_joined(trees, path)
    return shorten(edge, path, count, chords, trees.generator, rows)


MAX_STEPS = 100
STEP_M = 5e-3                 # by which pairs come apart in one step
MAX_JOINT_STEP = 0.2          # rad or m
STEP_SHARES = 1.0, 0.5, 0.25, 0.1  # of a step, tried until one is free
MAX_SWEEPS = 200              # over the pairs, until their multipliers agree
REACHED_M = 1e-5              # to which the distance that is wanted is reached


def way_out(model: CollisionModel, q_start: np.ndarray, lower: np.ndarray, upper: np.ndarray,
            room: float) -> np.ndarray | None:
    """
    Return postures (k, n) from a start to one that keeps the margin and more; None if not found.

    On the straight lines between them no pair comes nearer than it is at the start of the line, as
    :func:`ik_node.collision.distances.certificate.certify_edge` proves it.

    Parameters
    ----------
    q_start : (n,) array
    lower, upper : (n,) arrays
        Position limits.
    room : float
        By how much (m) the last posture keeps more than the margin.

    """
    wanted, near, work = model.margins + room, near_pairs(len(q_start)), check_work(model.pairs)
    # It finds the directions in which pairs part.
    model.signed_distances(q_start, model.widest_margin + room, work)
    way, found = [np.array(q_start, dtype=float)], np.empty(len(wanted))
    for _ in range(MAX_STEPS):
        q = way[-1]
        find_near_pairs(model.pairs_from(q[None]), q.copy(), wanted, found, near, work)
        count = int(near.count[0])
        lacks = -near.gaps[:count]
        if lacks.max(initial=-np.inf) <= REACHED_M:
            return _straightened(model, np.array(way))
        step = _least_step(near.gradients[:count], np.minimum(lacks, STEP_M))
        step *= min(1.0, MAX_JOINT_STEP / max(np.abs(step).max(), 1e-12))
        for share in STEP_SHARES:
            q_next = np.clip(q + share * step, np.minimum(lower, q), np.maximum(upper, q))
            if np.abs(q_next - q).max() > 1e-6 and certify_edge(model, q, q_next) is None:
                way.append(q_next)
                break
        else:
            return None
    return None


def _least_step(gradients: np.ndarray, growths: np.ndarray) -> np.ndarray:
    """Return the least step (n,) in which distances grow by no less than `growths` (k,), m."""
    step, multipliers = np.zeros(gradients.shape[1]), np.zeros(len(growths))
    squares = (gradients**2).sum(axis=1)
    for _ in range(MAX_SWEEPS):
        for k in np.flatnonzero(squares > 1e-12):
            change = max((growths[k] - gradients[k] @ step) / squares[k], -multipliers[k])
            multipliers[k] += change
            step += change * gradients[k]
    return step


def _straightened(model: CollisionModel, way: np.ndarray) -> np.ndarray:
    """Return a way without the postures that can be left out."""
    kept = [way[0]]
    k = 0
    while k < len(way) - 1:
        k = next(j for j in range(len(way) - 1, k, -1)
                 if j == k + 1 or certify_edge(model, way[k], way[j]) is None)
        kept.append(way[k])
    return np.array(kept)
