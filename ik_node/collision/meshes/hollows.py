# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Cuts of a mesh at its hollows, until the hulls of its parts are hardly thicker than the mesh.

The thickness of a hull is the largest distance of its faces from the mesh, where they are outside
of it.  Planes are tried across the axes, and through the bottom of the widest hollows along the
surface and across the hull's face over them; the one is taken that lowers the sum of volume times
squared thickness most: a greedy form of approximate convex decomposition (Lien and Amato 2007,
"Approximate convex decomposition of polyhedra").  Of these cuts
those stay that make the thickest hull thinner by more than they make checks slower.

Nothing is lost by a cut, to 0.01 mm.  Triangles that cross the plane are divided there.  What a
part has of the inside of a solid is contained, too: its extreme points are on the surface, but for
those where three planes meet inside of the solid, and these are added.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from ik_node.collision.meshes.mesh_cuts import (
    are_inside,
    normals_of,
    parted,
    Plane,
    qhull,
    SAME_PLACE_M,
)

MAX_PARTS = 8
THICKNESS_M = 3e-3         # of hulls beyond the mesh, that is small enough
WORK_EXPONENT = 0.4        # of the number of parts, by which a thickness is multiplied
UNCUT_M = 1.3 * THICKNESS_M  # of the hull of a part that is not cut any more
LEAST_GAIN = 0.05          # so that more cuts are tried
SURFACE_SPACING_M = 1e-3   # of the points that stand for the mesh, as far as they suffice
SURFACE_POINTS = 3_000, 40_000
WORKED_TRIANGLES = 5_000   # of a mesh, by which planes are chosen
COMPARED_TRIANGLES = 600   # of a part, when planes are compared first
COMPARED_DIRECTIONS = 60   # whose farthest points then stand for all
COMPARED_POINTS = 100      # of its hull
HULL_POINTS = 800          # that tell the thickness of the hull of a part
MEASURED_POINTS = 100      # of these, the farthest, whose distances are measured
CUT_PLACES = 0.2, 0.35, 0.5, 0.65, 0.8  # of the length of a part along an axis
TRIED_HOLLOWS = 3          # whose planes are tried
WIDE_SHARE = 0.7           # of the widest, that a hollow has and is away from others
BEST_PLANES = 5            # planes that are compared again
NEAREST_POINTS = 6         # of the mesh, whose triangles are looked at
LEAF_POINTS = 64           # of the tree that finds them: queries take half of what they do by 16
LEAST_SIDE_SHARE = 1e-3    # of the volume of a part, that each side of a cut has
INSIDE_M = 1e-9            # beyond a plane, where a point is still on its side
FLATTEST_CORNER = 1e-3     # determinant of the normals of three planes that have a corner


def _spiral(count: int) -> np.ndarray:
    """Return directions (3, count) that are spread evenly."""
    z = np.arange(1 - count, count, 2) / count
    angles = np.arange(count) * np.pi * (3.0 - 5.0 ** 0.5)
    return np.array([*(1.0 - z * z) ** 0.5 * [np.cos(angles), np.sin(angles)], z])


DIRECTIONS = _spiral(COMPARED_DIRECTIONS)


class Surface(NamedTuple):
    """A mesh with points on it, of which the nearest to any point is found fast."""

    triangles: np.ndarray  # (m, 3, 3)
    normals: np.ndarray    # (m, 3)
    points: np.ndarray     # (p, 3), about `spacing` (m) from each other
    owners: np.ndarray     # (p,) int, the triangle of each
    tree: Any              # of the points
    spacing: float
    axes: np.ndarray  # (3, 3), principal axes of the points, as rows


class Edges(NamedTuple):
    """Vertices and edges of triangles, each once; of a half, only these tell its hull."""

    points: np.ndarray  # (v, 3)
    ends: np.ndarray    # (e, 2) int, both points of each edge


@dataclass(eq=False)
class Part:
    """Triangles of a part, and what is known of their hull."""

    triangles: np.ndarray                  # (k, 3, 3)
    cuts: tuple[tuple[Plane, float], ...]  # (plane, side), that have led to it
    # volume, thickness: of the hull, m^3 and m
    volume: float
    thickness: float
    # Points on the hull, the corners of its face, and how far and where the mesh is.
    hollows: tuple[np.ndarray, ...]
    # Both sides of the cut of this part; empty without one.
    sides: list[Part] = field(default_factory=list)

    @property
    def cost(self) -> float:
        """Return what cuts are to lower."""
        return cost_of(self.volume, self.thickness)


class Way(NamedTuple):
    """Some cuts of a mesh, and what comes of them."""

    thickness: float       # of the thickest hull, m; 3 mm at least
    cost: float            # of all hulls
    cut: tuple[Part, ...]  # which parts are cut


