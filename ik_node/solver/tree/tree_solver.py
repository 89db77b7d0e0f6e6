# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of several tips of one robot at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from math import inf
from time import perf_counter
from typing import NamedTuple

import numpy as np

from ik_node.base.checks import numbers
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
from ik_node.solver.options import make_options, other_options
from ik_node.solver.tables import (
    box_axes,
    checked_seeds,
    joint_table,
    spread_postures,
    squared_distances,
)
from ik_node.solver.tree.tree_result import TipError, TipGoal, TreeResult, TreeSolverOptions
from ik_node.solver.warm_up import warm_up_tree

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


class _Ended(NamedTuple):
    """How attempts ended: whether time ran out, and whether all solutions collide."""

    late: bool
    collide: bool


class TreeSolver:
    """
    Inverse kinematics of several tips at once, by damped least squares on the stacked Jacobian.

    The same tree, goals, seed and options give the same answer, bit for bit, unless a deadline
    is set and reached.  Safe to share between threads.

    Parameters
    ----------
    tree : KinematicTree
    collisions : PostureCheck, optional
        Answers are postures that it finds free; a :class:`~ik_node.collision.CollisionModel` of
        the tree and its surroundings.
    **options
        The fields of :class:`TreeSolverOptions`.

    Raises
    ------
    ParameterError
        If an option is unknown or out of range.

    """

    def __init__(self, tree: KinematicTree, collisions: PostureCheck | None = None,
                 **options: object) -> None:
        self.tree, self.collisions = tree, collisions
        self.options = make_options(TreeSolverOptions, options, 'the tree solver')
        warm_up_tree()
        self._problem = TreeProblem(
            tree.table, tree.parents, JointRows(*joint_table(tree, self._joint_weights())),
            np.array([self.options.position_tolerance, self.options.orientation_tolerance]),
            float(self.options.metres_per_radian))
        self._postures = spread_postures(tree, STORED_POSTURES, self.options.random_seed)
        poses = np.empty((STORED_POSTURES, len(tree.tip_links), 12))
        tree_poses(tree.table, tree.parents, self._postures, tree.tip_rows,
                   np.empty((len(tree.table), 12)), poses)
        self._poses = np.ascontiguousarray(poses.transpose(1, 2, 0))  # (T, 12, K)

    def with_collisions(self, collisions: PostureCheck | None) -> TreeSolver:
        """Return the solver with another collision model."""
        other = object.__new__(TreeSolver)
        other.__dict__.update(self.__dict__)
        other.collisions = collisions
        return other

    def __repr__(self) -> str:
        """Return the tree and the options that are not the defaults."""
        return f'TreeSolver({self.tree!r}{other_options(self.options)})'

    def solve(self, goals: Mapping[str, TipGoal], seed: np.ndarray | None = None, *,
              weights: Mapping[str, float] | None = None,
              secondary: Collection[str] = ()) -> TreeResult:
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
        weights : mapping of tip link to float, optional
            Factor of a tip's errors, default 1.  It tells which tip gives way where not all can
            be brought to their goals, and changes no solution's accuracy.
        secondary : collection of str
            Tips that come as near to their goals as they can, once all others are met.  Their
            distance is a local minimum, the best of a few starts.

        Returns
        -------
        TreeResult
            Inside the limits; `success` if all tips but the secondary ones are within tolerance.

        Raises
        ------
        GoalError
            If there is no goal, or one is not a finite rigid pose.
        ParameterError
            If a name is not that of a tip, a weight is not positive, or the seed is not n finite
            numbers.

        """
        began = perf_counter()
        seed = checked_seeds(self.tree, seed)
        weights = self._weights(weights or {})
        secondary = self._secondary(goals, secondary)
        asked = {tip: self._goal(tip, goal) for tip, goal in goals.items()}
        task = self._task(asked, weights, secondary)
        required = {tip: goal for tip, goal in asked.items() if tip not in secondary}
        distant = any(self._too_far(tip, goal) for tip, goal in required.items())
        late, collide = self._attempt(
            task, seed, min(DISTANT_RESTARTS, self.options.max_restarts) if distant
            else self.options.max_restarts, began, self.collisions)
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
        return TreeResult(self.tree, status, task.q.copy(), task.errors(),
                          perf_counter() - began, secondary, unreachable, cause, attempts, steps)

    def free_postures(self, goals: Mapping[str, TipGoal], seed: np.ndarray | None = None, *,
                      count: int = FREE_POSTURES) -> list[np.ndarray]:
        """
        Return postures (n,) that put all tips at their goals, such as a way may lead to.

        Collisions are checked, if the solver has a model.  They are those that attempts from the
        seed and the stored postures find first, as :meth:`solve` does, until there are `count`;
        two of them differ by more than DISTINCT_RAD, rad or m, in a joint.

        Raises
        ------
        GoalError, ParameterError
            As :meth:`solve`.

        """
        began, check, found = perf_counter(), self.collisions, list[np.ndarray]()
        self._secondary(goals, ())
        task = self._task({tip: self._goal(tip, goal) for tip, goal in goals.items()}, {}, ())
        for _ in self._solutions(task, checked_seeds(self.tree, seed), self.options.max_restarts,
                                 began):
            if (check is None or check.check_many(task.q[None])[0]) and all(
                    np.abs(self.tree.difference(task.q, other)).max() > DISTINCT_RAD
                    for other in found):
                found.append(task.q.copy())
            if len(found) == count:
                break
        return found

    # ---- the search ---------------------------------------------------------

    def _attempt(self, task: _Task, seed: np.ndarray, restarts: int, began: float,
                 check: PostureCheck | None = None) -> _Ended:
        """
        Attempt from the seed and then from stored postures, until a solution is free by `check`.

        If all collide, the task is left with the first.
        """
        first: tuple[np.ndarray, np.ndarray] | None = None
        for _ in self._solutions(task, seed, restarts, began):
            if check is None or check.check_many(task.q[None])[0]:
                return _Ended(False, False)
            first = first or (task.answer.copy(), task.met.copy())
        if first is not None:
            first[0][[ANSWER_STEPS, ANSWER_ATTEMPTS]] = task.answer[
                [ANSWER_STEPS, ANSWER_ATTEMPTS]]
            task.answer[:], task.met[:] = first
        return _Ended(perf_counter() - began > self.options.deadline, first is not None)

    def _solutions(self, task: _Task, seed: np.ndarray, restarts: int,
                   began: float) -> Iterator[None]:
        """Attempt from the seed and then from stored postures; yield when the task is solved."""
        starts, order = seed[None], None
        rule = WalkRule(int(self.options.max_iterations), False)
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

    def _goal(self, tip: str, goal: TipGoal) -> Goal:
        """Return a goal as it is searched for."""
        self.tree.tip_index(tip)
        try:
            return as_goal(goal)
        except GoalError as error:
            raise GoalError(f'the goal of {quote(tip)}: {error}', error.reason) from None

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

    def _weights(self, weights: Mapping[str, float]) -> dict[str, float]:
        for tip in weights:
            self.tree.tip_index(tip)
        return {tip: _positive(weight, quote(tip), ' (leave the tip out of the goals, or make it '
                               'secondary)') for tip, weight in weights.items()}

    def _secondary(self, goals: Mapping[str, TipGoal],
                   secondary: Collection[str]) -> tuple[str, ...]:
        if not isinstance(goals, Mapping) or not goals:
            raise GoalError('the goals are a mapping of tip link to goal with one goal at least, '
                            f'got {shown(goals, 80)}; the tips are '
                            f'{", ".join(map(quote, self.tree.tip_links))}')
        if isinstance(secondary, str):
            raise ParameterError(f'secondary is the string {quote(secondary)}; give a collection '
                                 'of tips')
        for tip in secondary:
            if tip not in goals:
                raise ParameterError(f'the secondary tip {quote(tip)} has no goal'
                                     + did_you_mean(tip, tuple(goals)))
        return tuple(tip for tip in goals if tip in secondary)

    def _joint_weights(self) -> np.ndarray:
        weights = np.ones(self.tree.n)
        for name, value in (self.options.joint_weights or {}).items():
            if name not in self.tree.joint_names:
                raise ParameterError(f'joint_weights names {quote(name)}, which is not a joint of '
                                     'the tree' + did_you_mean(name, self.tree.joint_names))
            weights[self.tree.joint_names.index(name)] = _positive(value, f'joint {quote(name)}')
        return weights


def _positive(weight: float, whose: str, advice: str = '') -> float:
    if not numbers(weight, (), f'the weight of {whose}') > 0.0:
        raise ParameterError(f'the weight of {whose} is {weight}; it must be positive{advice}')
    return float(weight)
