# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
All solutions of a goal, and the choice among them.

They come in closed form if the arm has one, and by a search otherwise.  Joint limits are
ignored during the search; afterwards each solution is moved into the limits by whole turns.
"""

from __future__ import annotations

from math import pi

import numpy as np

from ik_node.model.chain import Chain
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
from ik_node.solver.result import Posture
from ik_node.solver.tables import Query
from ik_node.solver.warm_up import warm_up_search

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
    for q in (*closed, *searched_solutions(query, reference)):
        if all(np.abs(q - other.q).max() > SAME_SOLUTION for other in postures):
            postures.append(Posture(chain, q.copy(), seed))
    return tuple(sorted(postures, key=_distance))


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
