# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""One attempt of a textbook method from one seed: the loop shared by all methods."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import Enum
from itertools import chain as in_turn
from time import perf_counter

import numpy as np

from ik_node.base.checks import numbers
from ik_node.base.errors import ParameterError, Reason
from ik_node.base.text import quote
from ik_node.model.chain import Chain
from ik_node.solver.branches import nearest_inside
from ik_node.solver.descent.layout import (
    JointRows,
    LAST_ATTEMPT,
    SOLVED_FLAG,
    SQUARED_ERROR,
    STEP_COUNT,
)
from ik_node.solver.goal import Goal
from ik_node.solver.options import SolverOptions
from ik_node.solver.tables import Query
from ik_node.textbook.iterations import met
from ik_node.textbook.methods import Method, TEXTBOOK_METHODS
from ik_node.textbook.options import ClassicOptions, Limits
from ik_node.textbook.problem import Point, Problem
from ik_node.textbook.task import hold, Task

PROGRESS_RATIO = 0.99  # a step makes progress if |e| falls below this share of its best value


class Ending(str, Enum):
    """Why an attempt ended."""

    CONVERGED = 'converged'          # within both tolerances and the joint limits
    ITERATIONS = 'iteration limit'
    STALLED = 'stalled'              # no progress of 1 % within the method's patience
    SINGULAR = 'singular'            # the matrix of the method is singular here
    RESTING = 'resting'              # the method cannot improve any further


@dataclass(frozen=True, eq=False)
class Attempt:
    """Result of one attempt."""

    q: np.ndarray
    """(n,), joint positions (rad or m), within the limits; locked joints as in the seed."""
    iterations: int
    """Number of steps."""
    converged: bool
    """Whether `q` meets the goal."""
    ending: Ending
    trace: np.ndarray
    """(iterations + 1, 2), position error (m) and orientation error (rad) before each step and at
    the end, of the iterates clipped to the limits."""


def descend(method: str, chain: Chain, goal: Goal, q0: np.ndarray,
            options: ClassicOptions = ClassicOptions(),
            record: list[np.ndarray] | None = None) -> Attempt:
    """
    Iterate from `q0` towards the goal by one textbook method.

    Parameters
    ----------
    method : str
        A name in :data:`TEXTBOOK_METHODS`.
    q0 : (n,) array
        Seed, rad or m; clipped to the limits.
    options : ClassicOptions
    record : list, optional
        The joint positions of each iterate are appended, beginning with the seed.

    Raises
    ------
    ParameterError
        If the method is unknown or does not support this goal, number of joints or
        kind of limits, or if an option or the seed has a wrong length.

    """
    entry = _entry(method)
    q0 = numbers(q0, (chain.n,), 'the seed')
    guess = None
    if entry.guess is not None:
        task = Task(chain, _aim(goal, options), options.metres_per_radian)
        guess = entry.guess(task, np.clip(q0, chain.lower, chain.upper))
    run = _descend_unlocked if options.locked else _descend
    return run(method, chain, goal, q0, options, record, guess)


def _descend(method: str, chain: Chain, goal: Goal, q0: np.ndarray, options: ClassicOptions,
             record: list[np.ndarray] | None, guess: np.ndarray | None) -> Attempt:
    """Iterate from `q0`; if there is a guess (n,), the first step goes there."""
    entry = TEXTBOOK_METHODS[method]
    problem = Problem(Task(chain, _aim(goal, options), options.metres_per_radian),
                      _limits(method, entry, options), options)
    _check_spare(method, entry, problem)
    point = problem.at(problem.unknowns(q0))
    options = replace(options, max_iterations=options.max_iterations or entry.max_iterations)
    iterates = entry.iterate(problem, point, options)
    if guess is not None:
        first = problem.at(problem.unknowns(guess))
        iterates = in_turn([first], entry.iterate(problem, first, options))
    trace: list[tuple[float, float]] = []
    best, since = np.inf, 0
    while True:
        judged = _judged(problem, point)
        trace.append((judged.task.position_error, judged.task.orientation_error))
        if record is not None:
            record.append(judged.task.q)
        done = met(judged, options)
        length = np.sqrt(2.0 * point.cost)
        best, since = (length, 0) if length < PROGRESS_RATIO * best else (best, since + 1)
        ending = None
        if done and not entry.rests:
            ending = Ending.CONVERGED
        elif len(trace) > options.max_iterations:
            ending = Ending.ITERATIONS
        elif since >= entry.patience and not done:
            ending = Ending.STALLED
        else:
            try:
                point = next(iterates)
            except StopIteration:
                ending = Ending.RESTING
            except np.linalg.LinAlgError:
                ending = Ending.SINGULAR
            if not np.isfinite(point.x).all():
                ending = Ending.SINGULAR
        if ending is not None:
            return Attempt(judged.task.q, len(trace) - 1, done,
                           Ending.CONVERGED if done else ending, np.array(trace))


