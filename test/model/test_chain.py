# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""From a tree to the arm in it: which links, which joints, which limits."""

import numpy as np
import pinocchio as pin
import pytest
import robots

from ik_node.base.errors import ChainError, ParameterError, Reason
from ik_node.kinematics import kernels
from ik_node.kinematics.arm import forward_kinematics
from ik_node.kinematics.kernels import pose_matrix
from ik_node.model.arm_search import find_arm
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf

UR_JOINTS = ('shoulder_pan_joint', 'shoulder_lift_joint', 'elbow_joint', 'wrist_1_joint',
             'wrist_2_joint', 'wrist_3_joint')
JOINTS = {
    'panda': tuple(f'panda_joint{k}' for k in range(1, 8)),
    'xarm7': tuple(f'joint{k}' for k in range(1, 8)),
    'z1': tuple(f'joint{k}' for k in range(1, 7)),
    'kinova': tuple(f'j2s6s200_joint_{k}' for k in range(1, 7)),
    'pr2': tuple(f'r_{name}_joint' for name in (
        'shoulder_pan', 'shoulder_lift', 'upper_arm_roll', 'elbow_flex', 'forearm_roll',
        'wrist_flex', 'wrist_roll')),
    'baxter': tuple(f'right_{name}' for name in ('s0', 's1', 'e0', 'e1', 'w0', 'w1', 'w2')),
    **{name: UR_JOINTS for name in robots.ARMS if name.startswith('ur')},
}
CONTINUOUS = {'kinova': (0, 3, 5), 'pr2': (4, 6)}


def refused(tree, base, tip, *words):
    """Check that no chain is made, with these words; return the sentence."""
    with pytest.raises(ChainError) as caught:
        make_chain(tree, base, tip)
    assert caught.value.reason is Reason.CHAIN_INVALID
    for word in words:
        assert word in str(caught.value)
    return str(caught.value)


# ---- real arms --------------------------------------------------------------

@pytest.mark.parametrize('name', robots.ARMS)
def test_the_arm_is_found(name):
    """Base, tip and joints are those that a person would name."""
    arm, chain = robots.ARMS[name], robots.chain(name)
    assert (chain.base_link, chain.tip_link) == (arm.expected_base, arm.expected_tip)
    assert chain.n == arm.n == len(chain.joints)
    assert chain.joint_names == JOINTS.get(name, chain.joint_names)
    assert np.flatnonzero(chain.continuous).tolist() == list(
        CONTINUOUS.get(name, np.flatnonzero(chain.continuous)))
    if not arm.base:
        assert find_arm(robots.tree(name)) == (arm.expected_base, arm.expected_tip)
    # Naming what was found gives the same.
    named = make_chain(robots.tree(name), arm.expected_base, arm.expected_tip)
    assert named.joint_names == chain.joint_names
    assert np.array_equal(named.offsets, chain.offsets)


@pytest.mark.parametrize('name', robots.cases())
def test_limits_are_those_of_the_urdf(name):
    """Limits, velocities and kinds come joint by joint from the tree."""
    chain = robots.chain(name)
    by_name = {joint.name: joint for joint in robots.tree(name).joints}
    for k, joint in enumerate(chain.joint_names):
        read = by_name[joint]
        assert (chain.lower[k], chain.upper[k]) == (read.lower, read.upper)
        assert chain.velocity[k] == read.velocity
        assert chain.continuous[k] == (read.type.value == 'continuous')
        assert chain.revolute[k] and chain.joints[k].tolist() == [0, k]
        assert chain.factors[k].tolist() == [1.0, 0.0]
    middle = np.where(chain.continuous, 0.0, 0.5 * (chain.lower + chain.upper))
    assert np.allclose(chain.middle, middle, atol=1e-15)


@pytest.mark.parametrize('name', robots.cases())
def test_the_reach_is_a_bound(name):
    """In no posture is the tip farther from the first joint than the reach; some come close."""
    chain = robots.chain(name)
    distances = [np.linalg.norm(forward_kinematics(chain, q)[:3, 3] - chain.offsets[0, 9:])
                 for q in robots.random_postures(chain, 2000, 40)]
    assert max(distances) <= chain.reach + 1e-12
    assert max(distances) > 0.55 * chain.reach


def test_a_chain_cannot_be_changed():
    """The tables are frozen."""
    chain = robots.chain('ur5')
    for table in (chain.lower, chain.offsets, chain.joints, chain.factors, chain.continuous):
        with pytest.raises(ValueError, match='read-only'):
            table[0] = 0


# ---- choosing links ---------------------------------------------------------

@pytest.mark.parametrize('tip, n', [('wrist_3_link', 6), ('ee_link', 6), ('tool0', 6),
                                    ('forearm_link', 3), ('shoulder_link', 1)])
