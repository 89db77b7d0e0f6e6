# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Jogging: the tip, or single joints, move at a commanded velocity for as long as it is commanded.

A twist asks for a path: from where the tip is, along the screw of the twist.  The target is the
point of that path nearest to the tip.  So the tip is kept on the path, and the target never runs
ahead of an arm that cannot follow: a twist that turns round has the arm turn round at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import cos, inf

import numpy as np

from ik_node.base.errors import GoalError, ParameterError, Reason
from ik_node.base.se3 import rotation_log, twist_exp
from ik_node.base.text import shown
from ik_node.kinematics.kernels import pose_row
from ik_node.motion.following.pose_stream import TargetState

COMMAND_UNITS = 'unitless', 'speed_units'
MAX_TWIST = 10.0            # m/s or rad/s, of each component; faster ones are scaled down
MIN_TWIST = 1e-9            # of the same; slower is at rest
SAME_DIRECTION_COS = cos(0.05)  # of two twists that ask for one path
OFF_PATH_SPEED_M_S = 0.02       # m/s; below it the tip has turned into the path of a new twist ...
OFF_PATH_SHARE = 0.05       # ... or below this share of its speed
CLOSING_SHARE = 0.13        # of the reach; below it a singular value that shrinks counts, ...
OPENING_RATIO = 2.0         # ... until it has grown by this
TURNED_SHARE = 0.7          # of that at which a twist turns round; a smaller one counts again
RETURN_SHARE = 0.3          # of the twist, with which a tip that was kept from its path goes back


@dataclass(frozen=True)
class JogOptions:
    """
    Units of the numbers in jog commands, as MoveIt Servo has them.

    Raises
    ------
    ParameterError
        If `command_in_type` is neither.

    """

    command_in_type: str = 'unitless'
    """'unitless': from -1 to 1, times the scales; 'speed_units': m/s and rad/s."""
    linear: float = 0.4
    """Scale, m/s."""
    rotational: float = 0.8
    """Scale, rad/s."""
    joint: float = 0.5
    """Scale, rad/s or m/s."""

    def __post_init__(self) -> None:
        if self.command_in_type not in COMMAND_UNITS:
            raise ParameterError(f'jog.command_in_type is {shown(self.command_in_type)}; it must '
                                 f'be {" or ".join(COMMAND_UNITS)}')

    def twist(self, numbers: np.ndarray) -> np.ndarray:
        """
        Return the twist (m/s, rad/s) of six numbers, linear before angular.

        Raises
        ------
        GoalError
            If one is not finite, or without a unit and not from -1 to 1.

        """
        self._check(numbers)
        if self.command_in_type == 'speed_units':
            return numbers
        return numbers * np.repeat([self.linear, self.rotational], 3)

    def rates(self, numbers: np.ndarray) -> np.ndarray:
        """Return the velocities of joints (rad/s or m/s); errors as :meth:`twist`."""
        self._check(numbers)
        return numbers if self.command_in_type == 'speed_units' else self.joint * numbers

    def _check(self, numbers: np.ndarray) -> None:
        if not np.isfinite(numbers).all():
            raise GoalError(f'the numbers of the jog are {shown(numbers.tolist())}; all of them '
                            'must be finite', Reason.GOAL_NOT_FINITE)
        if self.command_in_type == 'unitless' and np.abs(numbers).max(initial=0.0) > 1.0:
            raise GoalError(f'the numbers of the jog are {shown(numbers.tolist())}; they go from '
                            '-1 to 1, for m/s and rad/s set jog.command_in_type to speed_units')


