# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The bodies of real arms, beside the geometry that Pinocchio and coal read from the same URDF."""

from functools import partial

import coal
import coal_shapes
from nightly import samples
import numpy as np
import pinocchio as pin
import pytest
import robots

from ik_node.base.errors import ParameterError, UrdfError
from ik_node.collision.bodies.links import arm_bodies
from ik_node.model.description.mesh_files import resolve
from ik_node.model.description.urdf import parse_urdf

# How much nearer a body may be than the geometry, m: the meshes of the Panda are nearly convex.
TOLERANCES = {'ur5': np.inf, 'panda': 2e-3, 'xarm7': np.inf, 'six_axis_arm': 1e-5,
              'parallel_axes_arm': 1e-5}


def bodies_of(name, **options):
    finder = partial(resolve, urdf_folder=robots.ARMS[name].path.parent)
    return arm_bodies(robots.tree(name), finder, **options)


def reference(name):
    """Return Pinocchio's collision shapes by link: (shape of coal, pose in the link)."""
    text = robots.text(name).decode()
    model = pin.buildModelFromXML(text)
    geometry = pin.buildGeomFromUrdfString(model, text, pin.GeometryType.COLLISION,
                                           [str(robots.REAL.parent.parent)])
    shapes = {}
    for item in geometry.geometryObjects:
        frame = model.frames[item.parentFrame]
        T = (frame.placement.inverse() * item.placement).homogeneous
        shapes.setdefault(frame.name, []).append((item.geometry, T))
    return shapes


@pytest.mark.parametrize('name', TOLERANCES)
def test_bodies_are_no_smaller_than_the_geometry(name):
    """
    The distance to a probe is never above the true one, and near it for what is convex.

    coal measures both, for a small ball in random places near each link: to its shapes as
    Pinocchio reads them, meshes as triangles, and to the parts.
    """
    made = bodies_of(name)
    expected = reference(name)
    assert {body.name for body in made.bodies} == set(expected)
    assert not made.not_checked
    assert made.from_collision == tuple(body.name for body in made.bodies)
    rng = np.random.default_rng(4)
    ball = coal.Sphere(0.001)
    for body in made.bodies:
        assert body.frame == body.name and body.padding == 0.0
        parts = [(coal_shapes.coal_shape(part), part.T) for part in body.parts]
        for _ in range(samples(usual=10, nightly=40)):
            T = np.eye(4)
            T[:3, 3] = rng.uniform(-0.5, 0.5, 3)
            ours = min(coal_shapes.distance(shape, T_part, ball, T) for shape, T_part in parts)
            true = min(coal_shapes.distance(shape, T_shape, ball, T)
                       for shape, T_shape in expected[body.name])
            if true > 1e-3:  # inside a mesh of triangles there is no distance
                assert ours < true + 1e-5, body.name
                assert ours > true - TOLERANCES[name], body.name


def test_primitives_are_exact():
    """A box, a cylinder and a sphere keep kind, size and pose."""
    tree = parse_urdf('''<robot name="r"><link name="a"><collision>
      <origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><geometry><box size="0.1 0.2 0.3"/></geometry>
      </collision><collision><geometry><cylinder radius="0.1" length="0.4"/></geometry></collision>
      </link><link name="b"><collision><geometry><sphere radius="0.2"/></geometry></collision>
      </link><link name="c"/>
      <joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>
      <joint name="k" type="fixed"><parent link="b"/><child link="c"/></joint></robot>''')
    made = arm_bodies(tree)
    a, b = made.bodies
    assert [(part.kind, part.size) for part in a.parts + b.parts] == [
        ('box', (0.1, 0.2, 0.3)), ('cylinder', (0.1, 0.4)), ('sphere', (0.2,))]
    R = pin.rpy.rpyToMatrix(0.1, 0.2, 0.3)
    assert np.abs(a.parts[0].T - pin.SE3(R, np.array([1.0, 2.0, 3.0])).homogeneous).max() < 1e-15
    assert a.parts[0].vertices.shape == (0, 3)
    assert made.without_geometry == ('c',) and made.warnings == ()
    assert repr(made) == 'ArmBodies(2 links with 3 parts, 1 without geometry)'
    with pytest.raises(ValueError, match='read-only'):
        a.parts[0].T[0, 3] = 0.0


