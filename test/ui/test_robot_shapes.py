# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What is drawn of a robot, and what stands in for what is missing."""

from functools import partial

from hypothesis import given, strategies as st
from nightly import usual_first
import numpy as np
import pytest
import robots

from ik_node.base.se3 import pose, rotation_from_rpy
from ik_node.kinematics.links import link_poses
from ik_node.model.description.mesh_files import resolve
from ik_node.model.description.shapes import link_shapes
from ik_node.model.description.urdf import parse_urdf, read_urdf
from ik_node.ui.viewer.drawing.robot_view import drawable, STAND_IN_COLOUR

JOINTS = ('<joint name="j" type="revolute"><origin xyz="0.3 -0.2 0.6"/><parent link="a"/>'
          '<child link="b"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="0" '
          'velocity="1"/></joint>')
MESH = '<geometry><mesh filename="package://absent/a.stl"/></geometry>'


def tree(in_a='', more=''):
    """Return a robot of two links, the first with elements."""
    return parse_urdf(f'<robot name="r"><link name="a">{in_a}</link><link name="b"/>{JOINTS}'
                      f'{more}</robot>')


def looks_of(*args):
    return drawable(tree(*args), resolve)


def ends(shape):
    """Return the two ends of a cylinder's axis in the link's frame."""
    half = np.array([0.0, 0.0, shape.size[1] / 2.0, 1.0])
    T = shape.T_link_shape
    return (T @ (half * [1, 1, -1, 1]))[:3], (T @ half)[:3]


def test_primitives_stay(tmp_path):
    """Primitives are drawn unchanged, with their colours."""
    looks = looks_of(
        '<visual><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><geometry><box size="1 2 3"/></geometry>'
        '<material name="red"/></visual><visual><geometry><cylinder radius="0.1" length="2"/>'
        '</geometry><material><color rgba="0 0.5 2 1"/></material></visual>'
        '<visual><geometry><sphere radius="0.1"/></geometry></visual>',
        '<material name="red"><color rgba="1 0 0 1"/></material>')
    box, cylinder, sphere = looks.shapes['a']
    assert (box.kind, box.size) == ('box', (1, 2, 3))
    assert np.allclose(box.T_link_shape, pose(rotation_from_rpy(.1, .2, .3), np.array([1, 2, 3])))
    assert (cylinder.kind, cylinder.size) == ('cylinder', (0.1, 2.0))
    assert (box.rgba, cylinder.rgba, sphere.rgba) == ((1, 0, 0, 1), (0, 0.5, 1, 1), None)
    assert looks.warnings == () and looks.shapes['b'] == []


def test_a_mesh_that_is_there(tmp_path):
    """Its scale and URI are kept."""
    mesh = tmp_path / 'a b.stl'
    mesh.write_bytes(b'solid')
    text = tree('<visual><geometry><mesh filename="package://p/a%20b.stl" '
                'scale="0.001 0.001 -0.001"/></geometry></visual>')
    looks = drawable(text, partial(resolve, search_paths=[tmp_path]))
    shape, = looks.shapes['a']
    assert (shape.kind, shape.uri) == ('mesh', 'package://p/a%20b.stl')
    assert shape.size == (0.001, 0.001, -0.001)
    assert not looks.warnings


def test_a_missing_mesh_is_its_collision_primitive():
    """There is one warning for each URI, however often it is used."""
    looks = looks_of(f'<visual>{MESH}</visual><visual>{MESH}</visual><collision><origin '
                     'xyz="0 0 1"/><geometry><box size="1 2 3"/></geometry></collision>'
                     f'<collision>{MESH}</collision>')
    box, = looks.shapes['a']
    assert (box.kind, box.size) == ('box', (1, 2, 3))
    assert box.T_link_shape[:3, 3].tolist() == [0, 0, 1]
    assert box.rgba == STAND_IN_COLOUR
    warning, = looks.warnings
    assert 'package://absent/a.stl' in warning and "'absent'" in warning


