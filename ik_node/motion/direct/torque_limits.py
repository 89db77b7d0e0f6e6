# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Motions whose torques stay within the effort limits of the joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ik_node.base.checks import check_numbers, check_three, NOT_NEGATIVE
from ik_node.base.errors import ParameterError, Reason, TrajectoryError
from ik_node.base.text import quote, shown
from ik_node.kinematics.dynamics import ArmDynamics, STANDARD_GRAVITY_M_S2
from ik_node.model.chain import Chain
from ik_node.model.description.inertias import point_mass
from ik_node.model.description.urdf import Tree
from ik_node.model.tool import check_center_of_mass
from ik_node.motion.trajectory.sampling import states_at
from ik_node.motion.trajectory.trajectory import Trajectory

TORQUE_PERIOD_S = 5e-3       # between torque samples
MAX_TORQUE_SAMPLES = 20_000  # per motion; longer motions are sampled more coarsely
MAX_TORQUE_TRIES = 4         # plans per motion, each slower than the one before
USED_EFFORT_SHARE = 0.99     # of the effort limit, when a slower motion is planned
MAX_GRAVITY_M_S2 = 1_000.0        # m/s^2
USED_ROOM_SHARE = 0.5        # of the torque left by holding, if that is less than the margin
LEAST_SPEED_SCALE = 0.05     # lowest speed scale tried

Planned = TypeVar('Planned')


@dataclass(frozen=True)
class TorqueOptions:
    """
    Whether torques are kept within limits, and what the arm holds.

    Raises
    ------
    ParameterError
        If the mass is negative, there are not three finite numbers each, or they are too large.

    """

    mass: float = 0.0
    """Of the tool and what it holds, kg; torques are checked if it is above 0."""
    center_of_mass: Sequence[float] = (0.0, 0.0, 0.0)
    """3 numbers, in the tip link, m."""
    always: bool = False
    """Whether torques are checked without a mass, too."""
    gravity: Sequence[float] = STANDARD_GRAVITY_M_S2
    """3 numbers, in the base link, m/s^2."""

    def __post_init__(self) -> None:
        check_numbers(vars(self), NOT_NEGATIVE, 'mass', what='tool.{} (kg)')
        check_center_of_mass(self.center_of_mass)
        check_three(self.gravity, 'motion.gravity (x, y, z)')
        if np.abs(self.gravity).max() > MAX_GRAVITY_M_S2:
            raise ParameterError(f'motion.gravity is {shown(list(self.gravity))} m/s^2; at most '
                                 f'{MAX_GRAVITY_M_S2:g} are possible')