def cost_of(volume: float, thickness: float) -> float:
    """Return volume times squared thickness of a hull, of which 3 mm do not matter."""
    return volume * max(thickness, THICKNESS_M) ** 2


def cut_at_hollows(triangles: np.ndarray) -> list[np.ndarray]:
    """Return the triangles (k, 3, 3) of each part of a mesh, and the corners of cuts inside."""
    surface = surface_of(triangles)
    if surface is None:
        return [triangles]
    some = _some(triangles, WORKED_TRIANGLES)
    whole = Part(some, (), *_thickness(some.reshape(-1, 3), surface, np.inf))
    undecided, count = [whole], 1
    while undecided and count < MAX_PARTS:
        part = undecided.pop(max(range(len(undecided)), key=lambda k: undecided[k].cost))
        part.sides = _best_cut(part, surface)
        undecided += part.sides
        count += bool(part.sides)
    return _cut_alike(triangles, whole, _worthy(whole), triangles)


def _worthy(whole: Part) -> tuple[Part, ...]:
    """Return the parts whose cuts stay: thin hulls, but also few, as each makes checks slower."""
    return min(_thinnest(whole), key=lambda way: (
        way.thickness * (len(way.cut) + 1) ** WORK_EXPONENT, way.cost)).cut


def _thinnest(part: Part) -> list[Way]:
    """Return for each number of cuts that way of those made whose thickest hull is thinnest."""
    uncut = Way(max(part.thickness, THICKNESS_M), part.cost, ())
    if not part.sides:
        return [uncut]
    ways = [Way(max(one.thickness, other.thickness), one.cost + other.cost,
                (part, *one.cut, *other.cut))
            for one, other in product(*map(_thinnest, part.sides))]
    ways.sort(key=lambda way: way[:2], reverse=True)
    return [uncut, *{len(way.cut): way for way in ways}.values()]


def _cut_alike(triangles: np.ndarray, part: Part, those: tuple[Part, ...],
               solid: np.ndarray) -> list[np.ndarray]:
    """Cut all triangles as some of `those` parts were, with exact corners inside of the solid."""
    if part not in those:
        return [triangles]
    plane = part.sides[0].cuts[-1][0]
    corners = _corners(plane, part.cuts)
    halves = _cut(triangles, plane, corners[are_inside(corners, solid)])
    return [piece for half, side in zip(halves, part.sides)
            for piece in _cut_alike(half, side, those, solid)]


def surface_of(triangles: np.ndarray) -> Surface | None:
    """Return the surface of a mesh; None without an area."""
    normals, areas = normals_of(triangles)
    area = float(areas.sum())
    if not area > 0.0:
        return None
    from scipy.spatial import cKDTree
    count = int(np.clip(area / SURFACE_SPACING_M ** 2, *SURFACE_POINTS))
    points, owners = _sample(triangles, areas, count)
    centred = points - points.mean(axis=0)
    return Surface(triangles, normals, points, owners, cKDTree(points, leafsize=LEAF_POINTS),
                   (area / count) ** 0.5, np.linalg.eigh(centred.T @ centred)[1].T)


def thickness_beyond(surface: Surface, points: np.ndarray) -> tuple[np.ndarray, ...]:
    """
    Return how far points (k, 3) are outside of a mesh, 0 inside, and where it is nearest.

    Returns
    -------
    (k,), (k, 3), (k,) arrays
        Distances, m; the nearest points; their triangles.

    """
    near = surface.owners[surface.tree.query(points, NEAREST_POINTS)[1]]
    places = _nearest(points[:, None], surface.triangles[near])
    away = points[:, None] - places
    distances = np.linalg.norm(away, axis=2)
    # Of triangles that are equally near, at an edge, the one that faces the point tells its side.
    facing = (away * surface.normals[near]).sum(axis=2)
    equal = distances < distances.min(axis=1, keepdims=True) + INSIDE_M
    best = np.where(equal, np.abs(facing), -1.0).argmax(axis=1)
    rows = np.arange(len(points))
    return (np.where(facing[rows, best] > 0.0, distances[rows, best], 0.0), places[rows, best],
            near[rows, best])


