# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
From steps to iterates: Euler steps, line search, null-space control.

An iteration takes a problem, a start point and the options, and yields points until
it cannot improve any further.
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

MAX_BIAS_STEP = 0.2    # largest joint change of one null-space step, rad or m
REST_STEP = 1e-6       # a shorter step within the tolerance ends an iteration, rad or m
MAX_HALVINGS = 40      # of a step in a line search
ARMIJO_FRACTION = 0.1  # a line search asks for this share of the expected decrease (Armijo 1966)


def by_steps(step: Step) -> Iteration:
    """Return the iteration ``x <- x + dx``, with the step limits of the options."""
    def iterate(problem: Problem, point: Point, options: ClassicOptions) -> Iterator[Point]:
        while True:
            dx = step(problem, shortened(point, options), options)
            point = problem.at(problem.keep(point.x + bounded(dx, options.max_joint_step)))
            yield point
    return iterate


def shortened(point: Point, options: ClassicOptions) -> Point:
    """
    Return the point with the part of its error that one step is to remove.

    This is a fraction ``dt`` of the error, at most ``alpha e / |e|``: long enough for
    progress and short enough for the linear model to be valid.
    """
    length = np.linalg.norm(point.e)
    part = options.step_fraction
    if length > options.error_step:
        part = min(part, options.error_step / length)
    return replace(point, e=part * point.e)


def bounded(dx: np.ndarray, longest: float) -> np.ndarray:
    """Return `dx` (n,) scaled down so that no entry exceeds `longest`."""
    largest = np.abs(dx).max(initial=0.0)
    return dx * (longest / largest) if largest > longest else dx


def transpose(problem: Problem, point: Point, options: ClassicOptions) -> Iterator[Point]:
    """
    ``dx = alpha J^T e``, steepest descent of ``|e|^2 / 2``, alpha by line search.

    The search starts at the minimum of the linear model,
    ``alpha = <e, J J^T e> / |J J^T e|^2`` (Buss 2004), and halves alpha until the
    error decreases.  Wolovich and Elliott 1984; Soch and Lorencz 2005, eq. 7.
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

    Enough is a tenth of the decrease that the gradient predicts for the step within
    the limits.
    """
    for _ in range(MAX_HALVINGS):
        x = problem.keep(point.x + dx)
        trial = problem.at(x)
        if trial.cost < point.cost + ARMIJO_FRACTION * min(0.0, gradient @ (x - point.x)):
            return trial
        dx = 0.5 * dx
    return None


def null_space(problem: Problem, point: Point, options: ClassicOptions) -> Iterator[Point]:
    """
    ``dq = J^+ e + (J^+ J - I) z`` with ``z = kappa grad g``: the control expression.

    ``g = 1/2 sum gain ((q - preferred) / range)^2``, so that z keeps the sign of
    each distance (Liegeois 1977; Soch and Lorencz 2005, eq. 5; Parent 2012, eq. 5.28;
    the square in 5.27 would lose it).  kappa minimises g along the projected gradient
    and is halved each time the direction reverses.  J^+ is exact, so
    ``J (J^+ J - I) = 0`` and the tip does not move to first order; the first term
    corrects the rest.  The iteration continues after the goal is reached, until the
    posture is at rest or after ``max_bias_iterations``, and then removes the remaining
    error without z.
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
        if moved < REST_STEP:
            return


def _null_space_step(problem: Problem, point: Point, options: ClassicOptions,
                     pace: float) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the control expression (n,) with all joints within their limits, and its second term.

    A joint that would pass a limit is set to the limit, the resulting motion of the tip
    is subtracted from the error, and the expression is computed again for the others.
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
    """Return ``(J^+ J - I) kappa grad g`` for the columns of J, bounded in length."""
    _, s, Vt = np.linalg.svd(J, full_matrices=False)
    V = Vt[s > cutoff * s.max(initial=0.0)].T
    direction = V @ (V.T @ gradient) - gradient
    curvature = direction @ (weight * direction)
    if not curvature > 0.0:
        return np.zeros_like(direction)
    kappa = (direction @ direction) / curvature
    return bounded(kappa * direction, MAX_BIAS_STEP)


def met(point: Point, options: ClassicOptions) -> bool:
    """Return whether the goal is reached within both tolerances."""
    return (point.task.position_error <= options.position_tolerance
            and point.task.orientation_error <= options.orientation_tolerance)
