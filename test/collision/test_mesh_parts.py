# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Mesh files of each format, good and broken, and the cache of their hulls."""

from concurrent.futures import ThreadPoolExecutor
import logging
import os
from pathlib import Path
import struct
import subprocess
import sys
from time import sleep

import coal
from nightly import usual_first
import numpy as np
import pytest
import robots

from ik_node.base.errors import ParameterError
from ik_node.collision.meshes import mesh_parts, mesh_triangles
from ik_node.collision.meshes.convex import Hulls
from ik_node.collision.meshes.mesh_parts import (
    cache_folder,
    cached_hulls,
    hulls_of_arrays,
    hulls_of_file,
)
from ik_node.collision.meshes.mesh_triangles import triangles_of

CORNERS = np.array([(x, y, z) for x in (-0.1, 0.1) for y in (-0.2, 0.2) for z in (-0.3, 0.3)])
DAE = '''<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema"
 version="1.4.1"><asset><unit name="x" meter="{unit}"/><up_axis>Z_UP</up_axis></asset>
<library_effects>{effects}</library_effects>
<library_geometries><geometry id="g"><mesh><source id="s"><float_array id="a" count="12">
0 0 0 1 0 0 0 1 0 0 0 1</float_array><technique_common><accessor source="#a" count="4" stride="3">
<param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
</accessor></technique_common></source><vertices id="v"><input semantic="POSITION" source="#s"/>
</vertices><{kind} count="4" material="m"><input semantic="VERTEX" source="#v" offset="0"/>
<p>0 1 2 0 1 3 0 2 3 1 2 3</p></{kind}></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="w"><node><translate>0 0 5</translate>
<instance_{instance} url="#g">{bind}</instance_{instance}></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#w"/></scene></COLLADA>'''
TETRAHEDRON = np.array([(0, 0, 5), (1, 0, 5), (0, 1, 5), (0, 0, 6)], float)


def box(size=(0.2, 0.4, 0.6)):
    """Return a box as trimesh makes it."""
    import trimesh
    return trimesh.creation.box(size)


def stl(size=(0.2, 0.4, 0.6)):
    """Return the box as a file."""
    return box(size).export(file_type='stl')


def dae(unit='1', effects='', kind='triangles', instance='geometry', bind=''):
    return DAE.format(unit=unit, effects=effects, kind=kind, instance=instance, bind=bind)