def _best_cut(part: Part, surface: Surface) -> list[Part]:
    """Return both sides of the plane that lowers the cost of a part most; none if too little."""
    if part.thickness <= UNCUT_M:
        return []
    some = _edges(_some(part.triangles, COMPARED_TRIANGLES))
    compared: list[tuple[float, int, Plane, np.ndarray]] = []
    for plane in _planes(part, surface):
        corners = _inner_corners(plane, part, surface)
        sides = [_about(half, surface) for half in _halves(some, plane, corners)]
        if min(volume for volume, _ in sides) > LEAST_SIDE_SHARE * part.volume:
            compared.append((sum(cost_of(*side) for side in sides), len(compared), plane, corners))
    edges, best, least = _edges(part.triangles), None, (1.0 - LEAST_GAIN) * part.cost
    for _, _, plane, corners in sorted(compared, key=lambda each: each[:2])[:BEST_PLANES]:
        hulls = [_thickness(half, surface, part.thickness)
                 for half in _halves(edges, plane, corners)]
        cost = sum(cost_of(*hull[:2]) for hull in hulls)
        if cost < least:
            best, least = (plane, corners, hulls), cost
    if best is None:
        return []
    plane, corners, hulls = best
    return [Part(half, (*part.cuts, (plane, sign)), *hull) for half, sign, hull
            in zip(_cut(part.triangles, plane, corners), (1.0, -1.0), hulls)]


def _edges(triangles: np.ndarray) -> Edges:
    points, corners = np.unique(triangles.reshape(-1, 3), axis=0, return_inverse=True)
    corners = corners.reshape(-1, 3)
    ends = np.sort(np.concatenate([corners[:, :2], corners[:, 1:], corners[:, ::2]]), axis=1)
    first, second = divmod(np.unique(ends[:, 0] * len(points) + ends[:, 1]), len(points))
    return Edges(points, np.column_stack([first, second])[first != second])


def _halves(edges: Edges, plane: Plane, corners: np.ndarray) -> list[np.ndarray]:
    """
    Return points whose hulls are those of both sides of a cut, each with the corners.

    A point in the plane is on the sides of its edges: a face there is where the solid is.
    """
    normal, place = plane
    depth = edges.points @ normal - place
    depths = depth[edges.ends]
    above, below = (depths > SAME_PLACE_M).any(axis=1), (depths < -SAME_PLACE_M).any(axis=1)
    a, b = depths[above & below].T[..., None]
    start, end = edges.points[edges.ends[above & below].T]
    added = (start + a / (a - b) * (end - start), corners)
    halves = []
    for sign, touched in ((1.0, above), (-1.0, below)):
        on_side = np.zeros(len(depth), dtype=bool)
        on_side[edges.ends[touched]] = True
        halves.append(np.concatenate(
            [edges.points[on_side & (sign * depth > -SAME_PLACE_M)], *added]))
    return halves


def _planes(part: Part, surface: Surface) -> list[Plane]:
    """Return planes that may be worth a cut of a part."""
    low, high = part.triangles.min(axis=(0, 1)), part.triangles.max(axis=(0, 1))
    planes = [(np.eye(3)[k], float(low[k] + place * (high[k] - low[k])))
              for k in range(3) for place in CUT_PLACES]
    points, faces, distances, places, owners = part.hollows
    left = distances.copy()
    for _ in range(TRIED_HOLLOWS):
        k = int(left.argmax())
        if left[k] < WIDE_SHARE * part.thickness:
            break
        edges = np.roll(faces[k], -1, axis=0) - faces[k]
        across = edges[np.linalg.norm(edges, axis=1).argmax()]
        normals = np.vstack([surface.normals[owners[k]], surface.axes, across,
                             np.cross(points[k] - places[k], across)])
        lengths = np.linalg.norm(normals, axis=1)
        planes += [(normal / length, float(normal @ places[k] / length))
                   for normal, length in zip(normals, lengths) if length > 0.0]
        left[np.linalg.norm(places - places[k], axis=1) < WIDE_SHARE * part.thickness] = 0.0
    return planes


def _thickness(extent: np.ndarray, surface: Surface,
               widest: float) -> tuple[float, float, tuple[np.ndarray, ...]]:
    """Return volume, thickness and hollows of the hull of points (k, 3), see Part."""
    volume, points, faces = _hull_of(extent, HULL_POINTS)
    if not len(points):
        return 0.0, 0.0, ()
    farthest = np.argsort(-_about_beyond(surface, points))[:MEASURED_POINTS]
    points, faces = points[farthest], faces[farthest]
    beyond = thickness_beyond(surface, points)
    # What is left of a hollow is no wider than the hollow was: the points miss the widest place.
    return volume, min(float(beyond[0].max()), widest), (points, faces, *beyond)


def _hull_of(extent: np.ndarray, count: int) -> tuple[float, np.ndarray, np.ndarray]:
    """Return volume of a hull, points (count, 3) on it, and their faces; none if it is flat."""
    hull = qhull(extent) if len(extent) else None
    if hull is None:
        return 0.0, np.zeros((0, 3)), np.zeros((0, 3, 3))
    faces = hull.points[hull.simplices]
    points, owners = _sample(faces, normals_of(faces)[1], count)
    return hull.volume, points, faces[owners]


