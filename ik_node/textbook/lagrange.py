# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The best posture at a goal by Lagrange multipliers, and by smaller problems at the limits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ik_node.base.se3 import hat
from ik_node.kinematics.jacobians import followers
from ik_node.textbook.iterations import bounded, MAX_BIAS_STEP, met, shortened
from ik_node.textbook.options import ClassicOptions
from ik_node.textbook.problem import Point, Problem

MAX_NEWTON_STEPS = 100        # of one problem
NEAR_GOAL_M = 0.05            # length of the error
MAX_CORRECTIONS = 20          # at the end, without the criterion
MAX_STEPS_IN_VAIN = 10        # far from the goal, without coming nearer
MAX_STEPS_NEARBY = 30         # without coming nearer; then the criterion is given up
COST_PROGRESS_RATIO = 0.98    # a step comes nearer if the cost falls below this share of its best
STATIONARY_STEP = 1e-8        # rad or m; a shorter step ends one problem
LIMIT_SLACK = 1e-9            # rad or m, by which a minimum may be beyond a limit
LEAST_CURVATURE_RATIO = 1e-3  # of the largest curvature of the Lagrangian in the null space
REVERSAL_RATIO = 0.5          # of its length, by which a step that turns back is too long


def lagrange(problem: Problem, point: Point, options: ClassicOptions) -> Iterator[Point]:
    """
    Minimise ``g = 1/2 sum gain ((q - preferred) / range)^2`` subject to ``e(q) = 0``.

    Each step solves ``[H J^T; J 0] [dq; mu] = [-grad g; e]``, the conditions of Lagrange with
    the multipliers mu and the Hessian H of ``g - mu^T e`` (Nocedal and Wright 2006, section
    18.1).  A minimum within the joint limits is the answer.
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
        if not _beyond(problem, last).any() or not _spare(last, ~held, options):
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

    The part in the null space waits until the goal is near, and is halved where it turns back
    without becoming shorter.  At the end, what it has left of the error is removed.
    """
    free, pace, last = ~held, 1.0, np.zeros(int((~held).sum()))
    nearest, since, lost = np.inf, 0, 0  # steps without coming nearer, and those of them far off
    for step in range(MAX_NEWTON_STEPS + MAX_CORRECTIONS):
        nearest, since = (point.cost, 0) if point.cost < COST_PROGRESS_RATIO * nearest \
            else (nearest, since + 1)
        done, near = met(point, options), np.linalg.norm(point.e) <= NEAR_GOAL_M
        lost = 0 if near or since == 0 else lost + 1
        if since > MAX_STEPS_NEARBY and not done:
            pace = 0.0
        if lost > MAX_STEPS_IN_VAIN or pace == 0.0 and (
                done or since > MAX_STEPS_NEARBY + MAX_CORRECTIONS):
            return
        to_goal, better = _newton_step(problem, shortened(point, options), free, options)
        if not near:
            better = np.zeros(len(better))
        if better @ last < -REVERSAL_RATIO * (last @ last):
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
    space N of J the best for g, ``N^T H N y = -N^T (grad g + H dq)``.  So it also has an answer
    where J is singular, and mu is not unique.  Where g has a maximum in the null space, the
    curvatures count by their size, so that the step goes down.
    """
    U, s, Vt = np.linalg.svd(point.J[:, free])
    rank = int((s > options.cutoff * s.max(initial=0.0)).sum())
    U, s, range_, null = U[:, :rank], s[:rank], Vt[:rank], Vt[rank:]
    to_goal = range_.T @ ((U.T @ point.e) / s)
    if not len(null):
        return to_goal, np.zeros(len(to_goal))
    gradient = problem.posture_gradient(point.x)[free]
    mu = -U @ ((range_ @ gradient) / s)
    H = (np.diag(problem.weight) + curvature(problem, point, mu))[np.ix_(free, free)]
    values, axes = np.linalg.eigh(null @ H @ null.T)
    size = np.abs(values)
    if not size.max() > 0.0:
        return to_goal, np.zeros(len(to_goal))
    size = np.maximum(size, LEAST_CURVATURE_RATIO * size.max())
    slope = axes.T @ (null @ (gradient + H @ to_goal))
    return to_goal, -null.T @ (axes @ (slope / size))


def curvature(problem: Problem, point: Point, mu: np.ndarray) -> np.ndarray:
    """
    Return ``sum_j mu_j d^2 x_j / dq^2`` (n, n) of the deviations x from the goal.

    From the columns [v; w] of the geometric Jacobian, one per joint: with a the earlier of two
    joints and b the later, ``f . (w_a x v_b) + 1/2 m . (w_a x w_b)``, where [f; m] is mu as a
    force and a moment at the tip (Hourtash 2005, "The kinematic Hessian and higher
    derivatives").  The angular part is exact at the goal, where the method needs it.
    """
    task, frames = problem.task, point.task.frames
    weighted = np.zeros(6)
    weighted[point.task.rows] = mu
    weighted *= task.weights
    force, moment = task.axes.T @ weighted[:3], task.axes.T @ weighted[3:]
    axes, arms = frames[:-1, 2:9:3].T, frames[-1:, 9:].T - frames[:-1, 9:].T
    prismatic = task.chain.joints[:, 0] == 1
    v = np.where(prismatic, axes, axes[[1, 2, 0]] * arms[[2, 0, 1]]
                 - axes[[2, 0, 1]] * arms[[1, 2, 0]])
    w = np.where(prismatic, 0.0, axes)
    upper = np.triu((hat(force) @ w).T @ v + 0.5 * (hat(moment) @ w).T @ w)
    F = followers(task.chain.table, task.chain.n)
    return F.T @ (upper + np.triu(upper, 1).T) @ F


def multipliers(problem: Problem, point: Point) -> np.ndarray:
    """Return mu (r,), by which ``grad g + J^T mu`` is least: 0 there at a minimum."""
    return np.linalg.lstsq(point.J.T, -problem.posture_gradient(point.x), rcond=None)[0]


def _spare(point: Point, free: np.ndarray, options: ClassicOptions) -> int:
    """Return how many of the free joints the goal leaves free."""
    s = np.linalg.svd(point.J[:, free], compute_uv=False)
    return int(free.sum() - (s > options.cutoff * s.max(initial=0.0)).sum())


def _beyond(problem: Problem, point: Point) -> np.ndarray:
    """Return how far (n,) each joint is beyond its limits, ignoring rounding errors."""
    over = np.abs(point.x - problem.inside(point.x))
    return np.where(over > LIMIT_SLACK, over, 0.0)


def _criterion(problem: Problem, point: Point) -> float:
    away = point.x - problem.preferred
    return 0.5 * float(away @ (problem.weight * away))
