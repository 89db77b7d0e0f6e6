# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Steps by extended Jacobians: added rows make the joint step unique."""

from __future__ import annotations

import numpy as np

from ik_node.textbook.options import ClassicOptions
from ik_node.textbook.problem import Point, Problem

DIFFERENCE_STEP = 1e-5    # step of the central difference of J, rad or m
FULL_WISH_M = 0.3         # way of the tip on which the elements go to the preferred posture
NORMAL_FLOOR_M2 = 1e-14  # keeps the normal equations regular if a joint does not move the tip


def extended_square(problem: Problem, point: Point, options: ClassicOptions) -> np.ndarray:
    """
    Solve the square system ``[J; d(N^T grad g)/dq] dq = [e; -c N^T grad g]``.

    N (n, n - r) spans the null space of J, g is the posture criterion.  With
    ``c = 0`` (Baillieul 1985; Soch and Lorencz 2005, eq. 6) the projected gradient
    keeps its value from the start; with ``c = 1`` this is Newton's step to the best
    posture at the goal.

    The added row of a null vector eta is
    ``eta^T (H - sum_j mu_j d^2 x_j/dq^2)``, with H the Hessian of g and
    ``mu = J^+T grad g``; the second term is due to the change of N with q.  Raises
    ``numpy.linalg.LinAlgError`` where J or the criterion is singular.
    """
    J = point.J
    r, n = J.shape
    gradient = problem.posture_gradient(point.x)
    if n == r:
        return np.linalg.solve(J, point.e)
    if n < r:
        return np.linalg.solve(J.T @ J, J.T @ point.e)
    U, s, Vt = np.linalg.svd(J)
    if not s[-1] > options.cutoff * s[0]:
        raise np.linalg.LinAlgError('the Jacobian is singular')
    mu = U @ ((Vt[:r] @ gradient) / s)
    null = Vt[r:]
    rows = np.array([problem.weight * eta - _curvature(problem, point, eta, mu)
                     for eta in null])
    A = np.vstack([J, rows])
    b = np.concatenate([point.e, -options.correction * (null @ gradient)])
    return np.linalg.solve(A, b)


def _curvature(problem: Problem, point: Point, eta: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Return ``sum_j mu_j (d^2 x_j/dq^2) eta`` (n,), from the change of J along eta."""
    task = problem.task
    ends = []
    for x in (point.x + DIFFERENCE_STEP * eta, point.x - DIFFERENCE_STEP * eta):
        frames = task.frames(x)
        J = task.jacobian(frames, task.error_twist(frames))[point.task.rows]
        ends.append(J.T @ mu)
    return (ends[0] - ends[1]) / (2.0 * DIFFERENCE_STEP)


def extended_pairwise(problem: Problem, point: Point, options: ClassicOptions) -> np.ndarray:
    """
    ``(A^T A) dq = A^T b`` by LU, ``A = [w P; J]``, ``b = [w d; e]``.

    P has a block of rows for each basic element of two successive links: the motion
    of the end of the second relative to the start of the first, with the wish d.  So the
    elements share the motion, and none jumps out of a stretched posture, where J alone is
    singular (Soch and Lorencz 2005, section 2, eq. 8-10).  The paper tries d = 0, and leaves to
    future work how d is derived from the change of the tip.  Here it is
    ``d = c |e| / FULL_WISH_M P (preferred - q)``, by `correction` c: while the tip goes its way,
    the elements go towards those of a preferred posture.

    The paper has planar chains and positions; here the rows follow the goal: position,
    orientation or both.  A joint that does not change these rows, such as the last one
    for a position on its axis, does not move.
    """
    P = options.pair_weight * element_rows(problem, point)
    share = min(1.0, float(np.linalg.norm(point.e)) / FULL_WISH_M)  # of the way that the tip goes
    wish = options.correction * share * (P @ (problem.preferred - point.x))
    A, b = np.vstack([P, point.J]), np.concatenate([wish, point.e])
    return np.linalg.solve(A.T @ A + NORMAL_FLOOR_M2 * np.eye(A.shape[1]), A.T @ b)


def element_rows(problem: Problem, point: Point) -> np.ndarray:
    """
    Return the rows of all basic elements, (3 or 6 for each of the m - 1 elements, n).

    They are in base axes; the axes of the first link would give the same normal
    equations.
    """
    task, frames = problem.task, point.task.frames
    kinds = np.repeat([task.finite[:3].any(), task.finite[3:].any()], 3)
    joints, factors = task.chain.joints, task.chain.factors
    blocks = []
    for first in range(len(joints) - 1):
        end = frames[first + 2, 9:]
        block = np.zeros((6, task.chain.n))
        for k in (first, first + 1):
            axis = factors[k, 0] * frames[k, [2, 5, 8]]
            if joints[k, 0] == 1:
                column = np.concatenate([axis, np.zeros(3)])
            else:
                column = np.concatenate([np.cross(axis, end - frames[k, 9:]), axis])
            block[:, joints[k, 1]] += column
        blocks.append((task.weights[:, None] * block)[kinds])
    return np.vstack(blocks) if blocks else np.empty((0, task.chain.n))
