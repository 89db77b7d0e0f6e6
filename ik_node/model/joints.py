# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Joints as rows of one degree of freedom each, and per-joint numbers that callers give.

Planar and floating joints have several rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import pi, radians
from typing import NamedTuple

import numpy as np

from ik_node.base.checks import real_array
from ik_node.base.errors import ChainError, ParameterError
from ik_node.base.se3 import rotation_to_axis
from ik_node.base.text import quote, shown
from ik_node.model.chain import Chain
from ik_node.model.description.urdf import Joint, JointType, leader_of, MULTI_DOF_TYPES

MAX_ANGLE_RAD = 2.0 * pi + 1e-3  # of rotations; 360 degrees, rounded


def one_per_joint(chain: Chain, values: tuple[float, ...], what: str) -> np.ndarray:
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


def outside_limits(chain: Chain, k: int, value: float) -> str:
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
