# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Way out of a contact: from a posture in which pairs are too near, or overlap, to one that is free.

Each step is the least one that brings all pairs that are too near apart by some millimetres, to
first order, and none too near that is not: the least-squares problem with inequalities of
Hildreth (1957), "A quadratic programming procedure".
"""

from __future__ import annotations

import numpy as np

from ik_node.collision.distances.certificate import certify_edge
from ik_node.collision.distances.check import check_work
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.distances.near_pairs import find_near_pairs, near_pairs

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
