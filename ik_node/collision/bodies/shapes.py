# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Convex parts as arrays, and their support points, for compiled code."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from ik_node.collision.bodies.parts import Body, ConvexPart
from ik_node.kinematics.kernels import inner, small

BOX_KIND, CYLINDER_KIND, CAPSULE_KIND, PLANE_KIND, HULL_KIND = range(5)
VERTEX_BLOCK = 8  # vertices of a hull fill whole blocks, so that the loop over one is vectorised


class Shapes(NamedTuple):
    """Convex parts as arrays; each is a core with a margin all round."""

    # (p, 4), kind; index of the moving frame, 0 = base; first and last row of the vertices
    ints: np.ndarray
    # (p, 4), of the core, m: half lengths of a box; radius and half length of a cylinder; half
    # length of a capsule in the third place.  The fourth is the margin: the radius of a capsule or
    # sphere (a capsule without length), and the padding.
    sizes: np.ndarray
    poses: np.ndarray  # (p, 12), in the moving frame
    # (p, 4), centre in the moving frame, and radius, of a ball that contains the part; of a plane,
    # a point on it, and infinity
    balls: np.ndarray
    vertices: np.ndarray  # (3, v), of all hulls, in the frames of the parts


def shapes_of(bodies: tuple[Body, ...], frames: list[int],
              T_frames: list[np.ndarray]) -> tuple[Shapes, list[int]]:
    """
    Return the parts of bodies as arrays, and for each part the index of its body.

    Parameters
    ----------
    frames : list of int
        Index of the moving frame of each body.
    T_frames : list of (4, 4) arrays
        Pose of each body in that frame.

    """
    ints, sizes, poses, balls, vertices, owners, count = [], [], [], [], [], [], 0
    for owner, (body, frame, T_frame) in enumerate(zip(bodies, frames, T_frames)):
        for part in body.parts:
            kind, size, points = _core(part)
            T = T_frame @ part.T
            size = *size[:3], size[3] + body.padding
            ints.append((kind, frame, count, count + points.shape[1]))
            sizes.append(size)
            poses.append([*T[:3, :3].ravel(), *T[:3, 3]])
            balls.append(_ball(kind, size, part, T))
            vertices.append(points)
            owners.append(owner)
            count += points.shape[1]
    return Shapes(np.array(ints, dtype=np.int64).reshape(-1, 4),
                  np.array(sizes, dtype=float).reshape(-1, 4),
                  np.array(poses, dtype=float).reshape(-1, 12),
                  np.array(balls, dtype=float).reshape(-1, 4),
                  np.ascontiguousarray(np.hstack([np.zeros((3, 0)), *vertices]))), owners


def _core(part: ConvexPart) -> tuple[int, tuple[float, ...], np.ndarray]:
    """Return kind, size (4) and vertices (3, v) of a part."""
    size, none = part.size, np.zeros((3, 0))
    if part.kind == 'box':
        return BOX_KIND, (0.5 * size[0], 0.5 * size[1], 0.5 * size[2], 0.0), none
    if part.kind == 'cylinder':
        return CYLINDER_KIND, (size[0], 0.5 * size[1], 0.0, 0.0), none
    if part.kind == 'sphere':
        return CAPSULE_KIND, (0.0, 0.0, 0.0, size[0]), none
    if part.kind == 'capsule':
        return CAPSULE_KIND, (0.0, 0.0, 0.5 * size[1], size[0]), none
    if part.kind == 'plane':
        return PLANE_KIND, (0.0, 0.0, 0.0, 0.0), none
    points = part.vertices
    missing = -len(points) % VERTEX_BLOCK
    return HULL_KIND, (0.0, 0.0, 0.0, 0.0), np.vstack([points, *[points[:1]] * missing]).T


def round_axis(shapes: Shapes, part: int) -> np.ndarray | None:
    """Return the direction (3,), in its moving frame, of the axis about which a part is round."""
    return shapes.poses[part, [2, 5, 8]] if shapes.ints[part, 0] in (CYLINDER_KIND, CAPSULE_KIND) \
        else None


def _ball(kind: int, size: tuple[float, ...], part: ConvexPart, T: np.ndarray) -> list[float]:
    """Return the centre in the moving frame and the radius of a ball round a part."""
    if kind == PLANE_KIND:
        return [*T[:3, 3], np.inf]
    centre = np.zeros(3)
    if kind == BOX_KIND:
        radius = float(np.linalg.norm(size[:3]))
    elif kind == CYLINDER_KIND:
        radius = float(np.hypot(size[0], size[1]))
    elif kind == CAPSULE_KIND:
        radius = size[2]
    else:
        centre, radius = part.vertex_ball
    return [*(T[:3, :3] @ centre + T[:3, 3]), radius + size[3]]


@small
def support(shapes, part, x, y, z):
    """Return the point of the core of a part farthest along a direction, in the part's frame."""
    kind = shapes.ints[part, 0]
    if kind == HULL_KIND:
        return hull_support(shapes.vertices, shapes.ints[part, 2], shapes.ints[part, 3], x, y, z)
    a, b, c = shapes.sizes[part, 0], shapes.sizes[part, 1], shapes.sizes[part, 2]
    if kind == BOX_KIND:
        return (a if x > 0.0 else -a), (b if y > 0.0 else -b), (c if z > 0.0 else -c)
    if kind == CYLINDER_KIND:
        end = b if z > 0.0 else -b
        length = sqrt(x * x + y * y)
        if length < 1e-300:
            return 0.0, 0.0, end
        return a * x / length, a * y / length, end
    return 0.0, 0.0, (c if z > 0.0 else -c)


@inner
def hull_support(vertices, first, last, x, y, z):
    """Return the vertex farthest along a direction: the best block, then the best in it."""
    best, block = -np.inf, first
    for i in range(first, last, VERTEX_BLOCK):
        most = -np.inf
        for k in range(i, i + VERTEX_BLOCK):
            most = max(most, vertices[0, k] * x + vertices[1, k] * y + vertices[2, k] * z)
        if most > best:
            best, block = most, i
    best, found = -np.inf, block
    for k in range(block, block + VERTEX_BLOCK):
        along = vertices[0, k] * x + vertices[1, k] * y + vertices[2, k] * z
        if along > best:
            best, found = along, k
    return vertices[0, found], vertices[1, found], vertices[2, found]
