# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled distance of two convex parts.

By the algorithm of Gilbert, Johnson and Keerthi (1988), "A fast procedure for computing the
distance between complex objects in three-dimensional space": the point of the difference of
both parts that is nearest to the origin is approached by simplices of support points.  Each
step gives a lower and an upper bound of the distance.  The nearest point of a triangle is
found as in Ericson (2005), "Real-Time Collision Detection", section 5.1.5.  The same weights of
the support points give the nearest point of each part.

The distance of parts that overlap is negative: how far they must be shifted to be apart.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from ik_node.collision.bodies.shapes import PLANE_KIND, support
from ik_node.kinematics.kernels import inner, shared, small

MAX_SIMPLICES = 60
MAX_SHIFTS = 8           # by which the direction of parts that overlap is improved
SHIFTED_APART_M = 1e-3   # how far apart they are then
DISTANCE_ERROR_M = 1e-7  # at which the search ends
TOUCHING_CORES_M = 1e-9
FLAT_TETRAHEDRON = 1e-12  # relative to the squares of its edges
# The vertices of each face of a tetrahedron, and the one opposite.
TETRAHEDRON_FACES = np.array([[0, 1, 2, 3], [0, 1, 3, 2], [0, 2, 3, 1], [1, 2, 3, 0]])


class GjkWork(NamedTuple):
    """Workspace of :func:`part_distance`."""

    # (4, 6), vertices of the simplex, and for each the point of the first core that it came from,
    # in the frame of the first part, m
    simplex: np.ndarray
    # weights, kept: (4,), the weights of the vertices in the nearest point; 0 beyond the last
    # vertex
    weights: np.ndarray
    kept: np.ndarray
    # R, p: (9,), (3,), pose of the second part in the frame of the first
    R: np.ndarray
    p: np.ndarray
    # (3,), the point of the difference that is nearest to the origin, in the frame of the first
    nearest: np.ndarray
    # (1,), width (m) of a slab across `nearest` that is between the parts; -inf if unknown
    gap: np.ndarray


def gjk_work() -> GjkWork:
    """Return a workspace."""
    return GjkWork(np.zeros((4, 6)), np.zeros(4), np.zeros(4), np.zeros(9),
                   np.zeros(3), np.zeros(3), np.full(1, -np.inf))


@shared
def part_distance(shapes, a, b, enough, contact, work):
    """
    Return a lower and an upper bound of the distance (m) of two parts.

    Parameters
    ----------
    shapes : Shapes
    a, b : int
    enough, contact : float
        The search ends when the distance is known to be above `enough`, or at most `contact`.
    work : GjkWork
        R and p: pose of b in the frame of a; nearest: a first guess of the direction from b
        to a, or zero.

    Returns
    -------
    (float, float)
        Equal to DISTANCE_ERROR_M unless the search ended before.  Parts whose cores overlap
        have minus the sum of their margins.

    """
    if shapes.ints[a, 0] == PLANE_KIND or shapes.ints[b, 0] == PLANE_KIND:
        work.gap[0] = plane_distance(shapes, a, b, work)
        return work.gap[0], work.gap[0]
    R, p, v = work.R, work.p, work.nearest
    margin = shapes.sizes[a, 3] + shapes.sizes[b, 3]
    if v[0] * v[0] + v[1] * v[1] + v[2] * v[2] < 1e-18:
        v[0], v[1], v[2] = -p[0], -p[1], -p[2]
        if v[0] * v[0] + v[1] * v[1] + v[2] * v[2] < 1e-18:
            v[0] = 1.0
    lower, upper, count = -np.inf, np.inf, 0
    for _ in range(MAX_SIMPLICES):
        x, y, z = v[0], v[1], v[2]
        ax, ay, az = support(shapes, a, -x, -y, -z)
        bx, by, bz = support(shapes, b, R[0] * x + R[3] * y + R[6] * z,
                             R[1] * x + R[4] * y + R[7] * z, R[2] * x + R[5] * y + R[8] * z)
        wx = ax - (R[0] * bx + R[1] * by + R[2] * bz + p[0])
        wy = ay - (R[3] * bx + R[4] * by + R[5] * bz + p[1])
        wz = az - (R[6] * bx + R[7] * by + R[8] * bz + p[2])
        # All of the difference is beyond the plane through w across v.
        work.gap[0] = (x * wx + y * wy + z * wz) / sqrt(x * x + y * y + z * z) - margin
        lower = max(lower, work.gap[0])
        if lower > enough or upper - lower < DISTANCE_ERROR_M \
                or is_vertex(work.simplex, count, wx, wy, wz):
            break
        work.simplex[count, 0], work.simplex[count, 1], work.simplex[count, 2] = wx, wy, wz
        work.simplex[count, 3], work.simplex[count, 4], work.simplex[count, 5] = ax, ay, az
        count, work.gap[0] = reduce_simplex(count + 1, work), -np.inf
        length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
        if count == 0 or length < TOUCHING_CORES_M:
            return -margin, -margin
        upper = length - margin
        if upper <= contact:
            break
    return max(lower, -margin), upper


