# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Convex hulls that together contain a triangle mesh.

One hull of a bent link fills the space inside the bend and touches neighbours that the link
does not touch.  So a mesh is cut by planes across its axes as long as that makes the hulls
clearly smaller, and each part has a hull of its own.  The plane is the one that lowers the sum
of the volumes most: a greedy form of approximate convex decomposition (Lien and Amato 2007,
"Approximate convex decomposition of polyhedra").

What has flat walls, as a bin, gains nothing from any one such cut.  So walls are also cut off
one by one, along the largest planes of the mesh.  If all of them are convex, and the mesh is
closed, and that saves volume, they are taken.

Nothing is lost by a cut: triangles that cross the plane are divided there, and the points of
division belong to both parts.  The surface is always contained; of a closed mesh also the inside,
but for what a further cut of a part that is open already may leave out of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ik_node.command_line.packages import missing
from ik_node.errors import ParameterError

MAX_HULLS = 6         # of cuts across the axes
MAX_WALLS = 12        # of what consists of flat walls
MAX_HULL_VERTICES = 300
SHARPEST_CORNER = 0.5  # cosine between a corner's direction and the normal of a face
CUT_PLACES = (0.15, 0.3, 0.42, 0.5, 0.58, 0.7, 0.85)  # of the length of a part along an axis
MIN_GAIN_OF_PART = 0.12   # a cut lowers the volume by this fraction of the hull of the part
MIN_GAIN_OF_WHOLE = 0.03  # and by this fraction of the hull of the whole mesh
COMPARED_TRIANGLES = 600  # of each part, when the planes are compared
FLAT_THICKNESS_M = 1e-10  # a thinner mesh has a flat hull
VERTICES_PER_ROUND = 20   # added to a thinned hull before the distances are computed again
GROWTH_ROUNDS = 4         # in which the faces of a thinned hull are moved outwards
DISTANCE_BLOCK = 10_000   # points whose distances to a hull are computed at once
MEASURED_TRIANGLES = 20_000  # of a part, whose hull tells its volume
MAX_WALL_TRIANGLES = 5_000  # of a mesh whose walls are cut off
WALL_PLANES = 24          # largest planes of a mesh that are tried
MIN_FLAT_SHARE = 0.6      # of the area, that is in them
PLANE_ROUNDING = 1e-3     # of normals, and of offsets by the size of the mesh, on one plane
SAME_PLACE_M = 1e-5       # from a plane
LEAST_SHARE = 1e-6        # of the volume of both sides of a cut, that each has
ROUNDED_SHARE = 1e-9      # of a volume, by which rounding may lower it
WALL_DEPTH_M = 3e-3       # below a face of a hull, within which the mesh has to be
WALL_COVER = 0.97         # share of the area of a face that it has to cover there
WALL_SAMPLES = 100        # points in a hull that have to be in the mesh
SAME_DIRECTION = 0.99     # cosine between normals of a face and of what covers it


AXIS_NORMALS = np.eye(3)

Plane = tuple[np.ndarray, float]  # its normal (3,), and its place along it (m)


class Hulls(NamedTuple):
    """
    Convex hulls that together contain a mesh.

    Attributes
    ----------
    vertices : tuple of (v, 3) arrays
        Vertices of each hull, m.  A flat mesh has a flat hull, a line two vertices, a
        point one.
    grown : float
        The most, m, that a hull of too many vertices was enlarged after it had been
        reduced to MAX_HULL_VERTICES, so that it contains all of them.

    """

    vertices: tuple[np.ndarray, ...]
    grown: float


