# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Options and goals of a solve for several tips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from ik_node.base.errors import GoalError, ParameterError
from ik_node.base.text import quote, shown
from ik_node.kinematics.arguments import numbers
from ik_node.solver.descent.layout import BASE_AXES, EXACT_POSE, TIP_AXES
from ik_node.solver.goal import Goal, goal_matrix

TipGoal = Goal | np.ndarray | Sequence[float]


@dataclass(frozen=True)
class TreeSolverOptions:
    """
    Options of a tree solver; each is a keyword of :class:`TreeSolver`.

    Attributes
    ----------
    position_tolerance, orientation_tolerance : float
        m and rad, each tested by itself, for each tip.
    metres_per_radian : float
        Weight of orientation against position.
    max_iterations : int
        Most steps of one attempt.
    max_restarts : int
        Most attempts after the seed.
    deadline : float
        Seconds, on the monotonic clock; by default none, so that equal calls give equal answers.
    random_seed : int
        Of the postures from which restarts begin.
    joint_weights : mapping of joint name to float
        Cost of moving a joint; a joint of weight 4 takes a quarter of the motion of one of
        weight 1, which is the default.

    """

    position_tolerance: float = 1e-6
    orientation_tolerance: float = 1e-6
    metres_per_radian: float = 0.3
    max_iterations: int = 60
    max_restarts: int = 200
    deadline: float = inf
    random_seed: int = 0
    joint_weights: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        for name in ('position_tolerance', 'orientation_tolerance', 'metres_per_radian'):
            if not numbers(getattr(self, name), (), name) > 0.0:
                raise ParameterError(f'{name} is {getattr(self, name)}; it must be positive')
        if self.deadline != inf and not numbers(self.deadline, (), 'deadline') > 0.0:
            raise ParameterError(f'deadline is {self.deadline}; it must be positive')
        for name in ('max_iterations', 'max_restarts', 'random_seed'):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
                raise ParameterError(f'{name} is {shown(value)}; it must be a whole number from '
                                     '0 on')


def goal_row(goal: TipGoal, tip: str) -> np.ndarray:
    """Return a goal (19,) as compiled code reads it."""
    box, axes = np.zeros(6), EXACT_POSE
    try:
        if isinstance(goal, Goal):
            T = goal.T_base_tip
            if not goal.is_exact:
                box = np.array(goal.tolerance, dtype=float)
                axes = TIP_AXES if goal.frame == 'tip' else BASE_AXES
        else:
            T = goal_matrix(goal)
    except GoalError as error:
        raise GoalError(f'the goal of {quote(tip)}: {error}', error.reason) from None
    return np.concatenate([T[:3, :3].ravel(), T[:3, 3], box, [float(axes)]])
