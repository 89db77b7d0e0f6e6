# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A cache of hulls that belongs to the tests."""

from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from kept import kept
import pytest

from ik_node.collision.meshes import convex, hollows, mesh_cuts, mesh_parts, mesh_triangles, walls

PACKAGES = 'numpy', 'scipy', 'trimesh'  # that hulls depend on, beside the code and the mesh


@pytest.fixture(scope='session')
def hull_folder():
    """Return a cache folder for all runs with this code and these packages."""
    made_by = sha256(repr([version(package) for package in PACKAGES]).encode())
    for module in (convex, hollows, mesh_cuts, mesh_parts, mesh_triangles, walls):
        made_by.update(Path(module.__file__).read_bytes())
    return kept(f'hulls_{made_by.hexdigest()[:16]}')


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, hull_folder):
    """Keep hulls away from the cache of the user, and from those of other code."""
    monkeypatch.delenv('NUMBA_CACHE_DIR', raising=False)
    monkeypatch.setenv('XDG_CACHE_HOME', str(hull_folder))
