# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Meshes that are broken, huge by their own word, or that ask for other files."""

from importlib.util import find_spec
import json
import sys

from harness import ARM
from nightly import usual_first
import pytest

from ik_node.model.description.mesh_files import resolve
from ik_node.model.description.urdf import parse_urdf

pytestmark = pytest.mark.skipif(find_spec('trimesh') is None,
                                reason='trimesh is not installed (extra "viewer")')

HUGE = b'\xff\xff\xff\xff'
LAUGHS = ('<?xml version="1.0"?><!DOCTYPE COLLADA [<!ENTITY a0 "ha">' + ''.join(
    f'<!ENTITY a{k} "{f"&a{k - 1};" * 10}">' for k in range(1, 12)) + ']>'
    '<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema">&a11;</COLLADA>')
OUTSIDE = LAUGHS.replace('<!ENTITY a0 "ha">', '<!ENTITY a0 SYSTEM "file:///etc/passwd">')
BODIES = {
    'header.stl': b'solid x' + bytes(73) + HUGE + bytes(50),
    'short.stl': bytes(80) + HUGE,
    'nan.stl': b'solid x\nfacet normal nan nan nan\nouter loop\nvertex inf nan 1e999\n'
               b'vertex 0 0 0\nvertex 1 1 1\nendloop\nendfacet\nendsolid x\n',
    'text.obj': b'v a b c\nf 1 2 3\n',
    'far.obj': b'v 0 0 0\nf 1 2 99999999999\n',
    'asks.obj': b'mtllib ../../../../etc/passwd\nusemtl x\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n',
    'count.ply': b'ply\nformat binary_little_endian 1.0\nelement vertex 4294967295\n'
                 b'property float x\nproperty float y\nproperty float z\nend_header\n',
    'broken.dae': b'<COLLADA', 'laughs.dae': LAUGHS.encode(), 'outside.dae': OUTSIDE.encode(),
    'depth.dae': b'<x>' * 100_000,
    'length.glb': b'glTF\x02\x00\x00\x00' + HUGE + HUGE + b'JSON',
    'asks.gltf': json.dumps({
        'asset': {'version': '2.0'}, 'buffers': [{'uri': '/etc/passwd', 'byteLength': 36}],
        'bufferViews': [{'buffer': 0, 'byteLength': 36}], 'scenes': [{'nodes': [0]}],
        'accessors': [{'bufferView': 0, 'componentType': 5126, 'count': 3, 'type': 'VEC3'}],
        'nodes': [{'mesh': 0}], 'meshes': [{'primitives': [{'attributes': {'POSITION': 0}}]}],
    }).encode(),
}
OPENED: list[str] | None = None


def _watch(event, arguments):
    """Note which files are opened while OPENED is a list (audit hooks stay for ever)."""
    if OPENED is not None and event in ('open', 'socket.connect', 'socket.getaddrinfo'):
        OPENED.append(str(arguments[0]))


sys.addaudithook(_watch)


@pytest.mark.fault('robot description', 'meshes that are broken, huge, or ask for other files',
                   'the viewer warns and draws primitives; nothing else is opened')
@pytest.mark.parametrize('name', usual_first(3, BODIES))
def test_meshes(tmp_path, name):
    """Drawn, or a warning and primitives in its place; nothing outside its folder is read."""
    global OPENED
    from ik_node.ui.viewer.drawing.robot_view import link_bodies
    (tmp_path / name).write_bytes(BODIES[name])
    tree = parse_urdf(ARM.read_text().replace(
        '<link name="tool0"/>', '<link name="tool0"><visual><geometry><mesh '
        f'filename="package://p/{name}"/></geometry></visual></link>'))
    link_bodies(tree, lambda uri: (None, 'warm'))
    OPENED = []
    try:
        bodies, warnings = link_bodies(tree, lambda uri: resolve(uri, [tmp_path]))
        opened = OPENED
    finally:
        OPENED = None
    assert not [file for file in opened if 'passwd' in file], opened
    assert 'tool0' in bodies and bodies['tool0'].geometry
    for warning in warnings:
        assert name in warning and warning.isprintable() and len(warning) < 700, warning
    # What cannot be drawn for its numbers must not reach the page.
    data = bodies['tool0'].export(file_type='glb')
    assert len(data) < 1e6 and b'root:' not in data