@dataclass(frozen=True, eq=False)
class JogCommand:
    """
    A velocity of the tip, or of joints.

    Raises
    ------
    GoalError
        If a number is not finite.

    """

    twist: np.ndarray = field(default_factory=lambda: np.zeros(6))
    """(6,), velocity of the tip and angular velocity about it (m/s, rad/s), in the axes of a
    frame; zeros if joints are moved."""
    R_base_frame: np.ndarray = field(default_factory=lambda: np.eye(3))
    """(3, 3), axes of that frame: in the base frame or, with `in_tip`, in the frame of the tip."""
    in_tip: bool = False
    """Whether the axes turn with the tip."""
    rates: np.ndarray | None = None
    """(n,), velocity of each joint (rad/s or m/s); None if the tip is moved."""

    def __post_init__(self) -> None:
        for name, value in (('twist', self.twist), ('rates', self.rates)):
            if value is not None and not np.isfinite(value).all():
                raise GoalError(f'the {name} of a jog is {shown(value.tolist())}; all its numbers '
                                'must be finite', Reason.GOAL_NOT_FINITE)

    @property
    def is_zero(self) -> bool:
        """Return whether nothing is to move."""
        numbers = self.twist if self.rates is None else self.rates
        return bool(np.abs(numbers).max(initial=0.0) < MIN_TWIST)