def test_a_named_tip(tip, n):
    """With only the tip given the base is found; any number of joints is allowed."""
    chain = make_chain(robots.tree('ur5'), '', tip)
    assert (chain.base_link, chain.tip_link, chain.n) == ('base_link', tip, n)


def test_a_named_base():
    """With only the base given the tip is found."""
    chain = make_chain(robots.tree('ur5'), 'world', '')
    assert (chain.base_link, chain.tip_link, chain.n) == ('world', 'tool0', 6)
    chain = make_chain(robots.tree('baxter'), 'right_arm_mount', '')
    assert (chain.base_link, chain.n) == ('right_arm_mount', 7)
    assert chain.joint_names == JOINTS['baxter']


def test_the_base_of_a_named_tip_is_not_the_world():
    """A link called world carries the arm but is not its base."""
    assert robots.tree('ur5').root == 'world'
    assert robots.chain('ur5').base_link == 'base_link'


@pytest.mark.fault('robot description', 'tip or base link that does not exist',
                   'refused, with names that are near')
@pytest.mark.parametrize('role, name, near', [
    ('tip', 'tool', 'tool0'), ('tip', 'tol0', 'tool0'), ('tip', 'wrist3_link', 'wrist_3_link'),
    ('base', 'baselink', 'base_link')])
def test_similar_names_are_offered(role, name, near):
    """An unknown link is refused with similar names."""
    ends = {'base': '', 'tip': '', role: name}
    refused(robots.tree('ur5'), ends['base'], ends['tip'], f"{role}_link '{name}'",
            'not in the URDF', 'did you mean', f"'{near}'")


@pytest.mark.fault('robot description', 'the tip lies above the base', 'refused: no path')
def test_no_path():
    """A tip above or beside the base is refused; both links are named."""
    refused(robots.tree('ur5'), 'tool0', 'base_link', "'tool0'", "'base_link'",
            'the tip must be below')
    refused(robots.tree('pr2'), 'l_shoulder_pan_link', 'r_wrist_roll_link',
            "'l_shoulder_pan_link'", "'r_wrist_roll_link'", 'no path')


@pytest.mark.fault('robot description', 'no movable joint between base and tip', 'refused')
def test_nothing_moves():
    """A tip fixed to its base is refused."""
    refused(robots.tree('ur5'), 'wrist_3_link', 'tool0', 'no joint moves', "'wrist_3_link'",
            'further out')
    refused(robots.tree('ur5'), 'tool0', 'tool0', 'no joint moves')
    refused(robots.tree('ur5'), '', 'base_link', "no joint moves the tip_link 'base_link'",
            'further out')


# ---- synthetic arms ---------------------------------------------------------

def arm(count, names='j{}', tail='', kind='revolute', prefix='l'):
    """Return a robot with a run of moving joints from link l0 to l<count>."""
    links = ''.join(f'<link name="{prefix}{k}"/>' for k in range(count + 1))
    joints = ''.join(
        f'<joint name="{names.format(k)}" type="{kind}"><parent link="{prefix}{k}"/>'
        f'<child link="{prefix}{k + 1}"/><origin xyz="0 0 0.1"/><axis xyz="1 0 0"/>'
        '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint>' for k in range(count))
    return f'<robot name="r">{links}{joints}{tail}</robot>'


def more(name, parent, child, kind='revolute', inside=''):
    """Return one link more, on a joint."""
    return (f'<link name="{child}"/><joint name="{name}" type="{kind}"><parent link="{parent}"/>'
            f'<child link="{child}"/><axis xyz="0 1 0"/>'
            f'<limit lower="-1" upper="1" velocity="1" effort="1"/>{inside}</joint>')


def test_fingers_branch_off():
    """Two fingers on the last link end the arm there."""
    chain = make_chain(parse_urdf(arm(6, tail=more('f1', 'l6', 'f1') + more('f2', 'l6', 'f2'))))
    assert (chain.tip_link, chain.n) == ('l6', 6)


@pytest.mark.parametrize('tip', ['tool0', 'left_tool0', 'tcp', 'ee_link', 'hand_tcp',
                                 'end_effector_link'])
def test_the_tip_is_the_tool_frame(tip):
    """Of the links fixed to the last joint, the one named as tool frame is the tip."""
    tail = more('fix', 'l6', 'plate', 'fixed') + more('fix2', 'plate', tip, 'fixed') \
        + more('cam', 'l6', 'camera', 'fixed')
    assert make_chain(parse_urdf(arm(6, tail=tail))).tip_link == tip


@pytest.mark.parametrize('base', ['base_link', 'robot_base_link'])
def test_the_base_is_the_base_link(base):
    """Of the links that carry the first joint, one named base_link is the base."""
    text = arm(6).replace('<link name="l0"/>', '<link name="l0"/>'
                          + more('w', 'world', base, 'fixed').replace(
                              '<link', '<link name="world"/><link', 1)
                          + '<joint name="x" type="fixed"><parent link="' + base
                          + '"/><child link="l0"/></joint>')
    assert make_chain(parse_urdf(text)).base_link == base


