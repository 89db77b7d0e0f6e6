# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Forward kinematics, Jacobian, pose error and poses of links against Pinocchio."""

from hypothesis import given, settings, strategies as st
import numpy as np
import pinocchio as pin
import pytest
import robots

from ik_node import se3
from ik_node.errors import Reason, StateError
from ik_node.kinematics.arm import forward_kinematics, jacobian, link_pose, singular_values
from ik_node.kinematics.kernels import compose, pose_error, pose_matrix, pose_row
from ik_node.model.chain import make_chain
from ik_node.model.urdf import JointType, parse_urdf

COUNT = 300
EXACT = 1e-12


@pytest.fixture(scope='module')
def skew():
    """Return the chain of the skew arm, Pinocchio's model and the positions of all joints."""
    return (make_chain(parse_urdf(robots.SKEW), 'base', 'tip'), robots.Reference(robots.SKEW),
            robots.skew_positions)


@pytest.mark.parametrize('name', robots.ARMS)
def test_forward_kinematics_agrees_with_pinocchio(name):
    """The pose of the tip is Pinocchio's to 1e-12."""
    chain, reference = robots.chain(name), robots.reference(name)
    for q in robots.random_postures(chain, COUNT, 1):
        expected = reference.pose(chain.base_link, chain.tip_link, robots.positions(chain, q))
        assert np.abs(forward_kinematics(chain, q) - expected).max() < EXACT


@pytest.mark.parametrize('name', robots.ARMS)
def test_jacobian_agrees_with_pinocchio(name):
    """The Jacobian in the base frame is Pinocchio's to 1e-12."""
    chain, reference = robots.chain(name), robots.reference(name)
    for q in robots.random_postures(chain, COUNT, 2):
        expected = reference.jacobian(chain.base_link, chain.tip_link,
                                      robots.positions(chain, q))
        assert np.abs(jacobian(chain, q) - expected).max() < EXACT


def test_skew_arm_agrees_with_pinocchio(skew):
    """Prismatic, continuous, mimicking and skew joints are Pinocchio's to 1e-12."""
    chain, reference, positions = skew
    assert chain.joint_names == ('turn', 'slide', 'bend', 'roll')
    follow = np.zeros((6, 4))  # how each of the six joints follows the four coordinates
    follow[[0, 1, 2, 5], [0, 1, 2, 3]] = 1.0
    follow[3, 2], follow[4, 2] = -0.7, -0.07
    for q in robots.random_postures(chain, COUNT, 3):
        at = positions(q)
        assert np.abs(forward_kinematics(chain, q) - reference.pose('base', 'tip', at)).max() \
            < EXACT
        expected = reference.jacobian('base', 'tip', at) @ follow
        assert np.abs(jacobian(chain, q) - expected).max() < EXACT


@pytest.mark.parametrize('name', [*robots.ARMS, 'skew'])
def test_jacobian_agrees_with_finite_differences(name, skew):
    """The Jacobian is the derivative of the forward kinematics."""
    chain = skew[0] if name == 'skew' else robots.chain(name)
    h = 1e-6
    for q in robots.random_postures(chain, 20, 4):
        J = np.empty((6, chain.n))
        for k in range(chain.n):
            step = np.zeros(chain.n)
            step[k] = h
            before, after = (forward_kinematics(chain, q - step),
                             forward_kinematics(chain, q + step))
            J[:3, k] = (after[:3, 3] - before[:3, 3]) / (2.0 * h)
            J[3:, k] = pin.log3(after[:3, :3] @ before[:3, :3].T) / (2.0 * h)
        assert np.abs(jacobian(chain, q) - J).max() < 1e-8


@pytest.mark.parametrize('name', ['ur5', 'panda', 'kinova'])
def test_forward_kinematics_takes_whole_turns(name):
    """A whole turn of an angle does not move the tip."""
    chain = robots.chain(name)
    q = robots.random_postures(chain, 1, 5)[0]
    turned = q + 2.0 * np.pi * np.arange(chain.n)
    assert np.abs(forward_kinematics(chain, turned) - forward_kinematics(chain, q)).max() < 1e-13


