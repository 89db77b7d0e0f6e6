# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Many goals at once, on all cores of this machine or on the workers of an executor."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import as_completed, Executor, ThreadPoolExecutor
from dataclasses import dataclass
import os
from typing import Protocol

import numpy as np

from ik_node.errors import GoalError, ParameterError, Reason
from ik_node.model.chain import Chain
from ik_node.model.joint_values import real_array
from ik_node.se3 import rotation_from_quaternion
from ik_node.solver.compiled.damped import (
    ATTEMPT,
    ORIENTATION_ERROR,
    POSITION_ERROR,
    Q,
    SOLVED,
    STEPS,
)
from ik_node.solver.compiled.entry import solve_goals
from ik_node.solver.options import FARTHEST_SEED, SolverOptions, Tables
from ik_node.solver.result import Result, SUCCESSES

CHUNK = 2000  # goals a task: some 20 ms


class BatchSolver(Protocol):
    """What is used of a :class:`~ik_node.solver.solver.Solver`, and made again elsewhere."""

    chain: Chain
    options: SolverOptions
    tables: Tables
    plain: bool
    first_picks: int

    def solve(self, goal: np.ndarray, seed: np.ndarray) -> Result:
        """Solve one goal (4, 4) from one seed (n,)."""


@dataclass(frozen=True, eq=False)
class BatchResult:
    """
    Answers to N goals, in their order.

    Attributes
    ----------
    q : (N, n) array
        The solution; where there is none, the posture that came nearest.
    status : (N,) array of Reason
    position_error, orientation_error : (N,) arrays
        m and rad, by forward kinematics of `q`.
    iterations, restarts : (N,) int arrays

    """

    q: np.ndarray
    status: np.ndarray
    position_error: np.ndarray
    orientation_error: np.ndarray
    iterations: np.ndarray
    restarts: np.ndarray

    def __len__(self) -> int:
        return len(self.q)

    @property
    def success(self) -> np.ndarray:
        """Return which goals are answered, (N,) bool."""
        return np.array([status in SUCCESSES for status in self.status], dtype=bool)


