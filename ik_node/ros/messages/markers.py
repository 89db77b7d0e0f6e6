# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Markers of the goal, of why it is not reached, of the tip path, and of the ghost."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from heapq import nlargest
from math import inf, pi
import re
from textwrap import fill

from geometry_msgs.msg import Point
import numpy as np
from visualization_msgs.msg import Marker

from ik_node.base.se3 import pose
from ik_node.collision.bodies.parts import Body, ConvexPart
from ik_node.collision.meshes.convex import hull_triangles
from ik_node.model.description.shapes import Shape
from ik_node.motion.constrained.constraint import PathConstraint
from ik_node.ros.messages.conversion import fill_pose, quaternion_from_rotation, quaternions_after
from ik_node.solver.goal import FREE_AXIS, Goal
from ik_node.solver.unreachable import Colour

MARKER_TYPES = {'box': Marker.CUBE, 'cylinder': Marker.CYLINDER, 'sphere': Marker.SPHERE,
                'mesh': Marker.MESH_RESOURCE}
MARKER_COLOURS = {Colour.GREEN: (0.15, 0.75, 0.3), Colour.AMBER: (1.0, 0.65, 0.0),
                  Colour.RED: (0.9, 0.15, 0.1)}
AXIS_COLOURS = (0.9, 0.1, 0.1), (0.1, 0.7, 0.1), (0.15, 0.3, 0.95)
TEXT_COLOUR = 1.0, 1.0, 1.0
GHOST_ALPHA, STRONG_ALPHA = 0.35, 0.9
# Turns (x, y, z, w) that take an arrow, which points along x, to x, y, z.
TO_AXES = np.array([[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.5**0.5, 0.5**0.5],
                    [0.0, -0.5**0.5, 0.0, 0.5**0.5]])
RING_ANGLES = 2.0 * pi * np.arange(33) / 32.0
TEXT_WIDTH = 48  # letters
SPACE_WIDTH = 0.5  # of a blank in RViz, which halves it, times the height of letters
BALL_WIDTH = 0.16  # times the size: under the ball of the handle in RViz, which is to be clicked
PATH_WIDTH = 0.1   # times the size
# Markers of a scene other than the ghost, by namespace and id.
SINGLE_MARKERS = [*(('goal', k) for k in range(4)), ('reason', 0), ('path', 0),
                  ('limiting_joint', 0), ('limiting_joint', 1)]


def marker(ns: str, number: int, frame: str, kind: int) -> Marker:
    """Return a marker at the origin of a frame, wherever that goes."""
    made = Marker(ns=ns, id=number, type=kind, action=Marker.ADD, frame_locked=True)
    made.header.frame_id = frame
    return made


def delete_all(frame: str) -> Marker:
    """Return the marker that deletes all those before it, as RViz does."""
    made = marker('', 0, frame, Marker.CUBE)
    made.action = Marker.DELETEALL
    return made


def goal_markers(goal: Goal, colour: Colour, frame: str, size: float) -> list[Marker]:
    """Return a sphere, and arrows of `size` (m) along the axes of the tip that are asked for."""
    T = goal.T_base_tip
    sphere = marker('goal', 3, frame, Marker.SPHERE)
    fill_pose(sphere.pose, T)
    scale(sphere, *3 * [BALL_WIDTH * size])
    paint(sphere, MARKER_COLOURS[colour], 0.8)
    arrows = []
    turns = quaternions_after(quaternion_from_rotation(T[:3, :3]), TO_AXES)
    for k in range(3):
        # An axis is turned by the free rotation about the others.
        if FREE_AXIS in (goal.tolerance[3 + (k + 1) % 3], goal.tolerance[3 + (k + 2) % 3]):
            continue
        arrow = marker('goal', k, frame, Marker.ARROW)
        _place(arrow, T[:3, 3], turns[k])
        scale(arrow, size, 0.12 * size, 0.12 * size)
        paint(arrow, AXIS_COLOURS[k])
        arrows.append(arrow)
    return [*arrows, sphere]


def reason_marker(sentence: str, p: np.ndarray, frame: str, size: float) -> Marker:
    """Return a sentence, in lines, above the position `p` (3,), m."""
    return text_marker('reason', 0, fill(sentence, TEXT_WIDTH), p + [0.0, 0.0, 1.6 * size],
                       frame, 0.25 * size)


