# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Convex hulls that together contain a triangle mesh.

One hull of a bent link fills the space inside the bend and touches neighbours that the link
does not touch.  So what is much thinner than its hull is cut by planes, and each part has a hull
of its own: along its walls, if it is closed and consists of flat ones, else at its hollows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ik_node.collision.meshes.hollows import cut_at_hollows
from ik_node.collision.meshes.mesh_cuts import FLAT_THICKNESS_M, hull_volume, qhull
from ik_node.collision.meshes.walls import walls_of

MAX_HULL_VERTICES = 300
SHARPEST_CORNER = 0.5  # cosine between a corner's direction and the normal of a face
MIN_GAIN_OF_WALLS = 0.03  # volume that they save, by that of one hull
VERTICES_PER_ROUND = 80   # added to a thinned hull before the distances are computed again
GROWTH_ROUNDS = 2         # in which the faces of a thinned hull are moved outwards
DISTANCE_BLOCK = 200      # points whose distances to a hull are computed at once, in the cache
MIXING_WEIGHTS = 1.0, 0.7548776662, 0.5698402910  # of coordinates: one number of a point


class Hulls(NamedTuple):
    """Convex hulls that together contain a mesh."""

    # (v, 3) each, vertices of each hull, m.  A flat mesh has a flat hull, a line two vertices, a
    # point one.
    vertices: tuple[np.ndarray, ...]
    # The most, m, that a hull of too many vertices was enlarged after it had been reduced to
    # MAX_HULL_VERTICES, so that it contains all of them.
    grown: float


def convex_hulls(triangles: np.ndarray) -> Hulls:
    """
    Return at most a dozen convex hulls that together contain a mesh.

    Parameters
    ----------
    triangles : (m, 3, 3) array
        The corners of each triangle, m; finite, at least one triangle.  Neither the order
        of the corners nor holes matter.

    """
    hulls = [_thinned(_hull_vertices(part.reshape(-1, 3))) for part in _divided(triangles)]
    return Hulls(tuple(vertices for vertices, _ in hulls), max(grown for _, grown in hulls))


def hull_triangles(vertices: np.ndarray, padding: float = 0.0) -> np.ndarray:
    """
    Return the triangles (m, 3, 3) of the hull of points (v, 3); none if they are flat.

    Parameters
    ----------
    padding : float
        By which each face is moved outwards, m; sharp corners are cut off.

    """
    hull = qhull(vertices)
    if hull is None:
        return np.zeros((0, 3, 3))
    corners, normals = hull.simplices.ravel(), np.repeat(hull.equations[:, :3], 3, axis=0)
    outwards = np.zeros_like(vertices)
    np.add.at(outwards, corners, normals)
    lengths = np.linalg.norm(outwards, axis=1)
    outwards[lengths > 0.0] /= lengths[lengths > 0.0, None]
    steepest = np.ones(len(vertices))
    np.minimum.at(steepest, corners, (outwards[corners] * normals).sum(axis=1))
    return (vertices + padding * outwards / np.maximum(steepest, SHARPEST_CORNER)[:, None])[
        hull.simplices]


def _divided(triangles: np.ndarray) -> list[np.ndarray]:
    """Return the triangles of each part after all cuts that are worth it."""
    a, b, c = triangles.swapaxes(0, 1)
    if np.einsum('ij,ij->', a, np.cross(b, c)) < 0.0:  # mirrored
        triangles = triangles[:, ::-1]
    whole = hull_volume(triangles)
    walls = walls_of(triangles)
    if sum(map(hull_volume, walls)) < (1.0 - MIN_GAIN_OF_WALLS) * whole:
        return walls
    return cut_at_hollows(triangles)


# ---- hulls ------------------------------------------------------------------

def _hull_vertices(points: np.ndarray) -> np.ndarray:
    """Return the vertices (v, 3) of the convex hull of points, of which some may be equal."""
    # Equal ones are beside each other then, which is faster than to look for unique rows.
    points = points[np.argsort(points @ MIXING_WEIGHTS)]
    points = points[np.append(True, (points[1:] != points[:-1]).any(axis=1))]
    centred, axes = _principal_axes(points)
    along = centred @ axes
    thick = np.ptp(along, axis=0) > FLAT_THICKNESS_M
    if not thick.any():
        return points[:1].copy()
    if thick.sum() == 1:
        values = along[:, thick][:, 0]
        return points[[values.argmin(), values.argmax()]]
    hull = qhull(centred if thick.all() else along[:, thick])
    return _box_corners(points) if hull is None else points[hull.vertices]