@shared
def overlap_distance(shapes, a, b, enough, work):
    """
    Return the distance (m) of two parts whose cores overlap: minus a shift that parts them.

    The shift is the least among the directions near the one that is found.  As the parts are
    shifted apart along a direction, the direction between their nearest points needs no longer a
    shift than that one, mostly a shorter one.

    Parameters
    ----------
    enough : float
        The search ends when the distance is known to be above it.
    work : GjkWork
        R and p: pose of b in the frame of a; nearest: a first direction from b to a, or zero.  It
        becomes the direction, and `gap` the distance.

    """
    v, p, margin = work.nearest, work.p, shapes.sizes[a, 3] + shapes.sizes[b, 3]
    if v[0] * v[0] + v[1] * v[1] + v[2] * v[2] < 1e-18:
        v[0], v[1], v[2] = -p[0], -p[1], -p[2]
        if v[0] * v[0] + v[1] * v[1] + v[2] * v[2] < 1e-18:
            v[0] = 1.0
    normalize(v)
    gap = slab(shapes, a, b, work)
    for _ in range(MAX_SHIFTS):
        if gap - margin > enough:
            break
        x, y, z = v[0], v[1], v[2]
        shift = SHIFTED_APART_M - gap
        p[0], p[1], p[2] = p[0] - shift * x, p[1] - shift * y, p[2] - shift * z
        part_distance(shapes, a, b, np.inf, -np.inf, work)
        p[0], p[1], p[2] = p[0] + shift * x, p[1] + shift * y, p[2] + shift * z
        normalize(v)
        better = slab(shapes, a, b, work)
        if better < gap + DISTANCE_ERROR_M:
            if better < gap:
                v[0], v[1], v[2] = x, y, z
            break
        gap = better
    work.gap[0] = gap - margin
    return work.gap[0]


@small
def normalize(v):
    """Divide a vector (3,) by its length."""
    length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    v[0], v[1], v[2] = v[0] / length, v[1] / length, v[2] / length


@inner
def slab(shapes, a, b, work):
    """Return the width (m) between two cores along the unit vector `nearest`; below 0: overlap."""
    R, p, v = work.R, work.p, work.nearest
    x, y, z = v[0], v[1], v[2]
    ax, ay, az = support(shapes, a, -x, -y, -z)
    u, v, w = (R[0] * x + R[3] * y + R[6] * z, R[1] * x + R[4] * y + R[7] * z,
               R[2] * x + R[5] * y + R[8] * z)
    bx, by, bz = support(shapes, b, u, v, w)
    return (x * (ax - p[0]) + y * (ay - p[1]) + z * (az - p[2]) - u * bx - v * by - w * bz)


