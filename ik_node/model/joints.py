# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Joints as rows of one degree of freedom each, and per-joint numbers that callers give.

Planar and floating joints have several rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import pi, radians
from typing import NamedTuple

import numpy as np

from ik_node.base.checks import real_array
from ik_node.base.errors import ChainError, ParameterError, UrdfError
from ik_node.base.se3 import inverse, pose, rotation_to_axis
from ik_node.base.text import quote, shown
from ik_node.model.description.urdf import Joint, JointType, leader_of, MULTI_DOF_TYPES
from ik_node.model.joint_space import JointSpace

MAX_ANGLE_RAD = 2.0 * pi + 1e-3  # of rotations; 360 degrees, rounded


def one_per_joint(chain: JointSpace, values: tuple[float, ...], what: str) -> np.ndarray:
    """
    Return one number per joint, (n,); a single number holds for all joints.

    Raises
    ------
    ParameterError
        If there are neither 1 nor n numbers, or one is not finite.

    """
    array = real_array(values)
    if array is None or array.shape not in ((1,), (chain.n,)) or not np.isfinite(array).all():
        raise ParameterError(f'{what} needs 1 or {chain.n} finite numbers, got {shown(values)}')
    return np.broadcast_to(array, (chain.n,)).copy()


def require_radians(angles: Sequence[float], what: str, otherwise: str = '') -> None:
    """
    Refuse angles that can only be meant in degrees.

    Parameters
    ----------
    otherwise : str
        What to do besides to give them in radians.

    Raises
    ------
    ParameterError
        If one is more than a whole turn.

    """
    for angle in angles:
        if abs(angle) > MAX_ANGLE_RAD:
            raise ParameterError(
                f'{what} has the angle {angle:g}, which is {angle / (2.0 * pi):.3g} turns; angles '
                f'are in rad, and {angle:g} degrees are {radians(angle):.4g}: give that'
                f'{otherwise}')


def outside_limits(chain: JointSpace, k: int, value: float) -> str:
    """Return how a sentence on joint `k` goes on, whose position (rad or m) is outside."""
    low, high, turned = chain.lower[k], chain.upper[k], radians(value)
    in_degrees = chain.revolute[k] and abs(value) > MAX_ANGLE_RAD and low <= turned <= high
    return f'{value:.6g}, outside its limits [{low:.6g}, {high:.6g}]' + (
        f'; if that is in degrees, give {turned:.4g} rad' if in_degrees else '')


COORDINATES_OF = {
    JointType.PLANAR: ('x', 'y', 'yaw'),
    JointType.FLOATING: ('x', 'y', 'z', 'roll', 'pitch', 'yaw'),
}
ANGLE_NAMES = ('roll', 'pitch', 'yaw')
TURNING_NAMES = ('roll', 'yaw')  # they may be without limits

JointBounds = Mapping[str, Mapping[str, tuple[float, float]]]


class Motion(NamedTuple):
    """One degree of freedom of a joint."""

    axis: np.ndarray
    """(3,), unit axis in the joint frame."""
    slides: bool
    """Along the axis; else about it."""
    coordinate: str
    """The entry of q that moves it: ``factor * q + offset``."""
    factor: float
    offset: float


def motions_of(joint: Joint, by_name: Mapping[str, Joint]) -> list[Motion]:
    """
    Return the degrees of freedom of a joint, from its parent to its child.

    Raises
    ------
    ChainError
        If a joint mimics a planar or floating one, or such a joint mimics another.

    """
    leader, factor, offset = leader_of(joint, by_name)
    if joint is not leader and {joint.type, leader.type} & set(MULTI_DOF_TYPES):
        raise ChainError(f'the joint {quote(joint.name)} mimics {quote(leader.name)}, and one of '
                         'them is planar or floating; only joints of one degree of freedom can '
                         'mimic each other')
    names = coordinates_of(leader)
    if joint.type is JointType.PLANAR:
        R = rotation_to_axis(joint.axis)
        return [Motion(axis, slides, name, 1.0, 0.0) for axis, slides, name in zip(
            (R[:, 0], R[:, 1], R[:, 2]), (True, True, False), names)]
    if joint.type is JointType.FLOATING:
        x, y, z = np.eye(3)
        turns = zip((z, y, x), reversed(names[3:]))
        return [*(Motion(axis, True, name, 1.0, 0.0) for axis, name in zip((x, y, z), names)),
                *(Motion(axis, False, name, 1.0, 0.0) for axis, name in turns)]
    return [Motion(joint.axis, joint.type is JointType.PRISMATIC, names[0], factor, offset)]


