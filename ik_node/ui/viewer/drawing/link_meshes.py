# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The links of a robot as meshes, one trimesh.Scene for each link."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import trimesh

from ik_node.base.text import quote
from ik_node.model.description.shapes import Shape
from ik_node.model.description.urdf import Tree
from ik_node.ui.robot_shapes import drawable

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
