# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The solver that the node uses: a pure function of chain, goal, seed and options."""

from __future__ import annotations

from functools import lru_cache
from math import pi
from sys import byteorder
from time import perf_counter

import numpy as np

from ik_node.errors import ParameterError, Reason
from ik_node.kinematics import kernels
from ik_node.kinematics.compilation import compilation_told
from ik_node.kinematics.kernels import forget_stale, tip_poses
from ik_node.model.chain import Chain
from ik_node.model.joint_values import real_array
from ik_node.solver import branches
from ik_node.solver.batch import BatchResult, solve_batch
from ik_node.solver.branches import all_solutions, find_all, KEYS, SAME, verify
from ik_node.solver.choices import COMPILED, methods
from ik_node.solver.compiled import damped, entry, nullspace, residual
from ik_node.solver.compiled.damped import (
    ATTEMPT,
    BIAS_ITERATIONS,
    BOX,
    ERROR,
    LOWER,
    Q,
    SOLVED,
    STEPS,
    UPPER,
    WRAPS,
)
from ik_node.solver.compiled.entry import bias_rows, NOT_RIGID, solve_goals, solve_rows
from ik_node.solver.goal import checked_pose, Goal
from ik_node.solver.options import FARTHEST_SEED, SolverOptions, Tables
from ik_node.solver.result import Posture, Result
from ik_node.solver.unreachable import explain, last_attempt, settle_nearest

DOUBLE = np.dtype(float)
MATRIX = (4, 4)
FOUND = Reason.SOLVED
FIRST_ATTEMPTS = 150  # before the clock is read: well below a millisecond
MORE_ATTEMPTS = 50    # between further readings
ROUNDING = 1e-9       # rad
# The high byte of a double has its sign and the most of its exponent: these are those of all
# finite numbers below 2^17, and of no others.
HIGH_BYTE = 7 if byteorder == 'little' else 0
MODERATE = bytes(sign + exponent for sign in (0, 0x80) for exponent in range(0x41))
KEPT = 16             # solvers with changed options