def test_prismatic_joints():
    """A prismatic joint is marked as such, adds to the reach, and does not rotate."""
    tree = parse_urdf(arm(6, tail=more('slide', 'l6', 'tip', 'prismatic')))
    chain = make_chain(tree)
    assert chain.n == 7 and chain.joints[:, 0].tolist() == [0, 0, 0, 0, 0, 0, 1]
    assert chain.revolute.tolist() == [True] * 6 + [False] and not chain.continuous.any()
    assert chain.reach == pytest.approx(0.5 + 1.0)
    rail = make_chain(parse_urdf(arm(6, kind='prismatic')))
    assert rail.reach == pytest.approx(0.5 + 6.0)
    T = forward_kinematics(chain, np.array([0, 0, 0, 0, 0, 0, 0.7]))
    assert np.allclose(T[:3, 3], [0, 0.7, 0.6])


# ---- mimic joints on the path -----------------------------------------------

def with_mimic(*mimics, limits=(-1.0, 1.0), count=3):
    """Return the chain of an arm whose joints follow as in {index: (leader, factor, offset)}."""
    text = arm(count)
    for index, leader, factor, offset in mimics:
        begin = text.index(f'name="j{index}"')
        end = text.index('</joint>', begin)
        text = (text[:end] + f'<mimic joint="{leader}" multiplier="{factor}" offset="{offset}"/>'
                + text[end:])
    begin = text.index('<limit', text.index('name="j0"'))
    end = text.index('/>', begin)
    text = text[:begin] + f'<limit lower="{limits[0]}" upper="{limits[1]}" velocity="1"' \
        + text[end:]
    return make_chain(parse_urdf(text), 'l0', f'l{count}')


def test_mimic_joints_have_no_coordinate():
    """A mimic joint on the path moves with the joint that it follows."""
    chain = with_mimic((1, 'j0', 0.5, 0.1))
    assert chain.joint_names == ('j0', 'j2')
    assert chain.joints.tolist() == [[0, 0], [0, 0], [0, 1]]
    assert chain.factors.tolist() == [[1, 0], [0.5, 0.1], [1, 0]]
    q = np.array([0.4, -0.3])
    full = make_chain(parse_urdf(arm(3)), 'l0', 'l3')
    assert np.allclose(forward_kinematics(chain, q),
                       forward_kinematics(full, np.array([0.4, 0.5 * 0.4 + 0.1, -0.3])))


def test_mimic_of_a_mimic():
    """Factors are multiplied, and offsets are carried along."""
    chain = with_mimic((1, 'j0', -0.5, 0.1), (2, 'j1', 2.0, -0.3))
    assert chain.joint_names == ('j0',)
    assert np.allclose(chain.factors, [[1, 0], [-0.5, 0.1], [-1.0, -0.1]])


@pytest.mark.parametrize('mimics, limits, expected', [
    ([(1, 'j0', 2.0, 0.0)], (-1.0, 1.0), (-0.5, 0.5)),
    ([(1, 'j0', -2.0, 0.0)], (-1.0, 0.2), (-0.5, 0.2)),
    ([(1, 'j0', -2.0, 0.5)], (-1.0, 1.0), (-0.25, 0.75)),
    ([(1, 'j0', 0.5, 0.0)], (-1.0, 1.0), (-1.0, 1.0)),
    ([(1, 'j0', 0.5, 0.0)], (-5.0, 5.0), (-2.0, 2.0)),
    ([(1, 'j0', 1.0, 0.5)], (-1.0, 1.0), (-1.0, 0.5)),
    ([(1, 'j0', 0.0, 0.5)], (-1.0, 1.0), (-1.0, 1.0)),
    ([(1, 'j0', 2.0, 0.0), (2, 'j1', 2.0, 0.0)], (-1.0, 1.0), (-0.25, 0.25))])
def test_limits_keep_mimic_joints_within_theirs(mimics, limits, expected):
    """The range of a joint keeps its mimic joints within their own limits."""
    chain = with_mimic(*mimics, limits=limits)
    assert (chain.lower[0], chain.upper[0]) == pytest.approx(expected)
    values = chain.factors[1, 0] * np.array(expected) + chain.factors[1, 1]
    assert np.abs(values).max() <= 1.0 + 1e-12


@pytest.mark.parametrize('factor, velocity', [(2.0, 0.5), (-4.0, 0.25), (0.5, 1.0), (0.0, 1.0)])
def test_velocity_limits_of_mimic_joints(factor, velocity):
    """A joint is no faster than its mimic joints allow."""
    assert with_mimic((1, 'j0', factor, 0.0)).velocity.tolist() == [velocity, 1.0]