def _principal_axes(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return points about their mean, and the axes (3, 3) of their covariance as columns."""
    centred = points - points.mean(axis=0)
    return centred, np.linalg.eigh(centred.T @ centred)[1]


def _box_corners(points: np.ndarray) -> np.ndarray:
    """Return the corners (8, 3) of the box along the principal axes that contains points."""
    centred, axes = _principal_axes(points)
    along = centred @ axes
    corners = np.array(np.meshgrid(*zip(along.min(axis=0), along.max(axis=0)))).reshape(3, -1).T
    return points.mean(axis=0) + corners @ axes.T


def _thinned(vertices: np.ndarray) -> tuple[np.ndarray, float]:
    """
    Return at most MAX_HULL_VERTICES points whose hull contains the vertices of a hull.

    The hull of few vertices takes up the farthest one beyond each of its faces, as Quickhull
    does (Barber, Dobkin and Huhdanpaa 1996, "The Quickhull algorithm for convex hulls"), until
    it has as many as are allowed.  Then it is enlarged.  The second result is how far a point
    was moved at most, m; no point of the new hull is farther from the old one.
    """
    if len(vertices) <= MAX_HULL_VERTICES:
        return vertices, 0.0
    directions = np.array(np.meshgrid(*[(-1.0, 0.0, 1.0)] * 3)).reshape(3, -1).T
    kept = np.unique(np.argmax(vertices @ directions.T, axis=0))
    while (hull := qhull(vertices[kept])) is not None:
        room = min(VERTICES_PER_ROUND, MAX_HULL_VERTICES - len(kept))
        if not room:
            return _enlarged(vertices, vertices[kept])
        height, face = _heights(vertices, hull.equations)
        order = np.argsort(-height, kind='stable')
        first = np.sort(np.unique(face[order], return_index=True)[1])
        added = np.setdiff1d(order[first[:room]], kept)
        if not len(added):  # no vertex is outside
            return vertices[kept], 0.0
        kept = np.union1d(kept, added)
    corners = _box_corners(vertices)  # a flat hull
    return corners, float(np.linalg.norm(np.ptp(corners, axis=0)))


def _heights(points: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how far each point is above the faces of a hull (f, 4), and the face it is above."""
    height, face = np.empty(len(points)), np.empty(len(points), dtype=int)
    for start in range(0, len(points), DISTANCE_BLOCK):
        block = slice(start, start + DISTANCE_BLOCK)
        above = points[block] @ faces[:, :3].T + faces[:, 3]
        face[block] = above.argmax(axis=1)
        height[block] = above[np.arange(len(above)), face[block]]
    return height, face


def _enlarged(vertices: np.ndarray, kept: np.ndarray) -> tuple[np.ndarray, float]:
    """
    Return points `kept`, moved outwards until their hull contains `vertices`, and how far.

    First each face is moved by as much as a vertex is above it, with its corners; the rest,
    which becomes small, is made up by a scale about the centre.
    """
    moved = kept.copy()
    for _ in range(GROWTH_ROUNDS):
        hull = qhull(moved)
        height, face = _heights(vertices, hull.equations)
        highest = np.zeros(len(hull.equations))
        np.maximum.at(highest, face, height)
        push = np.zeros_like(moved)
        for k in np.argsort(highest):  # a corner of several faces follows the one that moves most
            push[hull.simplices[k]] = highest[k] * hull.equations[k, :3]
        moved += push
    faces = qhull(moved).equations
    centre = moved.mean(axis=0)
    depth = -(faces[:, :3] @ centre + faces[:, 3])
    factor = 1.0 + max(0.0, _heights(vertices, faces / depth[:, None])[0].max())
    moved = centre + factor * (moved - centre)
    return moved, float(np.linalg.norm(moved - kept, axis=1).max())
