# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Limits of a motion, and the reduced limits that each planner works with.

Controllers interpolate quintics between points, which deviate a little from the planned
motion.  So each planner keeps a margin to the limits.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import NamedTuple

import numpy as np

from ik_node.base.checks import check_numbers, POSITIVE_OR_INF
from ik_node.base.errors import ParameterError
from ik_node.base.text import quote
from ik_node.model.chain import Chain
from ik_node.model.joint_space import JointSpace
from ik_node.model.joints import one_per_joint

DEFAULT_ACCELERATION = 2.0     # rad/s^2 or m/s^2, of a joint whose limit nobody gives
DEFAULT_JERK = 20.0            # rad/s^3 or m/s^3

MIN_POINT_SPACING_S = 1e-3     # between points of a planned motion
RAMP_SHARE = 0.1               # points are no further apart than this share of the shortest ramp
MAX_JERK_RATIO_PER_S = 1e3     # jerk per acceleration; a higher jerk limit is not used
SPACING_OVERSHOOT = 0.05       # acceleration error per jerk and spacing, of merged jerk switches
VELOCITY_MARGIN = 1e-3         # share of the velocity limits that is not used

MIN_STREAM_SPACING_S = 1e-4    # between points of a streamed motion
STREAM_OVERSHOOT = 0.5         # as SPACING_OVERSHOOT; the jerk may switch between such points
POSITION_MARGIN = 1e-6         # rad or m inside the position limits

PATH_ACCELERATION_SHARE = 0.998
PATH_JERK_SHARE = 0.95


