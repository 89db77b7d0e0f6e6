# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What a motion is to keep, as users write it: in frames that are known when it begins.

>>> read_keeps('{upright: 0.1}')
(Keep(upright=0.1, ...),)

The text is YAML, one mapping or a list of them, with the fields of :class:`Keep` as keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import inf
from typing import Any

import numpy as np
import yaml

from ik_node.base.checks import real_array
from ik_node.base.errors import ConstraintError, IkNodeError, ParameterError
from ik_node.base.text import shown
from ik_node.model.user_files.plain_yaml import read_values
from ik_node.motion.constrained.constraint import FREE, PathConstraint, ROTATION_VECTOR
from ik_node.solver.goal import goal_matrix

START_FRAME = 'start'   # the pose of the tip where the motion begins
MAX_KEEPS = 20          # of one motion
MAX_KEEP_LENGTH = 10_000
MAX_WIDTH = 2**30       # of a line of YAML
NO_POSE = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
UP = (0.0, 0.0, 1.0)
REGION_NAMES = {'position', 'rotation', 'distance', 'axis_distance'}


@dataclass(frozen=True)
class Keep:
    """
    A region in which a point on the tip stays during a motion, or a level that the tool keeps.

    Raises
    ------
    ConstraintError
        If a value cannot be used; what depends on frames, in :meth:`constraints`.

    """

    upright: float = inf
    """Largest angle, rad, between an axis of the tip and one of the frame."""
    axis: tuple[float, ...] = ()
    """That of the tip; by default of x, y, z and their opposites the one that is nearest to the
    frame's where the motion begins."""
    along: tuple[float, ...] = UP
    """That of the frame."""
    position: tuple[float, ...] = FREE
    """Half-widths of a box of the point, along the axes of its middle, m."""
    rotation: tuple[float, ...] = FREE
    """Half-widths of its rotation, rad, as `angles` says."""
    angles: str = ROTATION_VECTOR
    """'rotation vector' or 'xyz'; see :class:`PathConstraint`."""
    distance: float = inf
    """Largest distance of the point from the middle, m."""
    axis_distance: float = inf
    """Largest distance of the point from the z axis of the middle, m."""
    frame: str = ''
    """A link, a frame of TF, 'start' for the tip where the motion begins, '' for the base."""
    pose: tuple[float, ...] = NO_POSE
    """The middle in the frame: position, m, and quaternion x, y, z, w."""
    point: tuple[float, ...] = NO_POSE
    """The point, and its axes, on the tip."""

    def __post_init__(self) -> None:
        for name in ('frame', 'angles'):
            if not isinstance(getattr(self, name), str):
                raise ConstraintError(f'the {name} of what is kept is a name, got '
                                      f'{shown(getattr(self, name))}')
        for name in ('axis', 'along', 'position', 'rotation', 'pose', 'point'):
            given = real_array(getattr(self, name))
            if given is None or given.ndim != 1:
                raise ConstraintError(f'the {name} of what is kept is a list of numbers, got '
                                      f'{shown(getattr(self, name))}')
            self.__dict__[name] = tuple(given.tolist())
        self._require_used()
        for name in ('upright', 'distance', 'axis_distance'):
            given = real_array(getattr(self, name))
            if given is None or given.shape:
                raise ConstraintError(f'the {name} of what is kept is a number, got '
                                      f'{shown(getattr(self, name))}')
            self.__dict__[name] = float(given)
        self.constraints(np.eye(4), np.eye(4))  # what is wrong in any frame

    def _require_used(self) -> None:
        """Refuse values that say nothing without another one."""
        default = {field.name: field.default for field in fields(Keep)}
        given = {name for name, value in vars(self).items() if value != default[name]}
        for names, others in (({'axis', 'along'}, {'upright'}), ({'angles'}, {'rotation'}),
                              ({'pose', 'point'}, REGION_NAMES)):
            if given & names and not given & others:
                raise ConstraintError(f'{" and ".join(sorted(given & names))} of what is kept '
                                      f'belong to {" or ".join(sorted(others))}')

    @property
    def _has_region(self) -> bool:
        return (self.position, self.rotation, self.distance, self.axis_distance) \
            != (FREE, FREE, inf, inf)

    def constraints(self, T_base_frame: np.ndarray, T_base_tip: np.ndarray) \
            -> tuple[PathConstraint, ...]:
        """
        Return the path constraints of a motion.

        Parameters
        ----------
        T_base_frame : (4, 4) array
            Pose of the frame that :attr:`frame` names.
        T_base_tip : (4, 4) array
            That of the tip where the motion begins.

        Raises
        ------
        ConstraintError
            As :class:`PathConstraint`.

        """
        try:
            T_frame_middle, T_tip_point = goal_matrix(self.pose), goal_matrix(self.point)
        except IkNodeError as error:
            raise ConstraintError(f'a pose of what is kept cannot be used: {error}') from None
        found = []
        if self.upright != inf:
            PathConstraint.upright(self.upright, self.axis or UP, self.along)  # as they are given
            up = T_base_frame[:3, :3] @ self.along
            axis = self.axis or _nearest_axis(T_base_tip[:3, :3].T @ up)
            found.append(PathConstraint.upright(self.upright, axis, up))
        if self._has_region or not found:
            found.append(PathConstraint(
                T_base_frame @ T_frame_middle, self.position, self.rotation, self.angles,
                distance=self.distance, axis_distance=self.axis_distance,
                T_tip_point=T_tip_point))
        return tuple(found)