@inner
def plane_distance(shapes, a, b, work):
    """Return the distance (m) of a part from a plane; negative: the depth."""
    R, p, v = work.R, work.p, work.nearest
    margin = shapes.sizes[a, 3] + shapes.sizes[b, 3]
    if shapes.ints[a, 0] == PLANE_KIND and shapes.ints[b, 0] == PLANE_KIND:
        return np.inf  # neither moves
    if shapes.ints[a, 0] == PLANE_KIND:
        x, y, z = support(shapes, b, -R[6], -R[7], -R[8])
        v[0], v[1], v[2] = 0.0, 0.0, -1.0
        return p[2] + R[6] * x + R[7] * y + R[8] * z - margin
    x, y, z = support(shapes, a, -R[2], -R[5], -R[8])
    v[0], v[1], v[2] = R[2], R[5], R[8]
    return R[2] * (x - p[0]) + R[5] * (y - p[1]) + R[8] * (z - p[2]) - margin


@inner
def nearest_points(shapes, a, b, distance, work, points):
    """
    Write the nearest points (2, 3) of two parts, m, in the frame of the first.

    After :func:`part_distance` with `enough` infinite and `contact` minus infinity, which has
    found `distance` (m).  Returns whether there are any: cores that overlap have none.
    """
    R, p, v = work.R, work.p, work.nearest
    length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    if shapes.ints[a, 0] == PLANE_KIND:
        x, y, z = support(shapes, b, -R[6], -R[7], -R[8])
        for k in range(3):
            points[1, k] = R[3 * k] * x + R[3 * k + 1] * y + R[3 * k + 2] * z + p[k]
            points[0, k] = points[1, k]
        points[0, 2] = 0.0
    elif shapes.ints[b, 0] == PLANE_KIND:
        x, y, z = support(shapes, a, -R[2], -R[5], -R[8])
        points[0, 0], points[0, 1], points[0, 2] = x, y, z
        height = R[2] * (x - p[0]) + R[5] * (y - p[1]) + R[8] * (z - p[2])
        for k in range(3):
            points[1, k] = points[0, k] - height * R[3 * k + 2]
    elif distance <= -shapes.sizes[a, 3] - shapes.sizes[b, 3]:
        return False
    else:
        for k in range(3):
            points[0, k] = 0.0
            for i in range(4):
                points[0, k] += work.weights[i] * work.simplex[i, 3 + k]
            points[1, k] = points[0, k] - v[k]
    for k in range(3):
        points[0, k] -= shapes.sizes[a, 3] * v[k] / length
        points[1, k] += shapes.sizes[b, 3] * v[k] / length
    return True


@small
def is_vertex(simplex, count, x, y, z):
    """Return whether a point is one of the vertices of a simplex."""
    for i in range(count):
        if abs(simplex[i, 0] - x) + abs(simplex[i, 1] - y) + abs(simplex[i, 2] - z) < 1e-12:
            return True
    return False


@inner
def reduce_simplex(count, work):
    """
    Keep the vertices that carry the point of a simplex nearest to the origin.

    Writes that point, and returns how many vertices are kept; 0 if the origin is inside.
    """
    S, weights, kept = work.simplex, work.weights, work.kept
    for i in range(4):
        weights[i] = 0.0
    if count == 1:
        weights[0] = 1.0
    elif count == 2:
        segment_weights(S, weights)
    elif count == 3:
        # From the table, as below: constants would make a second copy of the compiled function.
        corners = TETRAHEDRON_FACES[0]
        triangle_weights(S, corners[0], corners[1], corners[2], weights)
    elif not tetrahedron_weights(S, weights, kept):
        return 0
    v = work.nearest
    v[0] = v[1] = v[2] = 0.0
    left = 0
    for i in range(count):
        weight = weights[i]
        if weight > 0.0:
            weights[i] = 0.0
            weights[left] = weight
            for k in range(3):
                v[k] += weight * S[i, k]
                S[left, k] = S[i, k]
                S[left, 3 + k] = S[i, 3 + k]
            left += 1
    return left


