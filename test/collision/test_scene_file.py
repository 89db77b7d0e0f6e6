# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Scenes from YAML, and back."""

import os
from pathlib import Path
import re
import textwrap

from hypothesis import given, settings, strategies as st
import numpy as np
import pinocchio as pin
import pytest
import robots

import ik_node
from ik_node.base.errors import ParameterError
from ik_node.base.se3 import pose, rotation_from_rpy
from ik_node.collision import CollisionModel
from ik_node.collision.bodies.part_checks import NO_VERTICES
from ik_node.collision.bodies.parts import ConvexPart
from ik_node.collision.scene import scene_file
from ik_node.collision.scene.scene import Scene
from ik_node.collision.scene.scene_file import read_scene, scene_from_yaml, scene_to_yaml

EXAMPLE = textwrap.dedent(re.search(r'yaml\n\n(.*?)\n\nEach', scene_file.__doc__, re.DOTALL)[1])
LINKS = ('base', 'hand', 'left_finger', 'right_finger')


@pytest.fixture
def example(tmp_path):
    """Write the example of the module as a file, with its mesh; return its path."""
    import trimesh
    (tmp_path / 'meshes').mkdir()
    mesh = trimesh.creation.box((1000, 500, 2000))
    (tmp_path / 'meshes/shelf.stl').write_bytes(mesh.export(file_type='stl'))
    (tmp_path / 'scene.yaml').write_text(EXAMPLE)
    return tmp_path / 'scene.yaml'


def test_the_example_of_the_documentation(example):
    """Every kind of object arrives as it is written."""
    scene = read_scene(example, 'base', LINKS)
    found = {body.name: body for body in scene.bodies}
    assert list(found) == ['floor', 'table', 'post', 'ball', 'pipe', 'shelf', 'scan', 'tray',
                           'tool', 'lid']
    assert {name: (body.parts[0].kind, body.parts[0].size) for name, body in found.items()
            if len(body.parts) == 1} == {
        'floor': ('plane', ()), 'table': ('box', (1.0, 0.6, 0.04)),
        'post': ('cylinder', (0.05, 1.2)), 'ball': ('sphere', (0.1,)),
        'pipe': ('capsule', (0.03, 0.8)), 'shelf': ('hull', ()),
        'tool': ('box', (0.05, 0.05, 0.2)), 'lid': ('box', (0.2, 0.2, 0.01))}
    R = pin.rpy.rpyToMatrix(0.0, 0.0, 0.3)
    assert np.allclose(found['table'].parts[0].T,
                       pin.SE3(R, np.array([0.6, 0.0, 0.2])).homogeneous)
    assert np.allclose(found['pipe'].parts[0].T[:3, 2], (1.0, 0.0, 0.0))
    assert found['ball'].padding == 0.01
    assert np.allclose(np.ptp(found['shelf'].parts[0].vertices, axis=0), (1.0, 0.5, 2.0))
    assert len(found['scan'].parts) == 2
    assert np.allclose([part.T[:3, 3] for part in found['tray'].parts],
                       [(0.6, 0.0, 0.23), (0.6, 0.1, 0.26)])
    assert found['tool'].frame == 'hand' and found['table'].frame == 'base'
    assert scene.snapshot.touch_links == {
        'tool': frozenset({'hand', 'left_finger', 'right_finger'}),
        'lid': frozenset({'hand', 'tool'})}


def test_the_scene_of_the_guide_leaves_the_arm_free():
    """It is the first that a user loads: the arm does not stand in it, and can go on."""
    guide = (Path(__file__).parents[2] / 'docs/how_to/collisions.md').read_text()
    text = re.search(r'```yaml\n(objects:.*?)```', guide, re.DOTALL)[1]
    arm = ik_node.load_urdf(robots.ARMS['six_axis_arm'].path)
    scene = scene_from_yaml(text, arm.base_link, arm.tree.links)
    assert len(scene.objects) == 5
    model = CollisionModel.of(arm, scene, margin=0.005)
    assert model.overlap(arm.middle) is None and model.check_many(arm.middle[None])[0]
    free = model.check_many(robots.random_postures(arm, 300, 1)).mean()
    assert free > 0.1, free


def test_heights_of_planes():
    """The height is along the z axis of the object's pose."""
    text = 'objects: {a: {plane: 0.5}, b: {parts: [{plane: -1, xyz: [0, 0, 3]}], rpy: [1, 0, 0]}}'
    a, b = scene_from_yaml(text).bodies
    assert np.allclose(a.parts[0].T, pose(np.eye(3), np.array([0.0, 0.0, 0.5])))
    R = rotation_from_rpy(1.0, 0.0, 0.0)
    assert np.allclose(b.parts[0].T, pose(R, 2.0 * R[:, 2]))


