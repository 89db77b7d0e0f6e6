# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The solver that the node uses: a pure function of chain or tree, goal, seed and options."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from math import pi
from time import perf_counter
from typing import Any, overload, TYPE_CHECKING

import numpy as np
from numpy import ndarray

from ik_node.base.checks import real_array
from ik_node.base.compilation import compilation_told
from ik_node.base.errors import Reason
from ik_node.kinematics.tree.kinematic_tree import KinematicTree
from ik_node.model.chain import Chain
from ik_node.model.joint_space import JointSpace
from ik_node.solver.batch import BatchResult, GOALS_PER_CHUNK, solve_batch
from ik_node.solver.branches import (
    all_solutions,
    choose_free,
    EXACT_AXES,
    free_solutions,
    many_free_solutions,
    only_free,
    PostureCheck,
    SELECTION_KEYS,
)
from ik_node.solver.closed_form.self_motions import NEAR_SEED
from ik_node.solver.descent.entry import bias_rows, NO_POSE, NO_SEED
from ik_node.solver.descent.layout import (
    JOINT_VALUES,
    JointRows,
    LAST_ATTEMPT,
    MAX_BIAS_STEPS,
    POSE_SIZE,
    SOLVED_FLAG,
    STEP_COUNT,
    UNSOUND,
)
from ik_node.solver.goal import DOUBLE_TYPE, EXACT_TOLERANCE, Goal, goal_matrix
from ik_node.solver.options import (
    COMPILED_METHOD,
    make_options,
    methods,
    OptionValues,
    other_options,
    SolverOptions,
)
from ik_node.solver.result import Posture, Result
from ik_node.solver.tables import checked_seeds, Query, Tables
from ik_node.solver.tree_search import TreeSearch
from ik_node.solver.unreachable import explain, last_attempt, settle_nearest
from ik_node.solver.warm_up import warm_up_self_motion

if TYPE_CHECKING:
    from typing import Self, Unpack

POSE_SHAPE = (4, 4)
POSITION_FIRST_M = 1e-4  # per radian: the weight of an orientation that comes second
NEAREST_STARTS = 8       # other postures to walk on from then
POSTURE_REASONS = (Reason.SOLVED, Reason.OTHER_BRANCH, Reason.NEAREST)  # with a posture there
SOLVED_REASON = Reason.SOLVED  # a global is read faster than a member of an enumeration
FIRST_ATTEMPTS = 150  # before the clock is read: well below a millisecond
MORE_ATTEMPTS = 50    # between further readings of the clock
LIMIT_ROUNDING = 1e-9  # rad or m
KEPT_SOLVERS = 16     # with changed options


