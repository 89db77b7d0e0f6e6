# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Check the parts, poses and numbers of bodies that come from outside."""

from __future__ import annotations

import numpy as np

from ik_node.collision.convex import MAX_HULL_VERTICES
from ik_node.collision.parts import ConvexPart
from ik_node.errors import ParameterError
from ik_node.text import quote, shown

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
MAX_ROTATION_RESIDUAL = 1e-6  # of R R^T - I, for a pose from outside
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


def checked_part_pose(T: np.ndarray | None, what: str) -> np.ndarray:
    """
    Return a read-only copy (4, 4) of a pose; the identity for None.

    Raises
    ------
    ParameterError
        If it is not finite, or not a rotation (orthonormal to 1e-6) and a position.

    """
    T = np.eye(4) if T is None else finite_array(T, (4, 4), f'the pose of {what}')
    R = T[:3, :3]
    if np.abs(R @ R.T - np.eye(3)).max() > MAX_ROTATION_RESIDUAL or np.linalg.det(R) < 0.0 \
            or not np.array_equal(T[3], (0.0, 0.0, 0.0, 1.0)):
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


def finite_array(value: object, shape: tuple[int | None, ...], what: str) -> np.ndarray:
    """
    Return a new float array; None in `shape` stands for any length.

    Raises
    ------
    ParameterError
        If the shape is another, or a number is not finite.

    """
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f'{what} must be numbers, got {shown(value, 80)}') from None
    if array.ndim != len(shape) or any(wanted not in (None, length)
                                       for wanted, length in zip(shape, array.shape)):
        wanted = ' x '.join('n' if length is None else str(length) for length in shape)
        raise ParameterError(f'{what} must be {wanted or "one"} number{"s" * (wanted != "")}, '
                             f'got the shape {array.shape}')
    if not np.isfinite(array).all():
        raise ParameterError(f'{what} must be finite, got {array[~np.isfinite(array)][0]}')
    return array


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