def upright(tilt: float, axis: Sequence[float] = (), along: Sequence[float] = UP,
            frame: str = '') -> Keep:
    """Return a Keep that holds the tool level within `tilt` (rad); see its fields."""
    return Keep(tilt, tuple(axis), tuple(along), frame=frame)


def read_keeps(given: Any) -> tuple[Keep, ...]:
    """
    Return what is to be kept, from a text, a mapping, a Keep, or a list of these; '' is nothing.

    Raises
    ------
    ConstraintError
        If it cannot be read, or used.

    """
    if isinstance(given, str):
        if len(given) > MAX_KEEP_LENGTH:
            raise ConstraintError(f'what is to be kept has {len(given)} characters, at most '
                                  f'{MAX_KEEP_LENGTH} are read')
        try:
            given = read_values(given)
        except ParameterError as error:
            raise ConstraintError(f'what is to be kept is {error}') from None
        if isinstance(given, str):
            raise ConstraintError('what is to be kept is a mapping such as {upright: 0.1}, got '
                                  f'{shown(given)}')
    if given is None:
        return ()
    each = [given] if isinstance(given, (Mapping, Keep)) else given
    if not isinstance(each, (list, tuple)) or len(each) > MAX_KEEPS:
        raise ConstraintError(f'what is to be kept is a mapping such as {{upright: 0.1}}, or a '
                              f'list of at most {MAX_KEEPS}, got {shown(given)}')
    return tuple(map(_keep, each))


def keep_values(keeps: Sequence[Keep]) -> list[dict[str, Any]]:
    """Return mappings that :func:`read_keeps` reads, without what is the default."""
    default = {field.name: field.default for field in fields(Keep)}
    return [{name: [*value] if isinstance(value, tuple) else value
             for name, value in vars(keep).items() if value != default[name]} for keep in keeps]


def keeps_text(keeps: Sequence[Keep]) -> str:
    """Return a text that :func:`read_keeps` reads."""
    return flow_text(keep_values(keeps))


def flow_text(values: Any) -> str:
    """Return values as YAML in one line."""
    return yaml.dump(values, Dumper=yaml.CSafeDumper, default_flow_style=True, sort_keys=False,
                     width=MAX_WIDTH).strip()


def path_constraints(framed: Sequence[tuple[Keep | PathConstraint, np.ndarray | None]],
                     T_base_tip: np.ndarray) -> tuple[PathConstraint, ...]:
    """
    Return the path constraints of a motion that begins with the tip at T_base_tip (4, 4).

    Parameters
    ----------
    framed : sequence of pairs
        What is kept, and ``T_base_frame`` (4, 4) of its frame; None for START_FRAME, and for a
        PathConstraint, which stays as it is.

    """
    return tuple(constraint for keep, T_base_frame in framed for constraint in (
        (keep,) if isinstance(keep, PathConstraint) else keep.constraints(
            T_base_tip if T_base_frame is None else T_base_frame, T_base_tip)))


def _keep(given: Any) -> Keep:
    if isinstance(given, Keep):
        return given
    names = [field.name for field in fields(Keep)]
    if not isinstance(given, Mapping) or not {*given} <= {*names}:
        unknown = [str(key) for key in given if key not in names] \
            if isinstance(given, Mapping) else [shown(given)]
        raise ConstraintError(f'what is to be kept has no {", ".join(unknown)}; it has '
                              + ', '.join(names))
    return Keep(**given)


def _nearest_axis(axis: np.ndarray) -> np.ndarray:
    """Return of x, y, z and their opposites the one that is nearest to an axis (3,)."""
    k = int(np.abs(axis).argmax())
    return np.sign(axis[k]) * np.eye(3)[k]
