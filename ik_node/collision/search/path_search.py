# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Search for a path among obstacles: waypoints whose straight connections are free."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat

import numpy as np

from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.search.edges import edge_check
from ik_node.collision.search.rrt_connect import enlarged, grow, planted_trees, write_joined
from ik_node.collision.search.shortcuts import shorten
from ik_node.kinematics.kernels import compiled

BLOCK_ITERATIONS = 250        # between two questions whether to go on
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
