# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Convex hulls of meshes, from files or from arrays, kept on the disk for the next time.

A file is named by what its hulls were computed from, so it never becomes stale.  It is in
NUMBA_CACHE_DIR, as the compiled functions are, else in the cache folder of the user
(XDG_CACHE_HOME, else ~/.cache).  If that folder cannot be written, hulls are computed at each
start.  A file that cannot be read is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, ExitStack, suppress
import fcntl
from functools import cache
from hashlib import sha256
import io
import logging
import os
from pathlib import Path
import tempfile
from time import monotonic, sleep

import numpy as np

from ik_node.base.errors import ParameterError
from ik_node.base.text import quote
from ik_node.collision.meshes.convex import convex_hulls, Hulls, MAX_HULL_VERTICES
from ik_node.collision.meshes.hollows import MAX_PARTS
from ik_node.collision.meshes.mesh_triangles import checked_triangles, read_mesh, triangles_of
from ik_node.collision.meshes.walls import MAX_WALLS

LOCK_PATIENCE_S = 60.0  # for another process, which may hang
LOCK_PERIOD_S = 0.05
HULLS_VERSION = 6  # raised with each change of how hulls are computed

logger = logging.getLogger(__name__)


def cached_hulls(content: tuple[bytes, ...], compute: Callable[[], Hulls]) -> Hulls:
    """
    Return the hulls that belong to some content, from the disk if they are there.

    Parameters
    ----------
    content : tuple of bytes
        All that the hulls depend on: the mesh, its format, its scale.
    compute : callable
        Returns the hulls; called if the disk does not have them.

    """
    try:
        file = cache_folder() / f'{_key(content)}.npz'
    except RuntimeError as error:  # no home folder
        _warn(str(error))
        return compute()
    hulls = _load(file)
    if hulls is not None:
        return hulls
    with _alone(file):
        hulls = _load(file)  # another process may have computed them meanwhile
        if hulls is None:
            hulls = compute()
            try:
                _save(file, hulls)
            except OSError as error:
                _warn(str(error))
    return hulls


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """Wait, but not for ever, until no other process computes a file; untold, go on."""
    lock, end = file.with_suffix('.lock'), monotonic() + LOCK_PATIENCE_S
    with ExitStack() as stack:
        with suppress(OSError):
            lock.parent.mkdir(parents=True, exist_ok=True)
            opened = stack.enter_context(lock.open('w'))
            while True:
                try:
                    fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    stack.callback(lock.unlink, missing_ok=True)
                    break
                except BlockingIOError:
                    if monotonic() > end:
                        break
                    sleep(LOCK_PERIOD_S)
        yield


def cache_folder() -> Path:
    """Return the folder in which hulls are kept; it need not exist."""
    given = os.environ.get('NUMBA_CACHE_DIR')
    if given:
        return Path(given) / 'ik_node_hulls'
    return Path(os.environ.get('XDG_CACHE_HOME') or '~/.cache').expanduser() / 'ik_node/hulls'


def _key(content: tuple[bytes, ...]) -> str:
    digest = sha256(f'{HULLS_VERSION} {MAX_PARTS} {MAX_WALLS} {MAX_HULL_VERTICES}'.encode())
    for part in content:
        digest.update(b'%d ' % len(part))
        digest.update(part)
    return digest.hexdigest()


def _load(file: Path) -> Hulls | None:
    """Return the hulls of a file, None if it does not exist or is damaged."""
    try:
        with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as arrays:
            counts, grown = arrays['counts'], float(arrays['grown'])
            vertices = np.ascontiguousarray(arrays['vertices'], dtype=float)
        good = (0 < len(counts) <= MAX_WALLS and (counts > 0).all()
                and (counts <= MAX_HULL_VERTICES).all()
                and vertices.shape == (counts.sum(), 3) and np.isfinite(vertices).all())
    except Exception:  # noqa: BLE001 - whatever is wrong with the file, a new one is written
        return None
    return Hulls(tuple(np.split(vertices, np.cumsum(counts)[:-1])), grown) if good else None


def _save(file: Path, hulls: Hulls) -> None:
    """Write a file at once, so that no other process reads half of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(suffix='.part', dir=file.parent)
    try:
        with os.fdopen(handle, 'wb') as opened:
            np.savez(opened, counts=np.array([len(hull) for hull in hulls.vertices]),
                     grown=np.array(hulls.grown), vertices=np.concatenate(hulls.vertices))
        os.replace(name, file)
    except OSError:
        with suppress(OSError):
            os.unlink(name)
        raise


@cache
def _warn(fault: str) -> None:
    """Warn once of each fault."""
    logger.warning('the convex hulls of meshes cannot be kept on the disk (%s), so each start '
                   'computes them again; set NUMBA_CACHE_DIR to a folder that can be written',
                   fault)


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