def _descend_unlocked(method: str, chain: Chain, goal: Goal, q0: np.ndarray,
                      options: ClassicOptions, record: list[np.ndarray] | None,
                      guess: np.ndarray | None) -> Attempt:
    """Descend over the joints that are not locked."""
    for name in options.locked:
        if name not in chain.joint_names:
            raise ParameterError(f'the locked joint {quote(name)} is not in the chain, whose '
                                 f'joints are {", ".join(map(quote, chain.joint_names))}')
    free = np.array([name not in options.locked for name in chain.joint_names])
    if not free.any():
        raise ParameterError('all joints are locked; unlock at least one')

    def of_free(name: str) -> tuple[float, ...]:
        values = getattr(options, name)
        return tuple(np.array(values)[free]) if len(values) == chain.n else values

    def whole(q: np.ndarray) -> np.ndarray:
        posture = q0.copy()
        posture[free] = q
        return posture

    short: list[np.ndarray] = []
    attempt = _descend(method, hold(chain, q0, free), goal, q0[free],
                       replace(options, locked=(), gains=of_free('gains'),
                               preferred=of_free('preferred')), short,
                       None if guess is None else guess[free])
    if record is not None:
        record.extend(map(whole, short))
    return replace(attempt, q=whole(attempt.q))


def _aim(goal: Goal, options: ClassicOptions) -> Goal:
    """Return the goal with its tolerance box shrunk by the solver's tolerances."""
    own = 3 * [options.position_tolerance] + 3 * [options.orientation_tolerance]
    return replace(goal, tolerance=tuple(np.maximum(np.subtract(goal.tolerance, own), 0.0)))


def _judged(problem: Problem, point: Point) -> Point:
    """Return the point of the possible solution: the iterate, clipped to the limits."""
    inside = problem.inside(point.task.q)
    if np.array_equal(inside, point.task.q):
        return point
    return replace(point, task=problem.task.at(inside))


def _entry(method: str) -> Method:
    if method not in TEXTBOOK_METHODS:
        raise ParameterError(f'there is no method {quote(method)}; there are '
                             f'{", ".join(TEXTBOOK_METHODS)}')
    return TEXTBOOK_METHODS[method]


def _limits(method: str, entry: Method, options: ClassicOptions) -> Limits:
    chosen = Limits(options.limits) if options.limits else entry.limits[0]
    if chosen not in entry.limits:
        raise ParameterError(f'{method} cannot keep limits by {chosen.value}; choose '
                             f'{" or ".join(entry.limits)}')
    return chosen


def _check_spare(method: str, entry: Method, problem: Problem) -> None:
    rows, n = int(problem.task.finite.sum()), problem.task.chain.n
    if not entry.least_spare <= n - rows <= entry.most_spare:
        wanted, other = ('at least', 'left') if entry.least_spare == 0 else ('at most', 'right')
        raise ParameterError(f'{method} needs {wanted} as many joints as task rows, but there '
                             f'are {n} joints and {rows} rows; choose pseudo_inverse or '
                             f'{other}_pseudo_inverse')


IMPROVING_METHOD = 'damped_least_squares'  # from the restarts of a method with a guess
SHARED_OPTIONS = ({field.name for field in fields(ClassicOptions)}
                  & set(SolverOptions.__dataclass_fields__))


def solve_by_method(options: SolverOptions, goal: Goal, query: Query, began: float) -> Reason:
    """
    Try the seeds, then the postures of the table whose tips are nearest to the goal.

    A solution of the method is checked by the compiled kinematics.

    Parameters
    ----------
    query : Query
        Its answer is written: the solution, or the best attempt.
    began : float
        When the call began, by the performance counter (s).

    Returns
    -------
    Reason
        SOLVED, NO_SOLUTION or DEADLINE.

    """
    classic = ClassicOptions(**{name: getattr(options, name) for name in SHARED_OPTIONS})
    chain, answer, rows = query.chain, query.answer, JointRows(*query.joints)
    # What was learned beforehand is the same from each start, so it is asked once.
    method = options.method if TEXTBOOK_METHODS[options.method].guess is None \
        else IMPROVING_METHOD
    steps, status = 0, Reason.NO_SOLUTION
    answer[SQUARED_ERROR] = np.inf
    restarts = query.tables.nearest_postures(query.T[0])[:options.max_restarts]
    starts = in_turn(query.seeds[0], restarts)
    for attempt, start in enumerate(starts):
        if attempt > 0 and perf_counter() - began > options.deadline:
            status = Reason.DEADLINE
            break
        start = np.clip(start, rows.lower, rows.upper)
        ended = descend(options.method if attempt == 0 else method, chain, goal, start, classic)
        steps += ended.iterations
        q, _ = nearest_inside(chain, ended.q[None], query.seed, query.joints)
        trial = query.check(q[0])
        if query.improves(trial):
            answer[:] = trial
        answer[STEP_COUNT], answer[LAST_ATTEMPT] = steps, attempt
        if trial[SOLVED_FLAG] == 1.0:
            return Reason.SOLVED
    return status