def path_marker(points: np.ndarray, colour: Colour, frame: str, size: float) -> Marker:
    """Return the line through `points` (N, 3), m."""
    line = marker('path', 0, frame, Marker.LINE_STRIP)
    scale(line, PATH_WIDTH * size)
    paint(line, MARKER_COLOURS[colour])
    line.points = points_of_array(points)
    return line


def joint_markers(name: str, T_base_joint: np.ndarray, colour: Colour, frame: str,
                  size: float) -> list[Marker]:
    """Return a ring about the z axis of a pose (4, 4), and a name."""
    ring = marker('limiting_joint', 0, frame, Marker.LINE_STRIP)
    fill_pose(ring.pose, T_base_joint)
    scale(ring, 0.12 * size)
    paint(ring, MARKER_COLOURS[colour])
    ring.points = points_of_array(size * np.stack(
        [np.cos(RING_ANGLES), np.sin(RING_ANGLES), 0.0 * RING_ANGLES], axis=1))
    above = T_base_joint[:3, 3] + [0.0, 0.0, 1.3 * size]
    return [ring, text_marker('limiting_joint', 1, name, above, frame, 0.25 * size)]


def with_deleted(markers: list[Marker], frame: str) -> list[Marker]:
    """Return markers and, for each of SINGLE_MARKERS that are not among them, their deletion."""
    there = {(each.ns, each.id) for each in markers}
    gone = [marker(ns, number, frame, Marker.ARROW) for ns, number in SINGLE_MARKERS
            if (ns, number) not in there]
    for each in gone:
        each.action = Marker.DELETE
    return [*markers, *gone]


class Ghost:
    """
    Shapes of a robot as markers, made once and placed where they are to be.

    Parameters
    ----------
    shapes : mapping of str to list of Shape
        What can be drawn of each link.
    frame : str
        In which they are placed.
    at_least : int
        So many markers have been shown; those beyond the shapes are only deleted.

    """

    def __init__(self, shapes: Mapping[str, list[Shape]], frame: str,
                 at_least: int = 0) -> None:
        self.markers: list[Marker] = []
        self._links: list[tuple[str, np.ndarray, np.ndarray, list[Marker]]] = []
        for link, drawn in shapes.items():
            if not drawn:
                continue
            begin = len(self.markers)
            self.markers += [self._made(begin + k, shape, frame)
                             for k, shape in enumerate(drawn)]
            poses = np.array([shape.T_link_shape for shape in drawn])
            turns = np.array([quaternion_from_rotation(T[:3, :3]) for T in poses])
            self._links.append((link, poses[:, :3, 3], turns, self.markers[begin:]))
        for number in range(len(self.markers), at_least):
            self.markers.append(marker('ghost', number, frame, Marker.CUBE))
        self.remove()

    @staticmethod
    def _made(number: int, shape: Shape, frame: str) -> Marker:
        made = marker('ghost', number, frame, MARKER_TYPES[shape.kind])
        scale(made, *shape.extent)
        made.mesh_resource = shape.uri
        return made

    def remove(self) -> None:
        """Have the markers delete what was shown."""
        for each in self.markers:
            each.action = Marker.DELETE

    def place(self, poses: Mapping[str, np.ndarray], colour: Colour,
              strong: Collection[str] = ()) -> None:
        """Put the links at their poses (4, 4), some in a strong colour; others stay away."""
        self.remove()
        for link, offsets, turns, markers in self._links:
            T = poses.get(link)
            if T is None:
                continue
            places = offsets @ T[:3, :3].T + T[:3, 3]
            turned = quaternions_after(quaternion_from_rotation(T[:3, :3]), turns)
            for each, p, turn in zip(markers, places, turned):
                each.action = Marker.ADD
                _place(each, p, turn)
                paint(each, MARKER_COLOURS[colour],
                      STRONG_ALPHA if link in strong else GHOST_ALPHA)