class Solver:
    """
    Inverse kinematics of a chain, in closed form and by damped least squares, or of a tree.

    ``Solver(tree)`` solves as a :class:`~ik_node.solver.tree_search.TreeSearch`: with goals by tip
    and kernels of its own, as those for one tip take a tenth of the time (``benchmarks.tree``).
    The same goal, seeds and options give the same answer, bit for bit, unless the deadline is
    reached.  Safe to share between threads.

    Parameters
    ----------
    space : Chain or KinematicTree
    collisions : PostureCheck, optional
        Answers are chosen among the postures that it finds free; a
        :class:`~ik_node.collision.distances.model.CollisionModel` of the robot among objects.
    **options
        The fields of :class:`~ik_node.solver.options.SolverOptions`.

    Raises
    ------
    ParameterError
        If an option is unknown, out of range, of the wrong length, or not one of a tree.

    """

    options_type = SolverOptions

    @overload
    def __new__(cls, space: Chain, collisions: PostureCheck | None = None,
                **options: Unpack[OptionValues]) -> Solver: ...

    @overload
    def __new__(cls, space: KinematicTree, collisions: PostureCheck | None = None,
                **options: Unpack[OptionValues]) -> TreeSolver: ...

    def __new__(cls, space: JointSpace | None = None, collisions: PostureCheck | None = None,
                **options: Unpack[OptionValues]) -> Any:
        """Return the solver of a chain or tree; without one, what is to be unpickled."""
        solver = object.__new__(TreeSolver if isinstance(space, KinematicTree) else cls)
        if space is not None:
            solver.space, solver.collisions, solver._changed = space, collisions, {}
            solver.options = make_options(solver.options_type, options)
            solver._prepare(space)
        return solver

    def _prepare(self, chain: Chain) -> None:
        self.chain = chain
        with compilation_told():
            self.tables = Tables(chain, self.options)
            if self.collisions is not None and chain.n > EXACT_AXES:
                warm_up_self_motion()
        self.preferred = self.tables.preferred  # (n,), that the bias pulls to, rad or m
        self.first_restarts = min(self.options.max_restarts, FIRST_ATTEMPTS)
        self._counts = np.array([1, 0, self.first_restarts])
        self._middle = chain.middle
        # Whether a solution found by one compiled call may be the result.
        single = (self.options.method == COMPILED_METHOD
                  and self.options.max_jump == float('inf') and not self.tables.locked)
        first, nearest = (self.options.select == name for name in ('first', 'nearest'))
        self.plain = single and first
        # The same for all solutions in closed form, and for the nearest of them.
        form = self.tables.closed_form
        self._complete = form is not None and form.exact and not self.tables.locked
        searched = form is not None and form.searched  # which takes longer than a descent
        self.closed = single and self._complete and not searched and (
            nearest or first and self.options.max_restarts > 0)
        self._nearest_first = self.closed or single and self._complete and nearest
        # The same for the nearest posture of a redundant arm, if the goal is near the seed.
        self._sliding = single and nearest and self.tables.slides
        # For the row that these calls take: shape of a seed, sizes, and the flag of success.
        self._seed_shape, self._answer_size = (chain.n,), JOINT_VALUES + chain.n
        self._row_size = POSE_SIZE + chain.n + self._answer_size
        self._flag = SOLVED_FLAG - self._answer_size

    def __repr__(self) -> str:
        """Return the chain and the options that are not the defaults."""
        chain = self.chain
        return (f'Solver({chain.base_link} to {chain.tip_link}, {chain.n} joints'
                f'{other_options(self.options)})')

    def with_collisions(self, collisions: PostureCheck | None) -> Self:
        """Return the solver with another collision model."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.collisions, other._changed = collisions, {}
        return other

    def changed(self, **options: Unpack[OptionValues]) -> Self:
        """Return this solver with other options; the last few are kept."""
        key = tuple((name, tuple(value) if isinstance(value, (list, np.ndarray)) else
                     tuple(value.items()) if isinstance(value, dict) else value)
                    for name, value in sorted(options.items()))
        solver = self._changed.get(key)
        if solver is None:
            solver = type(self)(self.space, self.collisions, **{**vars(self.options), **options})
            if len(self._changed) >= KEPT_SOLVERS:
                self._changed.clear()
            self._changed[key] = solver
        return solver

    def solve(self, goal: Goal | np.ndarray, seed: np.ndarray | None = None,
              **options: Unpack[OptionValues]) -> Result:
        """
        Find joint positions that put the tip at the goal.

        Parameters
        ----------
        goal : Goal, (4, 4) or (7,) array
            ``T_base_tip``, m; or position (m) and unit quaternion x, y, z, w.
        seed : (n,) or (s, n) array, optional
            Starting postures (rad or m), tried in this order before any others.
            Angles are returned at the turn nearest to the first seed.  Default: the
            middle of the limits.
        **options
            Fields of SolverOptions, for this call.

        Returns
        -------
        Result
            Inside the limits and within tolerance if its ``success`` is True.

        Raises
        ------
        GoalError
            If the goal is not a finite rigid pose, or its quaternion is not of norm 1
            to 1e-3.
        ParameterError
            If the seed is not finite or of the wrong length, or an option is wrong.

        """
        if options:
            return self.changed(**options).solve(goal, seed)
        began = perf_counter()
        tables, given = self.tables, self._arrays(goal, seed)
        if self._nearest_first and _is_exact(goal):
            single = given or self._converted(goal, seed)
            if single is not None:
                row = np.empty(self._row_size)
                T, q = single  # named, which is faster than a star
                if tables.branch_rows(tables.setup, T, q, row, 1) and (
                        self.collisions is None
                        or self.collisions.check_many(row[-self.chain.n:][None])[0]):
                    return Result(self.chain, SOLVED_REASON, row, goal, perf_counter() - began)
        attempted = self.plain
        if attempted:
            settings = tables.of(goal) if isinstance(goal, Goal) else tables.settings
            row, flag = np.empty(self._row_size), UNSOUND
            if given is not None:
                T, q = given
                flag = tables.solve_row(tables.table, tables.joints, settings, tables.postures,
                                        T, q, row, self._counts)
            if flag == UNSOUND:
                row, _ = self._pack(goal, seed)
                flag = tables.solve_row(tables.table, tables.joints, settings, tables.postures,
                                        NO_POSE, NO_SEED, row, self._counts)
            if tables.biased and settings[MAX_BIAS_STEPS] > 0.0:
                bias_rows(tables.table, tables.joints, settings, tables.bias_postures, row, 1)
                flag = row[self._flag]
        else:
            row, settings = self._pack(goal, seed, given)
            if self._sliding and settings is tables.settings and len(row) == self._row_size:
                row, attempted = self._nearest(row)
            flag = row[self._flag]
        if flag == 1.0 and self.collisions is None:
            return Result(self.chain, SOLVED_REASON, row, goal, perf_counter() - began)
        status, excess, contact = SOLVED_REASON, None, ''
        if flag != 1.0:
            status, excess = self._solve_further(goal, self._query(row, settings), began,
                                                 attempted)
        if status is Reason.NEAREST and self.options.nearest_keeps_position:
            return self.changed(metres_per_radian=POSITION_FIRST_M,
                                nearest_keeps_position=False).solve(goal, seed)
        if self.collisions is not None and status in POSTURE_REASONS:
            status, contact = self._free_or_not(self._query(row, settings), status)
        return Result(self.chain, status, row, goal, perf_counter() - began, excess, contact)

    def _nearest(self, row: np.ndarray) -> tuple[np.ndarray, bool]:
        """Return a row of an exact pose with the nearest posture, and whether it was descended."""
        tables, form = self.tables, self.tables.seven_axes
        arrays = tables.table, tables.joints, tables.settings
        found = tables.nearest_row(*arrays, form, row)
        if found == NEAR_SEED or not len(form):
            return row, False
        # On self-motions shorter than a step of that search, a descent may come nearer.
        other = row.copy()
        solved = tables.solve_row(*arrays, tables.postures, NO_POSE, NO_SEED, other,
                                  self._counts) == 1.0
        if found and not (solved and self._distance(other) < self._distance(row)):
            return row, True
        if solved:
            tables.nearest_row(*arrays, form, other)
        return other, True

    def _distance(self, row: np.ndarray) -> float:
        """Return the squared distance of the answer of a row from its seed."""
        change = row[-self.chain.n:] - row[POSE_SIZE:POSE_SIZE + self.chain.n]
        return float(change @ change)

    def solve_all(self, goal: Goal | np.ndarray,
                  seed: np.ndarray | None = None) -> tuple[Posture, ...]:
        """
        Find all solutions inside the limits, apart from whole turns of joints.

        Each is at the turn nearest to the seed; :attr:`Posture.turns` gives the others.
        If the goal leaves the arm free, by a free axis or a seventh joint, the
        solutions form a continuum; then samples of it are returned, moved by the
        null-space bias if there is one.  Of seven axes with a closed form and an exact
        pose, without a bias, the nearest of each self-motion is among them.

        Parameters
        ----------
        goal, seed :
            As in :meth:`solve`, with one seed.

        Returns
        -------
        tuple of Posture
            The nearest to the seed first; empty if there is no solution.

        Raises
        ------
        GoalError, ParameterError
            As :meth:`solve`.

        """
        if self._complete:
            given = self._arrays(goal, seed) if _is_exact(goal) else None
            if given is not None:
                chain, at = self.chain, given[1].copy()
                found = self.tables.branches(*given)
                if len(found):
                    # A list is faster than a generator.
                    postures = tuple([Posture(chain, q, at) for q in found[:, JOINT_VALUES:]])
                    return postures if self.collisions is None \
                        else only_free(postures, self.collisions)
        query = self._query(*self._pack(goal, seed, self._arrays(goal, seed)))
        return all_solutions(query) if self.collisions is None \
            else free_solutions(query, self.collisions)

    def free_postures(self, goal: Goal | np.ndarray,
                      seed: np.ndarray | None = None) -> tuple[Posture, ...]:
        """
        Return as :meth:`solve_all`, but of a continuum samples all over it.

        For a search that may end at any of them.  Without a check they equal
        :meth:`solve_all`.
        """
        if self.collisions is None:
            return self.solve_all(goal, seed)
        query = self._query(*self._pack(goal, seed, self._arrays(goal, seed)))
        return many_free_solutions(query, self.collisions)

    def near_query(self, goal: Goal | np.ndarray, seeds: np.ndarray | None,
                   max_jump: float | None = None) -> Query:
        """Return a goal as compiled code reads it, within `max_jump` and without a bias."""
        query = self._query(*self._pack(goal, seeds)).with_settings({MAX_BIAS_STEPS: 0.0})
        jump = self.options.max_jump if max_jump is None else max_jump
        return query.with_joints(self._joints(query.seed, jump))

    def solve_batch(self, goals: np.ndarray, seeds: np.ndarray | None = None, *,
                    progress: Callable[[int, int], object] | None = None,
                    executor: Executor | None = None, workers: int | None = None,
                    chunk: int = GOALS_PER_CHUNK) -> BatchResult:
        """
        Solve many goals on all cores, each as :meth:`solve` does.

        Parameters
        ----------
        goals : (N, 4, 4) or (N, 7) array
            ``T_base_tip``, m; or position (m) and unit quaternion x, y, z, w.
        seeds : (n,) or (N, n) array, optional
            One for all goals or one for each (rad or m).  Default: the middle of the
            limits.
        progress, executor, workers, chunk :
            See :func:`ik_node.solver.batch.solve_batch`.

        """
        return solve_batch(self, goals, seeds, progress=progress, executor=executor,
                           workers=workers, chunk=chunk)

    def _pack(self, goal: Goal | np.ndarray, seed: np.ndarray | None,
              given: tuple[np.ndarray, np.ndarray] | None = None) \
            -> tuple[np.ndarray, np.ndarray]:
        """
        Return the row that compiled code takes, and the settings for the goal.

        `given` is what :meth:`_arrays` returns; it saves time, and may be None.
        """
        settings = self.tables.of(goal) if isinstance(goal, Goal) else self.tables.settings
        if given is not None:
            row = np.empty(self._row_size)
            if self.tables.fill_row(*given, row):
                return row, settings
        # Arguments of other kinds, and the checks that name a fault.
        T = goal.T_base_tip if isinstance(goal, Goal) else goal_matrix(goal)
        seeds = checked_seeds(self.chain, seed, (1, 2))
        return np.concatenate([T.ravel(), seeds.ravel(), np.zeros(self._answer_size)]), settings

    def _arrays(self, goal: Goal | np.ndarray,
                seed: np.ndarray | None) -> tuple[np.ndarray, np.ndarray] | None:
        """Return goal (4, 4) and seed (n,) if direct calls may take them; or None."""
        if type(seed) is not ndarray:
            seed = self._middle if seed is None else real_array(seed)
        T = goal
        if type(T) is ndarray:
            suits = T.dtype is DOUBLE_TYPE and T.shape == POSE_SHAPE and T.flags.carray
        elif isinstance(goal, Goal):
            T = goal.T_base_tip
            suits = T.flags.c_contiguous  # all else was seen to when it was made
        else:
            return None
        if suits and type(seed) is ndarray and seed.dtype is DOUBLE_TYPE \
                and seed.shape == self._seed_shape and seed.flags.carray:
            return T, seed
        # A pickled array has a type of its own, which is equal.
        if type(T) is type(seed) is ndarray and T.dtype == seed.dtype == DOUBLE_TYPE \
                and not T.dtype is seed.dtype is DOUBLE_TYPE:
            return self._arrays(T.astype(DOUBLE_TYPE), seed.astype(DOUBLE_TYPE))
        return None

    def _converted(self, goal: Goal | np.ndarray,
                   seed: np.ndarray | None) -> tuple[np.ndarray, np.ndarray] | None:
        """
        Return goal (4, 4) and seed (n,) of any kind as direct calls take them.

        Of several seeds the first; or None if they are to be tried in their order.
        """
        row, _ = self._pack(goal, seed)
        if len(row) > self._row_size and self.plain:
            return None
        return row[:POSE_SIZE].reshape(POSE_SHAPE), row[POSE_SIZE:POSE_SIZE + self.chain.n]

    def _query(self, packed: np.ndarray, settings: np.ndarray) -> Query:
        """Return the views of a row, with the joints of the call."""
        end = len(packed) - self._answer_size
        seeds = packed[POSE_SIZE:end].reshape(1, -1, self.chain.n)
        return Query(self.tables, packed[:POSE_SIZE].reshape(1, 4, 4), settings,
                     self._joints(seeds[0, 0]), seeds, packed[end:].reshape(1, -1))

    def _joints(self, seed: np.ndarray, max_jump: float = float('inf')) -> np.ndarray:
        """
        Return the joint table (7, n) for one call.

        Locked joints have no range, the others at most `max_jump` to either side of
        the seed (n,).
        """
        joints = self.tables.joints.copy()
        rows = JointRows(*joints)
        room = np.full(self.chain.n, max_jump - LIMIT_ROUNDING)
        room[list(self.tables.locked)] = 0.0
        lower, upper = rows.lower.copy(), rows.upper.copy()
        rows.lower[:] = np.clip(seed - room, lower, upper)
        rows.upper[:] = np.clip(seed + room, lower, upper)
        rows.wraps[:] *= rows.upper - rows.lower >= 2.0 * pi - LIMIT_ROUNDING
        return joints

    def _solve_further(self, goal: Goal | np.ndarray, query: Query, began: float,
                       attempted: bool) -> tuple[Reason, dict[str, float] | None]:
        """
        Do what one compiled call does not, and write it into the answer of the query.

        These are other methods, locked joints, the choice among the solutions, and the
        steps that follow if no solution was found; `attempted`: from the seed and the first
        restarts.  Returns the status and, for BEYOND_LIMIT, the excess of each joint.
        """
        if self.options.method != COMPILED_METHOD:
            return self._solve_by_method(goal, query, began), None
        status = SOLVED_REASON if attempted else self._solve_near(query)
        if query.solved:
            return status, None
        ended, excess = self._attempt_more(query, began), None
        if ended is not SOLVED_REASON:
            ended, excess = self._give_up(ended, query)
        return (ended if status is SOLVED_REASON or ended is not SOLVED_REASON else status), excess

    def _solve_by_method(self, goal: Goal | np.ndarray, query: Query, began: float) -> Reason:
        """Solve by a textbook method."""
        options = self.options
        if not isinstance(goal, Goal):
            goal = Goal(query.T[0])
        status = methods()[options.method](options, goal, query, began)
        if status is not SOLVED_REASON:
            return Reason.NEAREST if options.nearest else status
        if options.select != 'first':
            self._choose(query.with_joints(self._joints(query.seed, options.max_jump)))
        return Reason.OTHER_BRANCH if self._jumps(query) else status

    def _solve_near(self, query: Query) -> Reason:
        """Solve with locked joints, `max_jump` and `select`; say if the answer is too far away."""
        max_jump, restarts = self.options.max_jump, self.first_restarts
        near = query.with_joints(self._joints(query.seed, max_jump))
        closed = near.branches(query.seed) if self.options.select == 'nearest' else ()
        if len(closed) and self.tables.closed_form.exact:
            query.answer[:] = closed[0]
        else:
            query.answer[:] = near.solve(query.seeds[0], 0, restarts)
            if len(closed):
                query.answer[:] = min([answer for answer in (*closed, query.answer)
                                       if answer[SOLVED_FLAG] == 1.0],
                                      key=lambda answer: np.linalg.norm(
                                          answer[JOINT_VALUES:] - query.seed))
            elif query.solved and self.options.select != 'first':
                self._choose(near)
        if query.answer[SOLVED_FLAG] == 0.0 and max_jump < float('inf'):
            query.answer[:] = query.solve(query.seeds[0], 0, restarts)
            return Reason.OTHER_BRANCH
        # The seed may be outside the limits by more than max_jump.
        return Reason.OTHER_BRANCH if self._jumps(query) else SOLVED_REASON

    def _jumps(self, query: Query) -> bool:
        """Return whether the answer is farther than `max_jump` from the seed."""
        return bool(np.abs(query.q - query.seed).max() > self.options.max_jump)

    def _attempt_more(self, query: Query, began: float) -> Reason:
        """Attempt from the other postures of the table until the deadline."""
        answer, max_restarts = query.answer, self.options.max_restarts
        attempts = int(answer[LAST_ATTEMPT]) + 1
        if max_restarts <= FIRST_ATTEMPTS or attempts <= FIRST_ATTEMPTS:
            return Reason.NO_SOLUTION
        starts = self.tables.nearest_postures(query.T[0])[self.first_restarts:max_restarts]
        for first in range(0, len(starts), MORE_ATTEMPTS):
            if perf_counter() - began > self.options.deadline:
                return Reason.DEADLINE
            more = np.concatenate([query.seed[None], starts[first:first + MORE_ATTEMPTS]])
            trial = query.solve(more, 1, 0)
            attempts += int(trial[LAST_ATTEMPT]) + 1
            steps = trial[STEP_COUNT] + answer[STEP_COUNT]
            if query.improves(trial):
                answer[:] = trial
            answer[STEP_COUNT], answer[LAST_ATTEMPT] = steps, attempts - 1
            if query.solved:
                return Reason.SOLVED
        return Reason.NO_SOLUTION

    def _give_up(self, status: Reason, query: Query) -> tuple[Reason, dict[str, float] | None]:
        """Walk the best attempt to its end; if that is no solution either, find the reason."""
        # Where the orientation hardly counts, the attempts do not tell which start is the best.
        settle_nearest(query, self.tables.nearest_postures(query.T[0])[:NEAREST_STARTS]
                       if self.options.metres_per_radian == POSITION_FIRST_M else ())
        if query.solved:
            return Reason.SOLVED, None
        nearest = query.q.copy()
        unlimited = (last_attempt(query) if self.options.max_restarts
                     else np.empty((0, self.chain.n)))
        if query.solved:
            return Reason.SOLVED, None
        if self.options.nearest:
            return Reason.NEAREST, None
        if status is Reason.DEADLINE:
            return status, None
        if not self.options.max_restarts:
            return Reason.NO_SOLUTION, None
        return explain(query, unlimited, nearest)

    def _free_or_not(self, query: Query, status: Reason) -> tuple[Reason, str]:
        """
        Replace an answer that collides by one that is free.

        Returns the status and, for COLLISION, what the answer collides with.
        """
        check, max_jump = self.collisions, self.options.max_jump
        if check.check_many(query.q[None])[0]:
            return status, ''
        select, blocked = self.options.select, query.q.copy()
        key = SELECTION_KEYS.get(select, select)
        # The turn nearest to the middle of the limits may not be the one nearest to the seed.
        reference = self.chain.middle if select == 'centred' else None
        if status is not Reason.NEAREST:
            near = query.with_joints(self._joints(query.seed, max_jump))
            if choose_free(near, check, key, reference):
                return (Reason.OTHER_BRANCH if self._jumps(query) else SOLVED_REASON), ''
            if max_jump < float('inf') and choose_free(query, check, key, reference):
                return Reason.OTHER_BRANCH, ''
        query.answer[:] = query.check(blocked)
        return Reason.COLLISION, check.describe(blocked)

    def _choose(self, query: Query) -> None:
        """Replace the solution by the one that `select` prefers."""
        select = self.options.select
        first = Posture(self.chain, query.q.copy(), query.seed)
        # The turn nearest to the middle of the limits may not be the one nearest to the seed.
        reference = self.chain.middle if select == 'centred' else query.seed
        best = min((first, *all_solutions(query, reference)),
                   key=SELECTION_KEYS.get(select, select))
        query.answer[:] = query.check(best.q)
        if select == 'nearest' and self.tables.slides and query.exact:
            query.slide()


class TreeSolver(TreeSearch, Solver):
    """The solver of a tree."""


def _is_exact(goal: Goal | np.ndarray) -> bool:
    """Return whether a goal has no box."""
    return not isinstance(goal, Goal) or goal.tolerance is EXACT_TOLERANCE