@inner
def segment_weights(S, weights):
    """Write the weights of the point of the first two vertices that is nearest to the origin."""
    square, along = 0.0, 0.0
    for k in range(3):
        edge = S[1, k] - S[0, k]
        square += edge * edge
        along -= S[0, k] * edge
    t = min(max(along / square, 0.0), 1.0) if square > 0.0 else 0.0
    weights[0], weights[1] = 1.0 - t, t


@inner
def triangle_weights(S, a, b, c, weights):
    """Write the weights of the point of a triangle that is nearest to the origin."""
    d1 = d2 = d3 = d4 = d5 = d6 = 0.0
    for k in range(3):
        ab, ac = S[b, k] - S[a, k], S[c, k] - S[a, k]
        d1 -= ab * S[a, k]
        d2 -= ac * S[a, k]
        d3 -= ab * S[b, k]
        d4 -= ac * S[b, k]
        d5 -= ab * S[c, k]
        d6 -= ac * S[c, k]
    weights[a] = weights[b] = weights[c] = 0.0
    va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
    if d1 <= 0.0 and d2 <= 0.0:
        weights[a] = 1.0
    elif d3 >= 0.0 and d4 <= d3:
        weights[b] = 1.0
    elif d6 >= 0.0 and d5 <= d6:
        weights[c] = 1.0
    elif vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        weights[b] = d1 / (d1 - d3) if d1 > d3 else 0.0
        weights[a] = 1.0 - weights[b]
    elif vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        weights[c] = d2 / (d2 - d6) if d2 > d6 else 0.0
        weights[a] = 1.0 - weights[c]
    elif va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        weights[c] = (d4 - d3) / ((d4 - d3) + (d5 - d6)) if d4 - d3 + d5 - d6 > 0.0 else 0.0
        weights[b] = 1.0 - weights[c]
    else:
        weights[b], weights[c] = vb / (va + vb + vc), vc / (va + vb + vc)
        weights[a] = 1.0 - weights[b] - weights[c]


@inner
def tetrahedron_weights(S, weights, trial):
    """
    Write the weights of the point of a tetrahedron's surface that is nearest to the origin.

    Returns whether the origin is outside.
    """
    best, outside = np.inf, False
    for face in range(4):
        corners = TETRAHEDRON_FACES[face]
        a, b, c, d = corners[0], corners[1], corners[2], corners[3]
        ux, uy, uz = S[b, 0] - S[a, 0], S[b, 1] - S[a, 1], S[b, 2] - S[a, 2]
        qx, qy, qz = S[c, 0] - S[a, 0], S[c, 1] - S[a, 1], S[c, 2] - S[a, 2]
        nx, ny, nz = uy * qz - uz * qy, uz * qx - ux * qz, ux * qy - uy * qx
        origin = -(nx * S[a, 0] + ny * S[a, 1] + nz * S[a, 2])
        opposite = (nx * (S[d, 0] - S[a, 0]) + ny * (S[d, 1] - S[a, 1])
                    + nz * (S[d, 2] - S[a, 2]))
        size = (nx * nx + ny * ny + nz * nz) * (
            ux * ux + uy * uy + uz * uz + qx * qx + qy * qy + qz * qz)
        if origin * opposite > 0.0 and opposite * opposite > FLAT_TETRAHEDRON * size:
            continue  # on the side of the fourth vertex
        outside = True
        for i in range(4):
            trial[i] = 0.0
        triangle_weights(S, a, b, c, trial)
        square = 0.0
        for k in range(3):
            x = trial[a] * S[a, k] + trial[b] * S[b, k] + trial[c] * S[c, k]
            square += x * x
        if square < best:
            best = square
            for i in range(4):
                weights[i] = trial[i]
    return outside