def same(one, two):
    """Check that two scenes have the same bodies and touch links."""
    assert [(body.name, body.frame, body.padding) for body in one.bodies] \
        == [(body.name, body.frame, body.padding) for body in two.bodies]
    assert one.snapshot.touch_links == two.snapshot.touch_links
    for a, b in zip(one.bodies, two.bodies):
        assert [(part.kind, part.size) for part in a.parts] \
            == [(part.kind, part.size) for part in b.parts]
        for part, other in zip(a.parts, b.parts):
            assert np.allclose(part.T, other.T, atol=1e-12)
            assert np.array_equal(part.vertices, other.vertices)


def test_there_and_back(example):
    """What is written is read as the same scene."""
    scene = read_scene(example, 'base', LINKS)
    same(scene, scene_from_yaml(scene_to_yaml(scene), 'base', LINKS))
    same(Scene(), scene_from_yaml(scene_to_yaml(Scene())))


ANGLES = st.floats(-4.0, 4.0)
T = st.builds(lambda rpy, xyz: pose(rotation_from_rpy(*rpy), np.array(xyz)),
              st.tuples(ANGLES, ANGLES, ANGLES), st.tuples(*[st.floats(-1e3, 1e3)] * 3))
SIZE = st.floats(1e-6, 1e3)
PART = st.one_of(
    st.builds(lambda s, T: ConvexPart('box', s, T, NO_VERTICES), st.tuples(SIZE, SIZE, SIZE), T),
    st.builds(lambda k, s, T: ConvexPart(k, s, T, NO_VERTICES),
              st.sampled_from(['cylinder', 'capsule']), st.tuples(SIZE, SIZE), T),
    st.builds(lambda s, T: ConvexPart('sphere', s, T, NO_VERTICES), st.tuples(SIZE), T),
    st.builds(lambda T: ConvexPart('plane', (), T, NO_VERTICES), T),
    st.builds(lambda v, T: ConvexPart('hull', (), T, np.array(v)),
              st.lists(st.tuples(SIZE, SIZE, SIZE), min_size=1, max_size=5), T))


IDS = st.text(min_size=1, max_size=20).filter(
    lambda id: id.isprintable() and id not in ('base', 'hand'))


@given(st.dictionaries(IDS,
                       st.tuples(st.lists(PART, min_size=1, max_size=3), T, SIZE), max_size=4))
@settings(max_examples=50, deadline=None)
def test_any_scene_there_and_back(objects):
    """Ids of any printable characters, all kinds of parts, and numbers of any size come back."""
    scene = Scene('base', ('base', 'hand'))
    for id, (parts, T, padding) in objects.items():
        scene.add_parts(id, parts, T, 'hand', padding)
        if all(part.kind != 'plane' for part in parts):
            scene.attach(id, 'hand', ['base'])
    for id in objects:
        scene.allow(id, ['base', *objects] if len(id) % 2 else [])
    same(scene, scene_from_yaml(scene_to_yaml(scene), 'base', ('base', 'hand')))


@pytest.mark.parametrize(('entry', 'words'), [
    ('{box: [1, 2]}', "objects.a: the size of the box of the object 'a'.*3 numbers"),
    ('{box: [1, 2, 3], spher: 2}', "'spher' is unknown; did you mean 'sphere'"),
    ('{box: [1, 2, 3], xzy: [0, 0, 0]}', "did you mean 'xyz'"),
    ('{box: [1, 2, 3], sphere: 1}', 'it has the shapes box, sphere'),
    ('{xyz: [0, 0, 0]}', 'the shapes none'),
    ('{box: [1, 2, 3], voxel: 1}', "'voxel' is unknown"),
    ('{sphere: 1, rpy: [0, 0, 0], quat: [0, 0, 0, 1]}', 'rpy and quat'),
    ('{sphere: 1, quat: [0, 0, 0, 0]}', 'the norm 0'),
    ('{sphere: 1, quat: [0, 0, 1]}', 'quat must be 4 numbers'),
    ('{sphere: 1, xyz: [0, .nan, 1]}', 'xyz must be finite'),
    ('{sphere: 1, xyz: 2020-01-01}', 'xyz must be numbers'),
    ('{sphere: [1, 2]}', 'sphere'), ('{sphere: {a: 1}}', 'numbers'), ('{sphere: }', 'sphere'),
    ('{plane: {}}', 'height of the plane'), ('{hull: []}', 'n x 3'), ('{hull: 3}', 'n x 3'),
    ('{parts: []}', 'no parts'), ('{parts: {}}', 'list of shapes'), ('{parts: [1]}', 'a shape'),
    ('{parts: [{mesh: a.stl}]}', 'the shapes none'), ('{points: [[1, 2, 3]]}', 'need a voxel'),
    ('{points: [[1, 2]], voxel: 1}', 'n x 3'), ('{points: [[1, 2, 3]], voxel: x}', 'voxel'),
    ('{mesh: a.stl}', 'the scene came without a folder'), ('{mesh: }', 'the mesh'),
    ('{mesh: [a.stl]}', 'the mesh'), ('{sphere: 1, frame: leg}', "'leg'"),
    ('{sphere: 1, frame: 3}', 'frame'), ('{sphere: 1, attach: hand}', 'list of links'),
    ('{sphere: 1, touch: hand}', 'list of links and objects'),
    ('{sphere: 1, touch: [hnd]}', 'neither a link nor an object.*hand'),
    ('{sphere: 1, attach: [[hand]]}', 'neither'), ('{sphere: 1, padding: -1}', 'padding'),
    ('3', 'it is 3'), ('', 'it is None'), ('[sphere, 1]', 'it must have a shape'),
])
@pytest.mark.fault('collision', 'an object of a scene file that is not allowed',
                   'one sentence with the file and the key; the scene is as before')