URDF = '''<robot name="r"><link name="a">{a}</link><link name="b">{b}</link>
  <joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint></robot>'''
BALL = '<geometry><sphere radius="0.2"/></geometry>'
GONE = '<geometry><mesh filename="package://absent/a.stl"/></geometry>'


def test_visual_elements_where_there_is_no_collision_element():
    """They are used, and it is said."""
    made = arm_bodies(parse_urdf(URDF.format(
        a=f'<visual>{BALL}</visual>', b=f'<visual>{GONE}</visual><collision>{BALL}</collision>')))
    assert [body.name for body in made.bodies] == ['a', 'b']
    assert made.from_visual == ('a',) and made.from_collision == ('b',)
    assert not made.not_checked
    said, = made.warnings
    assert "'a'" in said and 'visual' in said and "'b'" not in said


@pytest.mark.fault('collision', 'the collision geometry of a link cannot be read',
                   'the link is listed as not checked, with the reason, or the URDF is refused')
def test_geometry_that_cannot_be_read():
    """The link is not checked, or only in part; strict refuses; no visual takes its place."""
    tree = parse_urdf(URDF.format(
        a=f'<collision>{GONE}</collision><visual>{BALL}</visual>',
        b=f'<collision>{BALL}</collision><collision><geometry><cone/></geometry></collision>'))
    made = arm_bodies(tree)
    assert [body.name for body in made.bodies] == ['b']
    assert list(made.not_checked) == ['a', 'b']
    assert 'package://absent/a.stl' in made.not_checked['a']
    assert 'only in part' not in made.not_checked['a'] and 'is missing' in made.not_checked['a']
    assert 'only in part' in made.not_checked['b'] and "'cone'" in made.not_checked['b']
    assert made.warnings == tuple(made.not_checked.values())
    assert "not checked: 'a', 'b'" in repr(made)
    with pytest.raises(UrdfError, match="the link 'a' is not checked .* the link 'b'"):
        arm_bodies(tree, strict=True)


def test_a_mesh_is_read_once(tmp_path):
    """Links that share a mesh share its hulls; another scale has hulls of its own."""
    import trimesh
    (tmp_path / 'a.stl').write_bytes(trimesh.creation.box((1, 1, 1)).export(file_type='stl'))
    mesh = '<collision><geometry><mesh filename="a.stl" {}/></geometry></collision>'
    tree = parse_urdf(URDF.format(a=mesh.format(''), b=mesh.format('')
                                  + mesh.format('scale="1 -2 1"')))
    asked = []

    def finder(uri):
        asked.append(uri)
        return resolve(uri, [tmp_path])

    a, b = arm_bodies(tree, finder).bodies
    assert a.parts[0].vertices is b.parts[0].vertices and len(asked) == 2
    assert np.ptp(b.parts[1].vertices, axis=0) == pytest.approx((1.0, 2.0, 1.0))


def test_hulls_that_are_larger_are_mentioned():
    """The links of the xArm have thousands of vertices."""
    said, = bodies_of('xarm7').warnings
    assert 'link2.stl' in said and ' mm' in said


def test_padding():
    """One number for all links, or one for each that is named; others are refused."""
    tree = robots.tree('six_axis_arm')
    assert {body.padding for body in arm_bodies(tree, padding=0.01).bodies} == {0.01}
    link = arm_bodies(tree).bodies[1].name
    made = arm_bodies(tree, padding={link: 0.02})
    assert {body.name: body.padding for body in made.bodies if body.padding} == {link: 0.02}
    for wrong, words in ((-0.1, 'padding of'), (np.nan, 'padding of'), ('x', "'x'"),
                         ({'lnk': 0.1}, "'lnk'.*not in the URDF"), ({link: -1}, f"'{link}'"),
                         (None, 'None')):
        with pytest.raises(ParameterError, match=words):
            arm_bodies(tree, padding=wrong)
