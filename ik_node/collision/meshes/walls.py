# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Walls of a closed mesh, which are cut off one by one along the largest planes of the mesh.

If all of them are convex, their hulls are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ik_node.collision.meshes.mesh_cuts import (
    are_inside,
    FLAT_THICKNESS_M,
    hull_volume,
    is_solid,
    normals_of,
    parted,
    Plane,
    qhull,
    SAME_PLACE_M,
)

MAX_WALLS = 12            # of what consists of flat walls
MAX_WALL_TRIANGLES = 5_000  # of a mesh whose walls are cut off
WALL_PLANES = 24          # largest planes of a mesh that are tried
MIN_FLAT_SHARE = 0.6      # of the area, that is in them
PLANE_ROUNDING = 1e-3     # of normals, and of offsets by the size of the mesh, on one plane
LEAST_SHARE = 1e-6        # of the volume of both sides of a cut, that each has
ROUNDED_SHARE = 1e-9      # of a volume, by which rounding may lower it
WALL_DEPTH_M = 3e-3       # below a face of a hull, within which the mesh has to be
WALL_COVER = 0.97         # share of the area of a face that it has to cover there
WALL_SAMPLES = 100        # points in a hull that have to be in the mesh
SAME_DIRECTION = 0.99     # cosine between normals of a face and of what covers it


def walls_of(triangles: np.ndarray) -> list[np.ndarray]:
    """
    Return the triangles of each of the walls that a closed mesh consists of, else all of them.

    A wall's hull has faces that the mesh covers, and others in the planes of cuts.  So nothing of
    the inside, between these planes, is beyond them.
    """
    if len(triangles) > MAX_WALL_TRIANGLES or not is_solid(triangles):
        return [triangles]
    planes, share = _largest_planes(triangles)
    if share < MIN_FLAT_SHARE:
        return [triangles]
    undecided: list[tuple[np.ndarray, list[Plane]]] = [(triangles, [])]
    walls: list[np.ndarray] = []
    while undecided:
        part, cuts = undecided.pop()
        if _is_wall(part, cuts, triangles):
            walls.append(part)
            continue
        sides = _best_sides(part, cuts, planes, triangles)
        if not sides or len(walls) + len(undecided) + 2 > MAX_WALLS:
            return [triangles]
        undecided += sides
    return walls


def _best_sides(part: np.ndarray, cuts: list[Plane], planes: list[Plane],
                triangles: np.ndarray) -> list[tuple[np.ndarray, list[Plane]]]:
    """
    Return both sides of the best cut, each with the planes of its cuts; none without one.

    It cuts off the largest wall, or else lowers the volume most.
    """
    best: tuple[float, float] = 0.0, -(1.0 - ROUNDED_SHARE) * hull_volume(part)
    chosen: list[tuple[np.ndarray, list[Plane]]] = []
    for plane in planes:
        sides = [(side, [*cuts, plane]) for side in parted(part, *plane)]
        volumes = [hull_volume(side) for side, _ in sides]
        if min(volumes) <= LEAST_SHARE * sum(volumes):
            continue
        wall = max(float(normals_of(side)[1].sum()) * _is_wall(side, those, triangles)
                   for side, those in sides)
        if (wall, -sum(volumes)) > best:
            best, chosen = (wall, -sum(volumes)), sides
    return chosen


def _largest_planes(triangles: np.ndarray) -> tuple[list[Plane], float]:
    """Return the planes with most of the area, (normal (3,), place), and their share of it."""
    normals, areas = normals_of(triangles)
    rows = np.arange(len(normals))
    normals *= np.sign(normals[rows, np.abs(normals).argmax(axis=1)])[:, None]
    places = (normals * triangles[:, 0]).sum(axis=1)
    size = max(float(np.ptp(triangles.reshape(-1, 3), axis=0).max()), FLAT_THICKNESS_M)
    keys = np.round(np.column_stack([normals, places / size]) / PLANE_ROUNDING) + 0.0
    _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    total = np.bincount(which.ravel(), weights=areas)
    largest = np.argsort(-total, kind='stable')[:WALL_PLANES]
    return ([(normals[k], float(places[k])) for k in first[largest] if areas[k] > 0.0],
            float(total[largest].sum() / max(total.sum(), np.finfo(float).tiny)))


def _is_wall(part: np.ndarray, cuts: list[Plane], triangles: np.ndarray) -> bool:
    """Return whether the hull of a part of a closed mesh has its faces and is full."""
    hull = qhull(part.reshape(-1, 3))
    if hull is None or not _is_covered(hull, part, cuts):
        return False
    corners = hull.points[hull.vertices]
    shares = np.random.default_rng(0).dirichlet(np.full(len(corners), 0.5), WALL_SAMPLES)
    return bool(are_inside(shares @ corners, triangles).all())


def _is_covered(hull: Any, triangles: np.ndarray, cuts: list[Plane]) -> bool:
    """
    Return whether a mesh covers the faces of its hull, but for those in the planes of cuts.

    What is within WALL_DEPTH_M below a face covers it.
    """
    corners = hull.points[hull.simplices]
    left = normals_of(corners)[1]
    least = (1.0 - WALL_COVER) * left.sum()
    for normal, place in cuts:
        left[np.abs(corners @ normal - place).max(axis=1) < SAME_PLACE_M] = 0.0
    normals, areas = normals_of(triangles)
    while left.sum() > least:
        # The face around the largest triangle of the hull that is left.
        face = hull.equations[left.argmax()]
        flat = (hull.equations[:, :3] @ face[:3] > SAME_DIRECTION) \
            & ((corners @ face[:3] + face[3]).min(axis=1) > -SAME_PLACE_M)
        near = (np.abs(normals @ face[:3]) > SAME_DIRECTION) \
            & ((triangles @ face[:3] + face[3]).min(axis=1) > -WALL_DEPTH_M)
        if areas[near].sum() < WALL_COVER * left[flat].sum():
            return False
        left[flat] = 0.0
    return True
