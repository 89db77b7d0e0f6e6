# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arm as callers see it: poses and Jacobians of the tip, one or many, and what is refused."""

import pickle

import numpy as np
import pinocchio as pin
import pytest
import robots

from ik_node.base.errors import ChainError, ParameterError, UrdfError
from ik_node.kinematics import arm as module
from ik_node.kinematics.arm import Arm, forward_kinematics, jacobian, load_urdf, singular_values
from ik_node.model.chain import make_chain

EXACT = 1e-12


# ---- loading ----------------------------------------------------------------

def test_path_and_text_give_the_same_arm(tmp_path):
    """A path, its string, a URDF as text or bytes, blanks and byte order mark before it."""
    path = robots.ARMS['six_axis_arm'].path
    text = path.read_text()
    spaced = tmp_path / 'a name <with> signs.urdf'
    spaced.write_text(text)
    first = load_urdf(path)
    line = text.replace('\n', ' ')
    for source in (str(path), text, text.encode(), ' \n\t' + text, line, ' ' + line,
                   '\ufeff' + line, spaced, str(spaced)):
        arm = load_urdf(source)
        assert isinstance(arm, Arm) and arm.joint_names == first.joint_names
        assert np.array_equal(arm.table, first.table)
    assert first.tree.name == 'six_axis_arm'


@pytest.mark.parametrize('name', ['ur5', 'panda', 'kinova'])
def test_an_arm_is_a_chain_with_its_tree(name):
    """All fields of the chain are those that make_chain gives; links can be chosen."""
    chain, arm = robots.chain(name), load_urdf(robots.ARMS[name].path)
    for field in chain.__dataclass_fields__:
        assert np.array_equal(getattr(arm, field), getattr(chain, field)), field
    assert arm.tree.links == robots.tree(name).links
    tip, = (joint.child for joint in arm.tree.joints if joint.name == arm.joint_names[3])
    shorter = load_urdf(robots.ARMS[name].path, arm.base_link, tip)
    assert shorter.joint_names == arm.joint_names[:4] and shorter.tip_link == tip


@pytest.mark.parametrize('source, error, words', [
    ('/nowhere/arm.urdf', UrdfError, "cannot read the URDF file '/nowhere/arm.urdf'"),
    ('', UrdfError, 'the URDF is empty'),
    (b'', UrdfError, 'the URDF is empty'),
    ('# arm\n<robot/>', UrdfError, 'not a URDF: '),
    ('<robot', UrdfError, 'not a URDF: '),
    (b'arm.urdf', UrdfError, 'not a URDF: '),
    (None, ParameterError, "load_urdf got 'NoneType'; give the path"),
    (7, ParameterError, "load_urdf got 'int'; give the path")])
def test_invalid_urdfs_are_refused(source, error, words):
    """A missing file, an empty text and other things are refused in one sentence."""
    with pytest.raises(error, match=words):
        load_urdf(source)


def test_unknown_links_are_refused():
    """The sentence is that of make_chain."""
    with pytest.raises(ChainError, match="'wrist_3_lnk' is not in the URDF; did you mean"):
        load_urdf(robots.ARMS['ur5'].path, 'base_link', 'wrist_3_lnk')


def test_an_arm_can_be_pickled(ur5):
    """A pickled arm, caches included, gives bitwise equal results."""
    arm = ur5.arm
    q, = ur5.postures(1, 20)
    J = arm.jacobian(q, 'forearm_link')
    copy = pickle.loads(pickle.dumps(arm))
    assert np.array_equal(copy.jacobian(q, 'forearm_link'), J)
    assert np.array_equal(copy.fk(q), arm.fk(q))


# ---- forward kinematics and Jacobian of the tip -----------------------------

def test_tip_agrees_with_pinocchio(subject):
    """Pose and Jacobian of the tip are Pinocchio's to 1e-12, by function and by method."""
    arm, reference = subject.arm, subject.reference
    for q in subject.postures(100, 1):
        T = subject.pose(arm.tip_link, q)
        J = reference.jacobian(arm.base_link, arm.tip_link, subject.positions(q)) @ subject.follow
        if arm.tree.name == 'branched':  # its base moves with the elbow
            J = subject.jacobian(q, arm.tip_link, np.zeros(3), 'base')
        for pose, columns in ((forward_kinematics(arm, q), jacobian(arm, q)),
                              (arm.fk(q), arm.jacobian(q))):
            assert np.abs(pose - T).max() < EXACT
            assert np.abs(columns - J).max() < EXACT


