# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled step of damped least squares for several tips of a tree at once.

The errors of all tips are stacked, and one step ``dq = W J^T (J W J^T + D)^-1 e`` moves all
joints (Wampler 1986; for several tips Baerlocher and Boulic 2004).  A joint that would pass a
limit is put on it, and the step is solved again for the others.
"""

from __future__ import annotations

from math import pi
from typing import NamedTuple

import numpy as np

from ik_node.kinematics.kernels import allocating, inner
from ik_node.kinematics.tree.tree_kernels import tree_columns, tree_frames
from ik_node.solver.descent.damped import LONG_STEP
from ik_node.solver.descent.layout import EXACT_POSE, JointRows, TOLERANCE_AXES
from ik_node.solver.descent.residual import residual, task_columns


class TreeProblem(NamedTuple):
    """
    What all goals of a tree have in common.

    Attributes
    ----------
    table, parents : (m, 16), (m,) arrays
        See :func:`ik_node.kinematics.tree.tree_kernels.tree_frames`.
    joints : JointRows
    tolerances : (2,) array
        Of position (m) and orientation (rad).
    length : float
        Metres per radian.

    """

    table: np.ndarray
    parents: np.ndarray
    joints: JointRows
    tolerances: np.ndarray
    length: float


class TipGoals(NamedTuple):
    """
    The goals of G tips.

    Attributes
    ----------
    poses : (G, 19) array
        See :mod:`ik_node.solver.descent.layout`.
    rows : (G,) int array
        Row of the tip in the table.
    weights : (G,) array
        Factor of each tip's errors.
    levels : (G,) int array
        0 = to be met; 1 = as near as possible once the others are met.
    moved_by : (n, G) array of bool
        Which coordinates move which tip.

    """

    poses: np.ndarray
    rows: np.ndarray
    weights: np.ndarray
    levels: np.ndarray
    moved_by: np.ndarray


class TreeWork(NamedTuple):
    """The arrays that an attempt works in; r = 6 G rows."""

    frames: np.ndarray   # (m, 12)
    twists: np.ndarray   # (n, 6), of one tip
    columns: np.ndarray  # (n, r), J^T
    A: np.ndarray        # (r, r)
    e: np.ndarray        # (r,)
    y: np.ndarray        # (r,)
    damping: np.ndarray  # (r,)
    maps: np.ndarray     # (G, 6, 3), D of each tip
    errors: np.ndarray   # (G, 2), m and rad
    met: np.ndarray      # (G,) bool
    dq: np.ndarray       # (n,)
    kept: np.ndarray     # (n,)
    active: np.ndarray   # (n,) bool


class Levels(NamedTuple):
    """The squared errors (m^2) of the two levels, and whether each is met."""

    first: float
    second: float
    first_met: bool
    second_met: bool


@allocating
def tree_workspace(n, m, G):
    """Return the TreeWork of n coordinates, m rows and G goals."""
    r = 6 * G
    return TreeWork(np.empty((m, 12)), np.empty((n, 6)), np.empty((n, r)), np.empty((r, r)),
                    np.empty(r), np.empty(r), np.empty(r), np.empty((G, 6, 3)),
                    np.empty((G, 2)), np.empty(G, dtype=np.bool_), np.empty(n), np.empty(n),
                    np.empty(n, dtype=np.bool_))


@inner
def stack_errors(problem, goals, q, work):
    """Write frames, errors, their maps, and which tips are met at q (n,); return the Levels."""
    tree_frames(problem.table, problem.parents, q, work.frames)
    first = second = 0.0
    first_met = second_met = True
    for g in range(goals.rows.shape[0]):
        e = work.e[6 * g:6 * g + 6]
        position, angle = residual(goals.poses[g], work.frames[goals.rows[g]], problem.length, e,
                                   work.maps[g])
        work.errors[g, 0], work.errors[g, 1] = position, angle
        met = position <= problem.tolerances[0] and angle <= problem.tolerances[1]
        work.met[g] = met
        square, w = 0.0, goals.weights[g]
        for i in range(6):
            e[i] *= w
            square += e[i] * e[i]
        if goals.levels[g] == 0:
            first += square
            first_met = first_met and met
        else:
            second += square
            second_met = second_met and met
    return Levels(first, second, first_met, second_met)


@inner
def stack_columns(problem, goals, work):
    """Write J^T (n, 6 G) at the frames of :func:`stack_errors`, weighted by tips and joints."""
    columns, twists, scale = work.columns, work.twists, problem.joints.scale
    for g in range(goals.rows.shape[0]):
        tree_columns(problem.table, problem.parents, work.frames, goals.rows[g], twists)
        for k in range(twists.shape[0]):
            for i in range(3, 6):
                twists[k, i] *= problem.length
        if goals.poses[g, TOLERANCE_AXES] != EXACT_POSE:
            task_columns(work.maps[g], twists)
        for k in range(twists.shape[0]):
            for i in range(6):
                columns[k, 6 * g + i] = twists[k, i] * goals.weights[g] * scale[k]


@inner
def factorise(A):
    """Replace the upper triangle of A (r, r) by ``D L^T``, its diagonal by 1 / D; else False."""
    r = A.shape[0]
    for j in range(r):
        d = A[j, j]
        if not d > 0.0:
            return False
        d = 1.0 / d
        A[j, j] = d
        for i in range(j + 1, r):
            factor = A[j, i] * d
            if factor != 0.0:
                for k in range(i, r):
                    A[i, k] -= factor * A[j, k]
    return True


@inner
def back_substitute(A, b):
    """Solve in place with what :func:`factorise` left in A (r, r)."""
    r = A.shape[0]
    for j in range(r):
        z = A[j, j] * b[j]
        for i in range(j + 1, r):
            b[i] -= A[j, i] * z
    for i in range(r - 1, -1, -1):
        s = b[i]
        for k in range(i + 1, r):
            s -= A[i, k] * b[k]
        b[i] = s * A[i, i]


@inner
def stacked_step(q, joints, work):
    """
    Write the damped step ``work.dq`` that ends inside the limits; return whether there is one.

    As :func:`ik_node.solver.descent.damped.limited_step`, for any number of rows.
    """
    lower, upper, scale = joints.lower, joints.upper, joints.scale
    columns, A, e, y, dq, active = work.columns, work.A, work.e, work.y, work.dq, work.active
    n, r = columns.shape
    for k in range(n):
        active[k], dq[k] = True, 0.0
        if q[k] <= lower[k] or q[k] >= upper[k]:
            pull = 0.0
            for i in range(r):
                pull += columns[k, i] * e[i]
            active[k] = (q[k] > lower[k] or pull > 0.0) and (q[k] < upper[k] or pull < 0.0)
    for _ in range(n + 1):
        for i in range(r):
            y[i] = e[i]
            for j in range(i, r):
                A[i, j] = 0.0
            A[i, i] = work.damping[i]
        for k in range(n):
            c = columns[k]
            if active[k]:
                for i in range(r):
                    if c[i] != 0.0:
                        for j in range(i, r):
                            A[i, j] += c[i] * c[j]
            elif dq[k] != 0.0:
                for i in range(r):
                    y[i] -= c[i] * dq[k] / scale[k]
        if not factorise(A):
            return False
        back_substitute(A, y)
        largest = 0.0
        for k in range(n):
            if active[k]:
                s = 0.0
                for i in range(r):
                    s += columns[k, i] * y[i]
                dq[k] = s * scale[k]
                largest = max(largest, abs(dq[k]))
        if largest > LONG_STEP:
            for k in range(n):
                if active[k]:
                    dq[k] *= LONG_STEP / largest
        passed = False
        for k in range(n):
            if active[k] and not lower[k] <= q[k] + dq[k] <= upper[k]:
                dq[k] = (lower[k] if dq[k] < 0.0 else upper[k]) - q[k]
                active[k] = False
                passed = True
        if not passed:
            break
    return True


@inner
def take_step(q, joints, wrap, work):
    """Add the step to q (n,); return the largest change of a joint."""
    largest = 0.0
    for k in range(q.shape[0]):
        largest = max(largest, abs(work.dq[k]))
        q[k] = min(max(q[k] + work.dq[k], joints.lower[k]), joints.upper[k])
        if wrap and joints.wraps[k] != 0.0:
            if q[k] >= joints.upper[k]:
                q[k] -= 2.0 * pi
            elif q[k] <= joints.lower[k]:
                q[k] += 2.0 * pi
    return largest
