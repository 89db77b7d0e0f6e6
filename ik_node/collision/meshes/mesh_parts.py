# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Convex hulls of meshes, from files or from arrays, kept on the disk for the next time."""

from __future__ import annotations

import logging
from pathlib import Path
from time import monotonic

import numpy as np

from ik_node.base.errors import ParameterError
from ik_node.base.text import quote
from ik_node.collision.meshes.convex import convex_hulls, Hulls
from ik_node.collision.meshes.hull_cache import cached_hulls
from ik_node.collision.meshes.mesh_triangles import checked_triangles, read_mesh, triangles_of

logger = logging.getLogger(__name__)
LONG_S = 1.0  # that hulls take, which the log says


def hulls_of_file(path: Path, scale: tuple[float, ...] = (1.0, 1.0, 1.0)) -> Hulls:
    """
    Return convex hulls that together contain the mesh of a file.

    Parameters
    ----------
    path : Path
        An .stl, .dae, .obj, .ply or .glb file.
    scale : three floats
        Along x, y, z, from the unit of the file to m; negative ones mirror the mesh.

    Raises
    ------
    ParameterError
        If the mesh cannot be read, see :mod:`ik_node.collision.meshes.mesh_triangles`, or a
        package for reading it is missing.

    """
    data = read_mesh(path)

    def compute() -> Hulls:
        logger.info('computing the convex hulls of the mesh %s, once on this machine',
                    quote(path, 300))
        with np.errstate(over='ignore', invalid='ignore'):  # found by the check
            triangles = triangles_of(data, path) * np.array(scale)
        began = monotonic()
        hulls = convex_hulls(checked_triangles(triangles, f'the mesh {quote(path, 300)}'))
        if monotonic() - began > LONG_S:
            logger.info('computing the convex hulls of the mesh %s took %.1f s, for %s triangles',
                        quote(path, 300), monotonic() - began, f'{len(triangles):,}')
        return hulls

    return cached_hulls((data, path.suffix.lower().encode(), np.array(scale, float).tobytes()),
                        compute)


def hulls_of_arrays(vertices: np.ndarray, faces: np.ndarray,
                    scale: tuple[float, ...] = (1.0, 1.0, 1.0)) -> Hulls:
    """
    Return convex hulls that together contain a mesh.

    Parameters
    ----------
    vertices : (v, 3) array
        In units that `scale` converts to m.
    faces : (m, 3) int array
        Indices of the corners of each triangle.

    Raises
    ------
    ParameterError
        If a shape is wrong, an index names no vertex, or a number is not finite.

    """
    try:
        vertices, indices = np.array(vertices, dtype=float), np.array(faces)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError('a mesh is given by vertices (v, 3) and faces (m, 3), arrays of '
                             'numbers') from None
    if vertices.ndim != 2 or vertices.shape[1] != 3 or indices.ndim != 2 \
            or indices.shape[1] != 3 or indices.dtype.kind not in 'iu':
        raise ParameterError('a mesh is given by vertices (v, 3), numbers, and faces (m, 3), '
                             f'integers; got the shapes {vertices.shape} and {indices.shape} '
                             f'({indices.dtype})')
    if len(indices) and not 0 <= indices.min() <= indices.max() < len(vertices):
        raise ParameterError(f'a face of the mesh names the vertices {indices.min()} to '
                             f'{indices.max()}; there are {len(vertices)}, counted from 0')
    with np.errstate(over='ignore', invalid='ignore'):
        triangles = checked_triangles((vertices * np.array(scale))[indices], 'the mesh')
    return cached_hulls((triangles.tobytes(),), lambda: convex_hulls(triangles))
