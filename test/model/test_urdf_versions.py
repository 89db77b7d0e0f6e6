# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What each version of URDF has, against Pinocchio, which reads it by urdfdom 6."""

import coal
from hypothesis import given, settings, strategies as st
import numpy as np
import pinocchio as pin
import pytest

from ik_node.base.errors import UrdfError
from ik_node.collision.bodies.links import arm_bodies
from ik_node.collision.distances.model import CollisionModel
from ik_node.model.chain import make_chain
from ik_node.model.description.inertias import link_inertias
from ik_node.model.description.shapes import link_shapes
from ik_node.model.description.urdf import parse_urdf
from ik_node.motion.trajectory.limits import MotionLimits

TURNED = 'xyz="0.1 0.2 0.3" quat_xyzw="0.1 -0.5 0.3 0.8"'
LIMIT = 'lower="-1" upper="1" effort="3" velocity="4"'


def robot(version='1.2', *, kind='revolute', origin='', geometry='<box size="1 0.1 0.2"/>',
          limit=LIMIT):
    """Return a robot of one joint, whose second link has a shape and an inertia."""
    return f'''<robot name="r"{f' version="{version}"' if version else ''}><link name="a"/>
        <link name="b"><inertial><origin {origin}/><mass value="2"/><inertia ixx="0.2" iyy="0.1"
        izz="0.25" ixy="0.01" ixz="0" iyz="0"/></inertial><visual><origin {origin}/><geometry>
        {geometry}</geometry></visual><collision><origin {origin}/><geometry>{geometry}</geometry>
        </collision></link><joint name="j" type="{kind}"><parent link="a"/><child link="b"/>
        <origin {origin}/><axis xyz="0 0 1"/><limit {limit}/></joint></robot>'''


def chain_of(text):
    return make_chain(parse_urdf(text), 'a', 'b')


def oracle(text, tmp_path, geometry=pin.GeometryType.COLLISION):
    """Return the model and the shapes of Pinocchio."""
    model = pin.buildModelFromXML(text)
    path = tmp_path / 'robot.urdf'
    path.write_text(text)
    return model, pin.buildGeomFromUrdf(model, str(path), geometry).geometryObjects


@pytest.mark.fault('robot description', 'quat_xyzw of an origin',
                   'read from URDF 1.1 on, ignored with a note before')
@pytest.mark.parametrize('version', ['1.1', '1.2', '1.0', ''])
def test_quaternions(version, tmp_path):
    """Those of joints, shapes and inertias turn from version 1.1 on; before it, a note says so."""
    text = robot(version, origin=TURNED)
    tree = parse_urdf(text)
    model, shapes = oracle(text, tmp_path)
    assert np.allclose(tree.joints[0].T_parent_joint, model.jointPlacements[1].homogeneous,
                       atol=1e-12)
    for element in ('visual', 'collision'):
        (shape,) = link_shapes(tree, element)['b']
        assert np.allclose(shape.T_link_shape, shapes[0].placement.homogeneous, atol=1e-12)
    inertia = link_inertias(tree)['b']
    assert np.allclose(inertia.moments, model.inertias[1].inertia, atol=1e-12)
    assert np.allclose(inertia.centre, model.inertias[1].lever, atol=1e-12)
    ignored = [note for note in tree.notes if 'quat_xyzw' in note and 'ignored' in note]
    assert len(ignored) == (0 if version > '1.0' else 4), tree.notes


@settings(derandomize=True, max_examples=50, deadline=None)
@given(st.lists(st.floats(-5.0, 5.0), min_size=4, max_size=4).filter(
    lambda quaternion: np.linalg.norm(quaternion) > 0.01))
def test_any_quaternion(quaternion):
    """It need not be of unit length."""
    origin = f'quat_xyzw="{" ".join(map(repr, quaternion))}"'
    expected = pin.Quaternion(np.array(quaternion) / np.linalg.norm(quaternion)).matrix()
    T = parse_urdf(robot(origin=origin)).joints[0].T_parent_joint
    assert np.allclose(T[:3, :3], expected, atol=1e-12)


def test_a_quaternion_of_zeros():
    """It is no rotation, as for Pinocchio, with a note."""
    tree = parse_urdf(robot(origin='quat_xyzw="0 0 0 0"'))
    model = pin.buildModelFromXML(robot(origin='quat_xyzw="0 0 0 0"'))
    assert np.array_equal(tree.joints[0].T_parent_joint, model.jointPlacements[1].homogeneous)
    assert any('taken as no rotation' in note for note in tree.notes)


