# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Solving many goals in parallel, on all cores of this machine or on an executor."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import as_completed, Executor, ThreadPoolExecutor
from dataclasses import dataclass
import os
from typing import Protocol

import numpy as np

from ik_node.base.checks import real_array
from ik_node.base.errors import GoalError, ParameterError, Reason
from ik_node.model.chain import Chain
from ik_node.solver.branches import PostureCheck
from ik_node.solver.descent.entry import first_unsound
from ik_node.solver.descent.layout import (
    FARTHEST_SEED,
    JOINT_VALUES,
    LAST_ATTEMPT,
    ORIENTATION_ERROR,
    POSE_SIZE,
    POSITION_ERROR,
    SOLVED_FLAG,
    STEP_COUNT,
)
from ik_node.solver.goal import checked_pose, goal_matrices
from ik_node.solver.options import SolverOptions
from ik_node.solver.result import Result, SUCCESS_REASONS
from ik_node.solver.tables import Tables

GOALS_PER_CHUNK = 2000  # about 20 ms


class BatchSolver(Protocol):
    """The part of a :class:`~ik_node.solver.solver.Solver` that a batch uses."""

    chain: Chain
    collisions: PostureCheck | None
    options: SolverOptions
    tables: Tables
    plain: bool
    closed: bool
    first_restarts: int

    def solve(self, goal: np.ndarray, seed: np.ndarray) -> Result:
        """Solve one goal (4, 4) from one seed (n,)."""


@dataclass(frozen=True, eq=False)
class BatchResult:
    """Answers to N goals, in their order."""

    q: np.ndarray
    """(N, n), the solution; if there is none, the posture that came nearest."""
    status: np.ndarray
    """(N,) of Reason."""
    position_error: np.ndarray
    """(N,), m, by forward kinematics at `q`."""
    orientation_error: np.ndarray
    """(N,), rad, by forward kinematics at `q`."""
    iterations: np.ndarray
    """(N,) int."""
    restarts: np.ndarray
    """(N,) int."""

    def __len__(self) -> int:
        return len(self.q)

    @property
    def success(self) -> np.ndarray:
        """Return for which goals `q` is an answer, (N,) bool."""
        return np.array([status in SUCCESS_REASONS for status in self.status], dtype=bool)


def solve_batch(solver: BatchSolver, goals: np.ndarray, seeds: np.ndarray | None = None, *,
                progress: Callable[[int, int], object] | None = None,
                executor: Executor | None = None, workers: int | None = None,
                chunk: int = GOALS_PER_CHUNK) -> BatchResult:
    """
    Solve many goals, each as :meth:`ik_node.solver.solver.Solver.solve` does.

    Parameters
    ----------
    goals : (N, 4, 4) or (N, 7) array
        ``T_base_tip``, m; or position (m) and unit quaternion x, y, z, w.
    seeds : (n,) or (N, n) array, optional
        One for all goals or one for each (rad or m).  Default: the middle of the
        limits.
    progress : callable, optional
        Called in this thread with the number of goals done and of all goals.
    executor : concurrent.futures.Executor, optional
        Runs the chunks instead of threads of this process: a process pool, or the
        executor of a Dask cluster.  It is not shut down.
    workers : int, optional
        Number of threads.  Default: one per core.
    chunk : int
        Goals per task.

    Raises
    ------
    GoalError
        If a goal is not a finite rigid pose; the message has its index.
    ParameterError
        If the seeds have a wrong shape or are not finite, or `chunk` or `workers` is not positive.

    """
    T = _goals(goals)
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
            task = executor.submit(_solve_chunk, solver, T[rows], seeds[rows]) \
                if own else executor.submit(_solve_elsewhere, type(solver), solver.chain,
                                            solver.collisions, options, T[rows], seeds[rows])
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


def _goals(goals: np.ndarray) -> np.ndarray:
    T = goal_matrices(goals)
    k = first_unsound(T.reshape(len(T), POSE_SIZE))
    if k < len(T):
        try:
            checked_pose(T[k])
        except GoalError as error:
            raise GoalError(f'goal {k}: {error}', error.reason) from None
    return T


def _seeds(solver: BatchSolver, seeds: np.ndarray | None, count: int) -> np.ndarray:
    n = solver.chain.n
    if seeds is None:
        seeds = solver.chain.middle
    seeds = real_array(seeds)
    if (seeds is None or seeds.shape not in ((n,), (count, n))
            or not (np.abs(seeds) <= FARTHEST_SEED).all()):
        raise ParameterError(f'the seeds must be {n} finite numbers, or {count} rows of them, '
                             f'got shape {np.shape(seeds)}')
    return np.ascontiguousarray(np.broadcast_to(seeds, (count, n)))


def _solve_chunk(solver: BatchSolver, T: np.ndarray, seeds: np.ndarray) -> BatchResult:
    """Solve goals in one compiled call; those not solved by it follow one by one."""
    count, n = seeds.shape
    status = np.array([Reason.SOLVED] * count, dtype=object)
    if solver.plain or solver.closed:
        answers = solver.tables.nearest_branches(T, seeds) if solver.closed else \
            solver.tables.solve(T, seeds[:, None], 0, solver.first_restarts)
        done = answers[:, SOLVED_FLAG] == 1.0
        if solver.collisions is not None:
            done[done] = solver.collisions.check_many(answers[done, JOINT_VALUES:])
        rows = np.flatnonzero(~done)
    else:
        answers, rows = np.empty((count, JOINT_VALUES + n)), range(count)
    for row in rows:
        result = solver.solve(T[row], seeds[row])
        answers[row], status[row] = result.answer, result.status
    return BatchResult(answers[:, JOINT_VALUES:].copy(), status, answers[:, POSITION_ERROR].copy(),
                       answers[:, ORIENTATION_ERROR].copy(), answers[:, STEP_COUNT].astype(int),
                       answers[:, LAST_ATTEMPT].astype(int))


def _solve_elsewhere(kind: Callable[..., BatchSolver], chain: Chain,
                     collisions: PostureCheck | None, options: tuple, T: np.ndarray,
                     seeds: np.ndarray) -> BatchResult:
    """Solve a chunk in another process."""
    return _solve_chunk(kind(chain, collisions, **dict(options)), np.array(T), np.array(seeds))


def _joined(parts: list[BatchResult], n: int) -> BatchResult:
    if not parts:
        none = np.zeros(0)
        return BatchResult(np.zeros((0, n)), np.zeros(0, dtype=object), none, none,
                           none.astype(int), none.astype(int))
    return BatchResult(*(np.concatenate([getattr(part, name) for part in parts])
                         for name in BatchResult.__dataclass_fields__))
