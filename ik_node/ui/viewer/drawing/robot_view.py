# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A robot in the scene: opaque, or as a ghost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
import viser

from ik_node.base.text import quote
from ik_node.model.description.shapes import Shape
from ik_node.model.description.urdf import Tree
from ik_node.ros.messages.conversion import quaternion_from_rotation
from ik_node.ui.robot_shapes import drawable

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


DEFAULT_COLOUR = (0.75, 0.75, 0.76, 1.0)
CYLINDER_SIDES = 48
MATERIAL_ROUGHNESS = 0.55
SCREEN_GAMMA = 2.2  # a URDF has screen colours (gamma encoded), a material linear ones

Resolve = Callable[[str], tuple[Path | None, str]]


def link_bodies(tree: Tree, resolve: Resolve) -> tuple[dict[str, trimesh.Scene], tuple[str, ...]]:
    """
    Return the body of each link that has one, in the frame of the link (m), and warnings.

    Parameters
    ----------
    resolve : callable
        Finds the file of a mesh, as :func:`ik_node.model.description.mesh_files.resolve` does.  A
        mesh that is missing, or cannot be read, is replaced by primitives; a warning says so.

    """
    meshes: dict[str, trimesh.Scene] = {}

    def load(uri: str) -> tuple[Path | None, str]:
        path, fault = resolve(uri)
        if path is not None:
            try:
                meshes[uri] = trimesh.load_scene(path)
                if not meshes[uri].geometry:
                    raise ValueError('it has no triangles')
            except Exception as error:  # noqa: BLE001 - each format raises other errors
                return None, (f'the mesh {quote(uri, 300)} cannot be read: '
                              f'{_why(error)}')
        return path, fault

    looks = drawable(tree, load)
    bodies = {}
    for link, shapes in looks.shapes.items():
        if shapes:
            bodies[link] = trimesh.Scene()
            for shape in shapes:
                _add(bodies[link], shape, meshes)
    return bodies, looks.warnings


def _why(error: Exception) -> str:
    if isinstance(error, ImportError) and error.name == 'collada':
        return 'pycollada is not installed (pip install pycollada)'
    return quote(str(error) or type(error).__name__, 200)


def _add(body: trimesh.Scene, shape: Shape, meshes: dict[str, trimesh.Scene]) -> None:
    if shape.kind == 'mesh':
        T = shape.T_link_shape @ np.diag([*shape.size, 1.0])
        mesh = meshes[shape.uri]
        for name in mesh.graph.nodes_geometry:
            T_mesh_part, part = mesh.graph[name]
            geometry = mesh.geometry[part].copy()
            if isinstance(geometry, trimesh.Trimesh):
                geometry.apply_transform(T @ T_mesh_part)
                if shape.rgba is not None or not geometry.visual.defined:
                    geometry.visual = _paint(shape.rgba or DEFAULT_COLOUR)
                body.add_geometry(geometry)
        return
    if shape.kind == 'box':
        geometry = trimesh.creation.box(shape.size)
    elif shape.kind == 'cylinder':
        geometry = trimesh.creation.cylinder(*shape.size, sections=CYLINDER_SIDES)
    else:
        geometry = trimesh.creation.icosphere(subdivisions=3, radius=shape.size[0])
    geometry.apply_transform(shape.T_link_shape)
    # One mesh for each colour: a window draws few large meshes faster than many small ones.
    name = f'of colour {shape.rgba}'
    geometry.visual = _paint(shape.rgba or DEFAULT_COLOUR)
    if name in body.geometry:
        geometry = trimesh.util.concatenate([body.geometry[name], geometry])
        body.delete_geometry(name)
    body.add_geometry(geometry, geom_name=name)


def _paint(rgba: tuple[float, ...]) -> trimesh.visual.TextureVisuals:
    light = np.append(np.array(rgba[:3]) ** SCREEN_GAMMA, rgba[3])
    settings: dict[str, Any] = {} if rgba[3] == 1.0 else {'alphaMode': 'BLEND'}
    return trimesh.visual.TextureVisuals(material=trimesh.visual.material.PBRMaterial(
        baseColorFactor=light, metallicFactor=0.0, roughnessFactor=MATERIAL_ROUGHNESS, **settings))
