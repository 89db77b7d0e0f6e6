# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Links beyond the tip: the way to each, its pose, and what must be known for it."""

import numpy as np
import pytest
import robots

from ik_node.base.errors import ParameterError, Reason, StateError
from ik_node.kinematics.arm import forward_kinematics, load_urdf
from ik_node.kinematics.links import link_path, link_pose, link_poses, links_moved, path_between
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import JointType, parse_urdf

EXACT = 1e-12


def test_poses_of_all_links_agree_with_pinocchio(subject):
    """One pass over the tree places every link: above, beside and beyond the chain."""
    arm = subject.arm
    loose = {'pallet'} if arm.tree.name == 'branched' else set()
    for q in subject.postures(3, 9):
        poses = arm.link_poses(q, subject.others)
        assert set(poses) == set(arm.tree.links) - loose
        for link, T in poses.items():
            assert np.abs(T - subject.pose(link, q)).max() < EXACT, link


@pytest.mark.parametrize('name', ['ur5_gripper', 'panda', 'pr2', 'baxter'])
def test_link_pose_from_any_link_agrees_with_pinocchio(name):
    """Each link stands where Pinocchio sees it, seen from any other link, by both functions."""
    tree, chain, reference = robots.tree(name), robots.chain(name), robots.reference(name)
    rng = np.random.default_rng(9)
    own = {joint.name: rng.uniform(max(joint.lower, -3.0), min(joint.upper, 3.0))
           for joint in tree.joints if joint.moves and joint.mimic is None}
    every = dict(own)
    for joint in tree.joints:
        if joint.mimic is not None:
            every[joint.name] = joint.mimic.multiplier * own[joint.mimic.joint] \
                + joint.mimic.offset
    for base in (tree.root, chain.tip_link, tree.links[-1]):
        poses = link_poses(tree, base, own)
        for link in tree.links:
            expected = reference.pose(base, link, every)
            assert np.abs(poses[link] - expected).max() < EXACT, (base, link)
    for link in tree.links[::5]:
        difference = link_pose(tree, link, base, own) - reference.pose(base, link, every)
        assert np.abs(difference).max() < EXACT, (base, link)


def test_link_pose_and_link_poses_agree(subject):
    """The pose of a single link equals that from the pass over all links."""
    arm = subject.arm
    q, = subject.postures(1, 10)
    poses = arm.link_poses(q, subject.others)
    for link in list(poses)[::4]:
        assert np.abs(arm.link_pose(q, link, subject.others) - poses[link]).max() < EXACT
    assert np.abs(arm.link_pose(q, arm.tip_link) - arm.fk(q)).max() < EXACT


def test_the_links_that_the_chain_moves(subject):
    """These are the links whose poses differ between postures."""
    arm = subject.arm
    moved = links_moved(arm.tree, arm.base_link, arm.joint_names)
    here, there = (arm.link_poses(q, subject.others) for q in subject.postures(2, 9))
    assert here.keys() & moved == {
        link for link in here if np.abs(here[link] - there[link]).max() > 1e-6}
    assert arm.tip_link in moved and arm.base_link not in moved


def test_links_behind_unknown_joints_are_left_out(branched):
    """Without other joint positions, only the links that the chain determines have poses."""
    arm, others = branched.arm, branched.others
    q, = branched.postures(1, 11)
    # The chain's elbow moves `tilt` above the base, so the carriage is known too.
    known = {'carriage', 'mount', 'base', 'upper', 'rod', 'lower', 'tip'}
    assert set(arm.link_poses(q)) == known
    assert set(arm.link_poses(q, {'grip': 0.01})) == known | {'finger', 'thumb'}
    assert set(arm.link_poses(q, {'rail': others['rail']})) == known | {'ground'}
    assert set(arm.link_poses(q, {'pan': 0.5})) == known


@pytest.mark.parametrize('link, missing', [
    ('finger', 'grip'), ('thumb', 'grip'), ('ground', 'rail'), ('camera', 'rail')])
def test_unknown_joints_are_named(branched, link, missing):
    """The joint whose position is missing is named, and how to give it."""
    arm, q = branched.arm, np.zeros(2)
    words = (f"'{link}' .*'{missing}', which is not in the chain and has no known position; "
             f"give others={{'{missing}'")
    with pytest.raises(StateError, match=words) as caught:
        arm.jacobian(q, link)
    assert caught.value.reason is Reason.STATE_INCOMPLETE
    with pytest.raises(StateError, match=f"'{missing}', which has no known position"):
        arm.link_pose(q, link)


@pytest.mark.parametrize('others, words', [
    ({'grip_too': 0.0}, "'grip_too', which mimics 'grip'; leave it out"),
    ({'loose': 0.0}, "'loose', which is floating and has no position"),
    ({'grip': np.nan}, "the position of 'grip' in others is nan; it must be a finite number"),
    ({'grip': 'open'}, "the position of 'grip' in others is 'open'"),
    ({'grip': [0.0]}, 'must be a finite number')])
