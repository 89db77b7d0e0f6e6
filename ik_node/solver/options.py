# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What may be tuned in a solver, and the arrays that the compiled code reads from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isnan, pi
from numbers import Integral, Real

import numpy as np

from ik_node.errors import ParameterError
from ik_node.kinematics.kernels import tip_poses
from ik_node.model.chain import Chain
from ik_node.model.joint_values import one_per_joint
from ik_node.solver.choices import COMPILED, methods, SELECTIONS
from ik_node.solver.compiled.damped import (
    BIAS_ITERATIONS,
    BOX,
    EXPLORE,
    ITERATIONS,
    LENGTH,
    MANIPULABILITY,
    ORIENTATION,
    POSITION,
    REACH,
)
from ik_node.solver.compiled.residual import BASE, PLAIN, TIP
from ik_node.solver.goal import EXACT, Goal
from ik_node.text import quote, shown

# Options that textbook methods do not know, and their defaults.
DAMPED_ONLY = {'weights': (1.0,), 'posture': (), 'posture_gains': (0.0,),
               'manipulability_gain': 0.0}
KEPT = 64         # settings for goals with boxes
TABLE_SIZE = 250  # postures at least
ITERATIONS_OF_DAMPED = 60
MOST = 10**6      # iterations or restarts; m per rad, or rad per m
FARTHEST_SEED = 1e6  # rad or m: a larger angle has not the digits for a tolerance of 1e-6


@dataclass(frozen=True)
class SolverOptions:
    """
    What may be tuned; each is also an argument of ``Solver`` and of ``solve``.

    Attributes
    ----------
    method : str
        'damped', or one of :data:`ik_node.textbook.TEXTBOOK_METHODS`.
    position_tolerance, orientation_tolerance : float
        m and rad, tested apart.
    metres_per_radian : float
        Weight of orientation against position in the damped step and in "nearest".
    max_iterations : int
        Steps of one attempt; 0 = the method's own limit, 60 for 'damped'.
    max_restarts : int
        Attempts after the given seeds, from a fixed table of postures; if there are
        any, some more follow before a goal is given up.
    deadline : float
        Seconds, on the monotonic clock.
    weights : tuple of float
        Cost of moving each joint, one for all or one per joint: a joint of weight 4
        takes a quarter of the motion of one of weight 1.
    locked : tuple of str
        Joints that stay where the seed has them.
    gains : tuple of float
        Strength of the joint-limit bias: one for all joints or one per joint,
        0 = off; a joint with a higher gain is held nearer to its preferred value.
    preferred : tuple of float
        Preferred joint positions (rad or m); empty = middle of each range.
    posture, posture_gains : tuple of float
        A second posture to stay close to, and how strongly: the secondary aims add up.
    manipulability_gain : float
        Pull away from singularities: the gain of ``-log m``, m = Yoshikawa's measure.
    max_bias_iterations : int
        Null-space steps after the goal is met, from each posture that they begin at.
    explore : bool
        Look along the whole self-motion for the best posture, not only down from the
        first solution.
    select : str or callable
        Which solution: 'first' met going down from the seed, or of all of them the
        'nearest' to the seed, the most 'centred' between the limits, the most
        'manipulable', or the one of which ``select(solution)`` is smallest.
    max_jump : float
        Largest change of a joint from the seed, rad or m; a goal that only a farther
        solution meets is answered OTHER_BRANCH.
    nearest : bool
        Answer a goal out of reach with the nearest pose within reach.

    """

    method: str = 'damped'
    position_tolerance: float = 1e-6
    orientation_tolerance: float = 1e-6
    metres_per_radian: float = 0.3
    max_iterations: int = 0
    max_restarts: int = 100
    deadline: float = 0.1
    weights: tuple[float, ...] = (1.0,)
    locked: tuple[str, ...] = ()
    gains: tuple[float, ...] = (0.0,)
    preferred: tuple[float, ...] = ()
    posture: tuple[float, ...] = ()
    posture_gains: tuple[float, ...] = (0.0,)
    manipulability_gain: float = 0.0
    max_bias_iterations: int = 50
    explore: bool = True
    select: str | Callable[..., float] = 'first'
    max_jump: float = float('inf')
    nearest: bool = False

    def __post_init__(self) -> None:
        for name in ('weights', 'locked', 'gains', 'preferred', 'posture', 'posture_gains'):
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                value = value.tolist()
            object.__setattr__(self, name, (value,) if isinstance(value, (str, float, int))
                               else tuple(value) if isinstance(value, Iterable) else value)
        for name in ('position_tolerance', 'orientation_tolerance', 'metres_per_radian',
                     'deadline'):
            if not self._number(name) > 0.0 or self._number(name) == float('inf'):
                raise ParameterError(f'{name} is {getattr(self, name)}; it must be positive')
        if not 1.0 / MOST <= self.metres_per_radian <= MOST:
            raise ParameterError(f'metres_per_radian is {self.metres_per_radian}; it must be from '
                                 f'{1.0 / MOST:g} to {MOST:g}')
        if not self._number('max_jump') > 0.0:
            raise ParameterError(f'max_jump is {self.max_jump}; it must be positive')
        if not 0.0 <= self._number('manipulability_gain') < float('inf'):
            raise ParameterError(f'manipulability_gain is {self.manipulability_gain}; it must not '
                                 'be negative')
        for name in ('explore', 'nearest'):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise ParameterError(f'{name} is {shown(getattr(self, name))}; it must be true or '
                                     'false')
        if not isinstance(self.method, str) \
                or self.method != COMPILED and self.method not in methods():
            raise ParameterError(f'there is no method {shown(self.method)}; there are {COMPILED}, '
                                 f'{", ".join(methods())}')
        for name in DAMPED_ONLY:
            if self.method != COMPILED and getattr(self, name) != DAMPED_ONLY[name]:
                raise ParameterError(f"{name} works with the method 'damped' only, not with "
                                     f'{shown(self.method)}')
        if not (callable(self.select)
                or isinstance(self.select, str) and self.select in SELECTIONS):
            raise ParameterError(f'select is {shown(self.select)}; it must be one of '
                                 f'{", ".join(SELECTIONS)}, or a function of a solution')
        for name in ('max_iterations', 'max_restarts', 'max_bias_iterations'):
            value = getattr(self, name)
            if not isinstance(value, Integral) or not 0 <= value <= MOST:
                raise ParameterError(f'{name} is {shown(value)}; it must be a whole number '
                                     f'from 0 to {MOST}')
            object.__setattr__(self, name, int(value))

    def _number(self, name: str) -> float:
        value = getattr(self, name)
        try:
            if isinstance(value, Real) and not isnan(value):
                return float(value)
        except OverflowError:
            pass
        raise ParameterError(f'{name} is {shown(value)}; it must be a number')


