# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the solver answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ik_node.errors import quote, Reason
from ik_node.kinematics.arm import singular_values
from ik_node.model.chain import Chain
from ik_node.solver.goal import Goal

AT_LIMIT = 1e-6  # rad or m


@dataclass(frozen=True, eq=False)
class Result:
    """
    Outcome of one solve; costly figures are computed when asked for.

    Attributes
    ----------
    reason : Reason
        SOLVED, OUT_OF_REACH (farther than the arm is long), NO_SOLUTION (every
        attempt failed) or DEADLINE (time ran out before).
    q : (n,) array
        The solution; on failure the attempt that came nearest.
    position_error, orientation_error : float
        Distance (m) and angle (rad) from the goal, by forward kinematics of `q`.
    iterations : int
        Damped steps of all attempts together.
    restarts : int
        Attempts after the first.
    bias_iterations : int
        Null-space steps after the solution was found.
    time : float
        Seconds.
    seed : (n,) array
        Where the first attempt began.

    """

    reason: Reason
    q: np.ndarray
    position_error: float
    orientation_error: float
    iterations: int
    restarts: int
    bias_iterations: int
    time: float
    seed: np.ndarray
    goal: Goal
    chain: Chain

    @property
    def solved(self) -> bool:
        """Return whether `q` is inside the limits and within tolerance of the goal."""
        return self.reason is Reason.SOLVED

    @cached_property
    def limit_margin(self) -> float:
        """Return the smallest distance of a joint to its limits (rad or m)."""
        return float(np.minimum(self.q - self.chain.lower, self.chain.upper - self.q).min())

    @property
    def limiting_joints(self) -> tuple[str, ...]:
        """Return the joints that stand on a limit."""
        margin = np.minimum(self.q - self.chain.lower, self.chain.upper - self.q)
        return tuple(name for name, room in zip(self.chain.joint_names, margin)
                     if room < AT_LIMIT)

    @cached_property
    def singular_values(self) -> np.ndarray:
        """Return the singular values of the Jacobian at `q`, largest first."""
        return singular_values(self.chain, self.q)

    @property
    def smallest_singular_value(self) -> float:
        """Return how far the arm is from a singularity; 0 at one."""
        return float(self.singular_values[-1])

    @property
    def manipulability(self) -> float:
        """Return Yoshikawa's (1985) measure, the product of the singular values."""
        return float(np.prod(self.singular_values))

    @property
    def sentence(self) -> str:
        """Return the outcome in words."""
        chain = self.chain
        if self.reason is Reason.SOLVED:
            return (f'solved to {self.position_error:.1e} m and {self.orientation_error:.1e} rad '
                    f'in {1e3 * self.time:.2f} ms')
        if self.reason is Reason.OUT_OF_REACH:
            first_joint = chain.offsets[0, 9:]
            away = float(np.linalg.norm(self.goal.T_base_tip[:3, 3] - first_joint))
            hint = '; are its units millimetres?' if away > 10.0 * chain.reach else ''
            return (f'out of reach: the goal is {away:.4g} m from the first joint, '
                    f'{quote(chain.tip_link)} reaches at most {chain.reach:.4g} m{hint}')
        near = f'the nearest posture found is {1e3 * self.position_error:.3g} mm'
        if not self.goal.position_only:
            near += f' and {self.orientation_error:.3g} rad'
        stuck = self.limiting_joints
        limit = f', with {", ".join(map(quote, stuck))} at the limit' if stuck else ''
        if self.reason is Reason.DEADLINE:
            return (f'no solution within the time allowed ({1e3 * self.time:.0f} ms); '
                    f'{near} away{limit}')
        return (f'no posture inside the joint limits puts {quote(chain.tip_link)} there; '
                f'{near} away{limit}')
