# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
How deep two convex parts overlap: the least shift that brings them apart.

By the expanding polytope algorithm of van den Bergen (2001), "Proximity queries and penetration
depth computation on 3D game objects": a polytope inside the difference of both parts grows by
support points where its surface is nearest to the origin, until it grows no more there.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np

from ik_node.collision.bodies.shapes import BOX_KIND, CAPSULE_KIND, CYLINDER_KIND, Shapes

DEPTH_ERROR_M = 1e-4      # at which the polytope has grown enough
MAX_SUPPORT_POINTS = 200
FLAT_DIFFERENCE_M = 1e-9  # a thinner difference has no depth
ALONG_AXIS = 1e-9          # sine of the angle of a direction that is along the axis of a disc
BOX_CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))
AXIS_ENDS = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])


class _Core(NamedTuple):
    """The core of a part: the hull of points, and of a disc round each."""

    points: np.ndarray  # (v, 3), in the base, m
    axis: np.ndarray    # (3,), normal of the discs
    radius: float       # of the discs, m; 0 without

    def farthest(self, direction: np.ndarray) -> np.ndarray:
        """Return the point (3,) that is farthest along a direction."""
        point = self.points[np.argmax(self.points @ direction)]
        across = direction - self.axis * (self.axis @ direction)
        length = np.linalg.norm(across)
        if length < ALONG_AXIS:
            return point
        return point + across * (self.radius / length)


def least_shift(shapes: Shapes, a: int, b: int, poses: np.ndarray) -> np.ndarray:
    """
    Return the least shift (3,), m, of part b that brings two parts apart whose cores overlap.

    Parameters
    ----------
    a, b : int
        No planes.
    poses : (p, 12) array
        Of the parts, in the base.

    """
    one, other = _core(shapes, a, poses[a]), _core(shapes, b, poses[b])
    margin = shapes.sizes[a, 3] + shapes.sizes[b, 3]
    depth, normal = _surface(lambda d: one.farthest(d) - other.farthest(-d))
    return (depth + margin) * normal


def _core(shapes: Shapes, part: int, pose: np.ndarray) -> _Core:
    kind, _, first, last = shapes.ints[part]
    size, R, radius = shapes.sizes[part, :3], pose[:9].reshape(3, 3), 0.0
    if kind == BOX_KIND:
        points = BOX_CORNERS * size
    elif kind == CAPSULE_KIND:
        points = AXIS_ENDS * size[2]
    elif kind == CYLINDER_KIND:
        points, radius = AXIS_ENDS * size[1], float(size[0])
    else:
        points = shapes.vertices[:, first:last].T
    return _Core(points @ R.T + pose[9:], R[:, 2], radius)


def _surface(farthest: Callable[[np.ndarray], np.ndarray]) -> tuple[float, np.ndarray]:
    """
    Return how far (m) the surface of a convex body is from the origin, which is inside.

    And its normal (3,) there.
    """
    vertices, flat_normal = _tetrahedron(farthest)
    if flat_normal is not None:
        return 0.0, flat_normal
    corners = np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])  # seen from outside
    normals, offsets = _planes(vertices, corners)
    while True:
        nearest = int(np.argmin(offsets))
        normal, offset = normals[nearest], offsets[nearest]
        new = farthest(normal)
        shift = float(normal @ new)
        if shift - offset < DEPTH_ERROR_M or len(vertices) > MAX_SUPPORT_POINTS:
            return max(shift, 0.0), normal
        seen = normals @ new - offsets > FLAT_DIFFERENCE_M
        edges = {edge for a, b, c in corners[seen].tolist() for edge in ((a, b), (b, c), (c, a))}
        added = np.array([(a, b, len(vertices)) for a, b in edges if (b, a) not in edges])
        vertices = np.vstack([vertices, new])
        planes = _planes(vertices, added)
        corners, normals, offsets = (np.concatenate([old[~seen], more]) for old, more in
                                     zip((corners, normals, offsets), (added, *planes)))


def _planes(vertices: np.ndarray, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return normals (f, 3) of triangles, outwards, and how far (m) they are from the origin."""
    p, q, r = (vertices[corners[:, k]] for k in range(3))
    normals = np.cross(q - p, r - p)
    lengths = np.linalg.norm(normals, axis=1)
    flat = lengths == 0.0
    normals /= np.where(flat, 1.0, lengths)[:, None]
    return normals, np.where(flat, np.inf, (normals * p).sum(axis=1))


def _tetrahedron(farthest: Callable[[np.ndarray], np.ndarray]) \
        -> tuple[np.ndarray, np.ndarray | None]:
    """
    Return four points of a body (4, 3), the first three clockwise seen from the last.

    And a normal (3,) of the body if it is flat; it has fewer points then.
    """
    vertices = [farthest(np.array([1.0, 0.0, 0.0]))]
    across = np.eye(3)
    while len(vertices) < 4:
        ends = [(farthest(sign * d), d) for d in across for sign in (1.0, -1.0)]
        away = [abs(d @ (end - vertices[0])) for end, d in ends]
        if max(away) < FLAT_DIFFERENCE_M:
            return np.array(vertices), across[-1]
        vertices.append(ends[int(np.argmax(away))][0])
        edges = np.array(vertices[1:]) - vertices[0]
        across = np.linalg.svd(edges)[2][len(edges):]
    p, q, r, s = vertices
    clockwise = np.cross(q - p, r - p) @ (s - p) < 0.0
    return np.array([p, q, r, s] if clockwise else [p, r, q, s]), None
