# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Cuts of triangles by planes, and what tells whether a cut is of use."""

from __future__ import annotations

from typing import Any

import numpy as np

from ik_node.base.errors import ParameterError
from ik_node.base.system import missing

MEASURED_TRIANGLES = 20_000  # of a part, whose hull tells its volume
SAME_PLACE_M = 1e-5       # from a plane
FLAT_THICKNESS_M = 1e-10  # a thinner mesh counts as flat
RAY_DIRECTION = np.array([0.8320, 0.4711, 0.2929])  # along no edge of most meshes

Plane = tuple[np.ndarray, float]  # its normal (3,), and its place along it (m)


def qhull(points: np.ndarray) -> Any:
    """Return scipy's hull of points (v, 3) or (v, 2), or None where they are too flat for it."""
    try:
        from scipy.spatial import ConvexHull
    except ImportError:
        raise ParameterError('convex hulls of meshes are computed by scipy; '
                             + missing('scipy')) from None
    try:
        return ConvexHull(points)
    except (RuntimeError, ValueError):  # QhullError is a RuntimeError
        return None


def hull_volume(triangles: np.ndarray) -> float:
    """Return the volume of the convex hull of triangles, of many about; 0 if they are flat."""
    sample = triangles[::1 + len(triangles) // MEASURED_TRIANGLES]
    hull = qhull(sample.reshape(-1, 3))
    return 0.0 if hull is None else hull.volume


def side(triangles: np.ndarray, normal: np.ndarray, place: float, sign: float) -> np.ndarray:
    """Return the triangles (k, 3, 3) on one side of the plane ``normal . x = place``."""
    depth = sign * (triangles @ normal - place)
    inside = depth >= 0.0
    count = inside.sum(axis=1)
    pieces = [triangles[count == 3]]
    for corners in (1, 2):
        cut = count == corners
        # Corner a is alone on its side; b and c are on the other.
        alone = np.argmax(inside[cut] == (corners == 1), axis=1)
        order = (alone[:, None] + np.arange(3)) % 3
        d = np.take_along_axis(depth[cut], order, axis=1)
        a, b, c = np.moveaxis(np.take_along_axis(triangles[cut], order[:, :, None], axis=1), 1, 0)
        ab = a + (d[:, 0] / (d[:, 0] - d[:, 1]))[:, None] * (b - a)
        ac = a + (d[:, 0] / (d[:, 0] - d[:, 2]))[:, None] * (c - a)
        pieces += [np.stack(piece, axis=1) for piece in
                   ([(a, ab, ac)] if corners == 1 else [(ab, b, c), (ab, c, ac)])]
    return np.concatenate(pieces)


def parted(triangles: np.ndarray, normal: np.ndarray,
           place: float) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the triangles on both sides of a plane, each whole one on one side only.

    Those in the plane go where the solid is, behind them.
    """
    depth = triangles @ normal - place
    above, below = depth.max(axis=1) > SAME_PLACE_M, depth.min(axis=1) < -SAME_PLACE_M
    across, flat = triangles[above & below], ~above & ~below
    upwards = flat & (normals_of(triangles)[0] @ normal > 0.0)
    return (np.concatenate([triangles[above & ~below | flat & ~upwards],
                            side(across, normal, place, 1.0)]),
            np.concatenate([triangles[below & ~above | upwards],
                            side(across, normal, place, -1.0)]))


def normals_of(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the unit normals (m, 3), and the areas (m,), of triangles; 0 without an area."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    lengths = np.linalg.norm(normals, axis=1)
    return normals / np.maximum(lengths, np.finfo(float).tiny)[:, None], 0.5 * lengths


def is_solid(triangles: np.ndarray) -> bool:
    """Return whether a mesh is closed and its corners are in order, seen from outside."""
    _, corners = np.unique(triangles.reshape(-1, 3) + 0.0, axis=0, return_inverse=True)
    corners = corners.reshape(-1, 3)
    ways = np.concatenate([corners[:, [k, (k + 1) % 3]] for k in range(3)])
    ways = ways[ways[:, 0] != ways[:, 1]]
    there, back = (way[np.lexsort(way.T)] for way in (ways, ways[:, ::-1]))
    volume = np.einsum('ij,ij->', triangles[:, 0], np.cross(triangles[:, 1], triangles[:, 2]))
    return bool(np.array_equal(there, back) and volume > 0.0)


def are_inside(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """
    Return which points (p, 3) are inside a mesh.

    It is seen all round from there (van Oosterom and Strackee 1983, "The solid angle of a plane
    triangle"); or, if the corners of its triangles are in no order, is crossed by a ray oddly.
    """
    inside = np.zeros(len(points), dtype=bool)
    for k, point in enumerate(points):
        a, b, c = (triangles - point).swapaxes(0, 1)
        la, lb, lc = (np.linalg.norm(each, axis=1) for each in (a, b, c))
        normal = np.cross(b, c)
        volume = (a * normal).sum(axis=1)
        angles = np.arctan2(volume, la * lb * lc + (a * b).sum(axis=1) * lc
                            + (b * c).sum(axis=1) * la + (c * a).sum(axis=1) * lb)
        sides = np.array([each @ RAY_DIRECTION for each in (np.cross(a, b), normal,
                                                            np.cross(c, a))])
        crossed = ((sides > 0.0).all(axis=0) | (sides < 0.0).all(axis=0)) \
            & (sides.sum(axis=0) * volume > 0.0)
        inside[k] = angles.sum() > np.pi or np.count_nonzero(crossed) % 2 == 1
    return inside
