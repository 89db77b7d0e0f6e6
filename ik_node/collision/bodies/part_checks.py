# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Check the parts, poses and numbers of bodies that come from outside."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ik_node.base.checks import finite_array, is_pose, poses_are_rigid
from ik_node.base.errors import ParameterError
from ik_node.base.text import quote
from ik_node.collision.bodies.parts import ConvexPart
from ik_node.collision.meshes.convex import MAX_HULL_VERTICES

# Each kind of part, with the names of its sizes.
PART_SIZES = {
    'box': ('x', 'y', 'z'),
    'cylinder': ('radius', 'length'),
    'sphere': ('radius',),
    'capsule': ('radius', 'length'),
    'plane': (),
    'hull': (),
}
MAX_PART_SIZE_M = 1e6       # of a size, of a position and of a vertex
FEW_PARTS = 10              # that are checked one by one
PARTS_AT_ONCE = 500         # for about a millisecond, in which no other thread of Python runs
NO_VERTICES = np.zeros((0, 3))
NO_VERTICES.setflags(write=False)


def checked_part(part: ConvexPart, what: str) -> ConvexPart:
    """
    Return a part from outside with checked numbers and arrays of its own.

    Parameters
    ----------
    what : str
        What the part belongs to; begins the sentence of an error.

    Raises
    ------
    ParameterError
        If the kind is unknown, a size is not positive and finite, the pose is not a
        rotation and a position, or a hull has no vertices, too many, or one that is not
        finite.

    """
    names = PART_SIZES.get(part.kind)
    if names is None:
        raise ParameterError(f'{what} has a part of the kind {quote(part.kind)}; the kinds are '
                             + ', '.join(PART_SIZES))
    size = finite_array(part.size, (len(names),), f'the size of the {part.kind} of {what}'
                        + (f' ({", ".join(names)})' if names else ''))
    if not ((size > 0.0) & (size <= MAX_PART_SIZE_M)).all():
        raise ParameterError(f'the {part.kind} of {what} has the size '
                             f'{" ".join(f"{value:g}" for value in size)} '
                             f'({", ".join(names)}); each must be above 0 and at most '
                             f'{MAX_PART_SIZE_M:g} m')
    T = checked_part_pose(part.T, f'the {part.kind} of {what}')
    return ConvexPart(part.kind, tuple(size.tolist()), T,
                      _checked_vertices(part.vertices, what) if part.kind == 'hull'
                      else NO_VERTICES)


def checked_parts(parts: Sequence[ConvexPart], what: str) -> tuple[ConvexPart, ...]:
    """
    Return as :func:`checked_part` of each, many boxes and round ones at once.

    Raises
    ------
    ParameterError
        As there, of the first part that is not allowed.

    """
    made: list[ConvexPart] = []
    for first in range(0, len(parts), PARTS_AT_ONCE):
        some = parts[first:first + PARTS_AT_ONCE]
        made += _sound_parts(some) or [checked_part(part, what) for part in some]
    return tuple(made)


def _sound_parts(parts: Sequence[ConvexPart]) -> list[ConvexPart]:
    """Return as :func:`checked_parts`; none, if one has to be looked at by itself."""
    kinds = {part.kind for part in parts}
    if len(parts) < FEW_PARTS or len(kinds) > 1 or not PART_SIZES.get(*kinds):
        return []
    kind, = kinds
    try:
        sizes = np.array([part.size for part in parts], dtype=float)
        T = np.array([part.T for part in parts], dtype=float)
    except (TypeError, ValueError, OverflowError):
        return []
    if sizes.shape[1:] != (len(PART_SIZES[kind]),) or T.shape[1:] != (4, 4):
        return []
    if not (((sizes > 0.0) & (sizes <= MAX_PART_SIZE_M)).all() and poses_are_rigid(T)
            and (np.abs(T[:, :3, 3]) <= MAX_PART_SIZE_M).all()):
        return []
    T.setflags(write=False)
    return [ConvexPart(kind, tuple(size), T_part, NO_VERTICES)
            for size, T_part in zip(sizes.tolist(), T)]


def checked_part_pose(T: np.ndarray | None, what: str) -> np.ndarray:
    """
    Return a read-only copy (4, 4) of a pose; the identity for None.

    Raises
    ------
    ParameterError
        If it is not finite, or not a rotation (orthonormal to 1e-6) and a position.

    """
    T = np.eye(4) if T is None else finite_array(T, (4, 4), f'the pose of {what}')
    if not is_pose(T.tolist()):
        raise ParameterError(f'the pose of {what} is not a rotation and a position: its upper '
                             'left 3x3 matrix must be right-handed and orthonormal, its last '
                             'row 0 0 0 1')
    if np.abs(T[:3, 3]).max() > MAX_PART_SIZE_M:
        raise ParameterError(f'the pose of {what} is more than {MAX_PART_SIZE_M:g} m away')
    T.setflags(write=False)
    return T


def checked_padding(padding: float, what: str) -> float:
    """Return a padding in m; raise ParameterError if it is negative or not finite."""
    try:
        value = float(padding)
    except (TypeError, ValueError):
        value = np.nan
    if not 0.0 <= value <= MAX_PART_SIZE_M:
        raise ParameterError(f'the padding of {what} is {quote(padding)}; it must be a finite '
                             'number of m, 0 or more')
    return value


def _checked_vertices(vertices: np.ndarray, what: str) -> np.ndarray:
    array = finite_array(vertices, (None, 3), f'the vertices of a hull of {what}')
    if not 0 < len(array) <= MAX_HULL_VERTICES:
        raise ParameterError(f'a hull of {what} has {len(array)} vertices; it must have 1 to '
                             f'{MAX_HULL_VERTICES} (give more as a mesh)')
    if np.abs(array).max() > MAX_PART_SIZE_M:
        raise ParameterError(f'a hull of {what} has a vertex more than {MAX_PART_SIZE_M:g} m '
                             'away')
    array.setflags(write=False)
    return array