@pytest.mark.fault('robot description', 'quat_xyzw that is no rotation, or beside rpy', 'refused')
@pytest.mark.parametrize('origin, words', [
    ('quat_xyzw="0 0 1"', 'needs 4 finite numbers'),
    ('quat_xyzw="0 0 0 nan"', 'needs 4 finite numbers'),
    ('quat_xyzw="0 0 0 1" rpy="0 0 0"', 'both given')])
def test_bad_quaternions(origin, words):
    """The joint, the shape and the inertia are refused by one sentence each."""
    tree = parse_urdf(robot(origin=origin))
    with pytest.raises(UrdfError, match=f"joint 'j' .*{words}"):
        make_chain(tree, 'a', 'b')
    assert words in link_shapes(tree, 'collision')['b'][0].fault
    with pytest.raises(UrdfError, match=f"link 'b' .*{words}"):
        link_inertias(tree)


@pytest.mark.parametrize('version', ['1.2', '1.1', '1.0', ''])
def test_capsules(version, tmp_path):
    """A capsule is a cylinder of its length with two caps; before URDF 1.1 there is none."""
    text = robot(version, origin='xyz="0.1 0 0" rpy="0.3 0 0"',
                 geometry='<capsule radius="0.1" length="0.5"/>')
    tree = parse_urdf(text)
    shapes = oracle(text, tmp_path)[1]
    (shape,) = link_shapes(tree, 'collision')['b']
    bodies = arm_bodies(tree)
    if version < '1.1':
        assert not shapes and "'capsule'" in shape.fault and 'b' in bodies.not_checked
        assert any('capsule' in note and 'ignored' in note for note in tree.notes)
        return
    assert shape.kind == 'capsule' and not bodies.not_checked
    assert shape.size == (shapes[0].geometry.radius, 2.0 * shapes[0].geometry.halfLength)
    assert shape.extent == pytest.approx((0.2, 0.2, 0.7))
    assert [part.kind for part in shape.primitives] == ['cylinder', 'sphere', 'sphere']
    tops = [part.T_link_shape @ [0.0, 0.0, 0.0, 1.0] for part in shape.primitives[1:]]
    assert np.linalg.norm(tops[0] - tops[1]) == pytest.approx(0.5)


ARM = '''<robot name="six" version="1.1"><link name="base"><collision><origin xyz="0 0 0.05"/>
<geometry><cylinder radius="0.06" length="0.1"/></geometry></collision></link>{links}</robot>'''


def beam_arm():
    """Return an arm whose last link is a beam across it that is turned by quat_xyzw."""
    links = []
    for k, axis in enumerate(('0 0 1', '0 1 0', '0 1 0')):
        shape = '<capsule radius="0.04" length="0.2"/>' if k < 2 else '<box size="1 0.04 0.04"/>'
        turn = '' if k < 2 else ' quat_xyzw="0 0 0.7071067811865476 0.7071067811865476"'
        links.append(
            f'<link name="l{k}"><collision><origin xyz="0 0 0.15"{turn}/><geometry>{shape}'
            f'</geometry></collision></link><joint name="j{k}" type="revolute"><parent link='
            f'"{"base" if k == 0 else f"l{k - 1}"}"/><child link="l{k}"/><origin xyz="0 0 0.35"/>'
            f'<axis xyz="{axis}"/><limit lower="-2.5" upper="2.5" velocity="1" effort="1"/>'
            '</joint>')
    return ARM.format(links=''.join(links))


def test_collisions_of_turned_beams_and_capsules(tmp_path):
    """The signed distances are those of coal, on shapes that Pinocchio has read."""
    text = beam_arm()
    tree = parse_urdf(text)
    chain = make_chain(tree, 'base', 'l2')
    model = CollisionModel(chain, tree, arm_bodies(tree).bodies)
    oracle_model, shapes = oracle(text, tmp_path)
    data = oracle_model.createData()
    rng = np.random.default_rng(5)
    for q in rng.uniform(chain.lower, chain.upper, (200, 3)):
        pin.framesForwardKinematics(oracle_model, data, q)
        places = {shape.name[:-2]: (shape.geometry, coal.Transform3s(
            *(lambda M: (M.rotation, M.translation))(data.oMi[shape.parentJoint]
                                                     * shape.placement)))
            for shape in shapes}
        for k, distance in enumerate(model.distances(q, 10.0)):
            (first, T), (second, T_other) = (places[name] for name in model.names_of(k))
            judged = coal.distance(first, T, second, T_other, coal.DistanceRequest(),
                                   coal.DistanceResult())
            assert distance == pytest.approx(judged, abs=1e-5)


