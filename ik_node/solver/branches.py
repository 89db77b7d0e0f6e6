# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
All solutions of a goal, and the choice among them.

They come in closed form if the arm has one, and by a search otherwise.  Joint limits are
ignored during the search; afterwards each solution is moved into the limits by whole turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import pi
from typing import Protocol

import numpy as np

from ik_node.model.chain import Chain
from ik_node.solver.closed_form.self_motions import nearest_of_curves
from ik_node.solver.closed_form.solution_search import find_all
from ik_node.solver.descent.layout import (
    BOX_AXES,
    BOX_WIDTHS,
    JOINT_VALUES,
    JointRows,
    LIMIT_TOUCH,
    MAX_BIAS_STEPS,
    ORIENTATION_TOLERANCE,
    POSITION_TOLERANCE,
    SAME_SOLUTION,
    SOLVED_FLAG,
)
from ik_node.solver.descent.nearest import walk
from ik_node.solver.result import Posture
from ik_node.solver.tables import Query
from ik_node.solver.warm_up import warm_up_search, warm_up_self_motion

QUIET_ATTEMPTS = 80      # attempts without a new solution end the search
MAX_SOLUTIONS = 64       # more than for any six-axis arm
CONTINUUM_SAMPLES = 16   # solutions returned of a continuum
SAMPLE_DISTANCE = 0.3    # rad or m, between samples of a continuum
SEARCH_TOLERANCE = 1e-9  # m and rad, so that equal solutions are equal to SAME_SOLUTION


def _distance(posture: Posture) -> float:
    return float(np.linalg.norm(posture.q - posture.seed))


SELECTION_KEYS = {
    'nearest': _distance,
    'first': _distance,
    'centred': lambda posture: -posture.centredness,
    'manipulable': lambda posture: -posture.manipulability,
}


def distinct_solutions(query: Query, seed: np.ndarray, quiet: int, apart: float,
                       most: int) -> np.ndarray:
    """
    Return the distinct solutions of a query inside its limits, (k, n), k <= `most`.

    Arguments: see :func:`~ik_node.solver.closed_form.solution_search.find_all`.
    """
    warm_up_search()
    found = np.empty((most, query.chain.n))
    tables = query.tables
    count = find_all(tables.table, query.joints, query.settings, tables.postures,
                     query.T[0].ravel(), seed, quiet, apart, found)
    return found[:count]


def all_solutions(query: Query, reference: np.ndarray | None = None) -> tuple[Posture, ...]:
    """
    Return the solutions inside the limits, the nearest to the seed first.

    Parameters
    ----------
    query : Query
    reference : (n,) array, optional
        Turns are chosen nearest to it; without it, to the seed.

    """
    chain, seed = query.chain, query.seed
    rows = query.branches(seed if reference is None else reference)
    closed = rows[:, JOINT_VALUES:]
    if len(rows) and query.tables.closed_form.exact:
        # A list is faster than a generator; without a reference the order is right already.
        found = [Posture(chain, q, seed) for q in closed]
        return tuple(found if reference is None else sorted(found, key=_distance))
    postures: list[Posture] = []
    for q in (*closed, *nearest_on_curves(query, reference),
              *searched_solutions(query, reference)):
        if all(np.abs(q - other.q).max() > SAME_SOLUTION for other in postures):
            postures.append(Posture(chain, q.copy(), seed))
    return tuple(sorted(postures, key=_distance))


def nearest_on_curves(query: Query, reference: np.ndarray | None) -> np.ndarray:
    """Return the nearest solution on each self-motion of seven axes with a form, among others."""
    form = query.tables.seven_axes
    if not len(form) or not query.exact:
        return np.empty((0, query.chain.n))
    warm_up_self_motion()
    seed = query.seed if reference is None else reference
    found = np.empty((MAX_SOLUTIONS, query.chain.n))
    count = nearest_of_curves(query.tables.table, query.joints, query.settings, form,
                              np.append(query.T[0], seed), found)
    return found[:count]


def searched_solutions(query: Query, reference: np.ndarray | None) -> np.ndarray:
    """Search for solutions from many postures, (k, n); arguments as :func:`all_solutions`."""
    chain, joints, settings, seed = query.chain, query.joints, query.settings, query.seed
    sharp = query.with_settings({
        index: min(settings[index], SEARCH_TOLERANCE)
        for index in (POSITION_TOLERANCE, ORIENTATION_TOLERANCE)})
    if leaves_freedom(query):
        found = distinct_solutions(sharp, seed, QUIET_ATTEMPTS, SAMPLE_DISTANCE,
                                   CONTINUUM_SAMPLES)
    else:
        found = distinct_solutions(sharp.with_joints(without_limits(chain, joints)), seed,
                                   QUIET_ATTEMPTS, SAME_SOLUTION, MAX_SOLUTIONS)
        settings = settings.copy()
        settings[MAX_BIAS_STEPS] = 0.0
    inside, ok = nearest_inside(chain, found, seed if reference is None else reference, joints)
    starts = np.ascontiguousarray(inside[ok])
    answers = query.tables.solve(np.repeat(query.T, len(starts), axis=0), starts[:, None], 0, 0,
                                 settings=settings, joints=joints)
    return answers[answers[:, SOLVED_FLAG] == 1.0, JOINT_VALUES:]


def leaves_freedom(query: Query) -> bool:
    """Return whether the goal leaves the arm free, so that its solutions form a continuum."""
    rows = JointRows(*query.joints)
    exact = int((query.settings[BOX_WIDTHS:BOX_AXES] == 0.0).sum())
    return bool((rows.lower < rows.upper).sum() > exact)


def without_limits(chain: Chain, joints: np.ndarray) -> np.ndarray:
    """Return the joint table (7, n) without the limits of revolute joints that are not locked."""
    free = joints.copy()
    rows = JointRows(*free)
    opened = chain.revolute & (rows.lower < rows.upper)
    rows.lower[opened], rows.upper[opened] = -np.inf, np.inf
    return free


def nearest_inside(chain: Chain, found: np.ndarray, reference: np.ndarray,
                   joints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Move revolute joints by whole turns into the limits, as near to `reference` as possible.

    Parameters
    ----------
    found : (k, n) array
    reference : (n,) array
    joints : (7, n) array

    Returns
    -------
    (k, n) array, (k,) array of bool
        The postures, and whether each is inside the limits.

    """
    rows = JointRows(*joints)
    lower, upper = rows.lower, rows.upper
    turn = np.where(chain.revolute, 2.0 * pi, np.inf)
    turns = np.round((reference - found) / turn)
    least = np.ceil((lower - LIMIT_TOUCH - found) / turn)
    most = np.floor((upper + LIMIT_TOUCH - found) / turn)
    moved = np.where(chain.revolute, found + 2.0 * pi * np.clip(turns, least, most), found)
    ok = (moved >= lower - LIMIT_TOUCH) & (moved <= upper + LIMIT_TOUCH)
    return np.clip(moved, lower, upper), ok.all(axis=1)


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
    for step in (WALK_STEP, -WALK_STEP):
        found = np.empty((MAX_WALKED_POSTURES, len(q)))
        count, closed = walk(query.tables.table, query.joints, query.settings, query.T[0].ravel(),
                             q, step, found)
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