def put(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def corners(path, scale=(1.0, 1.0, 1.0)):
    """Return the vertices of the only hull of a file, sorted."""
    (hull,), _ = hulls_of_file(path, scale)
    return np.array(sorted(map(tuple, hull)))


def refused(path, *words, scale=(1.0, 1.0, 1.0)):
    """Check that a file is refused, and what is said in one line."""
    with pytest.raises(ParameterError) as error:
        hulls_of_file(path, scale)
    said = str(error.value)
    assert said.startswith('the mesh ') and '\n' not in said and len(said) < 700
    assert all(word in said for word in words), said


@pytest.mark.parametrize('suffix', ['stl', 'obj', 'ply', 'glb', 'dae', 'STL'])
def test_formats(tmp_path, suffix):
    """Each format gives the same box; a scale stretches and mirrors it."""
    path = put(tmp_path / f'box.{suffix}', box().export(file_type=suffix.lower()))
    assert np.abs(corners(path) - CORNERS).max() < 1e-6
    scaled = corners(path, (2.0, -1.0, 0.5))
    assert np.abs(scaled - np.array(sorted(map(tuple, CORNERS * (2.0, 1.0, 0.5))))).max() < 1e-6


def test_a_mirrored_mesh(tmp_path):
    """A negative scale puts the mesh on the other side."""
    path = put(tmp_path / 'box.stl', box().apply_translation((1.0, 0.0, 0.0)).export(
        file_type='stl'))
    assert np.abs(corners(path, (-1.0, 1.0, 1.0)) - (CORNERS - (1.0, 0.0, 0.0))).max() < 1e-6


def test_units_and_nodes_of_collada(tmp_path):
    """The unit of the file counts, and the poses of its nodes; coal reads all but the unit."""
    path = put(tmp_path / 'arm.dae', dae(unit='0.01'))
    found = corners(path)
    assert np.abs(found - np.array(sorted(map(tuple, 0.01 * TETRAHEDRON)))).max() < 1e-9
    reference = coal.MeshLoader(coal.BV_AABB).load(str(path), np.ones(3)).vertices()
    assert np.abs(found - 0.01 * np.array(sorted(map(tuple, reference)))).max() < 1e-6


@pytest.mark.parametrize('name', usual_first(1, ['kinova', 'z1', 'baxter']))
def test_collada_of_real_robots(name):
    """All .dae files of a robot have the bounds that coal reads."""
    files = sorted((robots.ARMS[name].path.parents[1]).rglob('*.[dD][aA][eE]'))
    assert files
    for path in files:
        points = triangles_of(path.read_bytes(), path).reshape(-1, 3)
        reference = coal.MeshLoader(coal.BV_AABB).load(str(path), np.ones(3)).vertices()
        assert np.allclose([points.min(axis=0), points.max(axis=0)],
                           [reference.min(axis=0), reference.max(axis=0)], atol=1e-5), path


def test_materials_make_no_holes(tmp_path):
    """A shape with a material that does not exist is read all the same."""
    bind = ('<bind_material><technique_common><instance_material symbol="m" target="#gone"/>'
            '</technique_common></bind_material>')
    data = dae(effects='<effect id="e"><profile_GLSL/></effect>', bind=bind)
    import trimesh
    left_out = trimesh.load_scene(trimesh.util.wrap_as_stream(data.encode()), file_type='dae')
    assert not left_out.geometry  # what the reader alone would do
    assert len(corners(put(tmp_path / 'a.dae', data))) == 4


@pytest.mark.parametrize(('name', 'data', 'words'), [
    ('skin.dae', dae(instance='controller'), ('skin', '.stl')),
    ('fan.dae', dae(kind='hexagons'), ('cannot be read',)),
    ('text.dae', '<COLLADA', ('not a COLLADA document',)),
    ('empty.stl', b'', ('empty',)),
    ('facets.stl', 'solid a\nendsolid a\n', ('triangles',)),
    ('rubbish.stl', bytes(range(256)) * 9, ('not whole',)),
    ('cut.stl', lambda: stl()[:-30], ('not whole',)),
    ('liar.stl', b' ' * 80 + struct.pack('<I', 4_000_000_000) + b'\0' * 50, ('not whole',)),
    ('points.obj', 'v 0 0 0\nv 1 0 0\n', ('triangles',)),
    ('short.stl', lambda: box().export(file_type='stl_ascii')[:-40], ('not whole',)),
    ('words.obj', 'v a b c\nf 1 2 3\n', ('cannot be read',)),
    ('index.obj', 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n', ('cannot be read',)),
    ('nan.obj', 'v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n', ('not finite',)),
    ('inf.stl', b' ' * 80 + struct.pack('<I12fH', 1, *[0] * 11, np.inf, 0), ('not finite',)),
    ('rubbish.ply', 'ply\nformat ascii 1.0\n', ('',)),
    ('rubbish.glb', b'glTF' + b'\xff' * 40, ('cannot be read',)),
    ('outside.gltf', '{}', ('.glb',)),
    ('lfs.stl', 'version https://git-lfs.github.com/spec/v1\n', ('git lfs pull',)),
    ('bomb.dae', '<!DOCTYPE a [<!ENTITY b "c">]><COLLADA/>', ('document type',)),
])
@pytest.mark.fault('collision', 'meshes for the collision check that are broken',
                   'the link is listed as not checked, with the reason')
def test_broken_files(tmp_path, name, data, words):
    refused(put(tmp_path / name, data() if callable(data) else data), *words)


def test_files_that_are_no_files(tmp_path):
    """A missing file and a folder are refused."""
    refused(tmp_path / 'gone.stl', 'missing')
    (tmp_path / 'folder.stl').mkdir()
    refused(tmp_path / 'folder.stl', 'is no file')


def test_large_meshes(tmp_path, monkeypatch, empty_cache):
    """Too many triangles, and vertices too far away, are refused."""
    path = put(tmp_path / 'box.stl', stl())
    refused(path, '1e+06 m', 'scale', scale=(1e9, 1.0, 1.0))
    refused(path, 'not finite', scale=(1e309, 1.0, 1.0))
    monkeypatch.setattr(mesh_triangles, 'MAX_TRIANGLES', 11)
    refused(path, '12 triangles')


@pytest.mark.parametrize(('module', 'name', 'words'), [
    ('trimesh', 'a.stl', 'pip install trimesh'), ('collada', 'a.dae', 'pip install pycollada')])
def test_missing_packages(tmp_path, monkeypatch, empty_cache, module, name, words):
    """The sentence says what to install."""
    data = dae() if name.endswith('dae') else stl()
    monkeypatch.setitem(sys.modules, module, None)
    refused(put(tmp_path / name, data), words)


def test_arrays():
    """Vertices and faces give the same as a file, and are checked."""
    (hull,), _ = hulls_of_arrays(np.array(box().vertices), np.array(box().faces))
    assert np.abs(np.array(sorted(map(tuple, hull))) - CORNERS).max() < 1e-12
    for vertices, faces, words in (
            ([[0, 0]], [[0, 0, 0]], 'shapes'), ([[0, 0, 0]], [[0.5, 0, 0]], 'integers'),
            ([[0, 0, 0]], [[0, 0, 1]], 'counted from 0'), ([[0, 0, 0]], [[0, 0, -1]], 'from 0'),
            ([[0, 0, np.nan]], [[0, 0, 0]], 'finite'), ('abc', [[0, 0, 0]], 'numbers'),
            (np.zeros((1, 3)), np.zeros((0, 3), int), 'triangles')):
        with pytest.raises(ParameterError, match=words):
            hulls_of_arrays(vertices, faces)


# ---- the cache --------------------------------------------------------------

@pytest.fixture
def empty_cache(monkeypatch, tmp_path):
    """Give a cache folder of its own, and count how often hulls are computed."""
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'home'))
    calls = []
    original = mesh_parts.convex_hulls
    monkeypatch.setattr(mesh_parts, 'convex_hulls',
                        lambda triangles: calls.append(1) or original(triangles))
    return calls