def solve_batch(solver: BatchSolver, goals: np.ndarray, seeds: np.ndarray | None = None, *,
                progress: Callable[[int, int], object] | None = None,
                executor: Executor | None = None, workers: int | None = None,
                chunk: int = CHUNK) -> BatchResult:
    """
    Solve many goals; each answer is that of a single call.

    Parameters
    ----------
    goals : (N, 4, 4) or (N, 7) array
        ``T_base_tip``, or position (m) and quaternion x y z w.
    seeds : (n,) or (N, n) array, optional
        One for all or one each; without it, the middle of the limits.
    progress : callable, optional
        Called in this thread with the number of goals done and of all.
    executor : concurrent.futures.Executor, optional
        Takes the chunks in place of this process's own threads: a process pool, or
        that of a Dask cluster.  Not shut down.
    workers : int, optional
        Own threads; one a core without it.
    chunk : int
        Goals a task.

    Raises
    ------
    GoalError
        If a goal is not a finite rigid pose; its index is named.
    ParameterError
        If the seeds do not fit, or `chunk` or `workers` is not positive.

    """
    T = goal_matrices(goals)
    seeds = _seeds(solver, seeds, len(T))
    if chunk < 1 or (workers is not None and workers < 1):
        raise ParameterError(f'chunk and workers must be positive, got {chunk} and {workers}')
    own = None
    if executor is None:
        cores = workers or len(os.sched_getaffinity(0))
        own = executor = ThreadPoolExecutor(cores, 'ik_batch')
        chunk = min(chunk, max(1, -(-len(T) // cores)))
    parts: dict[int, BatchResult] = {}
    done = 0
    try:
        options = tuple(sorted(vars(solver.options).items()))
        waiting = {}
        for first in range(0, len(T), chunk):
            rows = slice(first, first + chunk)
            task = executor.submit(_solve_chunk, solver, T[rows], seeds[rows], first) \
                if own else executor.submit(_solve_elsewhere, type(solver), solver.chain, options,
                                            T[rows], seeds[rows], first)
            waiting[task] = first
        for task in as_completed(waiting):
            part = task.result()
            parts[waiting[task]] = part
            done += len(part)
            if progress is not None:
                progress(done, len(T))
    finally:
        for task in waiting:
            task.cancel()
        if own:
            own.shutdown()
    return _joined([parts[first] for first in sorted(parts)], solver.chain.n)


def goal_matrices(goals: np.ndarray) -> np.ndarray:
    """
    Return goals (N, 4, 4) or (N, 7) as matrices (N, 4, 4).

    Raises
    ------
    GoalError
        If they are neither, not finite, or a quaternion is not of norm 1 to 1e-3.

    """
    given, goals = goals, real_array(goals)
    goals = goals if goals is None else np.ascontiguousarray(goals)
    if goals is None or goals.shape[1:] not in ((4, 4), (7,)):
        raise GoalError('goals are an array (N, 4, 4), or (N, 7) of position and quaternion '
                        f'x y z w, got {type(given).__name__} of shape {np.shape(goals)}')
    finite = np.isfinite(goals).all(axis=tuple(range(1, goals.ndim)))
    if not finite.all():
        bad = int(np.argmin(finite))
        raise GoalError(f'goal {bad} is not finite')
    if goals.ndim == 3:
        return goals
    norm = np.linalg.norm(goals[:, 3:], axis=1)
    if (np.abs(norm - 1.0) > 1e-3).any():
        bad = int(np.argmax(np.abs(norm - 1.0)))
        raise GoalError(f'the quaternion of goal {bad} has norm {norm[bad]:.4g}, not 1',
                        Reason.GOAL_ORIENTATION_NOT_UNIT)
    T = np.zeros((len(goals), 4, 4))
    T[:, :3, :3] = rotation_from_quaternion(goals[:, 3:] / norm[:, None])
    T[:, :3, 3], T[:, 3, 3] = goals[:, :3], 1.0
    return T


def _seeds(solver: BatchSolver, seeds: np.ndarray | None, count: int) -> np.ndarray:
    n = solver.chain.n
    if seeds is None:
        seeds = np.clip(solver.chain.middle, solver.chain.lower, solver.chain.upper)
    seeds = real_array(seeds)
    if (seeds is None or seeds.shape not in ((n,), (count, n))
            or not (np.abs(seeds) <= FARTHEST_SEED).all()):
        raise ParameterError(f'seeds are {n} finite numbers, or {count} rows of them, got shape '
                             f'{np.shape(seeds)}')
    return np.ascontiguousarray(np.broadcast_to(seeds, (count, n)))


def _solve_chunk(solver: BatchSolver, T: np.ndarray, seeds: np.ndarray,
                 first: int) -> BatchResult:
    """Solve goals in one compiled call, and one by one those that are not solved by it."""
    count, n = seeds.shape
    status = np.array([Reason.SOLVED] * count, dtype=object)
    if solver.plain:
        tables = solver.tables
        answers = solve_goals(tables.table, tables.joints, tables.settings, tables.postures, T,
                              seeds[:, None], 0, solver.first_picks)
        rows = np.flatnonzero(answers[:, SOLVED] != 1.0)
    else:
        answers, rows = np.empty((count, Q + n)), range(count)
    for row in rows:
        try:
            result = solver.solve(T[row], seeds[row])
        except GoalError as error:
            raise GoalError(f'goal {first + row}: {error}', error.reason) from None
        answers[row], status[row] = result.figures, result.status
    return BatchResult(answers[:, Q:].copy(), status, answers[:, POSITION_ERROR].copy(),
                       answers[:, ORIENTATION_ERROR].copy(), answers[:, STEPS].astype(int),
                       answers[:, ATTEMPT].astype(int))


def _solve_elsewhere(kind: Callable[..., BatchSolver], chain: Chain, options: tuple,
                     T: np.ndarray, seeds: np.ndarray, first: int) -> BatchResult:
    """Solve a chunk in another process."""
    return _solve_chunk(kind(chain, **dict(options)), np.array(T), np.array(seeds), first)


def _joined(parts: list[BatchResult], n: int) -> BatchResult:
    if not parts:
        none = np.zeros(0)
        return BatchResult(np.zeros((0, n)), np.zeros(0, dtype=object), none, none,
                           none.astype(int), none.astype(int))
    return BatchResult(*(np.concatenate([getattr(part, name) for part in parts])
                         for name in BatchResult.__dataclass_fields__))
