# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arrays that the compiled code reads: of a solver, and of one goal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import pi
from typing import Any

import numpy as np

from ik_node.base.checks import numbers, real_array
from ik_node.base.errors import ParameterError
from ik_node.base.text import quote, shown
from ik_node.kinematics.arguments import did_you_mean
from ik_node.kinematics.kernels import pose_row, tip_poses
from ik_node.model.chain import Chain
from ik_node.model.joint_space import JointSpace
from ik_node.model.joints import one_per_joint
from ik_node.solver.arm_geometry import closed_form_of, seven_axes_form
from ik_node.solver.closed_form.closed_form import ANSWER_SIZE, MAX_BRANCHES
from ik_node.solver.closed_form.self_motions import nearest_row
from ik_node.solver.descent.entry import bias_rows, NO_POSE, NO_SEED, solve_rows
from ik_node.solver.descent.layout import (
    ARM_REACH,
    BASE_AXES,
    BOX_AXES,
    BOX_WIDTHS,
    EXACT_POSE,
    EXPLORE_SELF_MOTION,
    FARTHEST_SEED,
    HALF_WIDTHS,
    JOINT_VALUES,
    JointRows,
    MANIPULABILITY_GAIN,
    MAX_BIAS_STEPS,
    MAX_STEPS,
    METRES_PER_RADIAN,
    ORIENTATION_TOLERANCE,
    POSE_SIZE,
    POSITION_TOLERANCE,
    SETTINGS_SIZE,
    SOLVED_FLAG,
    SQUARED_ERROR,
    TIP_AXES,
    TOLERANCE_AXES,
)
from ik_node.solver.goal import EXACT_TOLERANCE, Goal, TIP_FRAME
from ik_node.solver.options import SolverOptions
from ik_node.solver.warm_up import (
    warm_up,
    warm_up_bias,
    warm_up_closed_form,
    warm_up_nearest,
    warm_up_search,
)

BRANCH_ROW_SIZE = POSE_SIZE + 6 + MAX_BRANCHES * ANSWER_SIZE
KEPT_SETTINGS = 64  # of goals with boxes
MIN_TABLE_POSTURES = 250
BIAS_POSTURES = 2000  # of which the bias starts from a few
BIAS_START_WEIGHT = 5.0  # of the bias at a posture against the distance of its tip from the goal
DEFAULT_MAX_STEPS = 60