def test_the_second_time_comes_from_the_disk(tmp_path, empty_cache):
    """Same bytes and scale: the same hulls; another scale or content: computed again."""
    path = put(tmp_path / 'box.stl', stl())
    first = corners(path)
    assert len(empty_cache) == 1
    assert np.array_equal(corners(path), first) and len(empty_cache) == 1
    corners(path, (1.0, 1.0, 2.0))
    assert len(empty_cache) == 2
    other = put(tmp_path / 'box.stl', stl((1, 1, 1)))
    assert np.abs(corners(other)).max() == pytest.approx(0.5) and len(empty_cache) == 3


def test_what_two_need_at_once_is_computed_once(empty_cache):
    """Two programs that start together; nothing but the hulls is left on the disk."""
    count = []

    def slow():
        count.append(1)
        sleep(0.2)
        return Hulls((np.eye(3),), 0.0)

    with ThreadPoolExecutor(3) as pool:
        found = [*pool.map(lambda _: cached_hulls((b'mesh',), slow), range(3))]
    assert len(count) == 1 and all(np.array_equal(each.vertices[0], np.eye(3)) for each in found)
    assert [each.suffix for each in cache_folder().iterdir()] == ['.npz']


def test_neither_trimesh_nor_scipy_is_needed_the_second_time(tmp_path):
    """A process that finds the hulls on the disk does not load the libraries that make them."""
    path = put(tmp_path / 'box.stl', stl())
    corners(path)
    code = ('import sys\n'
            'from pathlib import Path\n'
            'from ik_node.collision.meshes.mesh_parts import hulls_of_file\n'
            f'print(len(hulls_of_file(Path({str(path)!r})).vertices[0]))\n'
            'print({"trimesh", "scipy"} & set(sys.modules))\n')
    ran = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    assert ran.stdout.split() == ['8', 'set()'], ran.stderr


@pytest.mark.parametrize('damage', [
    b'', b'rubbish', b'PK\x03\x04' + b'\0' * 100, None, 'cut', 'flipped', 'wrong', 'pickle'])
def test_damaged_files_are_replaced(tmp_path, empty_cache, damage):
    """Whatever is in a file of the cache, the hulls are right, and the file is good again."""
    path = put(tmp_path / 'box.stl', stl())
    expected = corners(path)
    file, = cache_folder().iterdir()
    good = file.read_bytes()
    if damage is None:
        file.unlink()
        file.mkdir()
    elif damage == 'wrong':
        np.savez(file, counts=np.array([3]), grown=np.array(0.0), vertices=np.full((3, 3), np.nan))
    elif damage == 'pickle':
        np.savez(file, counts=np.array([{}], dtype=object), grown=0.0, vertices=np.zeros((1, 3)))
    elif damage == 'flipped':
        middle = good.index(expected[0].tobytes()[:6])
        file.write_bytes(good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1:])
    else:
        file.write_bytes(good[:-20] if damage == 'cut' else damage)
    assert np.array_equal(corners(path), expected)
    assert len(empty_cache) == 2
    if damage is not None:
        assert file.read_bytes() == good
        assert np.array_equal(corners(path), expected) and len(empty_cache) == 2
    assert [found.name for found in cache_folder().iterdir()] == [file.name]  # nothing else left


@pytest.mark.fault('collision', 'the cache folder for hulls of meshes cannot be written',
                   'a warning; they are computed at each start')
def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch, empty_cache, caplog):
    """It is told once; the hulls are right all the same."""
    monkeypatch.setenv('XDG_CACHE_HOME', str(put(tmp_path / 'file', b'no folder')))
    path = put(tmp_path / 'box.stl', stl())
    mesh_parts._warn.cache_clear()
    with caplog.at_level(logging.WARNING):
        assert np.abs(corners(path) - CORNERS).max() < 1e-6
        corners(path)
    assert len(empty_cache) == 2
    message, = caplog.messages
    assert 'NUMBA_CACHE_DIR' in message and 'hulls' in message


def test_where_the_cache_is(monkeypatch):
    """NUMBA_CACHE_DIR, else XDG_CACHE_HOME, else ~/.cache."""
    monkeypatch.setenv('NUMBA_CACHE_DIR', '/here')
    assert cache_folder() == Path('/here/ik_node_hulls')
    monkeypatch.delenv('NUMBA_CACHE_DIR')
    monkeypatch.setenv('XDG_CACHE_HOME', '/there')
    assert cache_folder() == Path('/there/ik_node/hulls')
    monkeypatch.delenv('XDG_CACHE_HOME')
    assert cache_folder() == Path(os.path.expanduser('~/.cache/ik_node/hulls'))
