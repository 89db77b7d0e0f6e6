# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Methods that minimise ``f = |e|^2 / 2``, whose gradient is ``-J^T e``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ik_node.base.errors import ParameterError
from ik_node.textbook.iterations import Iteration, met
from ik_node.textbook.options import ClassicOptions, Limits
from ik_node.textbook.problem import Point, Problem

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