def _about(extent: np.ndarray, surface: Surface) -> tuple[float, float]:
    """Return volume and thickness of a hull, about and fast."""
    if not len(extent):
        return 0.0, 0.0
    farthest = np.unique((extent @ DIRECTIONS).argmax(axis=0))
    volume, points, _ = _hull_of(extent[farthest], COMPARED_POINTS)
    return volume, float(_about_beyond(surface, points).max(initial=0.0))


def _about_beyond(surface: Surface, points: np.ndarray) -> np.ndarray:
    """Return how far points (k, 3) are outside of a mesh, 0 inside, about and fast."""
    distances, near = surface.tree.query(points)
    heights = ((points - surface.points[near])
               * surface.normals[surface.owners[near]]).sum(axis=1)
    return np.where(heights > 0.0, np.maximum(distances - surface.spacing, heights), 0.0)


def _cut(triangles: np.ndarray, plane: Plane, corners: np.ndarray) -> list[np.ndarray]:
    """Return both sides of a cut, each with the corners as triangles without a size."""
    added = np.repeat(corners[:, None], 3, axis=1)
    return [np.concatenate([half, added]) for half in parted(triangles, *plane)]


def _inner_corners(plane: Plane, part: Part, surface: Surface) -> np.ndarray:
    corners = _corners(plane, part.cuts)
    return corners[thickness_beyond(surface, corners)[0] == 0.0] if len(corners) else corners


def _corners(plane: Plane, cuts: Any) -> np.ndarray:
    """Return the points (k, 3) where a plane meets two of those of the cuts, on their sides."""
    corners = np.zeros((0, 3))
    if len(cuts) > 1:
        normals = np.array([normal for (normal, _), _ in cuts])
        places, sides = np.array([(place, side) for (_, place), side in cuts]).T
        pairs = np.array([*combinations(range(len(cuts)), 2)])
        A = np.insert(normals[pairs], 0, plane[0], axis=1)
        b = np.insert(places[pairs], 0, plane[1], axis=1)
        meet = np.abs(np.linalg.det(A)) > FLATTEST_CORNER
        corners = np.linalg.solve(A[meet], b[meet][..., None])[..., 0]
        corners = corners[(sides * (corners @ normals.T - places) > -INSIDE_M).all(axis=1)]
    return corners


def _some(triangles: np.ndarray, count: int) -> np.ndarray:
    """Return at most so many triangles, large ones first."""
    if len(triangles) <= count:
        return triangles
    return triangles[np.unique(_sample(triangles, normals_of(triangles)[1], count)[1])]


def _sample(triangles: np.ndarray, areas: np.ndarray,
            count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points (count, 3) that are evenly spread over triangles, and their triangles."""
    random = np.random.default_rng(0)
    ends = np.cumsum(areas)
    owners = np.searchsorted(ends, (np.arange(count) + random.random(count)) / count * ends[-1])
    owners = np.minimum(owners, len(triangles) - 1)
    u, v = random.random((2, count, 1))
    beyond = u + v > 1.0
    u, v = np.where(beyond, 1.0 - u, u), np.where(beyond, 1.0 - v, v)
    a, b, c = triangles[owners].swapaxes(0, 1)
    return a + u * (b - a) + v * (c - a), owners


def _nearest(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Return the nearest points (..., 3) of triangles (..., 3, 3), Ericson 2005, section 5.1.5."""
    a, b, c = np.moveaxis(triangles, -2, 0)
    normals = np.cross(b - a, c - a)
    squares = (normals * normals).sum(axis=-1)
    tiny = np.finfo(float).tiny
    heights = ((points - a) * normals).sum(axis=-1) / np.maximum(squares, tiny)
    inner = points - heights[..., None] * normals
    nearest, least = inner.copy(), np.full(inner.shape[:-1], np.inf)
    inside = squares > tiny
    for start, end in ((a, b), (b, c), (c, a)):
        edge = end - start
        inside &= (np.cross(edge, inner - start) * normals).sum(axis=-1) >= 0.0
        along = ((points - start) * edge).sum(axis=-1) / np.maximum(
            (edge * edge).sum(axis=-1), tiny)
        place = start + np.clip(along, 0.0, 1.0)[..., None] * edge
        distance = ((points - place) ** 2).sum(axis=-1)
        nearest[distance < least] = place[distance < least]
        least = np.minimum(least, distance)
    nearest[inside] = inner[inside]
    return nearest