class LimitRows(NamedTuple):
    """
    Limits as arrays, for compiled code.

    Each (n,), in the units of :class:`MotionLimits`; `tip` (4,) as :attr:`TipLimits.row`.  They
    are copies: numba would compile anew for an array that is read-only.
    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    jerk: np.ndarray
    tip: np.ndarray


@dataclass(frozen=True)
class PositionLimits:
    """Position limits that users set, for planners and solvers."""

    lower: tuple[float, ...] = ()
    """rad or m, one for all joints or one for each; () = those of the URDF, which also hold where
    they are narrower."""
    upper: tuple[float, ...] = ()
    """As `lower`."""

    def narrow(self, chain: Chain) -> Chain:
        """
        Return a chain within these limits.

        Raises
        ------
        ParameterError
            If there are neither 1 nor n numbers, or as for :meth:`Chain.with_limits`.

        """
        return chain.with_limits(**{
            name: one_per_joint(chain, limits, f'the parameter motion.{name}_limits')
            for name, limits in vars(self).items() if limits})


@dataclass(frozen=True)
class TipLimits:
    """
    How fast the tip may move; infinite = not limited.

    Tool paths keep all of these, motions to a goal the two speeds, and streams `speed`.

    Raises
    ------
    ParameterError
        If one is not positive.

    """

    speed: float = inf
    """m/s."""
    angular_speed: float = inf
    """rad/s."""
    acceleration: float = inf
    """m/s^2."""
    angular_acceleration: float = inf
    """rad/s^2."""

    def __post_init__(self) -> None:
        values = {name.replace('_', ' '): value for name, value in vars(self).items()}
        check_numbers(values, POSITIVE_OR_INF, *values, what="the limit of the tip's {}")

    @property
    def limits_speed(self) -> bool:
        """Return whether one of the speeds is limited."""
        return min(self.speed, self.angular_speed) < inf

    @property
    def row(self) -> np.ndarray:
        """Return the limits in the order of the attributes, (4,)."""
        return np.array(list(vars(self).values()), dtype=float)

    def __str__(self) -> str:
        return f'{self.speed:g} m/s and {self.angular_speed:g} rad/s'


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Limits of n joints, each (n,), and of the tip."""

    lower: np.ndarray
    """(n,), rad or m; infinite for continuous joints."""
    upper: np.ndarray
    """(n,), rad or m; infinite for continuous joints."""
    velocity: np.ndarray
    """(n,), per s, positive and finite."""
    acceleration: np.ndarray
    """(n,), per s^2, positive and finite."""
    jerk: np.ndarray
    """(n,), per s^3, positive and finite."""
    tip: TipLimits = field(default_factory=TipLimits)

    @classmethod
    def of_joints(cls, joints: JointSpace, acceleration: float | np.ndarray | None = None,
                  jerk: float | np.ndarray | None = None, velocity: np.ndarray | None = None,
                  tip: TipLimits = TipLimits(), narrows: bool = False) -> MotionLimits:
        """
        Return the limits of the joints of a chain or tree.

        Parameters
        ----------
        acceleration, jerk : float or (n,) array, optional
            Per s^2 and s^3; smaller limits of the URDF hold.  Default: the limits of the URDF,
            and where it gives none DEFAULT_ACCELERATION and DEFAULT_JERK.
        velocity : (n,) array, optional
            Per s; default: the limits of the URDF.
        tip : TipLimits
        narrows : bool
            Whether smaller velocity limits of `joints` hold beside `velocity`, too.

        Raises
        ------
        ParameterError
            If a joint has no velocity limit.

        """
        if velocity is None:
            velocity = joints.velocity
        elif narrows:
            velocity = np.minimum(velocity, joints.velocity)
        velocity = np.array(velocity, dtype=float)
        missing = [quote(name) for name, limit in zip(joints.joint_names, velocity)
                   if not np.isfinite(limit)]
        if missing:
            raise ParameterError(f'{", ".join(missing)} {"has" if len(missing) == 1 else "have"} '
                                 'no velocity limit in the URDF; give the velocity limits of all '
                                 'joints (in ROS, set the parameter motion.velocity_limits)')
        return cls(joints.lower, joints.upper, velocity,
                   _narrowed(joints.acceleration, acceleration, DEFAULT_ACCELERATION),
                   _narrowed(joints.jerk, jerk, DEFAULT_JERK), tip)

    def require_positive(self) -> None:
        """
        Check velocity, acceleration and jerk.

        Raises
        ------
        ParameterError
            If one is not positive and finite.

        """
        for name in ('velocity', 'acceleration', 'jerk'):
            values = getattr(self, name)
            if not (np.isfinite(values).all() and (values > 0.0).all()):
                raise ParameterError(f'the {name} limits are {np.asarray(values).tolist()}; they '
                                     'must be positive and finite')

    def described(self, joints: JointSpace) -> str:
        """Return the limits in words, and whether the URDF gives them."""
        parts = []
        for name in ('velocity', 'acceleration', 'jerk'):
            kept = getattr(self, name)
            of_urdf = kept == getattr(joints, name)
            source = 'of the URDF' if of_urdf.all() else 'of parameters or their defaults' \
                if not of_urdf.any() else 'in part of the URDF'
            parts.append(f'{name} {kept.tolist()} ({source})')
        return ', '.join(parts)

    def widest(self, other: MotionLimits) -> MotionLimits:
        """Return these limits, with the larger velocity, acceleration and jerk of both."""
        return replace(self, velocity=np.maximum(self.velocity, other.velocity),
                       acceleration=np.maximum(self.acceleration, other.acceleration),
                       jerk=np.maximum(self.jerk, other.jerk))

    def slowed(self, share: float) -> MotionLimits:
        """
        Return the limits of the same motions at a share of their speed, above 0 to 1.

        A motion at the share s takes 1/s times as long: its velocities are s times as large, its
        accelerations s^2 times, its jerks s^3 times, and the limits of the tip, too.
        """
        if share == 1.0:
            return self
        tip = self.tip
        return replace(
            self, velocity=share * self.velocity, acceleration=share**2 * self.acceleration,
            jerk=share**3 * self.jerk, tip=TipLimits(
                share * tip.speed, share * tip.angular_speed, share**2 * tip.acceleration,
                share**2 * tip.angular_acceleration))

    def scaled(self, velocity: float = 1.0, acceleration: float = 1.0) -> MotionLimits:
        """
        Return these limits with shares of the velocities and accelerations.

        Raises
        ------
        ParameterError
            If a share is not above 0 and at most 1.

        """
        for name, share in (('velocity', velocity), ('acceleration', acceleration)):
            if not 0.0 < share <= 1.0:
                raise ParameterError(f'the {name} scale is {share}; it must be above 0 and at '
                                     'most 1')
        return replace(self, velocity=velocity * self.velocity,
                       acceleration=acceleration * self.acceleration)

    @property
    def min_spacing(self) -> float:
        """Return the smallest time (s) between points of a planned motion."""
        shortest_ramp = float((self.acceleration / self.jerk).min())
        return min(MIN_POINT_SPACING_S, RAMP_SHARE * max(shortest_ramp,
                                                         1.0 / MAX_JERK_RATIO_PER_S))

    def for_goals(self) -> LimitRows:
        """Return the limits that ruckig plans with; jerk switches closer than a point merge."""
        jerk = np.minimum(self.jerk, MAX_JERK_RATIO_PER_S * self.acceleration)
        return LimitRows(
            self.lower.copy(), self.upper.copy(), (1.0 - VELOCITY_MARGIN) * self.velocity,
            self.acceleration - SPACING_OVERSHOOT * jerk * self.min_spacing, jerk, self.tip.row)

    def for_streams(self, gap: float = 0.0) -> LimitRows:
        """
        Return the limits that the follower keeps; the jerk may switch between two points.

        Parameters
        ----------
        gap : float
            Time (s) from where the controller is to the first point, across which it
            interpolates.

        """
        overshoot = np.minimum(self.jerk * max(STREAM_OVERSHOOT * MIN_STREAM_SPACING_S,
                                               SPACING_OVERSHOOT * gap),
                               0.5 * self.acceleration)
        return LimitRows(
            self.lower + POSITION_MARGIN, self.upper - POSITION_MARGIN,
            (1.0 - VELOCITY_MARGIN) * self.velocity, self.acceleration - overshoot,
            self.jerk.copy(), (1.0 - VELOCITY_MARGIN) * self.tip.row)

    def for_paths(self) -> LimitRows:
        """
        Return the limits that tool paths are timed with.

        An acceleration beyond ``sqrt(2 velocity jerk)`` is out of reach within the other two
        limits (Landau 1914, "Einige Ungleichungen fuer zweimal differentiierbare Funktionen").
        """
        reachable = np.sqrt(2.0 * self.velocity * self.jerk)
        return LimitRows(
            self.lower.copy(), self.upper.copy(), (1.0 - VELOCITY_MARGIN) * self.velocity,
            PATH_ACCELERATION_SHARE * np.minimum(self.acceleration, reachable),
            PATH_JERK_SHARE * self.jerk, self.tip.row)


def _narrowed(of_joints: np.ndarray, given: float | np.ndarray | None,
              default: float) -> np.ndarray:
    """Return the smaller one of both limits of each joint, the default where there is neither."""
    kept = np.minimum(of_joints, np.inf if given is None else given)
    return np.where(np.isinf(kept), default, kept)
