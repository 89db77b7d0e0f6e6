# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The choice among the solutions of a goal that are free of collisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np

from ik_node.solver.branches import (
    all_solutions,
    distinct_solutions,
    leaves_freedom,
    nearest_inside,
    QUIET_ATTEMPTS,
    SELECTION_KEYS,
    without_limits,
)
from ik_node.solver.descent.layout import (
    JOINT_VALUES,
    JointRows,
    MAX_BIAS_STEPS,
    SOLVED_FLAG,
)
from ik_node.solver.descent.self_motion import walk
from ik_node.solver.result import Posture
from ik_node.solver.tables import Query

FINE_SAMPLE_DISTANCE = 0.1  # rad or m, between samples of a continuum if none is free yet
MAX_FINE_SAMPLES = 200
EXACT_AXES = 6              # that an exact pose fixes
WALK_STEP = 0.05            # rad or m, along the self-motion of a redundant arm
MAX_WALKED_POSTURES = 2000   # of one self-motion, in one direction
MAX_SELF_MOTIONS = 40
SCATTERED_STARTS = 300      # from which self-motions are looked for


class PostureCheck(Protocol):
    """What a solver asks about collisions, as ``ik_node.collision.CollisionModel`` answers it."""

    def check_many(self, Q: np.ndarray) -> np.ndarray:
        """Return which of the postures (K, n) are free, (K,) bool."""

    def describe(self, q: np.ndarray) -> str:
        """Return which bodies are too near to each other at q (n,), and how near."""


def free_solutions(query: Query, check: PostureCheck,
                   reference: np.ndarray | None = None) -> tuple[Posture, ...]:
    """
    Return the solutions inside the limits that are free, the nearest to the seed first.

    If the goal leaves the arm free, by a free axis or a seventh joint, and no sample of the
    continuum is free, finer samples are looked at, then those that many starts lead to; then, of
    a redundant arm, all of its self-motions.

    Parameters
    ----------
    query, reference :
        As in :func:`ik_node.solver.branches.all_solutions`.
    check : PostureCheck

    """
    found = only_free(all_solutions(query, reference), check)
    if found or not leaves_freedom(query):
        return found
    samples = fine_samples(query)
    found = _free_of(query, samples, check) or _free_of(query, scattered(query), check)
    if found or not _has_curves(query):
        return found
    for curve in self_motions(query, samples):
        found = _free_of(query, curve, check)
        if found:
            break
    return found


def many_free_solutions(query: Query, check: PostureCheck) -> tuple[Posture, ...]:
    """Return as :func:`free_solutions`; of a continuum free samples all over it, too."""
    found = free_solutions(query, check)
    if not found or not leaves_freedom(query):
        return found
    return tuple(sorted((*found, *_free_of(query, fine_samples(query), check)),
                        key=SELECTION_KEYS['nearest']))


def fine_samples(query: Query) -> np.ndarray:
    """Return samples (k, n) of a continuum of solutions, FINE_SAMPLE_DISTANCE apart."""
    return distinct_solutions(query, query.seed, QUIET_ATTEMPTS, FINE_SAMPLE_DISTANCE,
                              MAX_FINE_SAMPLES)


def scattered(query: Query) -> np.ndarray:
    """Return the solutions (k, n) that descents from SCATTERED_STARTS lead to."""
    n = query.chain.n
    settings, rows = query.settings.copy(), JointRows(*query.joints)
    settings[MAX_BIAS_STEPS] = 0.0
    starts = np.clip(query.tables.postures[:n, :SCATTERED_STARTS].T, rows.lower, rows.upper)
    answers = query.tables.solve(np.repeat(query.T, len(starts), axis=0), starts[:, None], 0, 0,
                                 settings=settings, joints=query.joints)
    return answers[answers[:, SOLVED_FLAG] == 1.0, JOINT_VALUES:]


def self_motions(query: Query, samples: np.ndarray) -> Iterator[np.ndarray]:
    """
    Yield the self-motions of an exact pose, each as its postures (k, n) inside the limits.

    A self-motion is a closed curve, which the joint limits cut in pieces; it is walked over
    regardless of them, WALK_STEP by WALK_STEP, and each posture is moved inside by whole turns.

    Parameters
    ----------
    samples : (s, n) array
        Solutions; more are looked for.

    """
    open_query = query.with_joints(without_limits(query.chain, query.joints))
    known = np.empty((0, query.chain.n))
    count = 0
    for seeds in (samples, scattered(open_query)):
        for seed in seeds:
            if count == MAX_SELF_MOTIONS:
                return
            if _least_distance(query, known, seed) < 2.0 * WALK_STEP:
                continue
            curve = _walked(open_query, seed)
            known, count = np.concatenate([known, curve]), count + 1
            inside, ok = nearest_inside(query.chain, curve, query.seed, query.joints)
            yield inside[ok]


def _has_curves(query: Query) -> bool:
    """Return whether the solutions of a goal are curves: an exact pose, one joint too many."""
    rows = JointRows(*query.joints)
    return query.exact and np.count_nonzero(rows.lower < rows.upper) == EXACT_AXES + 1


def _least_distance(query: Query, known: np.ndarray, q: np.ndarray) -> float:
    """Return how near (rad or m) q (n,) is to known postures (k, n), whole turns left out."""
    apart = known - q
    apart -= 2.0 * np.pi * query.chain.revolute * np.round(apart / (2.0 * np.pi))
    return float(np.sqrt((apart**2).sum(axis=1).min(initial=np.inf)))


def _walked(query: Query, q: np.ndarray) -> np.ndarray:
    """Return the self-motion through q (n,) as postures (k, n)."""
    parts = []
    for sign in (1.0, -1.0):
        found = np.empty((MAX_WALKED_POSTURES, len(q)))
        count, closed = walk(query.chain.table, query.joints, query.settings, query.T[0].ravel(),
                             q, sign, WALK_STEP, found)
        parts.append(found[:count])
        if closed:
            break
    return np.concatenate(parts)


def _free_of(query: Query, Q: np.ndarray, check: PostureCheck) -> tuple[Posture, ...]:
    """Return which of the solutions Q (k, n) are free, the nearest to the seed first."""
    postures = [Posture(query.chain, q.copy(), query.seed) for q in Q]
    return only_free(tuple(sorted(postures, key=SELECTION_KEYS['nearest'])), check)


def only_free(postures: tuple[Posture, ...], check: PostureCheck) -> tuple[Posture, ...]:
    """Return the postures that are free, in their order."""
    if not postures:
        return ()
    free = check.check_many(np.array([posture.q for posture in postures]))
    return tuple(posture for posture, ok in zip(postures, free) if ok)


def choose_free(query: Query, check: PostureCheck,
                key: Callable[[Posture], float], reference: np.ndarray | None) -> bool:
    """
    Replace the answer of a query by the free solution with the least `key`.

    Returns whether there is one.
    """
    found = free_solutions(query, check, reference)
    if not found:
        return False
    query.answer[:] = query.check(min(found, key=key).q)
    return True