@pytest.mark.parametrize('function', [forward_kinematics, jacobian, singular_values])
@pytest.mark.parametrize('q', [np.zeros(5), np.zeros(7), np.zeros((1, 6)), 0.0])
def test_wrong_number_of_joints_is_refused(function, q):
    """A q of another length is refused with both numbers."""
    with pytest.raises(ValueError, match='q needs 6 numbers'):
        function(robots.chain('ur5'), q)


def test_integers_and_slices_are_taken():
    """Lists of integers and strided views are as good as float arrays."""
    chain = robots.chain('ur5')
    expected = forward_kinematics(chain, np.array([0.0, 1.0, 2.0, 1.0, 0.0, 1.0]))
    assert np.array_equal(forward_kinematics(chain, [0, 1, 2, 1, 0, 1]), expected)
    wide = np.zeros((6, 2))
    wide[:, 1] = [0, 1, 2, 1, 0, 1]
    assert np.array_equal(forward_kinematics(chain, wide[:, 1]), expected)


def test_singular_values_are_those_of_pinocchios_jacobian():
    """The singular values come largest first and vanish where the wrist is straight."""
    chain, reference = robots.chain('ur5'), robots.reference('ur5')
    for q in robots.random_postures(chain, 20, 6):
        J = reference.jacobian(chain.base_link, chain.tip_link, robots.positions(chain, q))
        values = singular_values(chain, q)
        assert np.abs(values - np.linalg.svd(J, compute_uv=False)).max() < 1e-12
        assert (np.diff(values) <= 0.0).all()
    straight_wrist = np.array([0.3, -1.0, 1.2, 0.4, 0.0, 0.7])
    assert singular_values(chain, straight_wrist)[-1] < 1e-12


# ---- pose error -------------------------------------------------------------

def error_of(goal, tip):
    """Return the error twist and its two lengths."""
    e = np.empty(6)
    lengths = pose_error(pose_row(goal), pose_row(tip), e)
    return e, lengths


def random_pose(rng):
    """Return a random rigid pose, by Pinocchio."""
    v = rng.normal(size=3)
    return pin.SE3(pin.exp3(v / np.linalg.norm(v) * rng.uniform(0.0, np.pi)),
                   rng.normal(size=3)).homogeneous


ANGLES = (0.0, 1e-300, 1e-12, 1e-9, 1e-8, 1e-6, 1e-3, 0.5, 1.5, np.pi / 2, 2.5, 2.99, 3.0, 3.04,
          3.1, np.pi - 1e-3, np.pi - 1e-6, np.pi - 1e-8, np.pi - 1e-9, np.pi - 1e-12)


@pytest.mark.parametrize('angle', ANGLES)
def test_pose_error_is_the_logarithm(angle):
    """The rotation vector turns the tip onto the goal, near 0 and near pi too."""
    rng = np.random.default_rng(7)
    for _ in range(100):
        tip = random_pose(rng)
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        goal = tip.copy()
        goal[:3, :3] = pin.exp3(axis * angle) @ tip[:3, :3]
        goal[:3, 3] += rng.normal(size=3)
        e, (position, orientation) = error_of(goal, tip)
        assert np.abs(e[:3] - (goal - tip)[:3, 3]).max() < 1e-15
        assert position == pytest.approx(np.linalg.norm(goal[:3, 3] - tip[:3, 3]), abs=1e-15)
        assert orientation == pytest.approx(angle, abs=2e-14)
        assert np.linalg.norm(e[3:]) == pytest.approx(orientation, abs=1e-14)
        # Both ways to the goal differ only at pi itself.
        assert np.abs(pin.exp3(e[3:]) @ tip[:3, :3] - goal[:3, :3]).max() < 1e-9
        if angle < np.pi - 1e-7:
            assert np.abs(e[3:] - axis * angle).max() < 1e-8
            logarithm = pin.log3(goal[:3, :3] @ tip[:3, :3].T)
            assert np.abs(e[3:] - logarithm).max() < 1e-7


