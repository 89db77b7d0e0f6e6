# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
How steps become iterates: Euler steps, line search, null-space control.

An iteration takes a problem, the point to begin at and the options, and yields
one point after another until it has nothing more to gain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from ik_node.textbook.options import ClassicOptions
from ik_node.textbook.problem import Point, Problem
from ik_node.textbook.steps import pseudo_inverse_step

Step = Callable[[Problem, Point, ClassicOptions], np.ndarray]
Iteration = Callable[[Problem, Point, ClassicOptions], Iterator[Point]]

BIAS_STEP = 0.2   # rad or m, largest joint change of one null-space step
RESTING = 1e-6    # rad or m, a shorter step within the tolerance ends an iteration
HALVINGS = 40     # of a step in a line search
SUFFICIENT = 0.1  # part of the expected gain that a line search asks for (Armijo 1966)


def by_steps(step: Step) -> Iteration:
    """Return the iteration ``x <- x + dx`` with the options' rules for the length of dx."""
    def iterate(problem: Problem, point: Point, options: ClassicOptions) -> Iterator[Point]:
        while True:
            dx = step(problem, shortened(point, options), options)
            point = problem.at(problem.keep(point.x + bounded(dx, options.max_joint_step)))
            yield point
    return iterate


def shortened(point: Point, options: ClassicOptions) -> Point:
    """
    Return the point with the part of its error that one step is to take back.

    A fraction ``dt`` of it, and at most ``alpha e / |e|``, which is far enough
    not to crawl and short enough for the linear model to hold.
    """
    length = np.linalg.norm(point.e)
    part = options.fraction
    if length > options.error_step:
        part = min(part, options.error_step / length)
    return replace(point, e=part * point.e)


def bounded(dx: np.ndarray, longest: float) -> np.ndarray:
    """Return `dx` (n,) scaled down so that no entry is beyond `longest`."""
    largest = np.abs(dx).max(initial=0.0)
    return dx * (longest / largest) if largest > longest else dx


def transpose(problem: Problem, point: Point, options: ClassicOptions) -> Iterator[Point]:
    """
    ``dx = alpha J^T e``, steepest descent of ``|e|^2 / 2``, alpha by line search.

    The search begins where the linear model has its minimum,
    ``alpha = <e, J J^T e> / |J J^T e|^2`` (Buss 2004), and halves until the
    error falls.  Wolovich and Elliott 1984; Soch and Lorencz 2005, eq. 7.
    """
    while True:
        gradient = -point.J.T @ point.e
        image = point.J @ gradient
        if not image @ image > 0.0:
            return
        alpha = -(point.e @ image) / (image @ image)
        dx = bounded(-alpha * gradient, options.max_joint_step)
        found = line_search(problem, point, dx, gradient)
        if found is None:
            return
        point = found
        yield point


def line_search(problem: Problem, point: Point, dx: np.ndarray,
                gradient: np.ndarray) -> Point | None:
    """
    Return the first of ``x + dx, x + dx/2, ...`` that lowers the cost enough, or None.

    Enough is a tenth of what the slope promises for the step that the limits leave.
    """
    for _ in range(HALVINGS):
        x = problem.keep(point.x + dx)
        trial = problem.at(x)
        if trial.cost < point.cost + SUFFICIENT * min(0.0, gradient @ (x - point.x)):
            return trial
        dx = 0.5 * dx
    return None


def null_space(problem: Problem, point: Point, options: ClassicOptions) -> Iterator[Point]:
    """
    ``dq = J^+ e + (J^+ J - I) z`` with ``z = kappa grad g``: the control expression.

    ``g = 1/2 sum gain ((q - preferred) / range)^2``, so that z keeps the sign of
    each distance (Liegeois 1977; Soch and Lorencz 2005, eq. 5; Parent 2012, eq. 5.28,
    whose square in 5.27 would lose it).  kappa is where g is least along the
    projected gradient, and half of it after each time that the way turned back.
    J^+ is exact, so ``J (J^+ J - I) = 0`` and the tip is not moved; what the
    curvature moves, the first term takes back.  It goes on after the goal is met,
    until the posture rests or ``max_bias_iterations`` are over, and then meets the
    goal once more without z.
    """
    steps, pace, last = 0, 1.0, np.zeros_like(point.x)
    while True:
        if steps >= options.max_bias_iterations:
            pace = 0.0
        dx, drift = _null_space_step(problem, shortened(point, options), options, pace)
        if drift @ last < 0.0:
            pace *= 0.5
        after = problem.at(problem.keep(point.x + dx))
        moved = np.abs(after.x - point.x).max()
        point, last, steps = after, drift, steps + 1
        yield point
        if moved < RESTING:
            return


def _null_space_step(problem: Problem, point: Point, options: ClassicOptions,
                     pace: float) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the control expression (n,) with no joint beyond its limits, and its second term.

    A joint that would pass a limit is put on it, what that does to the tip is
    taken off the error, and the expression is formed again for the others.
    """
    chain, J = problem.task.chain, point.J
    free = np.ones(chain.n, dtype=bool)
    dx, drift = np.zeros(chain.n), np.zeros(chain.n)
    gradient = problem.posture_gradient(point.x)
    while True:
        e = point.e - J[:, ~free] @ dx[~free]
        dx[free] = bounded(pseudo_inverse_step(J[:, free], e, options.cutoff),
                           options.max_joint_step)
        drift[free] = pace * _towards_preferred(J[:, free], gradient[free],
                                                problem.weight[free], options.cutoff)
        dx[free] += drift[free]
        end = problem.inside(point.x + dx)
        beyond = free & (end != point.x + dx)
        if not beyond.any():
            return dx, drift
        drift[beyond] = 0.0
        dx[beyond] = (end - point.x)[beyond]
        free &= ~beyond


def _towards_preferred(J: np.ndarray, gradient: np.ndarray, weight: np.ndarray,
                       cutoff: float) -> np.ndarray:
    """Return ``(J^+ J - I) kappa grad g`` for the columns in J, in a step not too long."""
    _, s, Vt = np.linalg.svd(J, full_matrices=False)
    V = Vt[s > cutoff * s.max(initial=0.0)].T
    direction = V @ (V.T @ gradient) - gradient
    curvature = direction @ (weight * direction)
    if not curvature > 0.0:
        return np.zeros_like(direction)
    kappa = (direction @ direction) / curvature
    return bounded(kappa * direction, BIAS_STEP)


def met(point: Point, options: ClassicOptions) -> bool:
    """Return whether the goal is met within both tolerances."""
    return (point.task.position_error <= options.position_tolerance
            and point.task.orientation_error <= options.orientation_tolerance)