def coordinates_of(joint: Joint) -> tuple[str, ...]:
    """Return the names of the coordinates of a joint that leads."""
    parts = COORDINATES_OF.get(joint.type)
    return (joint.name,) if parts is None else tuple(f'{joint.name}/{part}' for part in parts)


def checked_bounds(joints: Mapping[str, Joint],
                   bounds: JointBounds) -> dict[str, tuple[float, float]]:
    """
    Return lower and upper limit of each coordinate of the planar and floating joints.

    Parameters
    ----------
    joints : mapping of name to Joint
        The moving joints between the base and the tips.
    bounds : mapping of joint name to mapping of coordinate to (lower, upper)
        m and rad.  Roll and yaw may have (-inf, inf): they turn without end.

    Raises
    ------
    ParameterError
        If a planar or floating joint lacks a bound, a name is not one of theirs, or a bound
        is no range.

    """
    for name in bounds:
        if name not in joints or joints[name].type not in MULTI_DOF_TYPES:
            raise ParameterError(
                f'bounds are given for {quote(name)}, which is no planar or floating joint '
                'between the base and the tips; others have their limits from the URDF'
                + _listed(joints))
    checked = {}
    for name, joint in joints.items():
        parts = COORDINATES_OF.get(joint.type, ())
        given = bounds.get(name, {})
        if set(given) != set(parts):
            missing = [part for part in parts if part not in given]
            unknown = [part for part in given if part not in parts]
            raise ParameterError(
                f'the {joint.type.value} joint {quote(name)} needs bounds (lower, upper) of '
                f'{", ".join(parts)}, in m and rad; '
                + (f'{", ".join(missing)} missing' if missing else
                   f'{", ".join(map(quote, unknown))} unknown'))
        checked |= {f'{name}/{part}': _range(given[part], name, part) for part in parts}
    return checked


def _range(given: object, name: str, part: str) -> tuple[float, float]:
    ends = real_array(given)
    endless = part in TURNING_NAMES and ends is not None and ends.shape == (2,) \
        and ends[0] == -np.inf and ends[1] == np.inf
    if endless or (ends is not None and ends.shape == (2,) and np.isfinite(ends).all()
                   and ends[0] <= ends[1]):
        return float(ends[0]), float(ends[1])
    raise ParameterError(f'the bounds of {part} of the joint {quote(name)} are {shown(given)}; '
                         'they must be a lower and an upper number'
                         + (', or -inf and inf' if part in TURNING_NAMES else ''))


def _listed(joints: Mapping[str, Joint]) -> str:
    names = [quote(name) for name, joint in joints.items() if joint.type in MULTI_DOF_TYPES]
    return f' (of these there are {", ".join(names)})' if names else ' (there is none of these)'


class Bounds(NamedTuple):
    """The limits of a joint that leads: rad or m, and per s, s^2 and s^3."""

    lower: float
    upper: float
    velocity: float
    acceleration: float
    jerk: float

    @classmethod
    def of(cls, joint: Joint) -> Bounds:
        """Return the limits of a joint."""
        return cls(*(getattr(joint, name) for name in cls._fields))

    def followed_by(self, joint: Joint, factor: float, offset: float) -> Bounds:
        """Return narrower ones, so that a joint that mimics the leader keeps its own, too."""
        if factor == 0.0:
            return self
        own = Bounds.of(joint)
        ends = sorted(((own.lower - offset) / factor, (own.upper - offset) / factor))
        return Bounds(max(self.lower, ends[0]), min(self.upper, ends[1]),
                      *(min(rate, other / abs(factor)) for rate, other in zip(self[2:], own[2:])))

    def checked(self, leader: Joint) -> Bounds:
        """Return these; raise ChainError if they leave the leader no range."""
        if self.lower > self.upper:
            raise ChainError(f'the joints that mimic {quote(leader.name)} leave it no range: '
                             f'[{self.lower:g}, {self.upper:g}]')
        return self


