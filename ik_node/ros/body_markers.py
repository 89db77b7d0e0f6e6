# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Markers of bodies as they are checked for collisions."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from visualization_msgs.msg import Marker

from ik_node.collision.convex import hull_triangles
from ik_node.collision.parts import Body, ConvexPart
from ik_node.ros.markers import marker, paint, points_of_array, scale
from ik_node.ros.messages import fill_pose
from ik_node.se3 import pose

OBJECT_COLOUR, OBJECT_ALPHA = (0.45, 0.5, 0.6), 0.6
CONTACT_COLOUR, CONTACT_ALPHA = (0.9, 0.15, 0.1), 0.8
PLANE_ALPHA = 0.25
PLANE_SIZE = 4.0, 4.0, 0.01     # m; a plane has no end
MAX_SINGLE_PARTS = 20           # of a body; the boxes of one with more are drawn as one mesh
# The triangles of a box of size 1, outside anticlockwise: two for each side.
BOX_CORNERS = 0.5 * np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
BOX_SIDES = np.array([(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4),
                      (1, 5, 7, 3)])
BOX_TRIANGLES = BOX_CORNERS[BOX_SIDES[:, (0, 1, 2, 0, 2, 3)].reshape(-1, 3)]


def body_markers(ns: str, bodies: Iterable[Body], base_link: str, prefix: str,
                 colour: tuple[float, float, float] = OBJECT_COLOUR, alpha: float = OBJECT_ALPHA,
                 grown: float = 0.0) -> list[Marker]:
    """
    Return markers of bodies, each in the frame of its link.

    Parameters
    ----------
    ns : str
        Their namespace; the ids are numbers from 0 on.
    base_link : str
        The link of bodies without one.
    prefix : str
        Put before the names of links.
    grown : float
        Added to their padding, m.

    """
    made: list[Marker] = []
    for body in bodies:
        frame, padding = prefix + (body.frame or base_link), body.padding + grown
        single, meshes = body.parts, []
        if len(single) > MAX_SINGLE_PARTS:
            single = [part for part in body.parts if part.kind not in ('box', 'hull')]
            meshes = [part for part in body.parts if part.kind in ('box', 'hull')]
        for part in single:
            made += _of_part(ns, len(made), frame, part, padding)
        if meshes:
            made.append(_mesh(ns, len(made), frame, np.eye(4), np.concatenate(
                [_triangles(part, padding) for part in meshes])))
    for each in made:
        paint(each, colour, PLANE_ALPHA if each.scale.x == PLANE_SIZE[0] else alpha)
    return made


def _of_part(ns: str, number: int, frame: str, part: ConvexPart, padding: float) -> list[Marker]:
    """Return the markers of one part."""
    size, more = part.size, 2.0 * padding
    if part.kind == 'hull':
        return [_mesh(ns, number, frame, part.T, hull_triangles(part.vertices))]
    if part.kind == 'plane':
        below = pose(np.eye(3), np.array([0.0, 0.0, padding - 0.5 * PLANE_SIZE[2]]))
        return [_solid(ns, number, frame, Marker.CUBE, part.T @ below, PLANE_SIZE)]
    if part.kind == 'box':
        return [_solid(ns, number, frame, Marker.CUBE, part.T, [edge + more for edge in size])]
    width = 2.0 * size[0] + more
    if part.kind == 'sphere':
        return [_solid(ns, number, frame, Marker.SPHERE, part.T, [width] * 3)]
    if part.kind == 'cylinder':
        return [_solid(ns, number, frame, Marker.CYLINDER, part.T, [width, width,
                                                                    size[1] + more])]
    ends = [part.T @ pose(np.eye(3), np.array([0.0, 0.0, side * 0.5 * size[1]]))
            for side in (-1.0, 1.0)]
    return [_solid(ns, number, frame, Marker.CYLINDER, part.T, [width, width, size[1]]),
            *(_solid(ns, number + 1 + k, frame, Marker.SPHERE, T, [width] * 3)
              for k, T in enumerate(ends))]


def _solid(ns: str, number: int, frame: str, kind: int, T: np.ndarray, size: Iterable[float]) \
        -> Marker:
    made = marker(ns, number, frame, kind)
    fill_pose(made.pose, T)
    scale(made, *size)
    return made


def _mesh(ns: str, number: int, frame: str, T: np.ndarray, triangles: np.ndarray) -> Marker:
    """Return the marker of triangles (m, 3, 3)."""
    made = _solid(ns, number, frame, Marker.TRIANGLE_LIST, T, (1.0, 1.0, 1.0))
    made.points = points_of_array(triangles.reshape(-1, 3))
    return made


def _triangles(part: ConvexPart, padding: float) -> np.ndarray:
    """Return the triangles of a box or a hull in the frame of its body."""
    triangles = hull_triangles(part.vertices) if part.kind == 'hull' \
        else BOX_TRIANGLES * (np.array(part.size) + 2.0 * padding)
    return triangles @ part.T[:3, :3].T + part.T[:3, 3]