def test_wrong_positions_of_others_are_refused(branched, others, words):
    """Unknown, mimic, fixed and floating joints and invalid numbers are refused."""
    for call in (branched.arm.link_poses, branched.arm.jacobian):
        with pytest.raises(ParameterError, match=words):
            call(np.zeros(2), others=others)


def test_floating_links_have_no_jacobian(branched):
    """Links beyond a floating joint have no pose and no Jacobian."""
    q, others = np.zeros(2), {'rail': 0.0}
    with pytest.raises(StateError, match="'loose' is floating, so the link 'pallet' has no known"):
        branched.arm.jacobian(q, 'pallet', others=others)
    with pytest.raises(StateError, match="'loose', which has no known position"):
        branched.arm.link_pose(q, 'pallet', others=others)


@pytest.mark.parametrize('kind, leader', [('revolute', 'loose'), ('planar', 'elbow')])
def test_mimics_of_floating_joints_have_no_position(branched, kind, leader):
    """A joint that mimics a floating joint, or a floating mimic joint, has no position."""
    lid = f"""<link name="lid"/><joint name="hinge" type="{kind}"><parent link="tip"/>
      <child link="lid"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
      <mimic joint="{leader}"/></joint></robot>"""
    text = branched.arm.tree.source.decode().replace('</robot>', lid)
    arm = load_urdf(text, 'base', 'tip')
    with pytest.raises(StateError, match=r"'(loose' is floating|hinge' is planar), so the link "
                                         "'lid' has no known"):
        arm.jacobian(np.zeros(2), 'lid')
    assert 'lid' not in link_poses(arm.tree, 'tip', {'loose': 0.0, 'elbow': 0.0})


def test_the_path_goes_up_and_down(branched):
    """From the camera to the finger through their common ancestor, each joint once."""
    tree = branched.arm.tree
    way = [(joint.name, down) for joint, down in path_between(tree, 'camera', 'finger')]
    assert way == [('pan', False), ('rail', True), ('tilt', True), ('plate', True),
                   ('shoulder', True), ('elbow', True), ('flange', True), ('grip', True)]
    assert path_between(tree, 'rod', 'rod') == []
    for wrong in (('camera', 'fingr'), ('camra', 'finger')):
        with pytest.raises(ParameterError, match='is not in the URDF; did you mean'):
            path_between(tree, *wrong)


def test_the_table_of_the_tip_is_that_of_the_chain(subject):
    """The path to the tip has the table of the chain."""
    arm = subject.arm
    path = link_path(arm.tree, arm.base_link, arm.tip_link, arm.joint_names)
    assert path.others == () and path.table.shape == arm.table.shape
    assert np.abs(path.table - arm.table).max() < 1e-15


# ---- as the node calls it ---------------------------------------------------

def test_link_pose_follows_mimic_joints():
    """Mimics of mimic joints are computed from the joint that they finally follow."""
    tree = parse_urdf(robots.SKEW)
    chain = make_chain(tree, 'base', 'tip')
    for q in robots.random_postures(chain, 20, 10):
        T = link_pose(tree, 'tip', 'base', robots.positions(chain, q))
        assert np.abs(T - forward_kinematics(chain, q)).max() < EXACT


@pytest.mark.parametrize('missing', ['turn', 'bend'])
def test_link_pose_without_a_position_is_refused(missing):
    """A moving joint without a known position is refused by name."""
    known = {'turn': 0.0, 'slide': 0.0, 'bend': 0.0, 'roll': 0.0}
    del known[missing]
    with pytest.raises(StateError, match=f"'{missing}', which has no known position") as caught:
        link_pose(parse_urdf(robots.SKEW), 'tip', 'base', known)
    assert caught.value.reason is Reason.STATE_INCOMPLETE


def test_link_pose_needs_only_the_joints_on_the_path():
    """Joints that do not move one link relative to the other need no position."""
    tree = parse_urdf(robots.SKEW)
    assert np.array_equal(link_pose(tree, 'base', 'base', {}), np.eye(4))
    assert np.array_equal(link_pose(tree, 'tip', 'tip', {}), np.eye(4))
    link_pose(tree, 'a', 'world', {'turn': 1.0})
    link_pose(tree, 'b', 'c', {'bend': 1.0})


@pytest.mark.parametrize('kind', ['floating', 'planar'])
def test_link_pose_beyond_a_floating_joint_is_refused(kind):
    """A floating joint has no single position."""
    tree = parse_urdf(f'<robot name="r"><link name="a"/><link name="b"/><joint name="loose" '
                      f'type="{kind}"><parent link="a"/><child link="b"/></joint></robot>')
    assert tree.joints[0].type is JointType(kind)
    with pytest.raises(StateError, match="'loose'"):
        link_pose(tree, 'b', 'a', {'loose': 0.0})
    assert list(link_poses(tree, 'a', {'loose': 0.0})) == ['a']
