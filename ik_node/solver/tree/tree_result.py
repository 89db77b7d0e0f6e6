# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The result of a solve for several tips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

import numpy as np

from ik_node.base.checks import check_counts, check_numbers, POSITIVE, POSITIVE_OR_INF
from ik_node.base.errors import Reason
from ik_node.base.text import length_text, quote
from ik_node.kinematics.tree.kinematic_tree import KinematicTree
from ik_node.solver.goal import Goal


class TipError(NamedTuple):
    """How far a tip is from its goal, by forward kinematics."""

    position: float
    """m; of a goal with tolerances what is outside them, 0 where it is free."""
    orientation: float
    """rad; of a goal with tolerances what is outside them, 0 where it is free."""
    met: bool
    """Whether both are within the tolerances of the solver."""

    def __str__(self) -> str:
        """Return both errors, those that are zero left out, in words."""
        parts = [length_text(self.position)] * (self.position > 0.0) \
            + [f'{self.orientation:.3g} rad'] * (self.orientation > 0.0)
        return ' and '.join(parts) or '0 mm'


@dataclass(frozen=True, eq=False)
class TreeResult:
    """Result of one solve of a :class:`~ik_node.solver.tree.tree_solver.TreeSolver`."""

    tree: KinematicTree
    status: Reason
    """SOLVED; OUT_OF_REACH, ORIENTATION_OUT_OF_REACH or NO_SOLUTION of `unreachable`; COLLISION;
    DEADLINE."""
    q: np.ndarray
    """(n,), joint positions, rad or m, inside the limits; on failure the posture that came
    nearest, in the least squares of the weighted errors."""
    errors: dict[str, TipError]
    """By tip link."""
    time: float
    """Seconds."""
    secondary: tuple[str, ...] = ()
    """Tips that were to come as near as possible only."""
    unreachable: tuple[str, ...] = ()
    """On failure the tips that cannot be brought to their goals: one that cannot by itself, or of
    those that cannot together each without which the others can, else all."""
    cause: str = field(default='', repr=False)
    attempts: int = 0
    """Starts that were tried."""
    iterations: int = 0
    """Damped steps of all starts, those for the reason not counted."""

    def __repr__(self) -> str:
        """Return status, success and errors, rounded."""
        errors = ', '.join(f'{tip}: {error}' for tip, error in self.errors.items())
        return f'TreeResult({self.status.value}, success={self.success}, {errors})'

    @property
    def success(self) -> bool:
        """Return whether all tips but the secondary ones are at their goals."""
        return self.status is Reason.SOLVED

    @property
    def joint_positions(self) -> dict[str, float]:
        """Return `q` by the names of the joints, rad or m."""
        return dict(zip(self.tree.joint_names, self.q.tolist()))

    @property
    def limiting_joints(self) -> tuple[str, ...]:
        """Return the names of the joints at a limit."""
        return self.tree.at_limit(self.q)

    @property
    def message(self) -> str:
        """Return the outcome in one sentence."""
        if self.status is Reason.COLLISION:
            return self.cause
        if not self.success:
            away = ', '.join(f'{quote(tip)} is {error} away' for tip, error in self.errors.items()
                             if not error.met and tip not in self.secondary)
            limits = self.limiting_joints
            at_limit = f', with {", ".join(map(quote, limits))} at the limit' if limits else ''
            return f'{self.cause}; in the nearest posture found {away}{at_limit}'
        required = [error for tip, error in self.errors.items() if tip not in self.secondary]
        position = max((error.position for error in required), default=0.0)
        orientation = max((error.orientation for error in required), default=0.0)
        rest = ', '.join(f'; {quote(tip)}, which comes second, is {error} away'
                         for tip, error in self.errors.items()
                         if tip in self.secondary and not error.met)
        return (f'solved for {len(required)} tip{"s" * (len(required) != 1)} to {position:.1e} m '
                f'and {orientation:.1e} rad in {1e3 * self.time:.2f} ms{rest}')


TipGoal = Goal | np.ndarray | Sequence[float]


@dataclass(frozen=True)
class TreeSolverOptions:
    """Options of a tree solver; each is a keyword of :class:`TreeSolver`."""

    position_tolerance: float = 1e-6
    """m, tested by itself, for each tip."""
    orientation_tolerance: float = 1e-6
    """rad, tested by itself, for each tip."""
    metres_per_radian: float = 0.3
    """Weight of orientation against position."""
    max_iterations: int = 60
    """Most steps of one attempt."""
    max_restarts: int = 200
    """Most attempts after the seed."""
    deadline: float = inf
    """Seconds, on the monotonic clock; by default none, so that equal calls give equal answers."""
    random_seed: int = 0
    """Of the shift of the postures from which restarts begin; 0 = none."""
    joint_weights: Mapping[str, float] | None = None
    """By joint, cost of moving a joint; a joint of weight 4 takes a quarter of the motion of one
    of weight 1, which is the default."""

    def __post_init__(self) -> None:
        values = vars(self)
        check_numbers(values, POSITIVE, 'position_tolerance', 'orientation_tolerance',
                      'metres_per_radian')
        check_numbers(values, POSITIVE_OR_INF, 'deadline')
        check_counts(values, inf, 'max_iterations', 'max_restarts', 'random_seed')