class Solver:
    """
    Damped-least-squares inverse kinematics of one chain.

    The same chain, goal, seeds and options give the same answer, bit for bit,
    as long as the deadline is not met.  Safe to share between threads.

    Parameters
    ----------
    chain : Chain
    **options
        The fields of :class:`~ik_node.solver.options.SolverOptions`.

    Raises
    ------
    ParameterError
        If an option is unknown, out of range or of the wrong length.

    """

    def __init__(self, chain: Chain, **options: object) -> None:
        unknown = options.keys() - SolverOptions.__dataclass_fields__.keys()
        if unknown:
            raise ParameterError(f'the solver has no option {", ".join(sorted(unknown))}; it has '
                                 f'{", ".join(SolverOptions.__dataclass_fields__)}')
        warm_up(bias=False)
        self.chain = chain
        self.options = SolverOptions(**options)
        self.tables = Tables(chain, self.options)
        if self.tables.biased:
            warm_up(bias=True)
        self.first_picks = min(self.options.max_restarts, FIRST_ATTEMPTS)
        self._middle = np.clip(chain.middle, chain.lower, chain.upper)
        # Whether one compiled call does all that was asked for, if it finds a solution.
        self.plain = (self.options.method == COMPILED and self.options.select == 'first'
                      and self.options.max_jump == float('inf') and not self.tables.locked)
        # Of the row that it takes: a seed's shape, the room for the answer.
        self._one, self._blank = (chain.n,), np.zeros(Q + chain.n)
        self._blank_bytes = self._blank.tobytes()
        self._verdict = SOLVED - Q - chain.n
        self._changed: dict[tuple, Solver] = {}

    @property
    def preferred(self) -> np.ndarray:
        """Return the posture that the bias pulls to, (n,)."""
        return self.tables.preferred

    def changed(self, **options: object) -> Solver:
        """Return this solver with other options; the last few are kept."""
        key = tuple((name, tuple(value) if isinstance(value, (list, np.ndarray)) else value)
                    for name, value in sorted(options.items()))
        solver = self._changed.get(key)
        if solver is None:
            solver = Solver(self.chain, **{**vars(self.options), **dict(key)})
            if len(self._changed) >= KEPT:
                self._changed.clear()
            self._changed[key] = solver
        return solver

    def solve(self, goal: Goal | np.ndarray, seed: np.ndarray | None = None,
              **options: object) -> Result:
        """
        Find joint positions that put the tip at the goal.

        Parameters
        ----------
        goal : Goal or (4, 4) array
            ``T_base_tip``, m.
        seed : (n,) or (s, n) array, optional
            Where to begin, tried in order before other postures; among equal
            angles the one nearest to the first seed is returned.  Without it, the
            middle of the limits.
        **options
            Fields of SolverOptions, for this call.

        Returns
        -------
        Result
            Inside the limits and within tolerance if it says ``success``.

        Raises
        ------
        GoalError
            If the goal is not a finite rigid pose.
        ParameterError
            If the seed is not finite or of the wrong length, or an option is wrong.

        """
        if options:
            return self.changed(**options).solve(goal, seed)
        began = perf_counter()
        tables, packed = self.tables, None
        settings, T = tables.settings, goal
        if isinstance(goal, Goal):
            settings, T = tables.of(goal), goal.T_base_tip
        if (type(T) is type(seed) is np.ndarray and T.shape == MATRIX and T.dtype is DOUBLE
                and seed.shape == self._one and seed.dtype is DOUBLE):
            # The usual case: by way of bytes in half the time of concatenate and isfinite.
            given = T.tobytes() + seed.tobytes()
            if not given[HIGH_BYTE::8].translate(None, MODERATE):
                packed = np.frombuffer(bytearray(given + self._blank_bytes))
        if packed is None:
            packed, settings = self._pack(goal, seed)
        status, excess = FOUND, None
        if self.plain:
            solve_rows(tables.table, tables.joints, settings, tables.postures, packed, 1, 0,
                       self.first_picks)
            if settings[BIAS_ITERATIONS] > 0.0:
                bias_rows(tables.table, tables.joints, settings, tables.postures, packed, 1)
        if not self.plain or packed[self._verdict] != 1.0:
            status, excess = self._go_on(goal, settings, packed, began)
        return Result(self.chain, status, packed, goal, perf_counter() - began, excess)

    def solve_all(self, goal: Goal | np.ndarray,
                  seed: np.ndarray | None = None) -> tuple[Posture, ...]:
        """
        Find all solutions inside the limits that are distinct but for whole turns.

        Each is at the turn nearest to the seed; :attr:`Posture.turns` has the others.
        Where the goal leaves the arm free, by a free axis or a seventh joint, the
        solutions are a continuum: these are then samples of it, settled by the
        null-space bias where there is one.

        Parameters
        ----------
        goal, seed :
            As in :meth:`solve`, with one seed.

        Returns
        -------
        tuple of Posture
            With their limit margin, manipulability, labels and distance to the
            seed; the nearest first, none if there is no solution.

        Raises
        ------
        GoalError, ParameterError
            As :meth:`solve`.

        """
        packed, settings = self._pack(goal, seed)
        T, seeds, _ = self._unpacked(packed)
        checked_pose(T[0])
        return all_solutions(self.chain, self.tables, T, settings, self._joints(seeds),
                             seeds[0, 0])

    def solve_batch(self, goals: np.ndarray, seeds: np.ndarray | None = None,
                    **how: object) -> BatchResult:
        """
        Solve many goals on all cores; the answers are those of single calls.

        Parameters
        ----------
        goals : (N, 4, 4) or (N, 7) array
            ``T_base_tip``, or position (m) and quaternion x y z w.
        seeds : (n,) or (N, n) array, optional
            One for all or one each; without it, the middle of the limits.
        **how
            Arguments of :func:`ik_node.solver.batch.solve_batch`: progress, executor,
            workers, chunk.

        """
        return solve_batch(self, goals, seeds, **how)

    def _pack(self, goal: Goal | np.ndarray,
              seed: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the row that :func:`solve_rows` takes, and the settings for the goal."""
        n, settings = self.chain.n, self.tables.settings
        if isinstance(goal, Goal):
            T, settings = goal.T_base_tip, self.tables.of(goal)
        else:
            T = checked_pose(goal)
        seeds = self._middle if seed is None else real_array(seed)
        if (seeds is None or seeds.ndim not in (1, 2) or seeds.shape[-1] != n or seeds.size == 0
                or not (np.abs(seeds) <= FARTHEST_SEED).all()):
            raise ParameterError(f'a seed needs {n} finite numbers, one a joint, and none beyond '
                                 f'{FARTHEST_SEED:g}')
        return np.concatenate((T.ravel(), seeds.ravel(), self._blank)), settings

    def _unpacked(self, packed: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return views of a row: T (1, 4, 4), seeds (1, s, n), answers (1, Q + n)."""
        end = len(packed) - len(self._blank)
        return (packed[:16].reshape(1, 4, 4), packed[16:end].reshape(1, -1, self.chain.n),
                packed[end:].reshape(1, -1))

    def _joints(self, seeds: np.ndarray, max_jump: float = float('inf')) -> np.ndarray:
        """
        Return the table of joints for a call.

        Locked joints have no room around the first seed, the others `max_jump` to
        either side of it.
        """
        joints, seed = self.tables.joints.copy(), seeds[0, 0]
        room = np.full(self.chain.n, max_jump - ROUNDING)
        room[list(self.tables.locked)] = 0.0
        lower, upper = joints[LOWER].copy(), joints[UPPER].copy()
        joints[LOWER] = np.clip(seed - room, lower, upper)
        joints[UPPER] = np.clip(seed + room, lower, upper)
        joints[WRAPS] *= joints[UPPER] - joints[LOWER] >= 2.0 * pi - ROUNDING
        return joints

    def _go_on(self, goal: Goal | np.ndarray, settings: np.ndarray, packed: np.ndarray,
               began: float) -> tuple[Reason, dict[str, float] | None]:
        """
        Do what one compiled call does not, and write it into the answer.

        Other methods, locked joints, a choice among the solutions; and what there is
        to do where no solution was found.
        """
        tables = self.tables
        T, seeds, answers = self._unpacked(packed)
        joints = self._joints(seeds)
        if self.options.method != COMPILED:
            task = goal if isinstance(goal, Goal) else Goal(T[0])
            solve = methods()[self.options.method]
            status = solve(self.chain, tables, self.options, task, settings, joints, seeds,
                           answers, began)
            if status is FOUND and self.options.select != 'first':
                self._choose(T, settings, self._joints(seeds, self.options.max_jump), seeds,
                             answers)
            if status is FOUND \
                    and np.abs(answers[0, Q:] - seeds[0, 0]).max() > self.options.max_jump:
                status = Reason.OTHER_BRANCH
            elif status is not FOUND and self.options.nearest:
                status = Reason.NEAREST
            return status, None
        status, excess = FOUND, None
        if not self.plain:
            near = self._joints(seeds, self.options.max_jump)
            answers[:] = solve_goals(tables.table, near, settings, tables.postures, T, seeds, 0,
                                     self.first_picks)
            if answers[0, SOLVED] == 1.0 and self.options.select != 'first':
                self._choose(T, settings, near, seeds, answers)
            if answers[0, SOLVED] == 0.0 and self.options.max_jump < float('inf'):
                status = Reason.OTHER_BRANCH
                answers[:] = solve_goals(tables.table, joints, settings, tables.postures, T,
                                         seeds, 0, self.first_picks)
            elif np.abs(answers[0, Q:] - seeds[0, 0]).max() > self.options.max_jump:
                status = Reason.OTHER_BRANCH  # the seed itself is so far outside the limits
        if answers[0, SOLVED] != 1.0:
            if answers[0, SOLVED] == NOT_RIGID:
                checked_pose(T[0])
            ended = self._attempt_more(T, settings, joints, seeds, answers, began)
            if ended is not FOUND:
                ended, excess = self._give_up(ended, T, settings, joints, seeds, answers)
            if ended is not FOUND or status is FOUND:
                status = ended
        return status, excess

    def _attempt_more(self, T: np.ndarray, settings: np.ndarray, joints: np.ndarray,
                      seeds: np.ndarray, answers: np.ndarray, began: float) -> Reason:
        """Attempt from the other postures of the table, as long as there is time."""
        tables = self.tables
        attempts = int(answers[0, ATTEMPT]) + 1
        if self.options.max_restarts <= FIRST_ATTEMPTS or attempts <= FIRST_ATTEMPTS:
            return Reason.NO_SOLUTION
        starts = tables.nearest_postures(T[0])[self.first_picks:self.options.max_restarts]
        for first in range(0, len(starts), MORE_ATTEMPTS):
            if perf_counter() - began > self.options.deadline:
                return Reason.DEADLINE
            more = np.concatenate([seeds[0, :1], starts[first:first + MORE_ATTEMPTS]])[None]
            trial = solve_goals(tables.table, joints, settings, tables.postures, T, more, 1, 0)
            attempts += int(trial[0, ATTEMPT]) + 1
            steps = trial[0, STEPS] + answers[0, STEPS]
            if trial[0, SOLVED] == 1.0 or trial[0, ERROR] < answers[0, ERROR]:
                answers[:] = trial
            answers[0, STEPS], answers[0, ATTEMPT] = steps, attempts - 1
            if answers[0, SOLVED] == 1.0:
                return Reason.SOLVED
        return Reason.NO_SOLUTION

    def _give_up(self, status: Reason, T: np.ndarray, settings: np.ndarray, joints: np.ndarray,
                 seeds: np.ndarray, answers: np.ndarray
                 ) -> tuple[Reason, dict[str, float] | None]:
        """Walk the best attempt to its end; if that is no answer either, say why."""
        settle_nearest(self.tables, T, settings, joints, seeds, answers)
        if answers[0, SOLVED] == 1.0:
            return Reason.SOLVED, None
        nearest = answers[0, Q:].copy()
        unlimited = last_attempt(self.chain, self.tables, T, settings, joints, seeds, answers) \
            if self.options.max_restarts else np.empty((0, self.chain.n))
        if answers[0, SOLVED] == 1.0:
            return Reason.SOLVED, None
        if self.options.nearest:
            return Reason.NEAREST, None
        if status is Reason.DEADLINE:
            return status, None
        if not self.options.max_restarts:
            return Reason.NO_SOLUTION, None
        return explain(self.chain, self.tables, T, settings, joints, unlimited, nearest)

    def _choose(self, T: np.ndarray, settings: np.ndarray, joints: np.ndarray, seeds: np.ndarray,
                answers: np.ndarray) -> None:
        """Replace a solution by the one that `select` prefers."""
        select, seed = self.options.select, seeds[0, 0]
        first = Posture(self.chain, answers[0, Q:].copy(), seed)
        # What is nearest to the middle of the limits may be another turn.
        reference = self.chain.middle if select == 'centred' else seed
        every = (first, *all_solutions(self.chain, self.tables, T, settings, joints, seed,
                                       reference))
        best = min(every, key=KEYS.get(select, select))
        answers[:] = verify(self.tables, T, settings, joints, best.q)


@lru_cache(maxsize=None)
def warm_up(bias: bool) -> None:
    """Load or compile the kernels, once in a process; say so if they have to be compiled."""
    n, m = 1, 1
    table, joints = np.zeros((m + 1, 16)), np.zeros((7, n))
    table.setflags(write=False)
    postures, settings = np.zeros((n + 12, 1)), np.zeros(BOX + 7)
    packed = np.zeros(16 + n + Q + n)  # a goal that is no pose, and not solved
    forget_stale((solve_rows, bias_rows, find_all),
                 (kernels, branches, damped, entry, nullspace, residual))
    with compilation_told():
        if bias:
            bias_rows(table, joints, settings, postures, packed, 1)
            return
        solve_rows(table, joints, settings, postures, packed, 1, 0, 0)
        find_all(table, joints, settings, postures, np.eye(4).ravel(), np.zeros(n), 0, SAME,
                 np.empty((1, n)))
        tip_poses(table, np.zeros((0, n)), np.empty((0, 12)))
