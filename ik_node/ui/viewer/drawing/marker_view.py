# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The markers of an ik_node in the scene, without the ghost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

import numpy as np
import trimesh
import viser
from visualization_msgs.msg import Marker

from ik_node.base.errors import GoalError
from ik_node.ros.messages.conversion import matrix_from_pose
from ik_node.ros.messages.markers import GROUND_NAMESPACE
from ik_node.ui.viewer.drawing.robot_view import Colour, place

GHOST_NAMESPACE = 'ghost'  # drawn as a robot, from the topic ~/ghost
GOAL_NAMESPACE = 'goal'
HIDDEN_NAMESPACES = GHOST_NAMESPACE, GROUND_NAMESPACE  # the page has a ground of its own
GOAL_PALENESS = 0.45  # share of white in the arrows of the goal, unlike the pure handle

Key = tuple[str, int]


def colour_of(marker: Marker) -> Colour:
    """Return the colour of a marker, clipped to 0 to 1; NaN becomes 0."""
    r, g, b = (min(1.0, max(0.0, part)) for part in (
        marker.color.r, marker.color.g, marker.color.b))
    return r, g, b


class MarkerView:
    """
    Draws marker arrays; a marker that differs only in its pose is moved, not made again.

    Parameters
    ----------
    parent : str
        Name of the node in the scene that is the frame of the markers.

    """

    def __init__(self, scene: viser.SceneApi, parent: str) -> None:
        self._scene = scene
        self._parent = parent
        self._drawn: dict[Key, tuple[tuple, viser.SceneNodeHandle]] = {}

    def show(self, markers: Iterable[Marker]) -> None:
        """Draw a complete scene: markers that it lacks are removed."""
        wanted = {(marker.ns, marker.id): marker for marker in markers
                  if marker.action == Marker.ADD and marker.ns not in HIDDEN_NAMESPACES}
        for key in self._drawn.keys() - wanted.keys():
            self._drawn.pop(key)[1].remove()
        for key, marker in wanted.items():
            self._show_one(key, marker)

    def _show_one(self, key: Key, marker: Marker) -> None:
        try:
            T = matrix_from_pose(marker.pose)
        except GoalError:
            return  # no pose: nothing to see
        looks = (marker.type, marker.text, colour_of(marker), marker.color.a,
                 (marker.scale.x, marker.scale.y, marker.scale.z),
                 tuple((p.x, p.y, p.z) for p in marker.points))
        if not np.isfinite([marker.color.a, *looks[4], *chain(*looks[5])]).all():
            return
        drawn = self._drawn.get(key)
        if drawn is None or drawn[0] != looks:
            if drawn is not None:
                self._drawn.pop(key)[1].remove()
            node = self._add(f'{self._parent}/markers/{key[0]}_{key[1]}', marker)
            if node is None:
                return
            self._drawn[key] = looks, node
        place(self._drawn[key][1], T)

    def _add(self, name: str, marker: Marker) -> viser.SceneNodeHandle | None:
        scale = np.array([marker.scale.x, marker.scale.y, marker.scale.z])
        points = np.array([(p.x, p.y, p.z) for p in marker.points]).reshape(-1, 3)
        r, g, b = colour_of(marker)
        if marker.ns == GOAL_NAMESPACE and marker.type == Marker.ARROW:
            r, g, b = (part + GOAL_PALENESS * (1.0 - part) for part in (r, g, b))
        colour = round(255 * r), round(255 * g), round(255 * b)
        if marker.type == Marker.TEXT_VIEW_FACING:
            return self._scene.add_label(name, marker.text, anchor='bottom-center')
        if marker.type == Marker.LINE_STRIP:
            return self._lines(name, np.stack([points[:-1], points[1:]], axis=1), colour, scale)
        if marker.type == Marker.LINE_LIST:
            return self._lines(name, points[:len(points) // 2 * 2].reshape(-1, 2, 3), colour,
                               scale)
        if marker.type == Marker.ARROW:
            if len(points) == 2:
                shaft, head, length = scale[0], scale[1], scale[2] or 0.23 * scale[0]
            else:
                points = np.array([[0.0, 0.0, 0.0], [scale[0], 0.0, 0.0]])
                shaft, head, length = 0.5 * scale[1], scale[1], 0.23 * scale[0]
            return self._scene.add_arrows(name, points[None], colour, shaft_radius=shaft / 2.0,
                                          head_radius=head / 2.0, head_length=length)
        if marker.type == Marker.TRIANGLE_LIST:
            corners = points[:len(points) // 3 * 3]
            return self._solid(name, marker, corners, np.arange(len(corners)).reshape(-1, 3),
                               colour) if len(corners) else None
        if marker.type in (Marker.SPHERE, Marker.CUBE, Marker.CYLINDER):
            solid = {Marker.SPHERE: lambda: trimesh.creation.icosphere(3, 0.5),
                     Marker.CUBE: trimesh.creation.box,
                     Marker.CYLINDER: lambda: trimesh.creation.cylinder(0.5, 1.0)}[marker.type]()
            node = self._solid(name, marker, solid.vertices * scale, solid.faces, colour)
            if marker.ns == GOAL_NAMESPACE:
                self._scene.add_label(f'{name}/label', 'goal', anchor='top-left')
            return node
        return None

    def _solid(self, name: str, marker: Marker, vertices: np.ndarray, faces: np.ndarray,
               colour: tuple[int, ...]) -> viser.SceneNodeHandle:
        return self._scene.add_mesh_simple(
            name, vertices, faces, color=colour, cast_shadow=False,
            flat_shading=marker.type == Marker.TRIANGLE_LIST,
            opacity=None if marker.color.a >= 1.0 else marker.color.a)

    def _lines(self, name: str, segments: np.ndarray, colour: tuple[int, ...],
               scale: np.ndarray) -> viser.SceneNodeHandle | None:
        if not len(segments):
            return None
        return self._scene.add_line_segments(name, segments, np.array(colour),
                                             thickness=float(scale[0]))


class LinkMarkers:
    """
    Draws markers at the links that they name.

    Parameters
    ----------
    name : str
        Name of the node in the scene that holds them.

    """

    def __init__(self, scene: viser.SceneApi, name: str) -> None:
        self._scene, self._name = scene, name
        self._links: tuple[str, ...] = ()
        self._markers: list[Marker] = []
        # By link: the node that moves with it, and the markers in its frame.
        self._views: dict[str, tuple[viser.SceneNodeHandle, MarkerView]] = {}

    def take_links(self, links: Iterable[str]) -> None:
        """Take the links of another robot."""
        for node, _ in self._views.values():
            node.remove()
        self._views = {}
        self._links = tuple(links)
        self.show(self._markers)

    def show(self, markers: Iterable[Marker]) -> None:
        """Draw these markers and no others; unknown links are left out."""
        self._markers = list(markers)
        by_link: dict[str, list[Marker]] = {link: [] for link in self._views}
        for marker in self._markers:
            link = marker.header.frame_id.rpartition('/')[2]
            if link in self._links:
                by_link.setdefault(link, []).append(marker)
        for link, those in by_link.items():
            if link not in self._views:
                name = f'{self._name}/{len(self._views)}'
                self._views[link] = (self._scene.add_frame(name, show_axes=False, visible=False),
                                     MarkerView(self._scene, name))  # seen once it is placed
            self._views[link][1].show(those)

    def place(self, poses: Mapping[str, np.ndarray]) -> None:
        """Put them at the poses (4, 4) of the links; those without a pose are hidden."""
        for link, (node, _) in self._views.items():
            node.visible = link in poses
            if link in poses:
                place(node, poses[link])