BASE_ROW = -1


@dataclass
class TableRows:
    """Rows of a table as they are gathered along joints, each after the row that carries it."""

    names: list[str] = field(default_factory=list)
    """The coordinates."""
    joints: list[Joint] = field(default_factory=list)
    """The joints that move."""
    table: list[list[float]] = field(default_factory=list)
    """As :attr:`ik_node.model.joint_space.JointSpace.table`."""
    parents: list[int] = field(default_factory=list)
    """As :attr:`ik_node.model.joint_space.JointSpace.parents`."""

    def cross(self, row: int, T: np.ndarray, joint: Joint, down: bool,
              by_name: Mapping[str, Joint]) -> tuple[int, np.ndarray]:
        """
        Add the rows of a joint after a link at `T` (4, 4) in `row`; return the next link's place.

        A joint that is crossed from its child to its parent, not `down`, moves the other way.
        """
        if not joint.placed:
            raise UrdfError(joint.fault)
        motions = motions_of(joint, by_name) if joint.moves else []
        if motions:
            self.joints.append(joint)
            leader = leader_of(joint, by_name)[0]
            self.names += [name for name in coordinates_of(leader) if name not in self.names]
        if down:
            T = T @ joint.T_parent_joint
        sign = 1.0 if down else -1.0
        for motion in motions if down else reversed(motions):
            A = pose(rotation_to_axis(motion.axis), np.zeros(3))
            row = self._add(row, T @ A, float(motion.slides), self.names.index(motion.coordinate),
                            sign * motion.factor, sign * motion.offset)
            T = A.T
        return row, T if down else T @ inverse(joint.T_parent_joint)

    def add_tip(self, row: int, T: np.ndarray) -> int:
        """Add a row that does not move in its parent; return its number."""
        return self._add(row, T, 1.0, 0, 0.0, 0.0)

    def _add(self, parent: int, T: np.ndarray, *motion: float) -> int:
        self.table.append([*T[:3, :3].ravel(), *T[:3, 3], *motion])
        self.parents.append(parent)
        return len(self.table) - 1

    def checked_table(self, between: str) -> np.ndarray:
        """Return the table (m, 16); raise ChainError if a number in it is not finite."""
        table = np.array(self.table)
        if not np.isfinite(table).all():
            raise ChainError(f'the offsets or mimic factors between {between} multiply to a '
                             'number that is not finite')
        return table

    def limits(self, by_name: Mapping[str, Joint],
               bounds: JointBounds | None = None) -> dict[str, np.ndarray]:
        """
        Return Bounds of the coordinates, and `continuous` and `revolute`, each an (n,) array.

        Of a joint that others mimic they keep these inside their own limits; `bounds` are as for
        :func:`checked_bounds`.
        """
        leaders: dict[str, Joint] = {}
        limits: dict[str, Bounds] = {}
        for joint in self.joints:
            leader, factor, offset = leader_of(joint, by_name)
            leaders[leader.name] = leader
            if leader.type in MULTI_DOF_TYPES:
                continue
            kept = limits.setdefault(leader.name, Bounds.of(leader))
            if joint is not leader:
                limits[leader.name] = kept.followed_by(joint, factor, offset)
        rows = {name: (*kept.checked(leaders[name]),
                       leaders[name].type is not JointType.PRISMATIC)
                for name, kept in limits.items()}
        rows |= {name: (*ends, *(np.inf,) * 3, name.rpartition('/')[2] in ANGLE_NAMES)
                 for name, ends in checked_bounds(leaders, bounds or {}).items()}
        table = np.array([rows[name] for name in self.names], dtype=float)
        return {**{name: table[:, k].copy() for k, name in enumerate(Bounds._fields)},
                'continuous': np.isinf(table[:, 0]) & np.isinf(table[:, 1]),
                'revolute': table[:, -1] > 0.0}