@pytest.mark.parametrize('axis', [
    (1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, 0, 0), (0, -1, 0), (0, 0, -1),
    (1, 1, 0), (0, 1, -1), (-1, 0, 1), (1, -1, 1), (0.2, -0.9, 0.3), (-0.1, 0.2, -0.9)])
def test_pose_error_at_half_a_turn(axis):
    """At exactly pi the error is a half turn about the axis, with one sign for both axes."""
    axis = np.array(axis, dtype=float) / np.linalg.norm(axis)
    errors = []
    for a in (axis, -axis):
        goal = np.eye(4)
        goal[:3, :3] = 2.0 * np.outer(a, a) - np.eye(3)
        e, (_, orientation) = error_of(goal, np.eye(4))
        assert orientation == pytest.approx(np.pi, abs=1e-15)
        assert np.abs(np.abs(e[3:] @ axis) - np.pi) < 1e-14
        assert np.abs(pin.exp3(e[3:]) - goal[:3, :3]).max() < 1e-14
        errors.append(e)
    assert np.array_equal(*errors)
    # Of components that are equally large, rounding chooses.
    assert e[3:].max() > np.abs(e[3:]).max() - 1e-12


def test_pose_error_of_equal_poses_is_zero():
    """Equal poses have no error."""
    T = random_pose(np.random.default_rng(8))
    e, lengths = error_of(T, T)
    assert np.abs(e).max() < 1e-15 and max(lengths) < 1e-15


# ---- poses of links ---------------------------------------------------------

@pytest.mark.parametrize('name', ['ur5_gripper', 'panda', 'kinova', 'pr2', 'baxter'])
def test_link_pose_of_every_link_agrees_with_pinocchio(name):
    """Each link of the tree stands where Pinocchio sees it, seen from any other link."""
    tree, chain, reference = robots.tree(name), robots.chain(name), robots.reference(name)
    rng = np.random.default_rng(9)
    own = {joint.name: rng.uniform(max(joint.lower, -3.0), min(joint.upper, 3.0))
           for joint in tree.joints if joint.moves and joint.mimic is None}
    every = dict(own)
    for joint in tree.joints:
        if joint.mimic is not None:
            every[joint.name] = joint.mimic.multiplier * own[joint.mimic.joint] \
                + joint.mimic.offset
    for base in (tree.root, chain.base_link, chain.tip_link, tree.links[-1]):
        for link in tree.links:
            difference = link_pose(tree, link, base, own) - reference.pose(base, link, every)
            assert np.abs(difference).max() < EXACT, (base, link)


def test_link_pose_follows_mimic_joints(skew):
    """A joint that mimics another, itself a mimic, is computed from the head of the line."""
    tree, (chain, _, _) = parse_urdf(robots.SKEW), skew
    for q in robots.random_postures(chain, 20, 10):
        T = link_pose(tree, 'tip', 'base', robots.positions(chain, q))
        assert np.abs(T - forward_kinematics(chain, q)).max() < EXACT


@pytest.mark.parametrize('missing', ['turn', 'bend'])
def test_link_pose_without_a_position_is_refused(missing):
    """A moving joint without a known position is refused by name."""
    known = {'turn': 0.0, 'slide': 0.0, 'bend': 0.0, 'roll': 0.0}
    del known[missing]
    with pytest.raises(StateError, match=f"'{missing}' has no known position") as caught:
        link_pose(parse_urdf(robots.SKEW), 'tip', 'base', known)
    assert caught.value.reason is Reason.STATE_INCOMPLETE


def test_link_pose_needs_only_the_joints_that_matter():
    """Joints that move neither link need no position, fixed links need none."""
    tree = parse_urdf(robots.SKEW)
    assert np.abs(link_pose(tree, 'base', 'base', {}) - np.eye(4)).max() < 1e-15
    link_pose(tree, 'a', 'world', {'turn': 1.0})