def test_a_missing_mesh_without_collision_reaches_from_joint_to_joint():
    """The cylinder's axis begins at the link's frame and ends at the next joint."""
    looks = looks_of(f'<visual>{MESH}</visual><collision>{MESH}</collision>')
    ball, rod = looks.shapes['a']
    start, end = ends(rod)
    assert start == pytest.approx(np.zeros(3), abs=1e-12)
    assert end == pytest.approx([0.3, -0.2, 0.6])
    assert rod.size == pytest.approx((0.12 * 0.7, 0.7))
    assert ball.kind == 'sphere' and ball.size[0] > rod.size[0]
    assert np.array_equal(ball.T_link_shape, np.eye(4))


@given(st.tuples(*[st.floats(-2.0, 2.0)] * 3).filter(lambda end: np.linalg.norm(end) > 2e-3))
def test_rods_end_at_the_joint_in_every_direction(end):
    """Straight up, straight down and all directions between."""
    text = JOINTS.replace('0.3 -0.2 0.6', ' '.join(map(str, end)))
    looks = drawable(parse_urdf(f'<robot name="r"><link name="a"><visual>{MESH}</visual></link>'
                                f'<link name="b"/>{text}</robot>'), resolve)
    assert ends(looks.shapes['a'][1])[1] == pytest.approx(end, abs=1e-9)


def test_a_last_link_is_a_ball():
    """A link without child joints gets a ball in proportion to the robot."""
    looks = drawable(parse_urdf(f'<robot name="r"><link name="a"/><link name="b"><visual>{MESH}'
                                f'</visual></link>{JOINTS}</robot>'), resolve)
    ball, = looks.shapes['b']
    assert ball.kind == 'sphere' and 0.02 < ball.size[0] < 0.2


@pytest.mark.parametrize('inside, words', [
    ('', 'nothing'), ('<geometry/>', 'nothing'), ('<geometry><capsule/></geometry>', 'capsule'),
    ('<geometry><box/></geometry>', 'box size'),
    ('<geometry><box size="1 2"/></geometry>', "'1 2'"),
    ('<geometry><box size="1 2 nan"/></geometry>', 'nan'),
    ('<geometry><box size="1 2 0"/></geometry>', '0.0'),
    ('<geometry><sphere radius="-1"/></geometry>', '-1.0'),
    ('<geometry><sphere radius="1e99"/></geometry>', '1e99'),
    ('<geometry><mesh/></geometry>', 'filename'),
    ('<geometry><mesh filename="a.stl" scale="0 1 1"/></geometry>', '0.0'),
    ('<origin xyz="1 2 x"/><geometry><sphere radius="1"/></geometry>', 'xyz')])
def test_a_visual_that_makes_no_sense(inside, words):
    """The warning names its link; it is replaced; the other visuals are drawn."""
    good = '<visual><geometry><sphere radius="0.5"/></geometry></visual>'
    looks = looks_of(f'<visual>{inside}</visual>{good}')
    warning, = looks.warnings
    assert "link 'a'" in warning and words in warning
    assert [shape.kind for shape in looks.shapes['a']] == ['sphere', 'sphere', 'cylinder']


@pytest.mark.parametrize('name', usual_first(1, ['panda', 'ur5', 'six_axis_arm']))
@pytest.mark.parametrize('with_meshes', [True, False])
def test_real_robots_are_drawn(name, with_meshes):
    """The code of the page draws them; stand-ins fill the space of the meshes."""
    pytest.importorskip('collada', reason='pycollada is not installed (extra "viewer")')
    from ik_node.ui.viewer.drawing.robot_view import link_bodies
    path = robots.ARMS[name].path
    arm = read_urdf(path)
    bodies, warnings = link_bodies(
        arm, partial(resolve, urdf_folder=path.parent if with_meshes else None))
    meshes = {shape.uri for shapes in link_shapes(arm, 'visual').values() for shape in shapes
              if shape.uri}
    assert len(warnings) == (0 if with_meshes else len(meshes))
    poses = link_poses(arm, arm.root, {joint.name: 0.0 for joint in arm.joints})
    points = np.vstack([body.to_mesh().vertices @ poses[link][:3, :3].T + poses[link][:3, 3]
                        for link, body in bodies.items()])
    lower, upper = points.min(0), points.max(0)
    whole = {'ur5': [0.9, 0.3, 0.2], 'panda': [0.3, 0.3, 1.1], 'six_axis_arm': [0.75, 0.3, 0.9]}
    assert upper - lower == pytest.approx(whole[name], abs=0.2)