class Tables:
    """The options of a solver for a chain, checked, as the compiled code reads them."""

    def __init__(self, chain: Chain, options: SolverOptions) -> None:
        self.chain, self.options = chain, options
        # (m + 1, 16), :attr:`Chain.table`, in an array like those of closed forms: what takes
        # one that can be written is compiled once for both.
        self.table = chain.table.copy()
        # None if the arm has none, or if it is not wanted.
        self.closed_form = closed_form_of(chain) if options.closed_form else None
        lower, upper = window(chain)
        width = np.where(upper > lower, upper - lower, 1.0)
        self.preferred = self._posture('preferred') if options.preferred else chain.middle
        if not ((self.preferred >= chain.lower) & (self.preferred <= chain.upper)).all():
            raise ParameterError(
                f'the preferred positions {shown(list(self.preferred))} are not inside the joint '
                f'limits {shown(list(chain.lower))} .. {shown(list(chain.upper))}')
        posture = self._posture('posture') if options.posture else self.preferred
        gains, posture_gains = (_at_least(0.0, chain, getattr(options, name), name)
                                for name in ('gains', 'posture_gains'))
        both = gains + posture_gains
        # Two quadratic pulls equal one pull to the weighted mean of their targets.
        share = np.divide(posture_gains, both, out=np.zeros(chain.n), where=both > 0.0)
        target = self.preferred + share * chain.difference(posture, self.preferred)
        self.joints = joint_table(chain, joint_weights(chain, options.weights), target,
                                  both / width**2)
        if options.manipulability_gain > 0.0 and chain.n < 6:
            raise ParameterError('manipulability_gain needs six joints at least, '
                                 f'the chain has {chain.n}')
        self.locked = self._locked()  # joints that keep their positions of the seed
        self.biased = bool((both > 0.0).any()) or options.manipulability_gain > 0.0
        self.redundant = chain.n - len(self.locked) > 6  # whether a pose leaves the arm free
        # (16,), for a goal without a box
        self.settings = self._settings(EXACT_TOLERANCE, EXACT_POSE)
        self.setup = self._setup(self.joints)  # (SETUP_SIZE,), or None, what `branch_rows` takes
        # (FORM_SIZE,), of seven axes whose self-motions have a closed form; else without entries.
        self.seven_axes = seven_axes_form(chain) \
            if options.closed_form and self.slides and not self.locked else np.zeros(0)
        self._load_kernels()
        self._boxes: dict[tuple, np.ndarray] = {}
        # (n + 12, K), see :class:`ik_node.solver.descent.layout.Problem`
        self.postures = posture_table(chain, max(MIN_TABLE_POSTURES, options.max_restarts + 2),
                                      options.random_seed)

    def _load_kernels(self) -> None:
        # None of them looks at the types of its arguments.  `branch_rows` is None without a
        # closed form, `nearest_row` unless nearest postures are sought along self-motions.
        self.fill_row, self.solve_row = warm_up()
        self.branch_rows = None if self.closed_form is None \
            else warm_up_closed_form(self.closed_form.searched)
        if self.locked or self.closed_form is None or not self.closed_form.exact:
            warm_up_search()
        self.nearest_row = warm_up_nearest() \
            if self.slides and self.options.select == 'nearest' else None

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: all but the machine code."""
        return {**vars(self), **dict.fromkeys(('fill_row', 'solve_row', 'branch_rows',
                                               'nearest_row'))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled object."""
        vars(self).update(state)
        self._load_kernels()

    @property
    def slides(self) -> bool:
        """Return whether the nearest posture is sought along self-motions; a bias moves it on."""
        return self.redundant and not self.biased

    def nearest_postures(self, T: np.ndarray,
                         metres_per_radian: float | None = None) -> np.ndarray:
        """
        Return the postures of the table (K, n), that with the tip nearest to T (4, 4) first.

        The weight of the orientation is that of the options by default.
        """
        n, weight = self.chain.n, metres_per_radian or self.options.metres_per_radian
        square = squared_distances(self.postures[n:], pose_row(T), weight)
        return self.postures[:n, np.argsort(square, kind='stable')].T

    def of(self, goal: Goal) -> np.ndarray:
        """Return the settings (16,) for a goal."""
        if goal.tolerance is EXACT_TOLERANCE:
            return self.settings
        key = goal.tolerance, goal.frame
        settings = self._boxes.get(key)
        if settings is None:
            settings = self._settings(goal.tolerance, box_axes(goal))
            if len(self._boxes) >= KEPT_SETTINGS:
                self._boxes.clear()
            self._boxes[key] = settings
        return settings

    def solve(self, T: np.ndarray, seeds: np.ndarray, first: int, restarts: int, *,
              settings: np.ndarray | None = None, joints: np.ndarray | None = None) -> np.ndarray:
        """
        Solve goals by the compiled method; return the answers (N, 7 + n).

        Parameters
        ----------
        T : (N, 4, 4) array
        seeds : (N, s, n) array
        first, restarts : int
            Attempts start from the seeds from `first` on, then follow the restarts.
        settings, joints : arrays, optional
            Default: the settings and joints of the tables.

        """
        settings = self.settings if settings is None else settings
        joints = self.joints if joints is None else joints
        count, size = len(T), JOINT_VALUES + self.chain.n
        if count == 0:
            return np.empty((0, size))
        packed = np.concatenate([T.reshape(count, 16), seeds.reshape(count, -1),
                                 np.zeros((count, size))], axis=1)
        solve_rows(self.table, joints, settings, self.postures, NO_POSE, NO_SEED,
                   packed.ravel(), np.array([count, first, restarts]))
        if settings[MAX_BIAS_STEPS] > 0.0:
            bias_rows(self.table, joints, settings, self.bias_postures, packed.ravel(), count)
        return packed[:, -size:]

    def nearest_branches(self, T: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """
        Return the solutions of exact poses in closed form that are nearest to the seeds, (N, 13).

        One with ``SOLVED_FLAG`` 0 was not found.

        Parameters
        ----------
        T : (N, 4, 4) array
        seeds : (N, 6) array

        """
        count = len(T)
        rows = np.concatenate([T.reshape(count, POSE_SIZE), seeds,
                               np.zeros((count, ANSWER_SIZE))], axis=1)
        self.branch_rows(self.setup, NO_POSE, NO_SEED, rows.ravel(), 1)
        return rows[:, -ANSWER_SIZE:]

    @cached_property
    def bias_postures(self) -> np.ndarray:
        """
        Return the postures that the bias starts from, their bias in the last row, (n + 13, K).

        They are made at the first use: of the solvers that remedies try most need none.
        """
        postures, rows = posture_table(self.chain, BIAS_POSTURES), JointRows(*self.joints)
        apart = self.chain.difference(postures[:self.chain.n].T, rows.preferred) / (2.0 * pi)
        share = rows.pull / (rows.pull.max() or 1.0)
        return np.vstack([postures, BIAS_START_WEIGHT * apart**2 @ share])

    def _setup(self, joints: np.ndarray) -> np.ndarray | None:
        if self.closed_form is None:
            return None
        return np.concatenate([self.table.ravel(), joints.ravel(), self.settings,
                               self.closed_form.geometry])

    def branches(self, T: np.ndarray, seed: np.ndarray,
                 joints: np.ndarray | None = None) -> np.ndarray:
        """
        Return every solution of an exact pose in closed form, (k, 13), the nearest first.

        Parameters
        ----------
        T : (4, 4) array
        seed : (6,) array
            Both of floats, in the order of C: nothing looks at it.
        joints : (7, 6) array, optional
            Default: the joints of the tables.

        """
        row = np.empty(BRANCH_ROW_SIZE)
        setup = self.setup if joints is None else self._setup(joints)
        count = self.branch_rows(setup, T, seed, row, MAX_BRANCHES)
        return row[POSE_SIZE + 6:POSE_SIZE + 6 + count * ANSWER_SIZE].reshape(count, ANSWER_SIZE)

    def _settings(self, tolerance: tuple[float, ...], axes: int) -> np.ndarray:
        options = self.options
        exact = sum(t == 0.0 for t in tolerance)
        free = self.chain.n - len(self.locked) > exact
        settings = np.zeros(SETTINGS_SIZE)
        settings[METRES_PER_RADIAN] = options.metres_per_radian
        settings[POSITION_TOLERANCE] = options.position_tolerance
        settings[ORIENTATION_TOLERANCE] = options.orientation_tolerance
        settings[MAX_STEPS] = options.max_iterations or DEFAULT_MAX_STEPS
        if free and self.biased:
            warm_up_bias()
            settings[MAX_BIAS_STEPS] = options.max_bias_iterations
        settings[MANIPULABILITY_GAIN] = options.manipulability_gain
        settings[EXPLORE_SELF_MOTION] = options.explore
        settings[ARM_REACH] = self.chain.reach + options.position_tolerance
        # The box is smaller by the solver's tolerance, so that the answer is inside the goal's.
        margins = 3 * (options.position_tolerance,) + 3 * (options.orientation_tolerance,)
        settings[BOX_WIDTHS:BOX_AXES] = [max(t - m, 0.0) for t, m in zip(tolerance, margins)]
        settings[BOX_AXES] = axes
        return settings

    def _posture(self, name: str) -> np.ndarray:
        return one_per_joint(self.chain, getattr(self.options, name), f'{name} positions')

    def _locked(self) -> tuple[int, ...]:
        names = self.chain.joint_names
        if not isinstance(self.options.locked, tuple):
            raise ParameterError(f'locked is {shown(self.options.locked)}; it must be names of '
                                 'joints')
        for name in self.options.locked:
            if name not in names:
                raise ParameterError(f'the locked joint {quote(name)} is not in the chain, whose '
                                     f'joints are {", ".join(map(quote, names))}')
        if len(set(self.options.locked)) == self.chain.n:
            raise ParameterError('all joints are locked; nothing could move')
        return tuple(k for k, name in enumerate(names) if name in self.options.locked)


@dataclass(frozen=True, eq=False)
class Query:
    """One goal as the compiled code reads it."""

    tables: Tables
    T: np.ndarray  # (1, 4, 4), the pose of the goal
    settings: np.ndarray  # (16,), with the box of the goal
    joints: np.ndarray  # (7, n), with the limits of this call; a joint with equal limits is locked
    seeds: np.ndarray  # (1, s, n)
    answers: np.ndarray  # (1, 7 + n), the best answer found; written in place

    @property
    def chain(self) -> Chain:
        """Return the chain."""
        return self.tables.chain

    @property
    def seed(self) -> np.ndarray:
        """Return the first seed, (n,)."""
        return self.seeds[0, 0]

    @property
    def answer(self) -> np.ndarray:
        """Return the best answer found, (7 + n,)."""
        return self.answers[0]

    @property
    def q(self) -> np.ndarray:
        """Return the joint positions of the best answer found, (n,)."""
        return self.answers[0, JOINT_VALUES:]

    @property
    def solved(self) -> bool:
        """Return whether the best answer found is a solution."""
        return bool(self.answers[0, SOLVED_FLAG] == 1.0)

    def solve(self, seeds: np.ndarray, first: int, restarts: int) -> np.ndarray:
        """Solve from other seeds (s, n); return the answer (7 + n,)."""
        return self.tables.solve(self.T, seeds[None], first, restarts, settings=self.settings,
                                 joints=self.joints)[0]

    def branches(self, reference: np.ndarray) -> np.ndarray:
        """
        Return every solution in closed form, (k, 13), the nearest to `reference` (6,) first.

        There is none if the arm or the goal has no closed form.
        """
        if self.tables.closed_form is None or not self.exact:
            return np.empty((0, ANSWER_SIZE))
        return self.tables.branches(*(np.ascontiguousarray(array, dtype=float)
                                      for array in (self.T[0], reference)), self.joints)

    @property
    def closed(self) -> bool:
        """Return whether :meth:`branches` are all solutions, but for others of a continuum."""
        form, rows = self.tables.closed_form, JointRows(*self.joints)
        return (form is not None and form.exact and not form.searched and self.exact
                and bool((rows.lower < rows.upper).all()))

    @property
    def exact(self) -> bool:
        """Return whether the goal is a pose without a box."""
        return bool(self.settings[BOX_AXES] == EXACT_POSE)

    def slide(self) -> None:
        """Move the answer, a solution of an exact pose, as near to the seed as it can slide."""
        row = np.concatenate([self.T.ravel(), self.seed, self.answer])
        if nearest_row(self.tables.table, self.joints, self.settings, self.tables.seven_axes,
                       row):
            self.answer[:] = row[-len(self.answer):]

    def improves(self, answer: np.ndarray) -> bool:
        """Return whether an answer is a solution, or nearer to the goal than the best found."""
        return bool(answer[SOLVED_FLAG] == 1.0
                    or answer[SQUARED_ERROR] < self.answer[SQUARED_ERROR])

    def check(self, q: np.ndarray) -> np.ndarray:
        """Return the answer (7 + n,) that a posture (n,) is, without moving it."""
        still = self.with_settings({MAX_STEPS: 0.0, MAX_BIAS_STEPS: 0.0})
        return still.solve(q[None], 0, 0)

    def with_joints(self, joints: np.ndarray) -> Query:
        """Return this query with another joint table (7, n)."""
        return replace(self, joints=joints)

    def with_settings(self, changes: dict[int, float]) -> Query:
        """Return this query with other settings, by their entries."""
        settings = self.settings.copy()
        for index, value in changes.items():
            settings[index] = value
        return replace(self, settings=settings)


def checked_seeds(space: JointSpace, seeds: np.ndarray | None,
                  dimensions: tuple[int, ...] = (1,)) -> np.ndarray:
    """Return a seed (n,), or seeds (s, n) if 2 `dimensions` may be; by default the middle."""
    array = space.middle if seeds is None else real_array(seeds)
    if (array is None or array.ndim not in dimensions or array.shape[-1] != space.n
            or array.size == 0 or not (np.abs(array) <= FARTHEST_SEED).all()):
        raise ParameterError(f'a seed must be {space.n} finite numbers, one for each joint, none '
                             f'beyond {FARTHEST_SEED:g}')
    return np.ascontiguousarray(array)


def box_axes(goal: Goal) -> int:
    """Return along which axes the box of a goal is, as compiled code reads it."""
    return EXACT_POSE if goal.is_exact else TIP_AXES if goal.frame == TIP_FRAME else BASE_AXES


def joint_weights(space: JointSpace, given: tuple[float, ...] | dict[str, float]) -> np.ndarray:
    """Return the cost of moving each joint, (n,), from numbers or by the names of some."""
    if isinstance(given, dict):
        for name, value in given.items():
            if name not in space.joint_names:
                raise ParameterError(f'weights names {quote(name)}, which is not a joint'
                                     + did_you_mean(name, space.joint_names))
            require_positive(value, f'joint {quote(name)}')
        given = tuple(given.get(name, 1.0) for name in space.joint_names)
    return _at_least(1e-6, space, given, 'weights')


def require_positive(weight: float, whose: str, advice: str = '') -> None:
    """Raise ParameterError, with `advice`, if a weight is not positive."""
    if not numbers(weight, (), f'the weight of {whose}') > 0.0:
        raise ParameterError(f'the weight of {whose} is {weight}; it must be positive{advice}')


def _at_least(least: float, space: JointSpace, given: tuple[float, ...], name: str) -> np.ndarray:
    values = one_per_joint(space, given, name)
    if (values < least).any():
        raise ParameterError(f'the {name.replace("_", " ")} {shown(list(values))} must not be '
                             f'{"negative" if least == 0.0 else f"below {least:g}"}')
    return values


def joint_table(space: JointSpace, weights: np.ndarray, preferred: np.ndarray | float = 0.0,
                pull: np.ndarray | float = 0.0) -> np.ndarray:
    """Return what :class:`ik_node.solver.descent.layout.JointRows` are rows of, (7, n)."""
    width = space.upper - space.lower
    wraps = space.revolute & np.isfinite(width) & (width >= 2.0 * pi - 1e-9)
    return np.array(np.broadcast_arrays(space.lower, space.upper, wraps, space.revolute,
                                        1.0 / np.sqrt(weights), preferred, pull), dtype=float)


def window(space: JointSpace) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits; for joints without limits, one turn about 0."""
    lower = np.where(np.isfinite(space.lower), space.lower, -pi)
    upper = np.where(np.isfinite(space.upper), space.upper, pi)
    return np.minimum(lower, upper), np.maximum(lower, upper)


def spread_postures(space: JointSpace, count: int, random_seed: int = 0) -> np.ndarray:
    """Return postures spread evenly over the limits, (count, n); a random seed shifts them all."""
    (lower, upper), shares = window(space), low_discrepancy(count, space.n)
    if random_seed:
        shares = (shares + np.random.default_rng(random_seed).uniform(size=space.n)) % 1.0
    return lower + (upper - lower) * shares


def squared_distances(poses: np.ndarray, goal: np.ndarray, length: float) -> np.ndarray:
    """
    Return how far poses (12, K) are from a goal (12,) or (19,), (K,), m^2.

    `length` (m per rad) weighs the rotation; a part of a goal that has a free axis is left out.
    """
    exact = (goal[HALF_WIDTHS:TOLERANCE_AXES].reshape(2, -1) != np.inf).all(axis=1)
    square = (poses - goal[:12, None])**2
    return 0.5 * length**2 * exact[1] * square[:9].sum(axis=0) + exact[0] * square[9:].sum(axis=0)


def posture_table(chain: Chain, count: int, random_seed: int = 0) -> np.ndarray:
    """Return postures spread evenly over the limits, (n + 12, count): q and pose of the tip."""
    Q, poses = spread_postures(chain, count, random_seed), np.empty((count, 12))
    tip_poses(chain.table, Q, poses)
    return np.ascontiguousarray(np.hstack([Q, poses]).T)


def low_discrepancy(count: int, n: int) -> np.ndarray:
    """
    Return `count` points spread evenly over the unit cube, (count, n), always the same.

    The additive recurrence of Roberts (2018), "The unreasonable effectiveness of
    quasirandom sequences": the steps are powers of the inverse of the root of
    ``x^(n+1) = x + 1``.
    """
    root = 1.5
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (n + 1))
    steps = root ** -np.arange(1.0, n + 1.0)
    return (0.5 + np.arange(1, count + 1)[:, None] * steps) % 1.0
