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
