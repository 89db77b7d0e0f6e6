# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The search of a tree: postures that put several tips of one robot at their goals at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import inf
from time import perf_counter
from typing import NamedTuple, NoReturn, TYPE_CHECKING

import numpy as np

from ik_node.base.errors import GoalError, ParameterError, Reason
from ik_node.base.text import quote, shown
from ik_node.kinematics.arguments import did_you_mean
from ik_node.kinematics.kernels import pose_row
from ik_node.kinematics.tree.kinematic_tree import KinematicTree
from ik_node.kinematics.tree.tree_kernels import tree_poses
from ik_node.solver.branches import PostureCheck
from ik_node.solver.descent.layout import JointRows
from ik_node.solver.descent.tree_damped import (
    ANSWER_ATTEMPTS,
    ANSWER_STEPS,
    attempt_tree,
    FIRST_ERROR,
    FIRST_MET,
    SECOND_ERROR,
    TIP_ERRORS,
    TipGoals,
    TreeProblem,
    WalkRule,
)
from ik_node.solver.goal import as_goal, Goal, POSITION_ONLY
from ik_node.solver.options import LARGEST_OPTION, OptionValues, other_options, TreeOptions
from ik_node.solver.result import TipError, TreeResult
from ik_node.solver.tables import (
    box_axes,
    checked_seeds,
    DEFAULT_MAX_STEPS,
    joint_table,
    joint_weights,
    require_positive,
    spread_postures,
    squared_distances,
)
from ik_node.solver.warm_up import warm_up_tree

if TYPE_CHECKING:
    from typing import Unpack

TipGoal = Goal | np.ndarray | Sequence[float]

STORED_POSTURES = 512       # of which restarts take the nearest
ATTEMPTS_PER_CALL = 16      # between two readings of the clock
REASON_RESTARTS = 48        # of each solve that looks for the reason of a failure
FREE_POSTURES = 8           # to which ways are sought at most
DISTINCT_RAD = 0.1          # or m, in a joint, between two postures
DISTANT_RESTARTS = 8        # for a goal farther away than the joints are long
REST_ATTEMPTS = 3           # that walk to the nearest posture, after a failure
REST_STEPS_MOST = 300


class _Task(NamedTuple):
    """Goals of some tips, in the order of `tips`, and what attempts have found so far."""

    tips: tuple[str, ...]
    goals: TipGoals
    met: np.ndarray
    answer: np.ndarray

    @property
    def q(self) -> np.ndarray:
        """Return the best joint positions, (n,)."""
        return self.answer[TIP_ERRORS + 2 * len(self.tips):]

    @property
    def solved(self) -> bool:
        """Return whether all tips of the first level are at their goals."""
        return bool(self.answer[FIRST_MET])

    def errors(self) -> dict[str, TipError]:
        """Return how far each tip is from its goal."""
        pairs = self.answer[TIP_ERRORS:TIP_ERRORS + 2 * len(self.tips)].reshape(-1, 2).tolist()
        return {tip: TipError(*pair, bool(met))
                for tip, pair, met in zip(self.tips, pairs, self.met)}