@pytest.mark.parametrize('kind', ['floating', 'planar'])
def test_link_pose_beyond_a_floating_joint_is_refused(kind):
    """A joint of many freedoms has no single position."""
    tree = parse_urdf(f'<robot name="r"><link name="a"/><link name="b"/><joint name="loose" '
                      f'type="{kind}"><parent link="a"/><child link="b"/></joint></robot>')
    assert tree.joints[0].type is JointType(kind)
    with pytest.raises(StateError, match="'loose'"):
        link_pose(tree, 'b', 'a', {'loose': 0.0})


# ---- rigid poses ------------------------------------------------------------

ANGLE = st.floats(-7.0, 7.0)
COORDINATE = st.floats(-1e3, 1e3)


@st.composite
def poses(draw):
    """Draw a rigid pose."""
    return se3.pose(se3.rotation_from_rpy(draw(ANGLE), draw(ANGLE), draw(ANGLE)),
                    np.array([draw(COORDINATE) for _ in range(3)]))


@st.composite
def axes(draw):
    """Draw a unit vector, the awkward ones too."""
    v = np.array([draw(st.floats(-1.0, 1.0)) for _ in range(3)])
    length = np.linalg.norm(v)
    return v / length if length > 1e-3 else np.array([0.0, 0.0, -1.0])


@settings(derandomize=True, max_examples=100, deadline=None)
@given(poses(), poses(), poses())
def test_poses_are_a_group(a, b, c):
    """Products are poses, inverses undo, and the compiled product is the matrix product."""
    assert np.allclose(se3.inverse(a) @ a, np.eye(4), atol=1e-11)
    assert np.allclose(se3.inverse(a @ b), se3.inverse(b) @ se3.inverse(a), atol=1e-11)
    out = np.empty(12)
    compose(pose_row(a), pose_row(b), out)
    assert np.allclose(pose_matrix(out), a @ b, atol=1e-12)
    compose(out.copy(), pose_row(c), out)
    assert np.allclose(pose_matrix(out), a @ b @ c, atol=1e-11)
    R = a[:3, :3]
    assert np.allclose(R @ R.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(R) == pytest.approx(1.0)
    assert np.array_equal(pose_matrix(pose_row(a)), a)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(ANGLE, ANGLE, ANGLE)
def test_rpy_agrees_with_pinocchio(roll, pitch, yaw):
    """Roll, pitch, yaw are about the fixed axes x, y, z."""
    expected = pin.rpy.rpyToMatrix(roll, pitch, yaw)
    assert np.abs(se3.rotation_from_rpy(roll, pitch, yaw) - expected).max() < 1e-14


@settings(derandomize=True, max_examples=100, deadline=None)
@given(axes(), ANGLE)
def test_rotation_about_agrees_with_pinocchio(axis, angle):
    """Rodrigues' formula is the exponential."""
    assert np.abs(se3.rotation_about(axis, angle) - pin.exp3(axis * angle)).max() < 1e-12


@settings(derandomize=True, max_examples=100, deadline=None)
@given(axes())
def test_rotation_to_axis_takes_z_there(axis):
    """A proper rotation takes z to the axis, the short way."""
    for a in (axis, -axis, np.round(axis)):
        if np.linalg.norm(a) != pytest.approx(1.0):
            continue
        R = se3.rotation_to_axis(a)
        assert np.abs(R[:, 2] - a).max() < 1e-6
        assert np.abs(R @ R.T - np.eye(3)).max() < 1e-6
        assert np.linalg.det(R) == pytest.approx(1.0)
        shortest = np.arccos(np.clip(a[2], -1.0, 1.0))
        assert np.linalg.norm(pin.log3(R)) == pytest.approx(shortest, abs=1e-5)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(poses(), poses())
def test_distance_agrees_with_pinocchio(a, b):
    """Distances are the lengths of the translation and of the rotation vector."""
    position, angle = se3.distance(a, b)
    assert position == pytest.approx(np.linalg.norm(a[:3, 3] - b[:3, 3]), abs=1e-12)
    assert angle == pytest.approx(np.linalg.norm(pin.log3(a[:3, :3].T @ b[:3, :3])), abs=1e-6)
    assert se3.distance(b, a) == pytest.approx((position, angle), abs=1e-9)
    assert se3.distance(a, a)[0] == 0.0