class JogCommands:
    """
    The latest command, and the target that follows from it.

    Times are seconds on the receiver's monotonic clock.

    Parameters
    ----------
    timeout : float
        Time (s) without a command after which the arm comes to rest.
    gain : float
        Rate (1/s) at which an error decays.
    metres_per_radian : float
        Weight of a rad against a m.
    reach : float
        Of the arm (m).

    Attributes
    ----------
    command : JogCommand or None
        The last that was not zero; None before the first.

    """

    def __init__(self, timeout: float, gain: float, metres_per_radian: float,
                 reach: float) -> None:
        self.timeout, self._gain, self._reach = timeout, gain, reach
        self._weights = np.array([1.0] * 3 + [metres_per_radian] * 3)
        self.clear()

    def clear(self) -> None:
        """Forget the command and the path."""
        self.command: JogCommand | None = None
        self._received = -inf
        self._released = True
        self._T: np.ndarray | None = None  # on the path, beside the tip
        self._on_path = False
        self._smallest = inf  # singular value of the last cycle
        self._turned_at = inf  # below which another is approached by a twist that turned round
        self._closest = 0.0   # of a singularity that is approached; 0 if none is
        self._forward = False  # whether the tip moves as it is to

    @property
    def started(self) -> bool:
        """Return whether something was commanded since the last :meth:`clear`."""
        return self.command is not None

    def fresh(self, now: float) -> bool:
        """Return whether something was commanded within the timeout."""
        return self.silence(now) <= self.timeout

    def silence(self, now: float) -> float:
        """Return how long ago (s) the last velocity was commanded."""
        return now - self._received

    def moving(self, now: float) -> bool:
        """Return whether something is commanded now."""
        return self.fresh(now) and not self._released

    def add(self, command: JogCommand, now: float) -> None:
        """Take a command that was received `now`; zeros bring the arm to rest at once."""
        self._released = command.is_zero
        if self._released:
            return
        if command.rates is not None:
            self._T = None
        elif self._T is not None:
            alike = self._alikeness(command)
            self._on_path = self._on_path and abs(alike) >= SAME_DIRECTION_COS
            if alike < 0.0:
                self._turned_at, self._closest = TURNED_SHARE * self._smallest, 0.0
        self.command, self._received = command, now

    def _alikeness(self, command: JogCommand) -> float:
        """Return the cosine between a twist and the last: 1 along its path, -1 back along it."""
        before = self.command
        if before.in_tip is not command.in_tip:
            return 0.0
        one, other = (self._weights * _turned(each.R_base_frame, each.twist / np.abs(
            each.twist).max()) for each in (before, command))
        return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))

    def target(self, T_base_tip: np.ndarray, V_tip: np.ndarray, now: float) -> TargetState:
        """
        Return the target beside the tip, and how it moves.

        Parameters
        ----------
        T_base_tip : (4, 4) array
            Pose of the tip (m).
        V_tip : (6,) array
            Its velocity in the base frame (m/s, rad/s).

        """
        if self._T is None:
            self._T, self._on_path = T_base_tip, False
        V = self._twist(T_base_tip[:3, :3])
        if not self._on_path:
            self._T, self._on_path = T_base_tip, self._turned_into(V, V_tip)
        else:
            self._slide_to(T_base_tip)
        self._forward = (self._weights * V) @ (self._weights * V_tip) > 0.0
        return TargetState(pose_row(self._T), V, np.zeros(6))

    def closes_in(self, smallest: float) -> bool:
        """
        Return whether a twist leads to a singularity, with the present smallest singular value.

        An arm that is pushed to the end of its reach would go through its singularity to and
        fro, and come back with its elbow on the other side.
        """
        if smallest > CLOSING_SHARE * self._reach:
            self._turned_at = inf
        elif smallest < min(self._smallest, self._turned_at) and self._forward:
            self._closest = smallest
        elif smallest > OPENING_RATIO * self._closest:
            self._closest = 0.0
        self._smallest = smallest
        return smallest <= OPENING_RATIO * self._closest

    def _twist(self, R_base_tip: np.ndarray) -> np.ndarray:
        """Return the commanded twist (6,) in the base frame."""
        command = self.command
        V = command.twist / max(1.0, np.abs(command.twist).max() / MAX_TWIST)
        R = R_base_tip @ command.R_base_frame if command.in_tip else command.R_base_frame
        return _turned(R, V)

    def _turned_into(self, V: np.ndarray, V_tip: np.ndarray) -> bool:
        """Return whether the tip moves along a twist, with nothing left of what was before."""
        along, moves = self._weights * V, self._weights * V_tip
        off = moves - along * (along @ moves) / (along @ along)
        return np.linalg.norm(off) <= max(OFF_PATH_SPEED_M_S,
                                          OFF_PATH_SHARE * np.linalg.norm(moves))

    def _slide_to(self, T_base_tip: np.ndarray) -> None:
        """Move the target along its path to beside the tip, and not too far from it."""
        V = self._twist(self._T[:3, :3])
        along = self._weights * V
        way = self._weights * _difference(self._T, T_base_tip)
        T = self._moved((along @ way) / (along @ along) * V)
        offset = _difference(T_base_tip, T)
        most = RETURN_SHARE * np.linalg.norm(along) / self._gain
        share = most / max(np.linalg.norm(self._weights * offset), 1e-300)
        if share < 1.0:  # it slides along something
            T = _turn(share * offset[3:]) @ T_base_tip
            T[:3, 3] = T_base_tip[:3, 3] + share * offset[:3]
        self._T = T

    def _moved(self, step: np.ndarray) -> np.ndarray:
        """Return the target after a step (6,) in the base frame (m, rad)."""
        if self.command.in_tip:
            return self._T @ twist_exp(_turned(self._T[:3, :3].T, step))
        T = _turn(step[3:]) @ self._T
        T[:3, 3] = self._T[:3, 3] + step[:3]
        return T

    def take_over(self, other: JogCommands) -> None:
        """Continue with the command and the path of another."""
        for name in ('command', '_received', '_released', '_T', '_on_path', '_smallest',
                     '_turned_at', '_closest', '_forward'):
            setattr(self, name, getattr(other, name))


def _turned(R: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """Return a twist (6,) in other axes."""
    return np.append(R @ twist[:3], R @ twist[3:])


def _turn(w: np.ndarray) -> np.ndarray:
    """Return the rotation by a rotation vector (3,) as a pose (4, 4)."""
    return twist_exp(np.append(np.zeros(3), w))


def _difference(T_base_a: np.ndarray, T_base_b: np.ndarray) -> np.ndarray:
    """Return the displacement (6,) from pose a to pose b, in the base frame (m, rad)."""
    R = T_base_a[:3, :3]
    return np.append(T_base_b[:3, 3] - T_base_a[:3, 3],
                     R @ rotation_log(R.T @ T_base_b[:3, :3]))