def test_jacobian_agrees_with_finite_differences(subject):
    """The Jacobian is the derivative of the forward kinematics."""
    arm = subject.arm
    h = 1e-6
    for q in subject.postures(10, 4):
        J = np.empty((6, arm.n))
        for k, step in enumerate(h * np.eye(arm.n)):
            before, after = forward_kinematics(arm, q - step), forward_kinematics(arm, q + step)
            J[:3, k] = (after[:3, 3] - before[:3, 3]) / (2.0 * h)
            J[3:, k] = pin.log3(after[:3, :3] @ before[:3, :3].T) / (2.0 * h)
        assert np.abs(jacobian(arm, q) - J).max() < 1e-8


@pytest.mark.parametrize('name', ['ur5', 'panda', 'kinova'])
def test_whole_turns_do_not_move_the_tip(name):
    """Adding 2 pi to an angle gives the same pose."""
    chain = robots.chain(name)
    q = robots.random_postures(chain, 1, 5)[0]
    turned = q + 2.0 * np.pi * np.arange(chain.n)
    assert np.abs(forward_kinematics(chain, turned) - forward_kinematics(chain, q)).max() < 1e-13


def test_many_postures_at_once(subject):
    """Each pose of a batch is bitwise equal to that of a single call."""
    arm = subject.arm
    Q = subject.postures(50, 6)
    T = arm.fk(Q)
    assert T.shape == (50, 4, 4)
    assert all(np.array_equal(T[i], arm.fk(q)) for i, q in enumerate(Q))


def test_batches_of_any_size_and_layout(ur5):
    """No posture, one, strided, read-only and listed ones."""
    arm = ur5.arm
    Q = ur5.postures(9, 7)
    expected = arm.fk(Q)
    assert arm.fk(Q[:0]).shape == (0, 4, 4)
    assert np.array_equal(arm.fk(Q[:1]), expected[:1])
    assert np.array_equal(arm.fk(Q[::2]), expected[::2])
    assert np.array_equal(arm.fk(np.asfortranarray(Q)), expected)
    assert np.array_equal(arm.fk(Q.tolist()), expected)
    Q.setflags(write=False)
    assert np.array_equal(arm.fk(Q), expected)
    assert np.array_equal(arm.fk(Q[0]), expected[0])


def test_no_layout_of_q_makes_the_compiler_run_again(ur5):
    """Read-only, strided, integer and list arguments all reach one compiled version."""
    Q = ur5.postures(4, 7)
    fixed = Q.copy()
    fixed.setflags(write=False)
    for q in (fixed, Q[::2], np.asfortranarray(Q), Q.astype(int), Q.astype('f4'), Q.tolist()):
        ur5.arm.fk(q)
    assert len(module.kernels.tip_poses.signatures) == 1


def test_results_share_no_memory(ur5):
    """Results share no memory with the arm or with later results."""
    arm = ur5.arm
    q = np.full(6, 0.3)
    answers = [arm.fk(q), arm.jacobian(q), arm.fk([q]), arm.jacobian(q, frame='tool'),
               *arm.link_poses(q).values()]
    copies = [answer.copy() for answer in answers]
    for answer in answers:
        answer[:] = np.nan
    again = [arm.fk(q), arm.jacobian(q), arm.fk([q]), arm.jacobian(q, frame='tool'),
             *arm.link_poses(q).values()]
    assert all(np.array_equal(a, b) for a, b in zip(copies, again))
    assert np.array_equal(q, np.full(6, 0.3))


def test_singular_values_agree_with_pinocchio(ur5):
    """The largest comes first; the smallest vanishes with a straight wrist."""
    for q in ur5.postures(20, 6):
        J = ur5.jacobian(q, 'tool0', np.zeros(3), 'base')
        values = singular_values(ur5.arm, q)
        assert np.abs(values - np.linalg.svd(J, compute_uv=False)).max() < 1e-12
        assert (np.diff(values) <= 0.0).all()
    straight_wrist = np.array([0.3, -1.0, 1.2, 0.4, 0.0, 0.7])
    assert singular_values(ur5.arm, straight_wrist)[-1] < 1e-12


# ---- what is refused --------------------------------------------------------

CALLS = {
    'forward_kinematics': forward_kinematics, 'jacobian': jacobian,
    'singular_values': singular_values,
    'fk': Arm.fk, 'arm.jacobian': Arm.jacobian, 'hessian': Arm.hessian,
    'singularity': Arm.singularity, 'link_poses': Arm.link_poses,
    'link_pose': lambda arm, q: arm.link_pose(q, 'tool0'),
    'jacobian_derivative': lambda arm, q: arm.jacobian_derivative(q, np.zeros(6)),
    'rates': lambda arm, q: arm.jacobian_derivative(np.zeros(6), q),
}


