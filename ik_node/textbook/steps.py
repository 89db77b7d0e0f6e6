# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Steps by inverses of the Jacobian: from the error e (r,) and J (r, n) to dx (n,).

Numbers in brackets are those of Parent 2012, "Computer Animation", chapter 5.
"""

from __future__ import annotations

import numpy as np

from ik_node.textbook.options import ClassicOptions
from ik_node.textbook.problem import Point, Problem
from ik_node.textbook.task import left_jacobian_inverse

FLOOR = 1e-14  # m^2, keeps the damped matrix invertible where J has lost a row


def pseudo_inverse(problem: Problem, point: Point, options: ClassicOptions) -> np.ndarray:
    """Step by :func:`pseudo_inverse_step`."""
    return pseudo_inverse_step(point.J, point.e, options.cutoff)


def pseudo_inverse_step(J: np.ndarray, e: np.ndarray, cutoff: float) -> np.ndarray:
    """
    ``dx = V S^+ U^T e``: of all least-squares steps the shortest (Golub and Kahan 1965).

    Singular values below the cutoff are left out, so a singularity itself is
    harmless; near one the step is long, as 1 / s.
    """
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    used = s > cutoff * s.max(initial=0.0)
    return Vt[used].T @ ((U.T @ e)[used] / s[used])


def right_pseudo_inverse(problem: Problem, point: Point, options: ClassicOptions) -> np.ndarray:
    """
    ``dx = J^T (J J^T)^-1 e``, the shortest step, for at least as many joints as rows [5.21].

    Raises ``numpy.linalg.LinAlgError`` where the rows depend on each other.
    """
    J = point.J
    return J.T @ (np.linalg.inv(J @ J.T) @ point.e)


def left_pseudo_inverse(problem: Problem, point: Point, options: ClassicOptions) -> np.ndarray:
    """
    ``dx = (J^T J)^-1 J^T e``, the least error, for at least as many rows as joints [5.20].

    Raises ``numpy.linalg.LinAlgError`` where the columns depend on each other.
    """
    J = point.J
    return np.linalg.inv(J.T @ J) @ (J.T @ point.e)


def pseudo_inverse_lu(problem: Problem, point: Point, options: ClassicOptions) -> np.ndarray:
    """
    ``(J J^T) beta = e`` by LU decomposition, ``dx = J^T beta`` [5.22, 5.23].

    The right pseudo-inverse without forming an inverse, and with its conditions.
    """
    J = point.J
    return J.T @ np.linalg.solve(J @ J.T, point.e)


def damped_least_squares(problem: Problem, point: Point, options: ClassicOptions) -> np.ndarray:
    """
    ``dx = J^T (J J^T + lambda^2 I)^-1 e``: the least ``|e - J dx|^2 + lambda^2 |dx|^2`` [5.24].

    ``lambda^2 = |e|^2 (c + c_s max(0, 1 - (s_min / s_0)^2))``: it vanishes with the
    error, so that the end is quadratic (Chan and Lawrence 1988, Sugihara 2011), and
    it grows towards a singularity (Maciejewski and Klein 1988).
    """
    J = point.J
    smallest = np.linalg.svd(J, compute_uv=False)[-1]
    near = max(0.0, 1.0 - (smallest / options.singular_value) ** 2)
    squared = (point.e @ point.e) * (options.damping + options.singular_damping * near)
    # At a goal that is a singularity J J^T alone cannot be solved.
    return J.T @ np.linalg.solve(J @ J.T + (squared + FLOOR) * np.eye(len(J)), point.e)


def alternative_jacobian(problem: Problem, point: Point, options: ClassicOptions) -> np.ndarray:
    """
    Pseudo-inverse step that pulls the goal to the tip: ``goal - joint`` for ``tip - joint``.

    The column of a turning joint is ``[a x (p_goal - p_i); a]``, that of a
    sliding one ``[a; 0]``: how the goal would move if it hung on the joint
    (Parent 2012, section 5.3.3).  With ``R_goal`` pulled and not R pushed, the
    rotation vector follows by the right Jacobian of SO(3).
    """
    task, state = problem.task, point.task
    twist = task.error_twist(state.frames)
    pulled = state.frames.copy()
    pulled[-1, 9:] += twist[:3]
    J = task.geometric_jacobian(pulled)
    J[:3] = task.axes @ J[:3]
    J[3:] = task.axes @ left_jacobian_inverse(-twist[3:]).T @ J[3:]
    J *= task.weights[:, None]
    # Penalty rows and the change of variables concern the joints, not the goal.
    rows = np.vstack([J[state.rows] * problem.slope(point.x), point.J[len(state.e):]])
    return pseudo_inverse_step(rows, point.e, options.cutoff)