def text_marker(ns: str, number: int, text: str, p: np.ndarray, frame: str, height: float) \
        -> Marker:
    """Return a text of some height (m) at the position `p` (3,), m."""
    made = marker(ns, number, frame, Marker.TEXT_VIEW_FACING)
    made.text = text
    made.pose.position = _point(p)
    made.scale.x, made.scale.z = SPACE_WIDTH * height, height
    paint(made, TEXT_COLOUR)
    return made


def _place(made: Marker, p: np.ndarray, xyzw: np.ndarray) -> None:
    made.pose.position.x, made.pose.position.y, made.pose.position.z = p.tolist()
    turn = made.pose.orientation
    turn.x, turn.y, turn.z, turn.w = xyzw.tolist()


def scale(made: Marker, x: float, y: float = 0.0, z: float = 0.0) -> None:
    """Set the scale of a marker, m."""
    made.scale.x, made.scale.y, made.scale.z = float(x), float(y), float(z)


def paint(made: Marker, rgb: tuple[float, float, float], alpha: float = 1.0) -> None:
    """Set the colour of a marker, 0 to 1."""
    made.color.r, made.color.g, made.color.b = rgb
    made.color.a = alpha


def _point(p: np.ndarray) -> Point:
    x, y, z = p.tolist()
    return Point(x=x, y=y, z=z)


def points_of_array(points: np.ndarray) -> list[Point]:
    """Return the rows of an array (N, 3) as messages."""
    return [_point(p) for p in points]


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


CONSTRAINT_NAMESPACE = 'path_constraint'
CONSTRAINT_COLOUR, CONSTRAINT_ALPHA = (0.2, 0.6, 0.95), 0.15
FREE_WIDTH_M = 1.0            # drawn of half-widths that are infinite
SHOWN_WIDTHS_M = 1e-3, 100.0  # narrower ones are drawn as the first, wider ones as infinite
CONE_LENGTH, CONE_LINE_WIDTH = 2.0, 0.02  # times the size
SPOKE_STEP = 4                # points of the rim of a cone from one of its sides to the next


def constraint_markers(constraints: Iterable[PathConstraint], apex: np.ndarray, frame: str,
                       size: float) -> list[Marker]:
    """
    Return what a motion stays in: boxes, balls and tubes of positions, and cones of tilts.

    Half-widths of rotations are not drawn.

    Parameters
    ----------
    apex : (3,) array
        Of the cones: where the tip is when the motion begins, m.
    size : float
        Half the length of the cones, m.

    """
    made: list[Marker] = []
    for each in constraints:
        for kind, widths in ((Marker.CUBE, each.position), (Marker.SPHERE, 3 * (each.distance,)),
                             (Marker.CYLINDER, (*2 * (each.axis_distance,), inf))):
            if min(widths) < SHOWN_WIDTHS_M[1]:
                made.append(_solid(CONSTRAINT_NAMESPACE, len(made), frame, kind,
                                   each.T_base_frame, map(_shown_width, widths)))
        if each.tilt < inf:
            made.append(_cone(len(made), each, apex, frame, size))
    for shown in made:
        paint(shown, CONSTRAINT_COLOUR,
              1.0 if shown.type == Marker.LINE_LIST else CONSTRAINT_ALPHA)
    return made


def _shown_width(half: float) -> float:
    least, most = SHOWN_WIDTHS_M
    return 2.0 * (max(half, least) if half < most else FREE_WIDTH_M)


def _cone(number: int, constraint: PathConstraint, apex: np.ndarray, frame: str,
          size: float) -> Marker:
    cone = marker(CONSTRAINT_NAMESPACE, number, frame, Marker.LINE_LIST)
    fill_pose(cone.pose, pose(constraint.T_base_frame[:3, :3], apex))
    scale(cone, CONE_LINE_WIDTH * size)
    radius, height = (CONE_LENGTH * size * f(constraint.tilt) for f in (np.sin, np.cos))
    rim = np.stack([radius * np.cos(RING_ANGLES), radius * np.sin(RING_ANGLES),
                    np.full(len(RING_ANGLES), height)], axis=1)
    sides = rim[:-1:SPOKE_STEP]
    cone.points = points_of_array(np.concatenate([
        np.stack([rim[:-1], rim[1:]], axis=1),
        np.stack([0.0 * sides, sides], axis=1)]).reshape(-1, 3))
    return cone


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