class Tables:
    """
    The options of a solver for a chain, checked, as the compiled code reads them.

    Attributes
    ----------
    table : (m + 1, 16) array
    joints : (7, n) array
    settings : (16,) array
        For a goal without a box.
    locked : tuple of int
        Joints that stay where the seed has them.
    postures : (n + 12, K) array
        See :mod:`ik_node.solver.compiled.damped`.
    preferred : (n,) array
        Posture that the bias pulls to.

    Raises
    ------
    ParameterError
        If an option does not suit the chain.

    """

    def __init__(self, chain: Chain, options: SolverOptions) -> None:
        self._chain, self._options = chain, options
        self.table = chain.table
        lower, upper = window(chain)
        width = np.where(upper > lower, upper - lower, 1.0)
        self.preferred = self._posture('preferred') if options.preferred else chain.middle
        if not ((self.preferred >= chain.lower) & (self.preferred <= chain.upper)).all():
            raise ParameterError(f'the preferred positions {list(self.preferred)} are not inside '
                                 f'the joint limits {list(chain.lower)} .. {list(chain.upper)}')
        posture = self._posture('posture') if options.posture else self.preferred
        gains, posture_gains = self._positive('gains', 0.0), self._positive('posture_gains', 0.0)
        both = gains + posture_gains
        # Two quadratic pulls are one, to the weighted mean of their targets.
        share = np.divide(posture_gains, both, out=np.zeros(chain.n), where=both > 0.0)
        target = self.preferred + share * chain.difference(posture, self.preferred)
        wraps = chain.turning & np.isfinite(chain.lower) & np.isfinite(chain.upper) \
            & (chain.upper - chain.lower >= 2.0 * pi - 1e-9)
        self.joints = np.array([chain.lower, chain.upper, wraps, chain.turning,
                                1.0 / np.sqrt(self._positive('weights', 1e-6)), target,
                                both / width**2])
        if options.manipulability_gain > 0.0 and chain.n < 6:
            raise ParameterError('manipulability_gain needs six joints at least, '
                                 f'the chain has {chain.n}')
        self.locked = self._locked()
        self.biased = bool((both > 0.0).any()) or options.manipulability_gain > 0.0
        self.settings = self._settings(EXACT, PLAIN)
        self._boxes: dict[tuple, np.ndarray] = {}
        self.postures = posture_table(chain, max(TABLE_SIZE, options.max_restarts + 2))

    def nearest_postures(self, T: np.ndarray) -> np.ndarray:
        """Return the postures of the table (K, n), that with the tip nearest to T (4, 4) first."""
        n = self._chain.n
        apart = self.postures[n:] - np.concatenate([T[:3, :3].ravel(), T[:3, 3]])[:, None]
        square = 0.5 * self._options.metres_per_radian**2 * (apart[:9]**2).sum(axis=0) \
            + (apart[9:]**2).sum(axis=0)
        return self.postures[:n, np.argsort(square, kind='stable')].T

    def of(self, goal: Goal) -> np.ndarray:
        """Return the settings (16,) for a goal."""
        if goal.tolerance is EXACT:
            return self.settings
        key = goal.tolerance, goal.frame
        settings = self._boxes.get(key)
        if settings is None:
            settings = self._settings(goal.tolerance, TIP if goal.frame == 'tip' else BASE)
            if len(self._boxes) >= KEPT:
                self._boxes.clear()
            self._boxes[key] = settings
        return settings

    def _settings(self, tolerance: tuple[float, ...], axes: int) -> np.ndarray:
        options = self._options
        exact = sum(t == 0.0 for t in tolerance)
        free = self._chain.n - len(self.locked) > exact
        settings = np.zeros(BOX + 7)
        settings[LENGTH] = options.metres_per_radian
        settings[POSITION] = options.position_tolerance
        settings[ORIENTATION] = options.orientation_tolerance
        settings[ITERATIONS] = options.max_iterations or ITERATIONS_OF_DAMPED
        settings[BIAS_ITERATIONS] = options.max_bias_iterations if free and self.biased else 0
        settings[MANIPULABILITY] = options.manipulability_gain
        settings[EXPLORE] = options.explore
        settings[REACH] = self._chain.reach + options.position_tolerance
        # Aim inside the box by the tolerance, so that the answer is inside.
        own = 3 * (options.position_tolerance,) + 3 * (options.orientation_tolerance,)
        settings[BOX:BOX + 6] = [max(t - o, 0.0) for t, o in zip(tolerance, own)]
        settings[BOX + 6] = axes
        return settings

    def _positive(self, name: str, least: float) -> np.ndarray:
        values = one_per_joint(self._chain, getattr(self._options, name), name)
        if (values < least).any():
            raise ParameterError(f'the {name.replace("_", " ")} {list(values)} must not be '
                                 f'{"negative" if least == 0.0 else f"below {least:g}"}')
        return values

    def _posture(self, name: str) -> np.ndarray:
        return one_per_joint(self._chain, getattr(self._options, name), f'{name} positions')

    def _locked(self) -> tuple[int, ...]:
        names = self._chain.joint_names
        if not isinstance(self._options.locked, tuple):
            raise ParameterError(f'locked is {shown(self._options.locked)}; it must be names of '
                                 'joints')
        for name in self._options.locked:
            if name not in names:
                raise ParameterError(f'the locked joint {quote(name)} is not in the chain, whose '
                                     f'joints are {", ".join(map(quote, names))}')
        if len(set(self._options.locked)) == self._chain.n:
            raise ParameterError('all joints are locked; nothing could move')
        return tuple(k for k, name in enumerate(names) if name in self._options.locked)


def window(chain: Chain) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits, with one turn about 0 for joints that have none."""
    lower = np.where(np.isfinite(chain.lower), chain.lower, -pi)
    upper = np.where(np.isfinite(chain.upper), chain.upper, pi)
    return np.minimum(lower, upper), np.maximum(lower, upper)


def posture_table(chain: Chain, count: int) -> np.ndarray:
    """Return postures that fill the limits evenly, (n + 12, count): q and the pose of the tip."""
    lower, upper = window(chain)
    Q = lower + (upper - lower) * low_discrepancy(count, chain.n)
    poses = np.empty((count, 12))
    tip_poses(chain.table, Q, poses)
    return np.ascontiguousarray(np.hstack([Q, poses]).T)


def low_discrepancy(count: int, n: int) -> np.ndarray:
    """
    Return `count` points that fill the unit cube evenly, (count, n), always the same.

    The additive recurrence of Roberts (2018), "The unreasonable effectiveness of
    quasirandom sequences": steps by powers of the inverse of the root of
    ``x^(n+1) = x + 1``.
    """
    root = 1.5
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (n + 1))
    steps = root ** -np.arange(1.0, n + 1.0)
    return (0.5 + np.arange(1, count + 1)[:, None] * steps) % 1.0