@pytest.mark.parametrize('call', CALLS.values(), ids=CALLS)
@pytest.mark.parametrize('q, words', [
    (np.zeros(5), r'q.? needs 6 numbers, one per joint, got shape \(5,\)'),
    (np.zeros(7), r'got shape \(7,\)'), (np.zeros((1, 1, 6)), r'got shape \(1, 1, 6\)'),
    (0.0, r'got shape \(\)'), (None, 'q'), ('home', 'q.? needs numbers'),
    ([0, 0, np.nan, 0, 0, 0], "q.? has nan for the joint 'elbow_joint'"),
    ([0, 0, 0, 0, 0, np.inf], "q.? has inf for the joint 'wrist_3_joint'"),
    ([-np.inf, 0, 0, 0, 0, 0], "q.? has -inf for the joint 'shoulder_pan_joint'")])
def test_wrong_joint_positions_are_refused(ur5, call, q, words):
    """Wrong lengths and numbers that are not finite never reach compiled code."""
    with pytest.raises(ParameterError, match=words):
        call(ur5.arm, q)


def test_a_batch_is_checked_row_by_row(ur5):
    """The row and the joint are named; only fk takes many postures."""
    Q = np.zeros((4, 6))
    Q[2, 1] = np.nan
    with pytest.raises(ParameterError, match="nan for the joint 'shoulder_lift_joint' in row 2"):
        ur5.arm.fk(Q)
    with pytest.raises(ParameterError, match=r'got shape \(4, 5\)'):
        ur5.arm.fk(Q[:, :5])
    with pytest.raises(ParameterError, match=r'got shape \(4, 6\)'):
        ur5.arm.jacobian(Q)


@pytest.mark.parametrize('named, words', [
    ({'link': 'tool1'}, "the link 'tool1' is not in the URDF; did you mean 'tool0'"),
    ({'point': (0, 0)}, 'the point is .* must be 3 finite numbers'),
    ({'point': (0, 0, np.inf)}, 'the point is .* must be 3 finite numbers'),
    ({'point': 'tip'}, "the point is 'tip'"),
    ({'frame': 'world'}, "the frame is 'world'; it is one of 'base', 'tool', 'link'"),
    ({'rows': ('x', 'w')}, "the row 'w' is unknown; there are 'x', 'y', 'z', 'rx'"),
    ({'rows': ('x', 'x')}, 'have a name twice'),
    ({'rows': 'x'}, "rows are given as a sequence of names, got the string 'x'"),
    ({'rows': ()}, 'rows is empty'),
    ({'locked': ('elbow',)}, "the locked joint 'elbow' is unknown; did you mean 'elbow_joint'"),
    ({'locked': 'elbow_joint'}, "got the string 'elbow_joint'"),
    ({'others': {'thumb': 0.0}}, "others has the joint 'thumb', which is not in the URDF"),
    ({'others': {'elbow_joint': 0.0}}, "'elbow_joint', whose position is in q; leave it out"),
    ({'others': {'ee_fixed_joint': 0.0}}, "'ee_fixed_joint', which is fixed and has no position"),
])
@pytest.mark.parametrize('call', ['jacobian', 'hessian', 'singularity', 'jacobian_derivative'])
def test_wrong_options_are_refused(ur5, call, named, words):
    """Each option says what was given and what is allowed, in every method."""
    arguments = [np.zeros(6)] * (2 if call == 'jacobian_derivative' else 1)
    with pytest.raises(ParameterError, match=words):
        getattr(ur5.arm, call)(*arguments, **named)


def test_wrong_forms_weights_and_locks_are_refused(ur5):
    """Arguments of a single method are checked by that method."""
    arm, q = ur5.arm, np.zeros(6)
    with pytest.raises(ParameterError, match="the form of the Jacobian is 'magic'; it is one of"):
        arm.jacobian(q, form='magic')
    for weight in (0.0, -1.0, np.nan, np.inf, 'one', [1.0]):
        with pytest.raises(ParameterError, match='metres_per_radian is .*; it must be '):
            arm.singularity(q, metres_per_radian=weight)
    with pytest.raises(ParameterError, match='every joint is locked'):
        arm.singularity(q, locked=arm.joint_names)
    with pytest.raises(ParameterError, match=r"'elbow_joint' have the rates \[0.5\]; give 0"):
        arm.jacobian_derivative(q, [0, 0, 0.5, 0, 0, 0], locked=('elbow_joint',))


def test_a_plain_chain_is_enough_for_the_tip():
    """The module functions take a chain without a tree, as the node does."""
    chain = make_chain(robots.tree('ur5'))
    q = np.full(6, 0.2)
    arm = load_urdf(robots.ARMS['ur5'].path)
    assert np.array_equal(forward_kinematics(chain, q), arm.fk(q))
    assert np.array_equal(jacobian(chain, q), arm.jacobian(q))
    assert np.array_equal(forward_kinematics(chain, [0, 1, 2, 1, 0, 1]),
                          forward_kinematics(chain, np.array([0.0, 1.0, 2.0, 1.0, 0.0, 1.0])))
