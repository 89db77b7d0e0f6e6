# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A robot in the scene: opaque, or as a ghost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
import viser

from ik_node.base.se3 import pose, rotation_to_axis
from ik_node.base.text import quote
from ik_node.model.description.shapes import link_shapes, PRIMITIVE_KINDS, Shape
from ik_node.model.description.urdf import Tree
from ik_node.ros.messages.conversion import quaternion_from_rotation

STAND_IN_COLOUR = (0.6, 0.6, 0.62, 1.0)
STAND_IN_RADIUS = 0.12   # times the distance between the joints of the link
MIN_LENGTH_M = 1e-3      # shorter links are not drawn
DEFAULT_LENGTH_M = 0.1   # of a link, in a robot whose joints are all at one point


@dataclass(frozen=True, eq=False)
class Drawable:
    """The shapes of a robot, all of which can be drawn."""

    # By link; a mesh that is missing has been replaced by primitives.
    shapes: dict[str, list[Shape]]
    warnings: tuple[str, ...]  # a sentence for each missing mesh and each invalid visual


def drawable(tree: Tree, resolve: Callable[[str], tuple[Path | None, str]]) -> Drawable:
    """
    Return the shapes of a robot that can be drawn.

    Parameters
    ----------
    resolve : callable
        Finds the file of a mesh, as :func:`ik_node.model.description.mesh_files.resolve` does.

    """
    collisions = link_shapes(tree, 'collision')
    found: dict[str, tuple[Path | None, str]] = {}
    warnings: dict[str, None] = {}
    shapes: dict[str, list[Shape]] = {}
    for link, visuals in link_shapes(tree, 'visual').items():
        shapes[link] = []
        for shape in visuals:
            fault = f'a visual of link {quote(link)} is not drawn: {shape.fault}' \
                if shape.fault else ''
            if shape.uri:
                if shape.uri not in found:
                    found[shape.uri] = resolve(shape.uri)
                fault = found[shape.uri][1]
            if fault:
                warnings[fault] = None
            else:
                shapes[link] += shape.primitives
        if len(shapes[link]) < len(visuals):
            shapes[link] += stand_ins(tree, link, collisions[link])
    return Drawable(shapes, tuple(warnings))


def stand_ins(tree: Tree, link: str, collisions: list[Shape]) -> list[Shape]:
    """
    Return primitives for a link whose mesh is missing.

    They are the primitives of its collision geometry; if it has none, a cylinder from the
    frame of the link to each child joint, and a ball at the frame.
    """
    primitives = [replace(part, rgba=STAND_IN_COLOUR) for shape in collisions
                  if shape.kind in PRIMITIVE_KINDS for part in shape.primitives]
    if primitives:
        return primitives
    ends = [joint.T_parent_joint[:3, 3] for joint in tree.joints_below(link)]
    ends = [end for end in ends if np.linalg.norm(end) > MIN_LENGTH_M]
    longest = max(map(np.linalg.norm, ends), default=_typical_length(tree))
    radius = STAND_IN_RADIUS * float(longest)
    return [Shape('sphere', (1.2 * radius,), rgba=STAND_IN_COLOUR),
            *(_rod(end, radius) for end in ends)]


def _rod(end: np.ndarray, radius: float) -> Shape:
    """Return the cylinder from the origin of a frame to a point in it."""
    length = float(np.linalg.norm(end))
    return Shape('cylinder', (radius, length), pose(rotation_to_axis(end / length), end / 2.0),
                 rgba=STAND_IN_COLOUR)


def _typical_length(tree: Tree) -> float:
    """Return the median distance between joints, m."""
    lengths = [np.linalg.norm(joint.T_parent_joint[:3, 3]) for joint in tree.joints]
    return float(np.median([length for length in lengths if length > MIN_LENGTH_M]
                           or [DEFAULT_LENGTH_M]))


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
