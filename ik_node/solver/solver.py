# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The solver that the node uses: a pure function of chain, goal, seed and options."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from time import monotonic, perf_counter

import numpy as np

from ik_node.errors import ParameterError, Reason
from ik_node.kinematics.kernels import pose_row
from ik_node.model.chain import Chain
from ik_node.solver.damped import solve_kernel
from ik_node.solver.goal import Goal
from ik_node.solver.result import Result

ATTEMPTS_BETWEEN_CLOCK_READS = 8


@dataclass(frozen=True)
class SolverOptions:
    """
    What may be tuned.

    Attributes
    ----------
    position_tolerance, orientation_tolerance : float
        m and rad, tested apart.
    metres_per_radian : float
        Weight of orientation against position in the damped step and in "nearest".
    max_iterations : int
        Steps of one attempt.
    max_restarts : int
        Attempts after the given seeds, from a fixed sequence over the limits.
    deadline : float
        Seconds, on the monotonic clock.
    gains : tuple of float
        Strength of the joint-limit bias: one for all joints or one per joint,
        0 = off; a joint with a higher gain is held nearer to its preferred value.
    preferred : tuple of float
        Preferred joint positions (rad or m); empty = middle of each range.
    max_bias_iterations : int
        Null-space steps after the goal is met.

    """

    position_tolerance: float = 1e-6
    orientation_tolerance: float = 1e-6
    metres_per_radian: float = 0.3
    max_iterations: int = 60
    max_restarts: int = 100
    deadline: float = 0.1
    gains: tuple[float, ...] = (1.0,)
    preferred: tuple[float, ...] = ()
    max_bias_iterations: int = 100


class Solver:
    """
    Damped-least-squares inverse kinematics of one chain.

    The same chain, goal, seeds and options give the same answer, bit for bit,
    as long as the deadline is not met.

    Parameters
    ----------
    chain : Chain
    options : SolverOptions

    Raises
    ------
    ParameterError
        If an option is out of range or of the wrong length.

    """

    def __init__(self, chain: Chain, options: SolverOptions = SolverOptions()) -> None:
        self.chain = chain
        self.options = options
        for name in ('position_tolerance', 'orientation_tolerance', 'metres_per_radian',
                     'deadline'):
            value = getattr(options, name)
            if not (np.isfinite(value) and value > 0.0):
                raise ParameterError(f'{name} is {value}; it must be positive')
        self._tolerance = np.array([options.position_tolerance, options.orientation_tolerance])
        self._preferred = chain.middle if not options.preferred \
            else one_per_joint(chain, options.preferred, 'preferred positions')
        if not ((self._preferred >= chain.lower) & (self._preferred <= chain.upper)).all():
            raise ParameterError(f'the preferred positions {list(self._preferred)} are not inside '
                                 f'the joint limits {list(chain.lower)} .. {list(chain.upper)}')
        gains = one_per_joint(chain, options.gains, 'gains')
        if (gains < 0.0).any():
            raise ParameterError(f'the gains {list(gains)} must not be negative')
        window_lower, window_upper = _window(chain)
        width = np.where(window_upper > window_lower, window_upper - window_lower, 1.0)
        self._weight = gains / width**2
        self._sequence = window_lower + (window_upper - window_lower) \
            * low_discrepancy(options.max_restarts, chain.n)
        self._first_joint = chain.offsets[0, 9:]
        self._reach = chain.reach + options.position_tolerance

    @property
    def preferred(self) -> np.ndarray:
        """Return the posture that the bias pulls to, (n,)."""
        return self._preferred

    def solve(self, goal: Goal, seeds: np.ndarray) -> Result:
        """
        Find joint positions that put the tip at the goal.

        Parameters
        ----------
        goal : Goal
        seeds : (n,) or (s, n) array
            Where to begin, tried in order before the fixed sequence; among
            equal angles the one nearest to the first seed is returned.

        Returns
        -------
        Result
            Inside the limits and within tolerance if it says SOLVED.

        Raises
        ------
        ParameterError
            If the seeds are not finite or of the wrong length.

        """
        began = perf_counter()
        chain, options = self.chain, self.options
        seeds = np.atleast_2d(np.ascontiguousarray(seeds, dtype=float))
        if seeds.shape[1] != chain.n or not np.isfinite(seeds).all():
            raise ParameterError(f'a seed needs {chain.n} finite numbers, one a joint')
        q, best_q = np.empty(chain.n), seeds[0].copy()
        figures = np.array([np.inf, np.inf, 0.0, 0.0, np.inf, 0.0])
        row = pose_row(goal.T_base_tip)
        reason = Reason.NO_SOLUTION
        attempt, attempts = 0, len(seeds) + len(self._sequence)
        bias = options.max_bias_iterations if chain.n > goal.rows else 0
        give_up = monotonic() + options.deadline
        away = row[9:] - self._first_joint
        if away @ away > self._reach * self._reach:
            reason, attempts = Reason.OUT_OF_REACH, 1
        while attempt < attempts:
            last = min(attempt + ATTEMPTS_BETWEEN_CLOCK_READS, attempts)
            if solve_kernel(chain.offsets, chain.joints, chain.factors, chain.lower, chain.upper,
                            chain.turning, row, goal.rows, options.metres_per_radian,
                            self._tolerance, seeds, self._sequence, attempt, last,
                            options.max_iterations, self._preferred, self._weight, bias,
                            q, best_q, figures):
                reason, attempt, best_q = Reason.SOLVED, int(figures[3]) + 1, q
                break
            attempt = last
            if attempt < attempts and monotonic() > give_up:
                reason = Reason.DEADLINE
                break
        return Result(reason, best_q, float(figures[0]), float(figures[1]), int(figures[2]),
                      attempt - 1, int(figures[5]), perf_counter() - began,
                      seeds[0].copy(), goal, chain)


def one_per_joint(chain: Chain, values: tuple[float, ...], what: str) -> np.ndarray:
    """
    Return one number per joint, (n,), from one for all or one for each.

    Raises
    ------
    ParameterError
        If there are neither one nor n numbers, or one is not finite.

    """
    array = np.array(values, dtype=float)
    if array.shape not in ((1,), (chain.n,)) or not np.isfinite(array).all():
        raise ParameterError(f'{what} needs 1 or {chain.n} finite numbers, got {list(values)}')
    return np.broadcast_to(array, (chain.n,)).copy()


def nearest_turns(chain: Chain, q: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return `q` (n,) with joints that turn without limit moved to the turn of `reference`."""
    turns = np.round((reference - q) / (2.0 * pi))
    return np.where(chain.continuous & chain.turning, q + 2.0 * pi * turns, q)


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


def _window(chain: Chain) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits, with one turn about 0 for joints that have none."""
    lower = np.where(np.isfinite(chain.lower), chain.lower, -pi)
    upper = np.where(np.isfinite(chain.upper), chain.upper, pi)
    return np.minimum(lower, upper), np.maximum(lower, upper)
