# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Steps by inverses of the Jacobian: dx (n,) from the error e (r,) and J (r, n).

Numbers in brackets are equations of Parent 2012, "Computer Animation", chapter 5.
"""

from __future__ import annotations

import numpy as np

from ik_node.kinematics import jacobians
from ik_node.textbook.options import ClassicOptions
from ik_node.textbook.problem import Point, Problem
from ik_node.textbook.task import left_jacobian_inverse

DAMPING_FLOOR_M2 = 1e-14  # keeps the damped matrix invertible where J is rank deficient
ROBUST_DAMPING_M2 = 1e-5  # lambda of the singularity-robust inverse, the same everywhere


def pseudo_inverse(problem: Problem, point: Point, options: ClassicOptions) -> np.ndarray:
    """Step by :func:`pseudo_inverse_step`."""
    return pseudo_inverse_step(point.J, point.e, options.cutoff)


def pseudo_inverse_step(J: np.ndarray, e: np.ndarray, cutoff: float) -> np.ndarray:
    """
    ``dx = V S^+ U^T e``: the shortest least-squares step (Golub and Kahan 1965).

    Singular values below the cutoff are left out, so the step is bounded at a
    singularity; near it the step grows as 1 / s.
    """
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    used = s > cutoff * s.max(initial=0.0)
    return Vt[used].T @ ((U.T @ e)[used] / s[used])


def right_pseudo_inverse(problem: Problem, point: Point, options: ClassicOptions) -> np.ndarray:
    """
    ``dx = J^T (J J^T)^-1 e``, the shortest step, for at least as many joints as rows [5.21].

    Raises ``numpy.linalg.LinAlgError`` if the rows are linearly dependent.
    """
    J = point.J
    return J.T @ (np.linalg.inv(J @ J.T) @ point.e)


def left_pseudo_inverse(problem: Problem, point: Point, options: ClassicOptions) -> np.ndarray:
    """
    ``dx = (J^T J)^-1 J^T e``, the least error, for at least as many rows as joints [5.20].

    Raises ``numpy.linalg.LinAlgError`` if the columns are linearly dependent.
    """
    J = point.J
    return np.linalg.inv(J.T @ J) @ (J.T @ point.e)


def pseudo_inverse_lu(problem: Problem, point: Point, options: ClassicOptions) -> np.ndarray:
    """
    ``(J J^T) beta = e`` by LU decomposition, ``dx = J^T beta`` [5.22, 5.23].

    The right pseudo-inverse without an explicit inverse; the same conditions hold.
    """
    J = point.J
    return J.T @ np.linalg.solve(J @ J.T, point.e)


def damped_least_squares(problem: Problem, point: Point, options: ClassicOptions) -> np.ndarray:
    """
    ``dx = J^T (J J^T + lambda^2 I)^-1 e`` minimises ``|e - J dx|^2 + lambda^2 |dx|^2`` [5.24].

    ``lambda^2 = |e|^2 (c + c_s max(0, 1 - (s_min / s_0)^2))``: it vanishes with the
    error, for quadratic convergence (Chan and Lawrence 1988, Sugihara 2011), and grows
    towards a singularity (Maciejewski and Klein 1988).
    """
    J = point.J
    smallest = np.linalg.svd(J, compute_uv=False)[-1]
    near = max(0.0, 1.0 - (smallest / options.singular_value) ** 2)
    squared = (point.e @ point.e) * (options.damping + options.singular_damping * near)
    # J J^T alone is singular if the goal is a singular posture.
    return J.T @ np.linalg.solve(J @ J.T + (squared + DAMPING_FLOOR_M2) * np.eye(len(J)), point.e)


def adjusted_adjoint(problem: Problem, point: Point, options: ClassicOptions) -> np.ndarray:
    """
    ``dx = J^T (J J^T + lambda I)^-1 e`` with J by the adjusted adjoint procedure.

    J is assembled from the adjoint blocks of the joints, those of spherical joints adjusted to
    their Euler angles, by :func:`ik_node.kinematics.jacobians.adjusted_adjoint`; lambda is
    constant (Rabbani's notes on the Jacobian, Procedure 3 and the SR inverse).  So the error
    falls by the factor ``lambda / (s^2 + lambda)`` a step, with the smallest singular value s.
    """
    task, state = problem.task, point.task
    J = task.of_deviation(jacobians.adjusted_adjoint(task.chain.table, state.q),
                          task.error_twist(state.frames))
    # Penalty rows belong to the joints, not to the tip.
    rows = np.vstack([J[state.rows] * problem.slope(point.x), point.J[len(state.e):]])
    return rows.T @ np.linalg.solve(rows @ rows.T + ROBUST_DAMPING_M2 * np.eye(len(rows)), point.e)


def alternative_jacobian(problem: Problem, point: Point, options: ClassicOptions) -> np.ndarray:
    """
    Pseudo-inverse step that pulls the goal to the tip: ``goal - joint`` for ``tip - joint``.

    The column of a revolute joint is ``[a x (p_goal - p_i); a]``, that of a prismatic
    joint ``[a; 0]``: the motion of the goal if it were attached to the joint (Parent
    2012, section 5.3.3).  Since ``R_goal`` moves instead of R, the rotation vector is
    differentiated by the right Jacobian of SO(3).
    """
    task, state = problem.task, point.task
    twist = task.error_twist(state.frames)
    pulled = state.frames.copy()
    pulled[-1, 9:] += twist[:3]
    J = task.geometric_jacobian(pulled)
    J[:3] = task.axes @ J[:3]
    J[3:] = task.axes @ left_jacobian_inverse(-twist[3:]).T @ J[3:]
    J *= task.weights[:, None]
    # Penalty rows and the change of variables belong to the joints, not to the goal.
    rows = np.vstack([J[state.rows] * problem.slope(point.x), point.J[len(state.e):]])
    return pseudo_inverse_step(rows, point.e, options.cutoff)


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
