# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A robot in the scene: opaque, or as a ghost."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import trimesh
import viser

from ik_node.ros.messages.rotations import quaternion_from_rotation

GHOST_OPACITY = 0.45

Colour = tuple[float, float, float]


def place(node: viser.SceneNodeHandle, T: np.ndarray) -> None:
    """Set the pose (4, 4) of a node of the scene in its parent."""
    x, y, z, w = quaternion_from_rotation(T[:3, :3])
    node.position = T[:3, 3]
    node.wxyz = np.array([w, x, y, z])


def send(server: viser.ViserServer, node: viser.SceneNodeHandle, T: np.ndarray) -> None:
    """
    Send the pose (4, 4) of a node to all windows, whatever they show.

    viser sends nothing to the window that has moved the node, and nothing if the pose is the
    one that it knows already.
    """
    with server.atomic():  # nothing is sent before it is replaced
        node.position = node.position + 1.0
        node.wxyz = -node.wxyz
        place(node, T)


class RobotView:
    """
    The links of a robot in the scene.

    Parameters
    ----------
    name : str
        Name of the node in the scene that holds them.
    bodies : mapping of link name to trimesh.Scene
        Bodies of the links, in their frames.
    ghost : bool
        Whether it is transparent, in one colour, and hidden at first.

    """

    def __init__(self, scene: viser.SceneApi, name: str, bodies: Mapping[str, trimesh.Scene],
                 ghost: bool = False) -> None:
        self._root = scene.add_frame(name, show_axes=False, visible=not ghost)
        self._links: dict[str, viser.SceneNodeHandle] = {}
        self._colour: Colour | None = None
        for number, (link, body) in enumerate(bodies.items()):
            if ghost:
                mesh = body.to_mesh()
                self._links[link] = scene.add_mesh_simple(
                    f'{name}/{number}', mesh.vertices, mesh.faces, opacity=GHOST_OPACITY,
                    flat_shading=True, cast_shadow=False, visible=False)
            else:
                self._links[link] = scene.add_glb(
                    f'{name}/{number}', body.export(file_type='glb'), visible=False)

    def place(self, poses: Mapping[str, np.ndarray]) -> None:
        """Show the links at their poses (4, 4) in the root; those without a pose are hidden."""
        for link, node in self._links.items():
            T = poses.get(link)
            node.visible = T is not None
            if T is not None:
                place(node, T)

    def paint(self, colour: Colour) -> None:
        """Set the colour of a ghost, 0 to 1."""
        if colour != self._colour:
            self._colour = colour
            for node in self._links.values():
                node.color = tuple(round(255 * part) for part in colour)

    def show(self, visible: bool) -> None:
        """Show or hide all of it."""
        self._root.visible = visible

    def remove(self) -> None:
        """Remove it from the scene."""
        self._root.remove()
