# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Tools that have a name: their poses, shapes and links, and the files that they are in."""

import os
import re
import textwrap

from geometry_oracle import bodies_of
import numpy as np
import pinocchio as pin
import pytest
import robots

from ik_node.base.errors import ParameterError
from ik_node.collision import read_tools, Scene, tools_from_yaml
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.scene import tool_file

NAME = 'six_axis_arm'
CHAIN, TREE = robots.chain(NAME), robots.tree(NAME)
EXAMPLE = textwrap.dedent(re.search(r'yaml\n\n(.*?)\n\n``', tool_file.__doc__, re.DOTALL)[1])


def tool(entry, name='tool'):
    """Return the tool of one entry."""
    return tools_from_yaml(f'tools: {{{name}: {entry}}}', TREE, CHAIN)[name]


def in_base(link, q):
    """Return the pose of a link by Pinocchio."""
    return pin.SE3(robots.reference(NAME).pose(CHAIN.base_link, link, robots.positions(CHAIN, q)))


def test_the_example_of_the_documentation(tmp_path):
    """Each tool arrives as it is written, with its mesh; relative to the file."""
    import trimesh
    (tmp_path / 'meshes').mkdir()
    mesh = trimesh.creation.box((20, 30, 100))
    (tmp_path / 'meshes/torch.stl').write_bytes(mesh.export(file_type='stl'))
    (tmp_path / 'tools.yaml').write_text(EXAMPLE)
    found = read_tools(str(tmp_path / 'tools.yaml'), TREE, CHAIN)
    assert [*found] == ['probe', 'gripper', 'torch']
    assert found['probe'].body is None
    assert np.allclose(found['probe'].T_link_tool[:3, 3], (0.0, 0.0, 0.08), atol=1e-15)
    gripper = found['gripper']
    assert np.allclose(gripper.T_link_tool, pin.SE3(
        pin.rpy.rpyToMatrix(0.0, 0.0, 1.5708), np.array([0.0, 0.0, 0.12])).homogeneous)
    assert [(part.kind, part.size, part.T[:3, 3].tolist()) for part in gripper.body.parts] == [
        ('cylinder', (0.03, 0.06), [0.0, 0.0, 0.03]),
        ('box', (0.08, 0.02, 0.05), [0.0, 0.0, 0.085])]
    assert (gripper.body.name, gripper.body.frame, gripper.body.padding) \
        == ('gripper', 'tool0', 0.002)
    assert gripper.touch == {'link_5'} and gripper.link == 'tool0'
    assert gripper.mass == 0.9 and np.allclose(gripper.center_of_mass, (0.0, 0.0, 0.05))
    torch = found['torch']
    assert torch.body.frame == torch.link == 'flange'
    assert np.allclose(np.ptp(torch.body.parts[0].vertices, axis=0), (0.02, 0.03, 0.1))


def test_a_tool_on_another_link_than_the_tip():
    """The pose is in that link; by Pinocchio it is the same point of space."""
    found = tool('{link: link_6, position: [0.01, 0.02, 0.3], orientation: [0.1, 0.2, 0.3], '
                 'mass: 2.0, center_of_mass: [0.04, 0.05, 0.06]}')
    offset = pin.SE3(pin.rpy.rpyToMatrix(0.1, 0.2, 0.3), np.array([0.01, 0.02, 0.3]))
    for q in robots.random_postures(CHAIN, 5, 1):
        expected = (in_base('link_6', q) * offset).homogeneous
        assert np.allclose(in_base('tool0', q).homogeneous @ found.T_link_tool, expected,
                           atol=1e-12)
        assert np.allclose(in_base('tool0', q).act(np.array(found.center_of_mass)),
                           in_base('link_6', q).act(np.array([0.04, 0.05, 0.06])), atol=1e-12)
    assert not np.allclose(in_base('link_6', q).homogeneous, in_base('tool0', q).homogeneous)


def test_its_shape_moves_with_the_link():
    """A ball on the tool is as far from a ball of the scene as by Pinocchio."""
    made = tool('{link: link_6, shapes: [{sphere: 0.02, xyz: [0.0, 0.1, 0.3]}], padding: 0.01}')
    scene = Scene(CHAIN.base_link, TREE.links)
    scene.add_sphere('ball', 0.05, np.block([[np.eye(3), np.array([[0.6], [0.1], [0.7]])],
                                             [np.zeros((1, 3)), 1.0]]))
    model = CollisionModel(CHAIN, TREE, bodies_of(NAME)[:0], (*scene.bodies, made.body))
    for q in robots.random_postures(CHAIN, 5, 2):
        centre = in_base('link_6', q).act(np.array([0.0, 0.1, 0.3]))
        expected = np.linalg.norm(centre - [0.6, 0.1, 0.7]) - 0.05 - 0.02 - 0.01
        assert model.distance(q)[0] == pytest.approx(expected, abs=1e-9)
        assert {*model.distance(q)[1:]} == {'ball', 'tool'}


