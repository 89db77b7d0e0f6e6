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

from ik_node.base.errors import ParameterError
from ik_node.textbook.options import ClassicOptions, Limits
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


FIRST_DAMPING_RATIO = 1e-3   # of the largest diagonal entry of J^T J
MIN_DAMPING_M2 = 1e-14       # keeps the matrix invertible with more joints than rows
MAX_DAMPING_GROWTH = 1e9     # of mu in one iteration; beyond it no measurable step helps
MAX_SCIPY_ITERATIONS = 5000  # more than any iteration limit of the methods


def levenberg_marquardt(problem: Problem, point: Point,
                        options: ClassicOptions) -> Iterator[Point]:
    """
    ``(J^T J + mu I) dx = J^T e``, mu adapted to the accuracy of the linear model.

    Levenberg 1944, Marquardt 1963.  mu falls to no less than a third after a step that
    decreases the cost; other steps are rejected, and mu grows by 2, 4, 8, ... (Nielsen
    1999; Madsen, Nielsen and Tingleff 2004, algorithm 3.16).
    """
    mu = FIRST_DAMPING_RATIO * (point.J * point.J).sum(axis=0).max()
    growth = 2.0
    while True:
        J, e = point.J, point.e
        dx = np.linalg.solve(J.T @ J + mu * np.eye(len(point.x)), J.T @ e)
        x = problem.keep(point.x + dx)
        rest = e - J @ (x - point.x)
        expected = point.cost - 0.5 * float(rest @ rest)
        trial = problem.at(x)
        gain = (point.cost - trial.cost) / expected if expected > 0.0 else 0.0
        if gain > 0.0:
            point = trial
            mu = max(mu * max(1.0 / 3.0, 1.0 - (2.0 * gain - 1.0) ** 3), MIN_DAMPING_M2)
            growth = 2.0
        else:
            mu *= growth
            growth *= 2.0
        yield point
        if growth > MAX_DAMPING_GROWTH:
            return


def by_scipy(name: str, bounded: str = '') -> Iteration:
    """
    Return the iteration of a ``scipy.optimize.minimize`` method with the exact gradient.

    Parameters
    ----------
    name : str
        Name of the method in scipy.
    bounded : str
        The variant that supports bounds, for :attr:`Limits.CLAMP`.

    """
    def iterate(problem: Problem, point: Point, options: ClassicOptions) -> Iterator[Point]:
        clamped = problem.limits is Limits.CLAMP
        yield from _scipy_points(problem, point, options, bounded if clamped else name)
    return iterate


class _Enough(Exception):
    """The goal is reached, or the iteration limit."""


def _scipy_points(problem: Problem, point: Point, options: ClassicOptions,
                  method: str) -> list[Point]:
    """Run scipy until the goal is reached; return the points that it reports."""
    try:
        from scipy.optimize import minimize
    except ImportError as error:
        raise ParameterError(f'the method {method} needs scipy; install it with '
                             '"pip install scipy" or choose another method') from error

    def value(x: np.ndarray) -> tuple[float, np.ndarray]:
        here = problem.at(x)
        return here.cost, -here.J.T @ here.e

    points: list[Point] = []

    def after_step(x: np.ndarray) -> None:
        points.append(problem.at(x.copy()))
        if met(points[-1], options) or len(points) == (options.max_iterations
                                                       or MAX_SCIPY_ITERATIONS):
            raise _Enough

    chain = problem.task.chain
    bounds = list(zip(chain.lower, chain.upper)) if problem.limits is Limits.CLAMP else None
    # The cost at the tolerance is 1e-12 m^2, so scipy's own criteria would stop too early.
    settings = {'gtol': 0.0, 'maxiter': MAX_SCIPY_ITERATIONS}
    if bounds:
        settings |= {'ftol': 0.0, 'maxfun': 20 * MAX_SCIPY_ITERATIONS}
    try:
        minimize(value, point.x, jac=True, method=method, bounds=bounds, callback=after_step,
                 options=settings)
    except _Enough:
        pass
    return points
