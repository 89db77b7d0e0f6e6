# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled search for all distinct solutions of a goal.

Attempts start from the postures of the table whose tip is nearest to the goal, and
from every solution found, with one joint or the spherical wrist flipped, or moved
across a singularity.
"""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from ik_node.kinematics.kernels import compiled, copy, inner, jacobian_columns, joint_frames
from ik_node.solver.descent.damped import (
    cholesky_solve,
    descend,
    EARLY_STOP,
    gram,
    LONG_STEP,
    measure_postures,
    take_nearest,
)
from ik_node.solver.descent.layout import (
    Attempt,
    BOX_WIDTHS,
    goal_workspace,
    MAX_STEPS,
    METRES_PER_RADIAN,
    problem_of,
    ProblemArrays,
    workspace,
)
from ik_node.solver.descent.residual import fill_goal

CROSSING_STEP = 0.5  # rad or m, largest joint change of a start across a singularity


@compiled
def find_all(table, joints, settings, postures, T, seed, quiet, apart, found):
    """
    Write the distinct solutions of a goal into `found` (most, n); return how many.

    Parameters
    ----------
    table, settings, postures :
        As in :class:`~ik_node.solver.descent.layout.Problem`.
    joints : (7, n) array
        The solutions are inside its limits.
    T : (16,) array
        The pose of the goal, row by row.
    seed : (n,) array
        Where the first attempt starts.
    quiet : int
        The search ends after so many attempts in a row without a new solution.
    apart : float
        rad or m: solutions nearer to each other count as one.

    """
    n, m = joints.shape[1], table.shape[0] - 1
    goal_work = goal_workspace(n, postures.shape[1])
    fill_goal(T, settings[BOX_WIDTHS:], goal_work.goal)
    return find_each(ProblemArrays(table, joints, settings, postures), seed, quiet, apart, found,
                     goal_work, workspace(n, m))


@inner
def find_each(arrays, seed, quiet, apart, found, goal_work, work):
    """Search as :func:`find_all` does, in arrays that are given; the goal is filled in."""
    table, joints, settings, postures = problem_of(arrays)
    goal, q, distances = goal_work
    lower, upper = joints.lower, joints.upper
    n, K = q.shape[0], distances.shape[0]
    starts_per_solution = n + 3
    measure_postures(goal, postures[n:], settings[METRES_PER_RADIAN], distances)
    count, flips, silent, attempts = 0, 0, 0, 0
    while count < found.shape[0] and silent < quiet and attempts < K:
        attempts += 1
        if attempts == 1:
            copy(seed, q)
        elif flips < count * starts_per_solution:
            start_from(table, settings, found[flips // starts_per_solution],
                       flips % starts_per_solution, q, work)
            flips += 1
        else:
            nearest = take_nearest(distances)
            for k in range(n):
                q[k] = postures[k, nearest]
        for k in range(n):
            q[k] = min(max(q[k], lower[k]), upper[k])
        ended = descend(table, joints, settings, goal,
                        Attempt(EARLY_STOP, LONG_STEP, settings[MAX_STEPS], False), q, work)
        silent += 1
        if ended.solved:
            for k in range(n):
                if lower[k] == -np.inf:
                    q[k] -= 2.0 * pi * np.round(q[k] / (2.0 * pi))
            known = False
            for i in range(count):
                if posture_distance(q, found[i], lower) < apart:
                    known = True
                    break
            if not known:
                copy(q, found[count])
                count += 1
                silent = 0
    return count


@inner
def start_from(table, settings, known, kind, q, work):
    """
    Write a start for another solution into `q`, from a known solution.

    Kinds 0 to n - 1: that joint turned by pi.  n: a spherical wrist flipped (the last
    three joints).  n + 1 and n + 2: across the nearest singularity, in either
    direction along the motion of the joints that moves the tip least; a second
    solution lies close behind it.
    """
    n = q.shape[0]
    copy(known, q)
    if kind < n:
        q[kind] += pi if q[kind] < 0.0 else -pi
    elif kind == n and n >= 3:
        q[n - 3] += pi
        q[n - 2] = -q[n - 2]
        q[n - 1] += pi
    else:
        frames, columns, A, y, dq, active = (work.frames, work.columns, work.A, work.y, work.dq,
                                             work.active)
        joint_frames(table, q, frames)
        jacobian_columns(table, frames, settings[METRES_PER_RADIAN], columns)
        for k in range(n):
            active[k] = True
        # Inverse iteration on J J^T converges to its smallest singular vector.
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
            q[k] += CROSSING_STEP * (dq[k] if kind == n + 1 else -dq[k]) / largest


@inner
def posture_distance(a, b, lower):
    """Return the largest joint difference of two postures, modulo 2 pi without limits."""
    largest = 0.0
    for k in range(a.shape[0]):
        d = a[k] - b[k]
        if lower[k] == -np.inf:
            d -= 2.0 * pi * np.round(d / (2.0 * pi))
        largest = max(largest, abs(d))
    return largest
