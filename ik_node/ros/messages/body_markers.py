# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Markers of bodies as they are checked for collisions."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nlargest
import re

import numpy as np
from visualization_msgs.msg import Marker

from ik_node.base.se3 import pose
from ik_node.collision.bodies.parts import Body, ConvexPart
from ik_node.collision.meshes.convex import hull_triangles
from ik_node.ros.messages.conversion import fill_pose
from ik_node.ros.messages.markers import marker, paint, points_of_array, scale

OBJECT_COLOUR, OBJECT_ALPHA = (0.45, 0.5, 0.6), 0.6
CONTACT_COLOUR, CONTACT_ALPHA = (0.9, 0.15, 0.1), 0.8
BODY_COLOUR, BODY_ALPHA = (0.1, 0.45, 0.9), 0.35
BODY_GROWTH_M = 1e-3            # so that the body of a link covers its surface
PLANE_ALPHA = 0.25
PLANE_SIZE_M = 4.0, 4.0, 0.01     # m; a plane has no end
# Of all bodies of one message, the largest: more would hold the node too long.
MAX_SHOWN_PARTS = 300
GROUND_NAMESPACE, OBJECT_NAMESPACE, CONTACT_NAMESPACE = 'ground', 'objects', 'contact'
BODY_NAMESPACE = 'bodies'
PAGE_NAMESPACE = 'page'         # of the boxes of the page, which it finds by it after a restart
PAGE_BOX_NAME = re.compile(PAGE_NAMESPACE + r'/(0|[1-9]\d{0,8})')


def body_markers(ns: str, bodies: Iterable[Body], base_link: str, prefix: str,
                 colour: tuple[float, float, float] = OBJECT_COLOUR, alpha: float = OBJECT_ALPHA,
                 grown: float = 0.0) -> list[Marker]:
    """
    Return markers of bodies, each in the frame of its link; of the MAX_SHOWN_PARTS largest parts.

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
    parts = [(body, part) for body in bodies for part in body.parts]
    if len(parts) > MAX_SHOWN_PARTS:
        parts = nlargest(MAX_SHOWN_PARTS, parts, key=lambda each: _extent(each[1]))
    for body, part in parts:
        made += _of_part(ns, len(made), prefix + (body.frame or base_link), part,
                         body.padding + grown)
    for each in made:
        paint(each, colour, PLANE_ALPHA if each.scale.x == PLANE_SIZE_M[0] else alpha)
    return made


def page_box_markers(bodies: Iterable[Body], base_link: str,
                     prefix: str) -> tuple[list[Marker], list[Body]]:
    """Return markers of the boxes of the page, with the ids that it gave them, and the others."""
    boxes, others = [], []
    for body in bodies:
        name = PAGE_BOX_NAME.fullmatch(body.name)
        if name and [part.kind for part in body.parts] == ['box'] \
                and body.frame in ('', base_link):
            box, = body_markers(PAGE_NAMESPACE, [body], base_link, prefix)
            box.id = int(name[1])
            boxes.append(box)
        else:
            others.append(body)
    return boxes, others


def _of_part(ns: str, number: int, frame: str, part: ConvexPart, padding: float) -> list[Marker]:
    """Return the markers of one part."""
    size, more = part.size, 2.0 * padding
    if part.kind == 'hull':
        mesh = _solid(ns, number, frame, Marker.TRIANGLE_LIST, part.T, (1.0, 1.0, 1.0))
        mesh.points = points_of_array(hull_triangles(part.vertices, padding).reshape(-1, 3))
        return [mesh]
    if part.kind == 'plane':
        below = pose(np.eye(3), np.array([0.0, 0.0, padding - 0.5 * PLANE_SIZE_M[2]]))
        return [_solid(ns, number, frame, Marker.CUBE, part.T @ below, PLANE_SIZE_M)]
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


def _extent(part: ConvexPart) -> float:
    """Return a length by which parts are compared, m."""
    if part.kind == 'plane':
        return max(PLANE_SIZE_M)
    return float(np.ptp(part.vertices, axis=0).max()) if part.kind == 'hull' else max(part.size)
