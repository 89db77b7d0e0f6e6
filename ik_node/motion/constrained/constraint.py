# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the tip keeps during a motion: a box of its pose in a frame, or a largest tilt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import degrees, inf, pi
from typing import Any

import numpy as np

from ik_node.base.checks import real_array
from ik_node.base.errors import ConstraintError, IkNodeError
from ik_node.base.se3 import inverse, pose, rotation_log, rotation_to_axis
from ik_node.base.text import shown
from ik_node.solver.goal import checked_pose

EXACT_WIDTH = 1e-4  # m or rad; narrower bounds count as so wide
SLACK = 5e-7        # m or rad, by which a bound may be exceeded, for rounding
ANGLES_OF_AXES = 'xyz'
ROTATION_VECTOR = 'rotation vector'
PARAMETERIZATIONS = ROTATION_VECTOR, ANGLES_OF_AXES
FREE = (inf, inf, inf)
AXES = 'x', 'y', 'z'
FREE_ROTATION_RAD = 3.1  # MoveIt's programs write 3.14 for a rotation that is free
WIDEST_PITCH = 1.48  # rad, 85 degrees
WIDEST_ANGLE = 0.5 * pi - 1e-3  # of successive rotations about x and z; about y more is free


@dataclass(frozen=True, eq=False)
class PathConstraint:
    """
    A region in which the pose of the tip stays during a motion.

    The pose of a point that is fixed to the tip, ``T_frame_point = T_base_frame^-1 T_base_tip
    T_tip_point``, has six coordinates: a position and a rotation.  Each stays within plus and
    minus a half-width.  Besides, the z axes of both frames stay within a tilt of each other, and
    the point within a distance of the frame's origin, and of its z axis.

    Parameters
    ----------
    T_base_frame : (4, 4) array
        Pose of the frame, the middle of the region, m.
    position : three numbers
        Half-widths along x, y and z of the frame, m: 0 = exact (to EXACT_WIDTH), inf = free.
    rotation : three numbers
        Half-widths of the rotation, rad: 0 = exact, FREE_ROTATION_RAD or more = free.
    angles : str
        What these are of: the components of the 'rotation vector'; or 'xyz', the angles of
        successive rotations about x, y and z (as MoveIt has them by default), of which those
        about x and y are the two angles of a tilt if z is free.  Where one about x or z is
        bound, that about y stays below WIDEST_PITCH, beside which they are not determined; a
        motion cannot begin outside of these angles.
    tilt : float
        Largest angle between the z axes, rad.
    distance, axis_distance : float
        Largest distance of the point from the origin, and from the z axis, of the frame, m.
    T_tip_point : (4, 4) array
        Pose of the point, and of its axes, on the tip.

    Raises
    ------
    ConstraintError
        If a number is NaN or negative, all is free, a pose is not rigid, or an angle about x or z
        is neither free nor below a right angle.

    """

    T_base_frame: np.ndarray
    position: tuple[float, ...] = FREE
    rotation: tuple[float, ...] = FREE
    angles: str = ROTATION_VECTOR
    tilt: float = inf
    distance: float = inf
    axis_distance: float = inf
    T_tip_point: np.ndarray = field(default_factory=lambda: np.eye(4))

    def __post_init__(self) -> None:
        fields = self.__dict__
        try:
            fields['T_base_frame'] = checked_pose(self.T_base_frame, 'a frame is a 4x4 matrix')
            fields['T_tip_point'] = checked_pose(self.T_tip_point, 'a point is a 4x4 matrix')
        except IkNodeError as error:
            raise ConstraintError(f'the pose of a path constraint cannot be used: {error}') \
                from None
        fields['position'] = _half_widths('position', self.position, inf)
        fields['rotation'] = _half_widths('rotation', self.rotation, FREE_ROTATION_RAD)
        for name, free in (('tilt', FREE_ROTATION_RAD), ('distance', inf),
                           ('axis_distance', inf)):
            fields[name], = _half_widths(name, (getattr(self, name),), free)
        if not isinstance(self.angles, str) or self.angles not in PARAMETERIZATIONS:
            raise ConstraintError('the angles of a path constraint are those of '
                                  f'{" or ".join(map(repr, PARAMETERIZATIONS))}, got '
                                  f'{shown(self.angles)}')
        if self.angles == ANGLES_OF_AXES and any(
                WIDEST_ANGLE <= self.rotation[k] < inf for k in (0, 2)):
            raise ConstraintError('of successive rotations about x, y and z those about x and z '
                                  f'stay below {WIDEST_ANGLE:.3f} rad, or are free (3.14)')
        x, y, z = self.rotation
        if self.angles == ANGLES_OF_AXES and min(x, z) < inf:
            fields['rotation'] = x, min(y, WIDEST_PITCH), z
        if all(width == inf for width in (*self.position, *self.rotation, self.tilt,
                                          self.distance, self.axis_distance)):
            raise ConstraintError('the path constraint constrains nothing; leave it out')

    @classmethod
    def upright(cls, tilt: float, axis_tip: Sequence[float] = (0.0, 0.0, 1.0),
                axis_base: Sequence[float] = (0.0, 0.0, 1.0)) -> PathConstraint:
        """
        Return the constraint that an axis of the tip stays within an angle of one in the base.

        Parameters
        ----------
        tilt : float
            Largest angle between both, rad.
        axis_tip, axis_base : three numbers
            Any length but 0.

        """
        return cls(_frame_of_axis(axis_base), tilt=tilt, T_tip_point=_frame_of_axis(axis_tip))

    def excess(self, T_base_tip: np.ndarray) -> tuple[str, float]:
        """Return what is farthest outside at a pose (4, 4), and by how much (m or rad; < 0 in)."""
        T = inverse(self.T_base_frame) @ T_base_tip @ self.T_tip_point
        values = [(f'{axis} of the position', abs(value) - width)
                  for axis, value, width in zip(AXES, T[:3, 3], self.position)]
        if self.angles == ROTATION_VECTOR:
            what, rotation = 'the rotation vector', rotation_log(T[:3, :3])
        else:
            what = 'the rotation'
            rotation = np.array([np.arctan2(-T[1, 2], T[2, 2]),
                                 np.arcsin(np.clip(T[0, 2], -1.0, 1.0)),
                                 np.arctan2(-T[0, 1], T[0, 0])])
        values += [(f'{axis} of {what}', abs(value) - width)
                   for axis, value, width in zip(AXES, rotation, self.rotation)]
        values += [
            ('the tilt', np.arctan2(np.hypot(T[0, 2], T[1, 2]), T[2, 2]) - self.tilt),
            ('the position', np.linalg.norm(T[:3, 3]) - self.distance),
            ('the position', np.hypot(T[0, 3], T[1, 3]) - self.axis_distance)]
        return max(values, key=lambda each: each[1])