def convex_hulls(triangles: np.ndarray) -> Hulls:
    """
    Return at most MAX_WALLS convex hulls that together contain a mesh.

    Parameters
    ----------
    triangles : (m, 3, 3) array
        The corners of each triangle, m; finite, at least one triangle.  Neither the order
        of the corners nor holes matter.

    Raises
    ------
    ParameterError
        If scipy, which computes the hulls, is not installed.

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
    hull = _qhull(vertices)
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


def _qhull(points: np.ndarray) -> Any:
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


# ---- cuts -------------------------------------------------------------------

def _divided(triangles: np.ndarray) -> list[np.ndarray]:
    """Return the triangles of each part after all cuts that are worth it."""
    whole = _volume(triangles)
    parts, walls = _cut_across(triangles, whole), _walls(triangles, whole)
    gain = sum(map(_volume, parts)) - sum(map(_volume, walls))
    return walls if gain > MIN_GAIN_OF_WHOLE * whole else parts


def _cut_across(triangles: np.ndarray, whole: float) -> list[np.ndarray]:
    """Return the triangles of each part after cuts across the axes."""
    undecided = [(whole, triangles)]
    final: list[np.ndarray] = []
    while undecided and len(undecided) + len(final) < MAX_HULLS:
        largest = max(range(len(undecided)), key=lambda k: undecided[k][0])
        volume, part = undecided.pop(largest)
        halves = _halves(part)
        gain = volume - sum(half for half, _ in halves)
        if halves and gain > MIN_GAIN_OF_PART * volume and gain > MIN_GAIN_OF_WHOLE * whole:
            undecided += halves
        else:
            final.append(part)
    return final + [part for _, part in undecided]


def _volume(triangles: np.ndarray) -> float:
    """Return the volume of the convex hull of triangles, of many about; 0 if they are flat."""
    sample = triangles[::1 + len(triangles) // MEASURED_TRIANGLES]
    hull = _qhull(sample.reshape(-1, 3))
    return 0.0 if hull is None else hull.volume


def _halves(triangles: np.ndarray) -> list[tuple[float, np.ndarray]]:
    """Return both sides of the best cut, each with its volume; an empty list without a cut."""
    sample = triangles[::max(1, len(triangles) // COMPARED_TRIANGLES)]
    lowest = _volume(sample)
    best = None
    low, high = triangles.min(axis=(0, 1)), triangles.max(axis=(0, 1))
    for axis, normal in enumerate(AXIS_NORMALS):
        for place in low[axis] + np.array(CUT_PLACES) * (high[axis] - low[axis]):
            volume = sum(_volume(_side(sample, normal, place, sign)) for sign in (1.0, -1.0))
            if volume < lowest:
                lowest, best = volume, (normal, place)
    if best is None:
        return []
    sides = [_side(triangles, *best, sign) for sign in (1.0, -1.0)]
    return [(_volume(side), side) for side in sides if len(side)]


def _side(triangles: np.ndarray, normal: np.ndarray, place: float, sign: float) -> np.ndarray:
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


# ---- walls ------------------------------------------------------------------

def _walls(triangles: np.ndarray, whole: float) -> list[np.ndarray]:
    """
    Return the triangles of each of the walls that a closed mesh consists of, else all of them.

    A wall's hull has faces that the mesh covers, and others in the planes of cuts.  So nothing of
    the inside, between these planes, is beyond them.
    """
    if len(triangles) > MAX_WALL_TRIANGLES or not _is_solid(triangles):
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
    best: tuple[float, float] = 0.0, -(1.0 - ROUNDED_SHARE) * _volume(part)
    chosen: list[tuple[np.ndarray, list[Plane]]] = []
    for plane in planes:
        sides = [(side, [*cuts, plane]) for side in _parted(part, *plane)]
        volumes = [_volume(side) for side, _ in sides]
        if min(volumes) <= LEAST_SHARE * sum(volumes):
            continue
        wall = max(float(_normals(side)[1].sum()) * _is_wall(side, those, triangles)
                   for side, those in sides)
        if (wall, -sum(volumes)) > best:
            best, chosen = (wall, -sum(volumes)), sides
    return chosen


def _is_solid(triangles: np.ndarray) -> bool:
    """Return whether a mesh is closed and its corners are in order, seen from outside."""
    _, corners = np.unique(triangles.reshape(-1, 3) + 0.0, axis=0, return_inverse=True)
    corners = corners.reshape(-1, 3)
    ways = np.concatenate([corners[:, [k, (k + 1) % 3]] for k in range(3)])
    ways = ways[ways[:, 0] != ways[:, 1]]
    there, back = (way[np.lexsort(way.T)] for way in (ways, ways[:, ::-1]))
    volume = np.einsum('ij,ij->', triangles[:, 0], np.cross(triangles[:, 1], triangles[:, 2]))
    return bool(np.array_equal(there, back) and volume > 0.0)


def _parted(triangles: np.ndarray, normal: np.ndarray,
            place: float) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the triangles on both sides of a plane, each whole one on one side only.

    Those in the plane go where the solid is, behind them.
    """
    depth = triangles @ normal - place
    above, below = depth.max(axis=1) > SAME_PLACE_M, depth.min(axis=1) < -SAME_PLACE_M
    across, flat = triangles[above & below], ~above & ~below
    upwards = flat & (_normals(triangles)[0] @ normal > 0.0)
    return (np.concatenate([triangles[above & ~below | flat & ~upwards],
                            _side(across, normal, place, 1.0)]),
            np.concatenate([triangles[below & ~above | upwards],
                            _side(across, normal, place, -1.0)]))


