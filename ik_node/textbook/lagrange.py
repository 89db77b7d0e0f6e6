# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The best posture at a goal by Lagrange multipliers, and by smaller problems at the limits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ik_node.textbook.iterations import bounded, MAX_BIAS_STEP, met, shortened
from ik_node.textbook.options import ClassicOptions
from ik_node.textbook.problem import Point, Problem
from ik_node.textbook.steps import pseudo_inverse_step

MAX_NEWTON_STEPS = 200    # of one problem
NEAR_GOAL_M = 0.05        # length of the error
MAX_CORRECTIONS = 20      # at the end, without the criterion
MAX_STEPS_IN_VAIN = 30    # without coming nearer to the goal
STATIONARY_STEP = 1e-8    # rad or m; a shorter step ends one problem
LIMIT_SLACK = 1e-9        # rad or m, by which a minimum may be beyond a limit


def lagrange(problem: Problem, point: Point, options: ClassicOptions) -> Iterator[Point]:
    """
    Minimise ``g = 1/2 sum gain ((q - preferred) / range)^2`` subject to ``e(q) = 0``.

    Each step solves ``[H J^T; J 0] [dq; -mu] = [-grad g; e]``, the conditions of Lagrange with
    the Hessian H of g and the multipliers mu.  A minimum within the joint limits is the answer.
    One that is beyond them is discarded; the minima that arise from the limits lie on them, so
    2 n smaller problems follow, in each of which one joint is set to its lower or upper limit
    (Korein and Badler 1982; Soch and Lorencz 2005, section 1.4.1).  If all of their minima are
    beyond other limits, the one that is least so is the start of smaller problems again, as
    often as there are spare joints.  Without spare joints there is only the goal itself.
    """
    held = np.zeros(len(point.x), dtype=bool)
    while True:
        last = point
        for last in _stationary(problem, point, held, options):
            yield last
        if not _beyond(problem, last).any() or held.all():
            return
        found = []
        for joint in np.flatnonzero(~held):
            for limit in (problem.task.chain.lower[joint], problem.task.chain.upper[joint]):
                if not np.isfinite(limit):
                    continue
                x = last.x.copy()
                x[joint] = limit
                smaller, end = held.copy(), None
                smaller[joint] = True
                for end in _stationary(problem, problem.at(x), smaller, options):
                    yield end
                if end is not None and met(end, options):
                    found.append((float(_beyond(problem, end).max()),
                                  _criterion(problem, end), end, smaller))
        if not found:
            return  # no limit takes a share in a solution
        within = [each for each in found if each[0] <= LIMIT_SLACK]
        if within:
            yield min(within, key=lambda each: each[1])[2]
            return
        _, _, point, held = min(found, key=lambda each: each[0])


def _stationary(problem: Problem, point: Point, held: np.ndarray,
                options: ClassicOptions) -> Iterator[Point]:
    """
    Yield the points of Newton's method to where the conditions of Lagrange hold.

    H lacks the curvature of the constraint, so a step may be too long: the part in the null
    space waits until the goal is near, and is halved each time it reverses.  At the end, what
    it has left of the error is removed.
    """
    free, pace, last = ~held, 1.0, np.zeros(int((~held).sum()))
    nearest, since = np.inf, 0
    for step in range(MAX_NEWTON_STEPS + MAX_CORRECTIONS):
        nearest, since = (point.cost, 0) if point.cost < nearest else (nearest, since + 1)
        done = met(point, options)
        if since > MAX_STEPS_IN_VAIN and not done:
            pace = 0.0
        if pace == 0.0 and (done or since > MAX_STEPS_IN_VAIN + MAX_CORRECTIONS):
            return
        to_goal, better = _newton_step(problem, shortened(point, options), free, options)
        if np.linalg.norm(point.e) > NEAR_GOAL_M:
            better = np.zeros(len(better))
        if better @ last < 0.0:
            pace *= 0.5
        if step == MAX_NEWTON_STEPS:
            pace = 0.0
        last, dx = better, np.zeros(len(point.x))
        dx[free] = bounded(to_goal, options.max_joint_step) + bounded(pace * better, MAX_BIAS_STEP)
        point = problem.at(point.x + dx)
        yield point
        if np.abs(dx).max() < STATIONARY_STEP:
            return


def _newton_step(problem: Problem, point: Point, free: np.ndarray,
                 options: ClassicOptions) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the step of the k free joints by the conditions of Lagrange, in two parts (k,).

    The system is solved by elimination: the shortest step to the goal, then within the null
    space of J the best for g, ``N^T H N y = -N^T (grad g + H dq)``.  So it also has an answer
    where J is singular, and mu is not unique.
    """
    J, weight = point.J[:, free], problem.weight[free]
    gradient = problem.posture_gradient(point.x)[free]
    to_goal = pseudo_inverse_step(J, point.e, options.cutoff)
    _, s, Vt = np.linalg.svd(J)
    null = Vt[int((s > options.cutoff * s.max(initial=0.0)).sum()):]
    if not len(null):
        return to_goal, np.zeros(len(to_goal))
    H = (null * weight) @ null.T
    return to_goal, -null.T @ np.linalg.lstsq(
        H, null @ (gradient + weight * to_goal), rcond=None)[0]


def multipliers(problem: Problem, point: Point) -> np.ndarray:
    """Return mu (r,), by which ``grad g + J^T mu`` is least: 0 there at a minimum."""
    return np.linalg.lstsq(point.J.T, -problem.posture_gradient(point.x), rcond=None)[0]


def _beyond(problem: Problem, point: Point) -> np.ndarray:
    """Return how far (n,) each joint is beyond its limits, ignoring rounding errors."""
    over = np.abs(point.x - problem.inside(point.x))
    return np.where(over > LIMIT_SLACK, over, 0.0)


def _criterion(problem: Problem, point: Point) -> float:
    away = point.x - problem.preferred
    return 0.5 * float(away @ (problem.weight * away))