def most_excess(constraints: Sequence[PathConstraint], T_base_tip: np.ndarray) \
        -> tuple[str, float]:
    """Return as :meth:`PathConstraint.excess`, of several constraints."""
    return max((each.excess(T_base_tip) for each in constraints), key=lambda each: each[1],
               default=('', -inf))


def described_excess(what: str, excess: float) -> str:
    """Return by how much (m or rad) something is outside, in words."""
    return f'{what} is outside by ' + (f'{1e3 * excess:.4g} mm' if 'position' in what
                                       else f'{degrees(excess):.4g} deg')


def _frame_of_axis(axis: Sequence[float]) -> np.ndarray:
    """Return a pose (4, 4) at the origin whose z axis is along an axis of any length."""
    z = real_array(axis)
    size = float(np.linalg.norm(z)) if z is not None and z.shape == (3,) else 0.0
    if not 0.0 < size < inf:
        raise ConstraintError(f'an axis is three finite numbers, not all 0, got {shown(axis)}')
    return pose(rotation_to_axis(z / size), np.zeros(3))


def _half_widths(what: str, given: Any, free: float) -> tuple[float, ...]:
    """Return half-widths of at least EXACT_WIDTH; those from `free` on are infinite."""
    try:
        widths = tuple(float(each) for each in given)
    except (TypeError, ValueError, OverflowError):
        widths = ()
    count = 3 if what in ('position', 'rotation') else 1
    if len(widths) != count or not all(width >= 0.0 for width in widths):
        raise ConstraintError(
            f'the {what} of a path constraint is {"a number" if count == 1 else "3 numbers"} '
            f'from 0 (exact) to inf (free), got {shown(given)}')
    return tuple(inf if width >= free else max(width, EXACT_WIDTH) for width in widths)