def _normals(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the unit normals (m, 3), and the areas (m,), of triangles; 0 without an area."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    lengths = np.linalg.norm(normals, axis=1)
    return normals / np.maximum(lengths, np.finfo(float).tiny)[:, None], 0.5 * lengths


def _largest_planes(triangles: np.ndarray) -> tuple[list[Plane], float]:
    """Return the planes with most of the area, (normal (3,), place), and their share of it."""
    normals, areas = _normals(triangles)
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
    hull = _qhull(part.reshape(-1, 3))
    if hull is None or not _is_covered(hull, part, cuts):
        return False
    corners = hull.points[hull.vertices]
    shares = np.random.default_rng(0).dirichlet(np.full(len(corners), 0.5), WALL_SAMPLES)
    return bool(_are_inside(shares @ corners, triangles).all())


def _are_inside(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """
    Return which points (p, 3) are inside a closed mesh: the triangles are seen all round.

    Van Oosterom and Strackee 1983, "The solid angle of a plane triangle".
    """
    angles = np.empty(len(points))
    for k, point in enumerate(points):
        a, b, c = (triangles - point).swapaxes(0, 1)
        la, lb, lc = (np.linalg.norm(each, axis=1) for each in (a, b, c))
        angles[k] = 2.0 * np.arctan2((a * np.cross(b, c)).sum(axis=1), (
            la * lb * lc + (a * b).sum(axis=1) * lc + (b * c).sum(axis=1) * la
            + (c * a).sum(axis=1) * lb)).sum()
    return angles > 2.0 * np.pi


def _is_covered(hull: Any, triangles: np.ndarray, cuts: list[Plane]) -> bool:
    """
    Return whether a mesh covers the faces of its hull, but for those in the planes of cuts.

    What is within WALL_DEPTH_M below a face covers it.
    """
    corners = hull.points[hull.simplices]
    left = _normals(corners)[1]
    least = (1.0 - WALL_COVER) * left.sum()
    for normal, place in cuts:
        left[np.abs(corners @ normal - place).max(axis=1) < SAME_PLACE_M] = 0.0
    normals, areas = _normals(triangles)
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


# ---- hulls ------------------------------------------------------------------

def _hull_vertices(points: np.ndarray) -> np.ndarray:
    """Return the vertices (v, 3) of the convex hull of points, of which some may be equal."""
    centred, axes = _principal_axes(points)
    along = centred @ axes
    thick = np.ptp(along, axis=0) > FLAT_THICKNESS_M
    if not thick.any():
        return points[:1].copy()
    if thick.sum() == 1:
        values = along[:, thick][:, 0]
        return points[[values.argmin(), values.argmax()]]
    hull = _qhull(centred if thick.all() else along[:, thick])
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
    while (hull := _qhull(vertices[kept])) is not None:
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
        hull = _qhull(moved)
        height, face = _heights(vertices, hull.equations)
        highest = np.zeros(len(hull.equations))
        np.maximum.at(highest, face, height)
        push = np.zeros_like(moved)
        for k in np.argsort(highest):  # a corner of several faces follows the one that moves most
            push[hull.simplices[k]] = highest[k] * hull.equations[k, :3]
        moved += push
    faces = _qhull(moved).equations
    centre = moved.mean(axis=0)
    depth = -(faces[:, :3] @ centre + faces[:, 3])
    factor = 1.0 + max(0.0, _heights(vertices, faces / depth[:, None])[0].max())
    moved = centre + factor * (moved - centre)
    return moved, float(np.linalg.norm(moved - kept, axis=1).max())