def test_mimics_that_leave_no_range():
    """A joint whose mimic joints leave it no range is refused by name."""
    with pytest.raises(ChainError, match="mimic 'j0' leave it no range"):
        with_mimic((1, 'j0', 1.0, 5.0))


@pytest.mark.parametrize('factor, lower, upper', [(0.5, -1.0, 1.0), (2.0, -0.5, 0.5)])
def test_a_leader_off_the_path(factor, lower, upper):
    """A mimic may follow a joint elsewhere in the tree; that joint is the coordinate."""
    side = more('lever', 'l0', 'lever_link')
    text = arm(2, tail=side).replace(
        '<parent link="l1"/>', f'<mimic joint="lever" multiplier="{factor}"/><parent link="l1"/>')
    chain = make_chain(parse_urdf(text), 'l0', 'l2')
    assert chain.joint_names == ('j0', 'lever')
    assert chain.joints.tolist() == [[0, 0], [0, 1]]
    assert chain.lower.tolist() == [-1.0, lower] and chain.upper.tolist() == [1.0, upper]


def test_the_skew_arm():
    """Four coordinates move six joints."""
    chain = robots.skew_chain()
    assert chain.joint_names == ('turn', 'slide', 'bend', 'roll')
    assert chain.continuous.tolist() == [True, False, False, False]
    assert chain.revolute.tolist() == [True, False, True, True]
    assert np.isinf(chain.lower[0]) and np.isinf(chain.velocity[0])
    distances = [np.linalg.norm(forward_kinematics(chain, q)[:3, 3] - chain.offsets[0, 9:])
                 for q in robots.random_postures(chain, 2000, 41)]
    assert 0.5 * chain.reach < max(distances) <= chain.reach


def test_narrower_limits():
    """A limit of the URDF remains where another is wider; a continuous joint becomes limited."""
    chain = robots.skew_chain()
    lower = np.maximum(chain.lower, -0.1)
    narrow = chain.with_limits([-1.0, -9.0, -0.1, -9.0], [2.0, 9.0, 9.0, 0.2])
    assert narrow.lower.tolist() == [-1.0, chain.lower[1], lower[2], chain.lower[3]]
    assert narrow.upper.tolist() == [2.0, chain.upper[1], chain.upper[2], 0.2]
    assert not narrow.continuous.any() and chain.continuous[0]
    assert not narrow.lower.flags.writeable and chain.with_limits() is chain
    with pytest.raises(ParameterError, match="'turn' turns without end, .* for both ends"):
        chain.with_limits(upper=np.full(4, 1.0))
    with pytest.raises(ParameterError, match='no range'):
        chain.with_limits(np.full(4, np.nan), np.full(4, 1.0))
    with pytest.raises(ParameterError, match=r"no range: \[0.5, 0.2\]") as caught:
        chain.with_limits(0.5, 0.2)
    assert 'turn' in str(caught.value)


def test_missing_velocity_limits():
    """Without a velocity limit in the URDF the limit is infinite."""
    text = arm(6).replace(' velocity="1"', '', 1)
    assert make_chain(parse_urdf(text)).velocity.tolist() == [np.inf, 1, 1, 1, 1, 1]


@pytest.mark.parametrize('name', [*robots.cases(), 'skew'])
def test_offsets_in_the_table_rotate_about_x_only(name):
    """For revolute joints after the first row; axes and origins do not change."""
    chain = robots.skew_chain() if name == 'skew' else robots.chain(name)
    revolute = [k for k in range(1, len(chain.joints)) if not chain.joints[k, 0]]
    for k in revolute:
        R = chain.table[k, :9].reshape(3, 3)
        assert R[0].tolist() == [1, 0, 0] and R[:, 0].tolist() == [1, 0, 0]
        assert np.abs(R @ R.T - np.eye(3)).max() < 1e-15
    for q in robots.random_postures(chain, 10, 3):
        T, frames = np.eye(4), np.empty((len(chain.table), 12))
        kernels.joint_frames(chain.table, q, frames)
        for k, (prismatic, index) in enumerate(chain.joints):
            value = chain.factors[k] @ [q[index], 1.0]
            T = T @ pose_matrix(chain.offsets[k])
            T = T @ (pin.SE3(np.eye(3), np.array([0.0, 0.0, value])) if prismatic else pin.SE3(
                pin.exp3(np.array([0.0, 0.0, value])), np.zeros(3))).homogeneous
            assert np.abs(frames[k, [2, 5, 8]] - T[:3, 2]).max() < 1e-14
            assert np.abs(frames[k, 9:] - T[:3, 3]).max() < 1e-14
        T = T @ pose_matrix(chain.offsets[-1])
        assert np.abs(pose_matrix(frames[-1]) - T).max() < 1e-14