def test_entries_that_are_refused(entry, words):
    with pytest.raises(ParameterError, match=words) as error:
        scene_from_yaml(f'objects:\n  a: {entry}', 'base', LINKS)
    said = str(error.value)
    assert said.startswith('the scene, at objects.a: ') and '\n' not in said


@pytest.mark.parametrize(('text', 'words'), [
    ('a: 1', r"keys \['a'\]"), ('', 'None'), ('[1]', r'\[1\]'), ('objects: 3', 'objects is 3'),
    ('objects: {}\nmore: 1', 'one key'), ('[', 'not plain YAML.*line 1'),
    ('[' * 5000, 'nested too deeply'),
    ('objects: {a: {sphere: 1}, a: {sphere: 2}}', 'given twice'),
    ('objects: {a: {sphere: 1, sphere: 2}}', "'sphere' is given twice in line 1"),
    ('objects: {a: &x {sphere: 1}, b: *x}', r'alias \*x'),
    ('objects: {a: {sphere: !!python/name:os.system 1}}', 'not plain YAML'),
    ('objects: {? [1] : 2}', 'not plain YAML'), ('objects: {1: {sphere: 1}}', 'id of an object'),
    ('a\0b', 'not plain YAML'), ('objects: {a: {sphere: 99999999-99-99}}', 'sphere|YAML'),
    ('objects: {a: {sphere: 2020-13-45}}', 'not plain YAML|numbers'),
])
def test_texts_that_are_refused(text, words):
    with pytest.raises(ParameterError, match=words) as error:
        scene_from_yaml(text)
    assert '\n' not in str(error.value)


def test_files_that_are_refused(tmp_path, monkeypatch):
    """The file is named; a mesh outside the folder of the scene is not read."""
    with pytest.raises(ParameterError, match="cannot read the scene '.*none.yaml': No such file"):
        read_scene(tmp_path / 'none.yaml')
    with pytest.raises(ParameterError, match='cannot read'):
        read_scene('a\0b')
    os.mkfifo(tmp_path / 'pipe')
    with pytest.raises(ParameterError, match='it is no file'):
        read_scene(tmp_path / 'pipe')
    import trimesh
    path = tmp_path / 'in/scene.yaml'
    path.parent.mkdir()
    (tmp_path / 'a.stl').write_bytes(trimesh.creation.box().export(file_type='stl'))
    path.write_text('objects: {a: {mesh: ../a.stl}}')
    with pytest.raises(ParameterError, match='in/scene.yaml.*at objects.a: .*lies outside'):
        read_scene(path)
    path.write_text('objects: {a: {mesh: package://p/a.stl}}')
    assert len(read_scene(path, search_paths=[tmp_path]).bodies) == 1
    monkeypatch.setattr(scene_file, 'MAX_SCENE_BYTES', 10)
    with pytest.raises(ParameterError, match='MiB'):
        read_scene(path)


def test_numbers_with_exponents():
    """1e-3, which YAML takes for a text, is a number all the same."""
    body, = scene_from_yaml('objects: {a: {box: [1e-3, 2e-1, 3], padding: 1e-2}}').bodies
    assert body.parts[0].size == (0.001, 0.2, 3.0) and body.padding == 0.01


@given(st.text(alphabet='objects:{}[]&*!- \n\t"abx1.,?|', max_size=80))
@settings(deadline=None)
def test_any_text(text):
    """Any text is a scene, or refused by one sentence."""
    for whole in (text, f'objects: {{a: {text}}}'):
        try:
            scene_from_yaml(whole)
        except ParameterError as error:
            assert '\n' not in str(error)
