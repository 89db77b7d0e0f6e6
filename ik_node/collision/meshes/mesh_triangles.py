# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Read the triangles of a mesh file.

The formats are read by trimesh.  It gets the bytes alone, so that a mesh opens no other file:
a texture is of no use here, and a .gltf, which keeps its triangles in other files, is refused.

Reduce a COLLADA file (.dae) to its shapes.

The reader leaves out a shape whose material it does not understand.  For the collision check
that would be a hole, so materials, textures, lights and lines are removed before it reads.
"""

from __future__ import annotations

import io
from pathlib import Path
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ik_node.base.errors import ParameterError
from ik_node.base.system import missing
from ik_node.base.text import quote
from ik_node.model.description.mesh_files import file_fault

SHAPE_LIBRARIES = frozenset({'asset', 'library_geometries', 'library_nodes',
                             'library_visual_scenes', 'scene'})
SHAPELESS_ELEMENTS = frozenset({'bind_material', 'extra', 'instance_camera', 'instance_light',
                                'lines', 'linestrips'})


def only_shapes(data: bytes) -> bytes:
    """Return a COLLADA document that has only what makes its shapes."""
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError as error:
        raise ValueError(f'not a COLLADA document: {error}') from None
    for library in list(root):
        if _name(library) not in SHAPE_LIBRARIES:
            root.remove(library)
    for element in list(root.iter()):
        if _name(element) == 'instance_controller':
            raise ValueError('it has a skin (instance_controller), which is not read; '
                             'save it as .stl')
        for child in list(element):
            if _name(child) in SHAPELESS_ELEMENTS:
                element.remove(child)
    return ElementTree.tostring(root)


def _name(element: ElementTree.Element) -> str:
    """Return the name of an element without its namespace."""
    return str(element.tag).rpartition('}')[2]


MAX_TRIANGLES = 5_000_000
STL_HEADER_BYTES = 80
STL_TRIANGLE_BYTES = 50
STL_ENDING_BYTES = 1_000  # in which a text must have its last word
MAX_COORDINATE_M = 1e6  # of a vertex, after the scale


def read_mesh(path: Path) -> bytes:
    """Return the bytes of a mesh file."""
    fault = file_fault(path)
    if fault is not None:
        raise ParameterError(f'the mesh {quote(path, 300)} '
                             + (fault or 'is missing: there is no such file'))
    try:
        return path.read_bytes()
    except OSError as error:
        raise ParameterError(f'the mesh {quote(path, 300)} cannot be read: '
                             f'{error.strerror}') from None


def triangles_of(data: bytes, path: Path) -> np.ndarray:
    """
    Return the corners (m, 3, 3) of the triangles of a mesh, in m before any scale.

    Parameters
    ----------
    data : bytes
        Contents of the file, in the format that its suffix names.  The unit that a .dae
        declares is applied.

    """
    what = f'the mesh {quote(path, 300)}'
    suffix = path.suffix.lower().lstrip('.')
    if suffix == 'gltf':
        raise ParameterError(f'{what} keeps its triangles in other files; save it as .glb or .stl')
    if suffix == 'stl' and not _is_whole_stl(data):
        raise ParameterError(f'{what} is not whole: its length is not that of its triangles, and '
                             'it does not end with endsolid')
    try:
        import trimesh
    except ImportError:
        raise ParameterError(f'{what} cannot be read: {missing("trimesh")}') from None
    try:
        options: dict[str, Any] = {'process': False}
        if suffix == 'dae':
            data, options['ignore_broken'] = only_shapes(data), False
        scene = trimesh.load_scene(io.BytesIO(data), file_type=suffix, **options)
        pieces = []
        for name in scene.graph.nodes_geometry:
            T_mesh_piece, key = scene.graph[name]
            piece = scene.geometry[key]
            if isinstance(piece, trimesh.Trimesh) and len(piece.faces):
                corners = np.asarray(piece.vertices, dtype=float)[np.asarray(piece.faces)]
                pieces.append((corners @ T_mesh_piece[:3, :3].T + T_mesh_piece[:3, 3])
                              * _unit_m(piece))
    except Exception as error:  # noqa: BLE001 - each format raises other errors
        raise ParameterError(f'{what} cannot be read: {_why(error)}') from None
    if not pieces:
        raise ParameterError(f'{what} has no triangles')
    return np.concatenate(pieces)


def checked_triangles(triangles: np.ndarray, what: str) -> np.ndarray:
    """Return triangles (m, 3, 3) after a look at their number and at each coordinate."""
    if not 0 < len(triangles) <= MAX_TRIANGLES:
        raise ParameterError(f'{what} has {len(triangles):,} triangles; between 1 and '
                             f'{MAX_TRIANGLES:,} are read')
    if not np.isfinite(triangles).all():
        raise ParameterError(f'{what} has a vertex that is not finite')
    farthest = np.abs(triangles).max()
    if farthest > MAX_COORDINATE_M:
        raise ParameterError(f'{what} has a vertex {farthest:g} m away, at most '
                             f'{MAX_COORDINATE_M:g} m are allowed; give a smaller scale')
    return triangles


def _is_whole_stl(data: bytes) -> bool:
    """Return whether an STL file is binary and as long as it says, or is text with its end."""
    count = int.from_bytes(data[STL_HEADER_BYTES:STL_HEADER_BYTES + 4], 'little')
    return (len(data) == STL_HEADER_BYTES + 4 + count * STL_TRIANGLE_BYTES
            or b'endsolid' in data[-STL_ENDING_BYTES:].lower())


def _unit_m(piece: Any) -> float:
    """Return the length of a mesh's unit in m; trimesh reads that of a .dae as text."""
    match = re.fullmatch(r'([0-9.eE+-]+) \* meters', str(piece.metadata.get('units', '')))
    return float(match[1]) if match else 1.0


def _why(error: Exception) -> str:
    if isinstance(error, ImportError) and error.name:
        return missing(error.name)
    return quote(str(error) or type(error).__name__, 200)
