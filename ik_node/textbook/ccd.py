# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Cyclic coordinate descent: one joint at a time, from the tip to the base.

Each joint in turn moves to the position that brings the tip nearest to the goal,
which is known in closed form (Wang and Chen 1991; Welman 1993).  The distance is
``w |p_goal - p|^2 + L^2/2 |R_goal - R|^2`` (Frobenius norm), with L metres per
radian; for small angles the second term is L^2 angle^2.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import atan2, cos, hypot, pi, sin

import numpy as np

from ik_node.base.se3 import pose, rotation_about
from ik_node.textbook.iterations import line_search
from ik_node.textbook.options import ClassicOptions
from ik_node.textbook.problem import Point, Problem
from ik_node.textbook.task import Task

MIN_COST_SLOPE_M2 = 1e-12  # a joint on which the cost depends less does not move


def ccd(problem: Problem, point: Point, options: ClassicOptions) -> Iterator[Point]:
    """Yield the point after each sweep over all joints, tip to base."""
    chain = problem.task.chain
    moved = [np.flatnonzero(chain.joints[:, 1] == i) for i in range(chain.n)]
    order = sorted(range(chain.n), key=lambda i: -moved[i][-1])
    while True:
        x = point.x.copy()
        for i in order:
            x[i] = best_position(problem, x, i, moved[i][0]) if len(moved[i]) == 1 \
                else _joined_step(problem, x, i)
        point = problem.at(x)
        yield point


def best_position(problem: Problem, q: np.ndarray, i: int, k: int) -> float:
    """
    Return the position of coordinate `i`, within its limits, that brings the tip nearest.

    Parameters
    ----------
    q : (n,) array
        Current joint positions.
    i : int
        Index of the coordinate in q.
    k : int
        Index of the only joint in ``chain.joints`` that it moves.

    """
    chain, frames = problem.task.chain, problem.task.frames(q)
    x, lower, upper = q[i], chain.lower[i], chain.upper[i]
    factor = chain.factors[k, 0]
    axis, origin = frames[k, [2, 5, 8]], frames[k, 9:]
    tip = frames[-1, 9:]
    goal, position_weight, orientation_weight = nearest_allowed(problem.task, frames)
    if factor == 0.0:
        return x
    if chain.joints[k, 0] == 1:
        # The cost is a parabola: take its minimum, clipped to the limits.
        along = axis @ (goal[:3, 3] - tip) if position_weight else 0.0
        return float(np.clip(x + along / factor, lower, upper))
    # The negative cost is 2 tr(R(phi) M) + constant, with R(phi) by Rodrigues' formula.
    M = (position_weight * np.outer(tip - origin, goal[:3, 3] - origin)
         + 0.5 * orientation_weight * frames[-1, :9].reshape(3, 3) @ goal[:3, :3].T)
    c = np.trace(M) - axis @ M @ axis
    s = axis @ (M[1, 2] - M[2, 1], M[2, 0] - M[0, 2], M[0, 1] - M[1, 0])
    if hypot(c, s) < MIN_COST_SLOPE_M2:
        return x
    angle = atan2(s, c)
    for turn in (0.0, -2.0 * pi, 2.0 * pi):
        if lower <= x + (angle + turn) / factor <= upper:
            return x + (angle + turn) / factor
    return max((lower, upper), key=lambda end: c * cos(factor * (end - x))
               + s * sin(factor * (end - x)))


def nearest_allowed(task: Task, frames: np.ndarray) -> tuple[np.ndarray, float, float]:
    """
    Return the pose within the goal's tolerances that is nearest to the tip, and weights.

    For an exact goal this is the goal.  Along free axes the tip already meets it.  The
    weights of position (1) and orientation (m^2) are 0 if all three axes are free.
    """
    deviation = -task.error_twist(frames)
    allowed = [np.clip(task.axes @ part, -tolerance, tolerance) @ task.axes for part, tolerance
               in zip(np.split(deviation, 2), np.split(task.tolerance, 2))]
    angle = np.linalg.norm(allowed[1])
    rotation = rotation_about(allowed[1] / angle, angle) if angle > 0.0 else np.eye(3)
    goal = task.goal.T_base_tip
    return (pose(rotation @ goal[:3, :3], goal[:3, 3] + allowed[0]),
            float(task.finite[:3].any()), task.weights[3]**2 * float(task.finite[3:].any()))


def _joined_step(problem: Problem, q: np.ndarray, i: int) -> float:
    """
    Return the position of a coordinate that moves several joints, by a Gauss-Newton step.

    There is no closed form; the step is halved until the error decreases.
    """
    point = problem.at(q)
    column = point.J[:, i]
    if not column @ column > MIN_COST_SLOPE_M2:
        return q[i]
    dx = np.zeros_like(q)
    dx[i] = (column @ point.e) / (column @ column)
    after = line_search(problem, point, dx, -point.J.T @ point.e)
    return q[i] if after is None else after.x[i]
