# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
All solutions of a goal.

Attempts from the postures of a table whose tip is nearest to the goal, and from
every solution with one joint, or the last three as on a spherical wrist, turned
over.  Joint limits are left aside: which angles lie inside them, by whole turns,
is asked of each solution afterwards.
"""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from ik_node.kinematics.kernels import compiled, copy, inner, jacobian_columns, joint_frames
from ik_node.model.chain import Chain
from ik_node.solver.compiled.damped import (
    BIAS_ITERATIONS,
    BOX,
    cholesky_solve,
    descend,
    EARLY,
    goal_workspace,
    gram,
    ITERATIONS,
    LENGTH,
    LONG_STEP,
    LOWER,
    measure_postures,
    ORIENTATION,
    POSITION,
    Q,
    SCALE,
    SOLVED,
    take_nearest,
    UPPER,
    workspace,
)
from ik_node.solver.compiled.entry import solve_goals
from ik_node.solver.compiled.residual import fill_goal
from ik_node.solver.options import Tables
from ik_node.solver.result import Posture

QUIET = 80      # attempts without a new solution end the search
MOST = 64       # solutions, more than any six-axis arm has
SAMPLES = 16    # of a continuum of solutions
APART = 0.3     # rad or m, between samples of a continuum
SHARP = 1e-9    # m and rad, tolerance of the search, so that equal solutions are equal
TOUCHING = 1e-7  # rad or m, a solution so far beyond a limit is on it
KEYS = {
    'nearest': lambda posture: float(np.linalg.norm(posture.q - posture.seed)),
    'first': lambda posture: float(np.linalg.norm(posture.q - posture.seed)),
    'centred': lambda posture: -posture.centredness,
    'manipulable': lambda posture: -posture.manipulability,
}
SAME = 1e-4     # rad or m, solutions that are nearer to each other are one
ACROSS = 0.5    # rad or m, largest joint change of a start across a singularity


@compiled
def find_all(table, joints, settings, postures, T, seed, quiet, apart, found):
    """
    Write the distinct solutions of a goal into `found` (most, n); return how many.

    Parameters
    ----------
    table, joints, settings, postures :
        As in :func:`ik_node.solver.compiled.damped.solve_one`; the limits in `joints` hold.
    T : (16,) array
        The pose of the goal, row by row.
    seed : (n,) array
        Begins the search.
    quiet : int
        The search ends after so many attempts that found nothing new.
    apart : float
        rad or m, how far two solutions must be apart to count as two.

    """
    n, m = joints.shape[1], table.shape[0] - 1
    return find_each(table, joints, settings, postures, T, seed, quiet, apart, found,
                     goal_workspace(n, postures.shape[1]), workspace(n, m))


@inner
def find_each(table, joints, settings, postures, T, seed, quiet, apart, found, more, work):
    """Do what :func:`find_all` promises, in a workspace."""
    goal, never, q, distances = more
    n, K = q.shape[0], distances.shape[0]
    fill_goal(T, settings[BOX:], goal)
    measure_postures(goal, postures[n:], settings[LENGTH], distances)
    lower, upper, scale = joints[LOWER], joints[UPPER], joints[SCALE]
    count, turned, silent, attempt = 0, 0, 0, 0
    while count < found.shape[0] and silent < quiet and attempt < K:
        attempt += 1
        if attempt == 1:
            copy(seed, q)
        elif turned < count * (n + 3):
            turn_over(table, settings, found[turned // (n + 3)], turned % (n + 3), q, work)
            turned += 1
        else:
            nearest = take_nearest(distances)
            for k in range(n):
                q[k] = postures[k, nearest]
        for k in range(n):
            q[k] = min(max(q[k], lower[k]), upper[k])
        solved = descend(table, lower, upper, scale, never, goal, settings, EARLY, LONG_STEP,
                         settings[ITERATIONS], q, work)[0]
        silent += 1
        if solved:
            for k in range(n):
                if lower[k] == -np.inf:
                    q[k] -= 2.0 * pi * np.round(q[k] / (2.0 * pi))
            known = False
            for i in range(count):
                if distance(q, found[i], lower) < apart:
                    known = True
                    break
            if not known:
                copy(q, found[count])
                count += 1
                silent = 0
    return count


@inner
def turn_over(table, settings, known, way, q, work):
    """
    Write a start for another solution into `q`, from one that is known.

    Ways 0 to n - 1: that joint by pi; n: the last three as on a spherical wrist;
    n + 1 and n + 2: across the nearest singularity, to either side along the
    motion of the joints that moves the tip least, where a twin lies close by.
    """
    n = q.shape[0]
    copy(known, q)
    if way < n:
        q[way] += pi if q[way] < 0.0 else -pi
    elif way == n and n >= 3:
        q[n - 3] += pi
        q[n - 2] = -q[n - 2]
        q[n - 1] += pi
    else:
        frames, columns, A, _, e, y, dq, _, active = work
        joint_frames(table, q, frames)
        jacobian_columns(table, frames, settings[LENGTH], columns)
        for k in range(n):
            active[k] = True
        # Inverse iteration on J J^T ends at its smallest singular vector.
        for i in range(6):
            y[i] = 1.0 + 0.1 * i
        for _ in range(3):
            gram(columns, active, 1e-10, A)
            cholesky_solve(A, y)
            square = 0.0
            for i in range(6):
                square += y[i] * y[i]
            for i in range(6):
                y[i] /= sqrt(square)
        largest = 1e-12
        for k in range(n):
            dq[k] = 0.0
            for i in range(6):
                dq[k] += columns[k, i] * y[i]
            largest = max(largest, abs(dq[k]))
        for k in range(n):
            q[k] += ACROSS * (dq[k] if way == n + 1 else -dq[k]) / largest


@inner
def distance(a, b, lower):
    """Return the largest difference of two postures, the short way where there are no limits."""
    largest = 0.0
    for k in range(a.shape[0]):
        d = a[k] - b[k]
        if lower[k] == -np.inf:
            d -= 2.0 * pi * np.round(d / (2.0 * pi))
        largest = max(largest, abs(d))
    return largest


def all_solutions(chain: Chain, tables: Tables, T: np.ndarray, settings: np.ndarray,
                  joints: np.ndarray, seed: np.ndarray,
                  reference: np.ndarray | None = None) -> tuple[Posture, ...]:
    """
    Return the solutions inside the limits, the nearest to the seed first.

    Parameters
    ----------
    T : (1, 4, 4) array
    settings : (16,) array
        Of the goal.
    joints : (7, n) array
        With the limits; a joint of one position is locked.
    seed : (n,) array
    reference : (n,) array, optional
        Turns are chosen nearest to it; without it, to the seed.

    """
    sharp = settings.copy()
    sharp[[POSITION, ORIENTATION]] = np.minimum(sharp[[POSITION, ORIENTATION]], SHARP)
    exact = int((settings[BOX:BOX + 6] == 0.0).sum())
    moving = joints[LOWER] < joints[UPPER]
    continuum = moving.sum() > exact
    search = joints if continuum else without_limits(chain, joints)
    found = np.empty((SAMPLES if continuum else MOST, chain.n))
    count = find_all(tables.table, search, sharp, tables.postures, T[0].ravel(), seed, QUIET,
                     APART if continuum else SAME, found)
    inside, ok = nearest_inside(chain, found[:count], seed if reference is None else reference,
                                joints)
    starts = np.ascontiguousarray(inside[ok])
    if not continuum:
        settings = settings.copy()
        settings[BIAS_ITERATIONS] = 0.0
    answers = solve_goals(tables.table, joints, settings, tables.postures,
                          np.repeat(T, len(starts), axis=0), starts[:, None], 0, 0)
    postures: list[Posture] = []
    for q in answers[answers[:, SOLVED] == 1.0, Q:]:
        if all(np.abs(q - other.q).max() > SAME for other in postures):
            postures.append(Posture(chain, q.copy(), seed))
    return tuple(sorted(postures, key=KEYS['nearest']))


def without_limits(chain: Chain, joints: np.ndarray) -> np.ndarray:
    """Return the table of joints without the limits of those that turn and are not locked."""
    free = joints.copy()
    opened = chain.turning & (joints[LOWER] < joints[UPPER])
    free[LOWER, opened], free[UPPER, opened] = -np.inf, np.inf
    return free


def nearest_inside(chain: Chain, found: np.ndarray, seed: np.ndarray,
                   joints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Turn angles by whole turns to inside the limits, as near to the seed as these allow.

    Parameters
    ----------
    found : (k, n) array

    Returns
    -------
    (k, n) array, (k,) array of bool
        Turned, and whether all of it is inside.

    """
    lower, upper = joints[LOWER], joints[UPPER]
    turn = np.where(chain.turning, 2.0 * pi, np.inf)
    turns = np.round((seed - found) / turn)
    least = np.ceil((lower - TOUCHING - found) / turn)
    most = np.floor((upper + TOUCHING - found) / turn)
    turned = np.where(chain.turning, found + 2.0 * pi * np.clip(turns, least, most), found)
    ok = (turned >= lower - TOUCHING) & (turned <= upper + TOUCHING)
    return np.clip(turned, lower, upper), ok.all(axis=1)


def verify(tables: Tables, T: np.ndarray, settings: np.ndarray, joints: np.ndarray,
           q: np.ndarray) -> np.ndarray:
    """Return the answer (1, Q + n) that a posture is to a goal, without a step of its own."""
    settings = settings.copy()
    settings[[BIAS_ITERATIONS, ITERATIONS]] = 0.0
    return solve_goals(tables.table, joints, settings, tables.postures, T, q.reshape(1, 1, -1),
                       0, 0)