@dataclass(frozen=True, eq=False)
class TorqueLimits:
    """The effort limits of the joints, and the torques that are held against them."""

    chain: Chain
    dynamics: ArmDynamics
    effort: np.ndarray
    """(n,), N m or N; infinite where the URDF gives none."""
    load: str
    """What the arm holds, for sentences, such as "the tool of 5 kg"."""

    @classmethod
    def of(cls, chain: Chain, tree: Tree, options: TorqueOptions,
           tool: str = 'the tool') -> TorqueLimits | None:
        """
        Return the limits of an arm; None if they are not to be checked.

        Parameters
        ----------
        tool : str
            What has the mass, for sentences.

        Raises
        ------
        IkNodeError
            If the URDF has no effort limits, or no masses that can be used.

        """
        if not (options.mass or options.always):
            return None
        load = point_mass(options.mass, options.center_of_mass) if options.mass else None
        dynamics = ArmDynamics(chain, tree, load, tuple(options.gravity))
        if not dynamics.link_mass:
            raise ParameterError('the URDF has no masses of the links that move')
        made = cls(chain, dynamics, effort_limits(chain, tree),
                   f'{tool} of {options.mass:g} kg' if options.mass else 'the arm')
        dynamics.holding_torques(np.zeros((1, chain.n)))  # compiled now
        return made

    def require(self, trajectory: Trajectory) -> None:
        """Raise TrajectoryError, TOO_HEAVY, if a motion does not keep the limits as it is."""
        share, k = self._time_share(trajectory)
        if share < 1.0:
            raise TrajectoryError(
                f'joint {quote(self.chain.joint_names[k])} would need more than its '
                f'{self._amount(k, self.effort[k])} to move {self.load}; at '
                f'{100.0 * share:.3g} % of the speed it would not', Reason.TOO_HEAVY)

    def kept(self, plan: Callable[[float], Planned],
             trajectory_of: Callable[[Planned], Trajectory]) -> tuple[Planned, float]:
        """
        Return a plan whose motion keeps the limits, and its share of the speed, above 0 to 1.

        Parameters
        ----------
        plan : callable
            Plans the motion at a share of its speed, by limits as those of
            :meth:`ik_node.motion.trajectory.limits.MotionLimits.slowed`.
        trajectory_of : callable
            Returns the motion of a plan.

        Raises
        ------
        TrajectoryError
            TOO_HEAVY: with the joint, if not even the postures can be held, or no motion at
            LEAST_SPEED_SCALE of the speed or more keeps the limits.

        """
        share = 1.0
        for _ in range(MAX_TORQUE_TRIES):
            planned = plan(share)
            further, k = self._time_share(trajectory_of(planned))
            if further >= 1.0:
                return planned, share
            share *= further
            if share < LEAST_SPEED_SCALE:
                break
        raise TrajectoryError(
            f'joint {quote(self.chain.joint_names[k])} could not move {self.load} within its '
            f'{self._amount(k, self.effort[k])}, not even at '
            f'{100.0 * max(share, LEAST_SPEED_SCALE):.3g} % of the speed; choose another '
            'path, or a lighter load', Reason.TOO_HEAVY)

    def _time_share(self, trajectory: Trajectory) -> tuple[float, int]:
        """
        Return at which share of its speed a motion keeps the limits, and the joint that says so.

        Scaling the speed by s scales the dynamic torque (total minus holding torque) by s^2.
        """
        count = min(2 + int(trajectory.duration / TORQUE_PERIOD_S), MAX_TORQUE_SAMPLES)
        times = np.linspace(0.0, trajectory.duration, count)
        states = states_at(trajectory, times)
        holding = self.dynamics.holding_torques(states[:, 0])
        over = np.abs(holding) - self.effort
        row, k = np.unravel_index(over.argmax(), over.shape)
        if over[row, k] > 0.0:
            raise TrajectoryError(
                f'joint {quote(self.chain.joint_names[k])} would need '
                f'{self._amount(k, abs(holding[row, k]))} of {self._amount(k, self.effort[k])} to '
                f'hold {self.load}, {times[row]:.2f} s after the start of the motion of '
                f'{trajectory.duration:.2f} s', Reason.TOO_HEAVY)
        moving = self.dynamics.torques(*states.transpose(1, 0, 2)) - holding
        excess = np.abs(holding + moving) - self.effort
        if excess.max() <= 0.0:
            return 1.0, 0
        room = self.effort - np.sign(moving) * holding
        room = np.maximum(room - (1.0 - USED_EFFORT_SHARE) * self.effort, USED_ROOM_SHARE * room)
        with np.errstate(divide='ignore', invalid='ignore'):
            shares = np.where(excess > 0.0, room / np.abs(moving), 1.0)
        row, k = np.unravel_index(shares.argmin(), shares.shape)
        return float(np.sqrt(shares[row, k])), int(k)

    def _amount(self, k: int, torque: float) -> str:
        return f'{torque:.4g} {"N m" if self.chain.revolute[k] else "N"}'


def effort_limits(chain: Chain, tree: Tree) -> np.ndarray:
    """
    Return the effort limits of the joints of a chain, (n,), N m or N; infinite where none is.

    Raises
    ------
    ParameterError
        If the URDF gives none for any joint.

    """
    efforts = {joint.name: joint.effort for joint in tree.joints}
    found = np.array([efforts[name] or np.inf for name in chain.joint_names])
    if np.isinf(found).all():
        raise ParameterError('the URDF has no effort limits')
    return found
