# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The choice among the solutions of a goal that are free of collisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from ik_node.solver.branches import (
    all_solutions,
    distinct_solutions,
    leaves_freedom,
    QUIET_ATTEMPTS,
    SELECTION_KEYS,
)
from ik_node.solver.compiled.layout import (
    JOINT_VALUES,
    JointRows,
    MAX_BIAS_STEPS,
    SOLVED_FLAG,
)
from ik_node.solver.compiled.self_motion import add_distinct, self_motions
from ik_node.solver.result import Posture
from ik_node.solver.tables import Query

FINE_SAMPLE_DISTANCE = 0.1  # rad or m, between samples of a continuum if none is free yet
MAX_FINE_SAMPLES = 200
EXACT_AXES = 6              # that an exact pose fixes
WALK_STEP = 0.05            # rad or m, along the self-motion of a redundant arm
MAX_WALKED_POSTURES = 600


class PostureCheck(Protocol):
    """What a solver asks about collisions; see :class:`ik_node.collision.model.CollisionModel`."""

    def check_many(self, Q: np.ndarray) -> np.ndarray:
        """Return which of the postures (K, n) are free, (K,) bool."""

    def describe(self, q: np.ndarray) -> str:
        """Return which bodies are too near to each other at q (n,), and how near."""


def free_solutions(query: Query, check: PostureCheck,
                   reference: np.ndarray | None = None) -> tuple[Posture, ...]:
    """
    Return the solutions inside the limits that are free, the nearest to the seed first.

    If the goal leaves the arm free, by a free axis or a seventh joint, and no sample of the
    continuum is free, finer samples are looked at; then, of a redundant arm, what is between
    them.

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
    return _free_of(query, samples, check) \
        or _free_of(query, walked_postures(query, samples), check)


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


def walked_postures(query: Query, samples: np.ndarray) -> np.ndarray:
    """
    Return more solutions of an exact pose, (k, n), from samples (s, n) on along the self-motion.

    They are WALK_STEP apart.  If more than one joint is redundant, or none, there are none.
    """
    rows = JointRows(*query.joints)
    active = rows.lower < rows.upper
    if not query.exact or np.count_nonzero(active) != EXACT_AXES + 1:
        return np.empty((0, query.chain.n))
    settings = query.settings.copy()
    settings[MAX_BIAS_STEPS] = 0.0
    known = np.empty((len(samples) + MAX_WALKED_POSTURES, query.chain.n))
    known[:len(samples)] = ends = samples
    count = len(samples)
    while len(ends) and count < MAX_WALKED_POSTURES:
        along = np.empty(ends.shape)
        self_motions(query.chain.table, ends, active, along)
        starts = np.stack([ends + WALK_STEP * along, ends - WALK_STEP * along], axis=1)
        inside = np.clip(starts.reshape(-1, query.chain.n), rows.lower, rows.upper)
        answers = query.tables.solve(np.repeat(query.T, len(inside), axis=0), inside[:, None], 0,
                                     0, settings=settings, joints=query.joints)
        first = count
        found = np.ascontiguousarray(answers[answers[:, SOLVED_FLAG] == 1.0, JOINT_VALUES:])
        count = add_distinct(known, count, found, 0.5 * WALK_STEP)
        ends = known[first:count]
    return known[len(samples):count].copy()


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