def test_limits_of_urdf_1_2():
    """Acceleration, deceleration and jerk hold; a parameter may narrow them, not widen them."""
    text = robot(limit=LIMIT + ' acceleration="0.5" deceleration="0.4" jerk="5"')
    chain = chain_of(text)
    assert (chain.acceleration.tolist(), chain.jerk.tolist()) == ([0.4], [5.0])
    assert any('0.5 of acceleration and 0.4 of deceleration' in note
               for note in parse_urdf(text).notes)
    for given_limits, kept in (((), (0.4, 5.0)), ((0.3, 100.0), (0.3, 5.0)),
                               ((1.0, 4.0), (0.4, 4.0))):
        limits = MotionLimits.of_joints(chain, *given_limits)
        assert (limits.acceleration[0], limits.jerk[0]) == kept
    before = chain_of(text.replace('version="1.2"', 'version="1.1"'))
    assert np.isinf([*before.acceleration, *before.jerk]).all()
    limits = MotionLimits.of_joints(before)
    assert (limits.acceleration[0], limits.jerk[0]) == (2.0, 20.0)
    assert limits.described(before) == 'velocity [4.0] (of the URDF), acceleration [2.0] (of ' \
        'parameters or their defaults), jerk [20.0] (of parameters or their defaults)'


def test_joints_that_mimic_keep_their_own_limits():
    """The leader is as slow as they need."""
    text = robot(limit=LIMIT + ' acceleration="2" jerk="30"').replace(
        '</robot>', '<link name="c"/><joint name="k" type="revolute"><parent link="b"/>'
        f'<child link="c"/><axis xyz="0 0 1"/><limit {LIMIT} acceleration="3" jerk="40"/>'
        '<mimic joint="j" multiplier="-2"/></joint></robot>')
    chain = make_chain(parse_urdf(text), 'a', 'c')
    assert (chain.velocity[0], chain.acceleration[0], chain.jerk[0]) == (2.0, 1.5, 20.0)


@pytest.mark.fault('robot description', 'URDF 1.2 without lower or upper, or with a limit of rates'
                   ' that is not positive', 'refused with the joint')
@pytest.mark.parametrize('limit, words', [
    ('upper="1"', 'has no lower;'), ('effort="1" velocity="1"', 'no lower and no upper'),
    (LIMIT + ' acceleration="-1"', 'acceleration limit'),
    (LIMIT + ' deceleration="0"', 'deceleration limit'), (LIMIT + ' jerk="nan"', 'jerk needs')])
def test_limits_that_are_refused(limit, words):
    """The joint is named; before 1.2 the same means what it meant."""
    tree = parse_urdf(robot(limit=limit))
    with pytest.raises(UrdfError, match=words) as refused:
        make_chain(tree, 'a', 'b')
    assert "joint 'j'" in str(refused.value) and tree.joints[0].placed
    assert chain_of(robot('1.1', limit=limit)).n == 1


def test_rates_without_an_end():
    """Infinite ones are none, as those that are missing."""
    chain = chain_of(robot(limit=LIMIT + ' acceleration="inf" jerk="inf"'))
    assert np.isinf([*chain.acceleration, *chain.jerk]).all()


def test_effort_and_velocity_that_are_not_given(tmp_path):
    """In URDF 1.2 they are infinite."""
    text = robot(limit='lower="-1" upper="1"')
    (joint,) = parse_urdf(text).joints
    model, _ = oracle(text, tmp_path)
    assert joint.velocity == model.upperVelocityLimit[0] == np.inf
    assert joint.effort == model.upperEffortLimit[0] == np.inf


@pytest.mark.fault('robot description', 'a version above 1.2', 'refused')
@pytest.mark.parametrize('version', ['1.3', '2.0', '2', '1.3.0'])
def test_later_versions(version):
    """What they mean is not known yet."""
    with pytest.raises(UrdfError, match=f'of version {version}; versions up to 1.2'):
        parse_urdf(robot(version))


@pytest.mark.fault('robot description', 'a version that is not MAJOR.MINOR',
                   'read as 1.0, with a note')
@pytest.mark.parametrize('version', ['1', 'new', '-1.2'])
def test_versions_that_are_none(version):
    """They are read as 1.0, with a note."""
    tree = parse_urdf(robot(version, origin=TURNED))
    assert any(f"'{version}'" in note for note in tree.notes)
    assert np.array_equal(tree.joints[0].T_parent_joint[:3, :3], np.eye(3))