@pytest.mark.parametrize(('entry', 'words'), [
    ('3', r'it is 3; it must be as \{position'),
    ('{positoin: [0, 0, 1]}', r"key 'positoin' is unknown; did you mean 'position'"),
    ('{position: [0, 0]}', r'position \(x, y, z\) must be 3 numbers'),
    ('{position: [0, 0, .nan]}', r'position \(x, y, z\) must be finite'),
    ('{position: [0, 0, 120]}', 'is 120 m long.* millimetres'),
    ('{orientation: up}', r'orientation \(roll, pitch, yaw\) must be numbers'),
    ('{link: link_5}', "the link 'link_5' is not fixed to the tip link 'tool0'"),
    ('{link: flagne}', "'flagne' is not in the URDF; did you mean 'flange'"),
    ('{link: 3}', 'link is 3; it must be the name of a link'),
    ('{touch: link_5}', "touch is 'link_5'; it must be a list"),
    ('{touch: [3]}', r'touch is \[3\]'),
    ('{shapes: {box: [1, 1, 1]}}', 'it must be a list of shapes'),
    ('{shapes: [{plane: 0.0}]}', 'it has the shapes none; it must have one of box, cylinder'),
    ('{shapes: [{box: [1, 1, 1], sphere: 1}]}', 'it has the shapes box, sphere'),
    ('{shapes: [{box: [1, 1, 1], padding: 0.1}]}', "the key 'padding' is unknown"),
    ('{shapes: [{box: [1, 1]}]}', "the size of the box of the object 'shape 1'"),
    ('{shapes: [{mesh: nothing.stl}]}', "mesh 'nothing.stl'"),
    ('{mass: -1}', 'mass is -1 kg; it must be 0 to 10000 kg'),
    ('{mass: heavy}', r'mass \(kg\) must be numbers'),
    ('{mass: 2, center_of_mass: [0, 0, 50]}', 'at most 10 m .*millimetres'),
    ('{center_of_mass: [1]}', r'center_of_mass \(x, y, z\) must be 3 numbers'),
    ('{shapes: [{sphere: 1}], padding: -1}', 'the padding of the tool is .*0 or more')])
@pytest.mark.fault('parameters', 'a file with a tool that cannot be',
                   'the node does not start; one sentence names the file, the tool and the key')
def test_invalid_tools_are_refused(entry, words):
    """One sentence says which tool, and why."""
    with pytest.raises(ParameterError, match=words) as caught:
        tool(entry)
    assert str(caught.value).startswith('the tools, at tools.tool: ')
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize(('name', 'words'), [
    ('tool0', 'link of the robot has this name'), ('ground', 'body has this name'),
    ("''", '1 to 80 printable'), ("' a'", 'no blank'), ('3', 'the name 3 of a tool is no text')])
def test_names_that_are_not_allowed(name, words):
    """They would be confused with others."""
    with pytest.raises(ParameterError, match=words):
        tools_from_yaml(f'tools: {{{name}: {{}}}}', TREE, CHAIN)


def test_files_that_are_refused(tmp_path, monkeypatch):
    """One sentence with the path: no file, a folder, a pipe, too large, no package, no YAML."""
    path = tmp_path / 'tools.yaml'
    os.mkfifo(tmp_path / 'pipe')
    for text, given, words in ((None, path, 'No such file'), (None, tmp_path, 'it is no file'),
                               (None, tmp_path / 'pipe', 'it is no file'),
                               (None, 'package://nothing/a.yaml', "package 'nothing' is not in"),
                               ('tools: [', path, 'is not plain YAML'),
                               ('tool: {}', path, 'must have one key, tools'),
                               ('tools: [1]', path, 'must map the name of each tool')):
        if text is not None:
            path.write_text(text)
        with pytest.raises(ParameterError, match=words) as caught:
            read_tools(str(given), TREE, CHAIN)
        assert str(given) in str(caught.value) and '\n' not in str(caught.value)
    monkeypatch.setattr(tool_file, 'MAX_TOOLS_BYTES', 8)
    with pytest.raises(ParameterError, match='more than 0 MiB'):
        read_tools(str(path), TREE, CHAIN)
    path.write_text('tools:')
    assert read_tools(f'file://{path}', TREE, CHAIN) == {}


def test_objects_and_tools_have_names_of_their_own():
    """An object may touch a tool, and may not have its name."""
    scene = Scene(CHAIN.base_link, TREE.links, ['gripper'])
    scene.add_sphere('ball', 0.1)
    scene.allow('ball', ['gripper', 'link_6'])
    assert scene.copy().snapshot.touch_links == {'ball': {'gripper', 'link_6'}}
    for change, words in (
            (lambda: scene.add_sphere('gripper', 0.1), 'has the name of a tool; give another'),
            (lambda: scene.allow('ball', ['griper']),
             "neither a link nor an object nor a tool; did you mean 'gripper'")):
        with pytest.raises(ParameterError, match=words):
            change()