class TreeSearch:
    """What a solver of a tree does: damped least squares on the stacked Jacobian of all tips."""

    options_type = TreeOptions
    options: TreeOptions
    collisions: PostureCheck | None

    def _prepare(self, tree: KinematicTree) -> None:
        self.tree = tree
        warm_up_tree()
        self._problem = TreeProblem(
            tree.table, tree.parents,
            JointRows(*joint_table(tree, joint_weights(tree, self.options.weights))),
            np.array([self.options.position_tolerance, self.options.orientation_tolerance]),
            float(self.options.metres_per_radian))
        self._postures = spread_postures(tree, STORED_POSTURES, self.options.random_seed)
        poses = np.empty((STORED_POSTURES, len(tree.tip_links), 12))
        tree_poses(tree.table, tree.parents, self._postures, tree.tip_rows,
                   np.empty((len(tree.table), 12)), poses)
        self._poses = np.ascontiguousarray(poses.transpose(1, 2, 0))  # (T, 12, K)

    def __repr__(self) -> str:
        """Return the tree and the options that are not the defaults."""
        return f'Solver({self.tree!r}{other_options(self.options)})'

    def solve(self, goals: Mapping[str, TipGoal], seed: np.ndarray | None = None, *,
              tip_weights: Mapping[str, float] | None = None,
              secondary: Collection[str] = (), **options: Unpack[OptionValues]) -> TreeResult:
        """
        Find joint positions that put all tips at their goals.

        Parameters
        ----------
        goals : mapping of tip link to Goal, (4, 4) or (7,) array
            ``T_base_tip``, m; or position (m) and unit quaternion x, y, z, w; or a
            :class:`~ik_node.solver.goal.Goal` with tolerances or free axes, such as
            ``Goal.position(p)``.  A tip that is not named may be anywhere.
        seed : (n,) array, optional
            Where the search starts, rad or m; default: the middle of the limits.
        tip_weights : mapping of tip link to float, optional
            Factor of a tip's errors, default 1.  It tells which tip gives way where not all can
            be brought to their goals, and changes no solution's accuracy.
        secondary : collection of str
            Tips that come as near to their goals as they can, once all others are met.  Their
            distance is a local minimum, the best of a few starts.
        **options
            Those of the solver, for this call.

        Returns
        -------
        TreeResult
            Inside the limits; `success` if all tips but the secondary ones are within tolerance.

        Raises
        ------
        GoalError
            If there is no goal, or one is not a finite rigid pose.
        ParameterError
            If a name is no tip, a weight not positive, or the seed or an option is wrong.

        """
        if options:
            return self.changed(**options).solve(goals, seed, tip_weights=tip_weights,
                                                 secondary=secondary)
        began = perf_counter()
        seed = checked_seeds(self.tree, seed)
        asked = self._goals(goals)
        weights = dict(tip_weights or {})
        for tip, weight in weights.items():
            self.tree.tip_index(tip)
            require_positive(weight, quote(tip), ' (leave it out of the goals, or make it '
                             'secondary)')
        secondary = self._secondary(asked, secondary)
        task = self._task(asked, weights, secondary)
        required = {tip: goal for tip, goal in asked.items() if tip not in secondary}
        distant = any(self._too_far(tip, goal) for tip, goal in required.items())
        restarts = min(self.options.max_restarts, DISTANT_RESTARTS if distant else LARGEST_OPTION)
        late, collide = self._attempt(task, seed, restarts, began, self.collisions)
        attempts, steps = int(task.answer[ANSWER_ATTEMPTS]), int(task.answer[ANSWER_STEPS])
        status, cause, unreachable = Reason.SOLVED, '', ()
        if collide:
            status, unreachable = Reason.COLLISION, tuple(goals)
            cause = ('every posture found that brings the tips to their goals collides: '
                     + self.collisions.describe(task.q))
        elif not task.solved:
            first = task.q.copy()
            task = self._nearest(task, asked, weights, secondary)
            if late:
                status, cause = Reason.DEADLINE, ('no solution within the time allowed '
                                                  f'({1e3 * self.options.deadline:.0f} ms)')
            else:
                status, cause, unreachable = self._reason(required, first)
        return TreeResult(self.tree, status, task.q.copy(), task.errors(), seed,
                          perf_counter() - began, secondary, unreachable, cause, attempts, steps)

    def free_postures(self, goals: Mapping[str, TipGoal], seed: np.ndarray | None = None, *,
                      count: int = FREE_POSTURES) -> list[np.ndarray]:
        """
        Return postures (n,) that put all tips at their goals, such as a way may lead to.

        Collisions are checked, if the solver has a model.  They are those that attempts from the
        seed and the stored postures find first, as :meth:`solve` does, which takes and raises the
        same, until there are `count`; two differ by more than DISTINCT_RAD, rad or m, in a joint.
        """
        began, check, found = perf_counter(), self.collisions, list[np.ndarray]()
        task = self._task(self._goals(goals), {}, ())
        for _ in self._solutions(task, checked_seeds(self.tree, seed), self.options.max_restarts,
                                 began):
            if (check is None or check.check_many(task.q[None])[0]) and all(
                    np.abs(self.tree.difference(task.q, other)).max() > DISTINCT_RAD
                    for other in found):
                found.append(task.q.copy())
            if len(found) == count:
                break
        return found

    def _of_a_chain(self, *_: object, **__: object) -> NoReturn:
        """Raise ParameterError: one tip is asked for."""
        raise ParameterError('only the solver of a chain finds all postures, or those of a batch '
                             'of goals; that of a tree has solve and free_postures')

    solve_all = solve_batch = near_query = _of_a_chain

    # ---- the search ---------------------------------------------------------

    def _attempt(self, task: _Task, seed: np.ndarray, restarts: int, began: float,
                 check: PostureCheck | None = None) -> tuple[bool, bool]:
        """
        Attempt from the seed and then from stored postures, until a solution is free by `check`.

        Returns whether time ran out, and whether all solutions collide; it is left with the first.
        """
        first: tuple[np.ndarray, np.ndarray] | None = None
        for _ in self._solutions(task, seed, restarts, began):
            if check is None or check.check_many(task.q[None])[0]:
                return False, False
            first = first or (task.answer.copy(), task.met.copy())
        if first is not None:
            counts = [ANSWER_STEPS, ANSWER_ATTEMPTS]
            first[0][counts] = task.answer[counts]
            task.answer[:], task.met[:] = first
        return perf_counter() - began > self.options.deadline, first is not None

    def _solutions(self, task: _Task, seed: np.ndarray, restarts: int,
                   began: float) -> Iterator[None]:
        """Attempt from the seed and then from stored postures; yield when the task is solved."""
        starts, order = seed[None], None
        rule = WalkRule(self.options.max_iterations or DEFAULT_MAX_STEPS, False)
        while len(starts):
            count = task.answer[ANSWER_ATTEMPTS]
            attempt_tree(self._problem, task.goals, starts, seed, rule, task.met, task.answer)
            starts = starts[int(task.answer[ANSWER_ATTEMPTS] - count):]
            if task.solved:
                yield
                task.answer[[FIRST_MET, FIRST_ERROR, SECOND_ERROR]] = 0.0, inf, inf
            if perf_counter() - began > self.options.deadline:
                return
            if not len(starts) and restarts > 0:
                if order is None:
                    order = self._nearest_postures(task)
                taken = min(ATTEMPTS_PER_CALL, restarts)
                starts, order = np.ascontiguousarray(self._postures[order[:taken]]), order[taken:]
                restarts -= taken

    def _nearest_postures(self, task: _Task) -> np.ndarray:
        """Return the numbers of the stored postures, those nearest to the goals first."""
        poses, weights = task.goals.poses, task.goals.weights
        return np.argsort(sum((weights[k]**2 * squared_distances(
            self._poses[self.tree.tip_index(tip)], poses[k], self.options.metres_per_radian)
            for k, tip in enumerate(task.tips) if task.goals.levels[k] == 0),
            np.zeros(STORED_POSTURES)), kind='stable')

    def _nearest(self, task: _Task, goals: Mapping[str, Goal], weights: Mapping[str, float],
                 secondary: tuple[str, ...]) -> _Task:
        """Return the posture with the least weighted errors that is found after a failure."""
        fresh = self._task(goals, weights, secondary)
        starts = np.vstack([task.q, self._postures[self._nearest_postures(task)
                                                   [:REST_ATTEMPTS - 1]]])
        attempt_tree(self._problem, fresh.goals, starts, task.q.copy(),
                     WalkRule(REST_STEPS_MOST, True), fresh.met, fresh.answer)
        return fresh

    def _reason(self, goals: Mapping[str, Goal],
                start: np.ndarray) -> tuple[Reason, str, tuple[str, ...]]:
        """Return why the goals cannot be met: the reason, what is said, and the tips."""
        for tip, goal in goals.items():
            if self._solvable({tip: goal}, start):
                continue
            said = f'the tip {quote(tip)} cannot be brought to its goal'
            if self._too_far(tip, goal):
                far = float(np.linalg.norm(goal.T_base_tip[:3, 3]))
                return Reason.OUT_OF_REACH, (f'{said}, which is {far:.4g} m from the base link; '
                                             f'it reaches at most {self.tree.reach(tip):.4g} '
                                             'm'), (tip,)
            if not (goal.position_free or goal.orientation_free) and self._solvable(
                    {tip: Goal(goal.T_base_tip, POSITION_ONLY)}, start):
                return (Reason.ORIENTATION_OUT_OF_REACH,
                        f'{said}: it gets to the position, but not in that orientation', (tip,))
            return Reason.NO_SOLUTION, f'{said}, by itself or with the others', (tip,)
        names = ', '.join(map(quote, goals))
        said = f'a posture was found for each of the tips {names}, but none for all of them'
        in_the_way = () if len(goals) < 3 else tuple(tip for tip in goals if self._solvable(
            {other: goals[other] for other in goals if other != tip}, start))
        if in_the_way:
            said += f'; without {", or without ".join(map(quote, in_the_way))}, the others can'
        return Reason.NO_SOLUTION, said, in_the_way or tuple(goals)

    def _too_far(self, tip: str, goal: Goal) -> bool:
        """Return whether a goal is farther from the base than the joints are long."""
        return max(goal.tolerance[:3]) == 0.0 \
            and bool(np.linalg.norm(goal.T_base_tip[:3, 3]) > self.tree.reach(tip))

    def _solvable(self, goals: Mapping[str, Goal], start: np.ndarray) -> bool:
        task = self._task(goals, {}, ())
        self._attempt(task, start, min(REASON_RESTARTS, self.options.max_restarts), perf_counter())
        return task.solved

    # ---- arguments ----------------------------------------------------------

    def _goals(self, goals: Mapping[str, TipGoal]) -> dict[str, Goal]:
        """Return the goals as they are searched for."""
        if not isinstance(goals, Mapping) or not goals:
            raise GoalError('the goals are a mapping of tip link to goal with one goal at least, '
                            f'got {shown(goals, 80)}; the tips are '
                            f'{", ".join(map(quote, self.tree.tip_links))}')
        found = {}
        for tip, goal in goals.items():
            self.tree.tip_index(tip)
            try:
                found[tip] = as_goal(goal)
            except GoalError as error:
                raise GoalError(f'the goal of {quote(tip)}: {error}', error.reason) from None
        return found

    def _task(self, goals: Mapping[str, Goal], weights: Mapping[str, float],
              secondary: Collection[str]) -> _Task:
        tree, tips = self.tree, tuple(goals)
        index = [tree.tip_index(tip) for tip in tips]
        answer = np.zeros(TIP_ERRORS + 2 * len(tips) + tree.n)
        answer[[FIRST_ERROR, SECOND_ERROR]] = inf
        return _Task(tips, TipGoals(
            np.array([np.append(pose_row(goal.T_base_tip), (*goal.tolerance, box_axes(goal)))
                      for goal in goals.values()]),
            tree.tip_rows[index], np.array([weights.get(tip, 1.0) for tip in tips]),
            np.array([int(tip in secondary) for tip in tips]),
            np.ascontiguousarray(tree.moved_by[:, index])),
            np.zeros(len(tips), dtype=bool), answer)

    def _secondary(self, goals: Mapping[str, Goal],
                   secondary: Collection[str]) -> tuple[str, ...]:
        if isinstance(secondary, str):
            raise ParameterError(f'secondary is the string {quote(secondary)}; give a collection '
                                 'of tips')
        for tip in secondary:
            if tip not in goals:
                raise ParameterError(f'the secondary tip {quote(tip)} has no goal'
                                     + did_you_mean(tip, tuple(goals)))
        return tuple(tip for tip in goals if tip in secondary)
