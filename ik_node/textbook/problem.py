# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A task with joint limits: unknowns x, residual e(x) and Jacobian J(x)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_node.base.errors import ParameterError
from ik_node.textbook.options import ClassicOptions, Limits
from ik_node.textbook.task import Task, TaskPoint

# Distance of the start from a limit, relative to half the range: at the limit sin has slope 0.
START_MARGIN = 1e-4


@dataclass(frozen=True, eq=False)
class Point:
    """One iterate."""

    # (n,), the unknowns: joint positions, or the angles u of the change of variables; with slack
    # variables the joint positions, then y_l and y_u of the bounded joints
    x: np.ndarray
    # (r + p,), residual of the task (m), then with penalties one row per limit that is passed,
    # with slack variables one row per limit
    e: np.ndarray
    J: np.ndarray    # (r + p, n), a step dx changes ``e`` to ``e - J dx``, to first order
    task: TaskPoint  # the goal at this posture

    @property
    def cost(self) -> float:
        """Return ``|e|^2 / 2``."""
        return 0.5 * float(self.e @ self.e)


class Problem:
    """
    A task and how its joint limits are kept.

    Parameters
    ----------
    task : Task
    limits : Limits
    options : ClassicOptions

    """

    def __init__(self, task: Task, limits: Limits, options: ClassicOptions) -> None:
        chain = task.chain
        self.task = task
        self.limits = limits
        self.bounded = np.isfinite(chain.lower) & np.isfinite(chain.upper)
        # middle, half: (n,), middle and half width of each range (rad or m); 0 and 1 if it is
        # unbounded
        self.middle = chain.middle
        self.half = np.where(self.bounded, 0.5 * (chain.upper - chain.lower), 1.0)
        self._penalty = np.sqrt(options.penalty) * np.where(
            chain.revolute, options.metres_per_radian, 1.0)
        width = np.where(self.bounded & (self.half > 0.0), 2.0 * self.half,
                         np.where(chain.revolute, 2.0 * np.pi, 1.0))
        # (n,), weight of each joint in :meth:`posture_gradient`, ``gain / range^2``
        self.weight = _per_joint('gains', options.gains, chain.n) / width**2
        # (n,), the posture with cost 0
        self.preferred = _per_joint('preferred', options.preferred, chain.n) \
            if options.preferred else chain.middle

    def unknowns(self, q: np.ndarray) -> np.ndarray:
        """Return the unknowns x (n,) of `q` clipped to the limits."""
        q = self.inside(q)
        if self.limits is Limits.SLACK:
            chain, least = self.task.chain, START_MARGIN * self.half
            return np.concatenate([q, *(
                np.sqrt(np.maximum(room, least))[self.bounded]
                for room in (q - chain.lower, chain.upper - q))])
        if self.limits is not Limits.VARIABLES:
            return q
        part = np.divide(q - self.middle, self.half, out=np.zeros_like(q),
                         where=self.half > 0.0)
        u = np.arcsin(np.clip(part, START_MARGIN - 1.0, 1.0 - START_MARGIN), where=self.bounded,
                      out=np.zeros_like(q))
        return np.where(self.bounded, u, q)

    def at(self, x: np.ndarray) -> Point:
        """Return the iterate at `x` (n,)."""
        if self.limits is Limits.VARIABLES:
            q = self.inside(np.where(self.bounded, self.middle + self.half * np.sin(x), x))
            point = self.task.at(q)
            return Point(x, point.e, point.J * self.slope(x), point)
        if self.limits is Limits.SLACK:
            return self._with_slack(x)
        point = self.task.at(x)
        if self.limits is Limits.CLAMP:
            return Point(x, point.e, point.J, point)
        over = x - self.inside(x)
        passed = over != 0.0
        return Point(x, np.concatenate([point.e, -(self._penalty * over)[passed]]),
                     np.vstack([point.J, np.diag(self._penalty)[passed]]), point)

    def _with_slack(self, x: np.ndarray) -> Point:
        """Return the iterate whose unknowns are joint positions and slack variables."""
        n, b = self.task.chain.n, int(self.bounded.sum())
        q, y_lower, y_upper = np.split(x, [n, n + b])
        point, weight = self.task.at(q), self._penalty[self.bounded]
        lower, upper = self.task.chain.lower[self.bounded], self.task.chain.upper[self.bounded]
        rows = np.zeros((2 * b, len(x)))
        for k, joint in enumerate(np.flatnonzero(self.bounded)):
            rows[k, [joint, n + k]] = weight[k], -2.0 * weight[k] * y_lower[k]
            rows[b + k, [joint, n + b + k]] = weight[k], 2.0 * weight[k] * y_upper[k]
        off = np.concatenate([weight * (q[self.bounded] - y_lower**2 - lower),
                              weight * (q[self.bounded] + y_upper**2 - upper)])
        J = np.hstack([point.J, np.zeros((len(point.e), 2 * b))])
        return Point(x, np.concatenate([point.e, -off]), np.vstack([J, rows]), point)

    def slope(self, x: np.ndarray) -> np.ndarray:
        """Return dq/dx (n,)."""
        if self.limits is Limits.VARIABLES:
            return np.where(self.bounded, self.half * np.cos(x), 1.0)
        return np.ones_like(x)

    def keep(self, x: np.ndarray) -> np.ndarray:
        """Return `x` (n,), clipped to the limits with ``Limits.CLAMP``."""
        return self.inside(x) if self.limits is Limits.CLAMP else x

    def inside(self, q: np.ndarray) -> np.ndarray:
        """Return `q` (n,) clipped to the joint limits."""
        return np.clip(q, self.task.chain.lower, self.task.chain.upper)

    def posture_gradient(self, q: np.ndarray) -> np.ndarray:
        """Return the gradient (n,) of ``g = 1/2 sum gain ((q - preferred) / range)^2``."""
        return self.weight * (q - self.preferred)


def _per_joint(name: str, values: tuple[float, ...], n: int) -> np.ndarray:
    """Return one number per joint, (n,); a single number holds for all joints."""
    if len(values) not in (1, n):
        raise ParameterError(f'{name} needs 1 or {n} numbers, got {len(values)}')
    return np.broadcast_to(np.array(values, dtype=float), (n,))
