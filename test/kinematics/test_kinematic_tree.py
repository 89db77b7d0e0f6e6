# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Poses and Jacobians of several tips of one robot, against Pinocchio."""

import pickle

import numpy as np
import pinocchio as pin
import pytest
import robots

import ik_node
from ik_node.base.errors import ChainError, ParameterError, UrdfError
from ik_node.kinematics.tree.kinematic_tree import load_tree, make_tree
from ik_node.model.description.urdf import parse_urdf

EXACT = 1e-12
TREES = {
    'two_arms': (robots.OWN / 'two_arms.urdf', 'base_link', ('left_tool', 'right_tool')),
    'pr2': (robots.ARMS['pr2'].path, 'base_link',
            ('l_gripper_tool_frame', 'r_gripper_tool_frame', 'head_tilt_link')),
    'baxter': (robots.ARMS['baxter'].path, 'torso', ('left_gripper', 'right_gripper')),
    'talos': (robots.REAL / 'talos_data/robots/talos_full_v2.urdf', 'base_link',
              ('gripper_left_base_link', 'gripper_right_base_link', 'left_sole_link',
               'right_sole_link')),
}
MOBILE_JOINT = """<link name="floor"/><joint name="drive" type="{}"><parent link="floor"/>
<child link="base_link"/><origin xyz="0.3 -0.2 0.1" rpy="0.1 0.2 0.3"/><axis xyz="0 0 1"/>
</joint></robot>"""
PLANE_BOUNDS = {'drive': {'x': (-2.0, 2.0), 'y': (-1.0, 1.0), 'yaw': (-np.inf, np.inf)}}
SPACE_BOUNDS = {'drive': {'x': (-2, 2), 'y': (-1, 1), 'z': (0, 1), 'roll': (-0.5, 0.5),
                          'pitch': (-1.5, 1.5), 'yaw': (-np.inf, np.inf)}}


def mobile(kind):
    """Return the text of our two arms on a planar or floating joint."""
    text = TREES['two_arms'][0].read_text(encoding='utf-8')
    return text.replace('</robot>', MOBILE_JOINT.format(kind))


def finite_differences(tree, q, poses_at):
    """Return the Jacobian (6 T, n) from poses of the tips at changed positions."""
    J, step = np.empty((6 * len(tree.tip_links), tree.n)), 1e-6
    for k in range(tree.n):
        one, other = (poses_at(q + sign * step * np.eye(tree.n)[k]) for sign in (1, -1))
        for i, tip in enumerate(tree.tip_links):
            J[6 * i:6 * i + 3, k] = (one[tip][:3, 3] - other[tip][:3, 3]) / (2 * step)
            J[6 * i + 3:6 * i + 6, k] = pin.log3(
                one[tip][:3, :3] @ other[tip][:3, :3].T) / (2 * step)
    return J


@pytest.mark.parametrize('name', TREES)
def test_poses_and_jacobians_agree_with_pinocchio(name):
    """All tips at once, shared joints counted once."""
    path, base, tips = TREES[name]
    tree = load_tree(path, base, tips)
    reference = robots.Reference(path.read_text(encoding='utf-8'))
    for q in robots.random_postures(tree, 3, 1):
        at = robots.positions(tree, q)
        poses, J = tree.fk(q), tree.jacobian(q)
        for k, tip in enumerate(tips):
            assert np.abs(poses[tip] - reference.pose(base, tip, at)).max() < EXACT
            assert np.abs(J[6 * k:6 * k + 6] - reference.jacobian(base, tip, at)).max() < EXACT
        assert np.array_equal(tree.jacobian(q, tips[:0:-1]),
                              np.vstack([J[6 * k:6 * k + 6] for k in range(len(tips) - 1, 0, -1)]))


def test_a_foot_may_be_the_base():
    """The joints of its leg are crossed upwards: the robot moves, and the foot stands."""
    path, _, tips = TREES['talos']
    tree = load_tree(path, 'left_sole_link', [*tips[:2], 'right_sole_link'])
    reference = robots.Reference(path.read_text(encoding='utf-8'))
    assert tree.n == load_tree(path, 'base_link', tips).n == 28

    def poses_at(q):
        return reference.poses('left_sole_link', tree.tip_links, robots.positions(tree, q))

    q, = robots.random_postures(tree, 1, 2)
    for tip, T in poses_at(q).items():
        assert np.abs(tree.fk(q)[tip] - T).max() < EXACT
    assert np.abs(tree.jacobian(q) - finite_differences(tree, q, poses_at)).max() < 1e-8


def test_planar_and_floating_joints_agree_with_pinocchio():
    """x, y, yaw; x, y, z and fixed-axis angles, which Pinocchio has as a quaternion."""
    for kind, bounds, count in (('planar', PLANE_BOUNDS, 3), ('floating', SPACE_BOUNDS, 6)):
        text = mobile(kind)
        tree = load_tree(text, tip_links=['left_tool', 'right_tool'], bounds=bounds)
        assert tree.base_link == 'floor' and tree.n == 13 + count
        assert tree.joint_names[:count] == tuple(f'drive/{part}' for part in bounds['drive'])
        assert np.array_equal(tree.lower[:count], [low for low, _ in bounds['drive'].values()])
        assert list(tree.continuous[:count]) == [False] * (count - 1) + [True]
        assert list(tree.revolute[:count]) == [part in ('roll', 'pitch', 'yaw')
                                               for part in bounds['drive']]
        model = pin.buildModelFromXML(text)
        data = model.createData()

        def poses_at(q, kind=kind, tree=tree, model=model, data=data, count=count):
            full = pin.neutral(model)
            first = model.joints[model.getJointId('drive')].idx_q
            if kind == 'planar':
                full[first:first + 4] = q[0], q[1], np.cos(q[2]), np.sin(q[2])
            else:
                full[first:first + 3] = q[:3]
                full[first + 3:first + 7] = pin.Quaternion(pin.rpy.rpyToMatrix(*q[3:6])).coeffs()
            for name, value in zip(tree.joint_names[count:], q[count:]):
                full[model.joints[model.getJointId(name)].idx_q] = value
            pin.framesForwardKinematics(model, data, full)
            floor = data.oMf[model.getFrameId('floor')].inverse()
            return {tip: (floor * data.oMf[model.getFrameId(tip)]).homogeneous
                    for tip in tree.tip_links}

        for q in robots.random_postures(tree, 2, 3):
            for tip, T in poses_at(q).items():
                assert np.abs(tree.fk(q)[tip] - T).max() < EXACT
        assert np.abs(tree.jacobian(q) - finite_differences(tree, q, poses_at)).max() < 1e-8
        # Seen from a hand, the same joints are crossed upwards.
        back = load_tree(text, 'left_tool', ['floor', 'right_tool'], bounds)
        at = robots.positions(tree, q)
        T = back.fk(back.positions(at))
        assert np.abs(np.linalg.inv(T['floor']) - tree.fk(q)['left_tool']).max() < 1e-11


def test_mimic_joints_follow():
    """Two tips of the skew arm: a mimic of a mimic moves with its leader, and keeps its limits."""
    tree = make_tree(parse_urdf(robots.SKEW), 'base', ['tip', 'b'])
    reference = robots.Reference(robots.SKEW)
    q = np.array([0.4, 0.1, -0.3, 0.7])
    assert tree.joint_names == ('turn', 'slide', 'bend', 'roll')
    for tip, T in tree.fk(q).items():
        expected = reference.pose('base', tip, robots.skew_positions(q))
        assert np.abs(T - expected).max() < EXACT
    J = finite_differences(tree, q, lambda q: reference.poses(
        'base', tree.tip_links, robots.skew_positions(q)))
    assert np.abs(tree.jacobian(q) - J).max() < 1e-8
    chain = ik_node.load_urdf(robots.SKEW, 'base', 'tip')
    for name in ('lower', 'upper', 'velocity', 'continuous', 'revolute'):
        assert np.array_equal(getattr(tree, name), getattr(chain, name))


def test_what_moves_which_tip():
    """The torso moves both, each arm one; the reach is a bound."""
    tree = load_tree(*TREES['two_arms'])
    moved = dict(zip(tree.joint_names, tree.moved_by.tolist()))
    assert moved.pop('torso_joint') == [True, True]
    assert all(pair == [name.startswith('left'), name.startswith('right')]
               for name, pair in moved.items())
    assert tree.reach('left_tool') >= max(
        np.linalg.norm(tree.fk(q)['left_tool'][:3, 3])
        for q in robots.random_postures(tree, 50, 4))
    narrow = tree.with_limits(lower=np.full(tree.n, -0.5))
    assert narrow.lower.min() == -0.5 and narrow.tip_links == tree.tip_links
    again = pickle.loads(pickle.dumps(tree))
    assert not again.table.flags.writeable and repr(again) == repr(tree)
    assert repr(tree) == "KinematicTree('two_arms': 'base_link' -> 'left_tool', 'right_tool', " \
        '13 joints)'


def with_bounds(bounds, kind='planar'):
    return lambda: load_tree(mobile(kind), 'floor', ['left_tool'], bounds)


@pytest.mark.parametrize('call, error, sentence', [
    (with_bounds(None), ParameterError, "the planar joint 'drive' needs bounds (lower, upper) of "
     'x, y, yaw, in m and rad; x, y, yaw missing'),
    (with_bounds({'drive': {'x': (0, 1), 'y': (0, 1)}}), ParameterError, 'yaw missing'),
    (with_bounds({'drive': {'x': (0, 1), 'y': (0, 1), 'yaw': (0, 1), 'z': (0, 1)}}),
     ParameterError, "'z' unknown"),
    (with_bounds({'drive': {'x': (0, np.inf), 'y': (0, 1), 'yaw': (0, 1)}}), ParameterError,
     "the bounds of x of the joint 'drive' are (0, inf); they must be a lower and an upper "
     'number'),
    (with_bounds({'drive': {'x': (1, 0), 'y': (0, 1), 'yaw': (0, 1)}}), ParameterError, '(1, 0)'),
    (with_bounds({'drive': {'x': 1, 'y': (0, 1), 'yaw': (0, 1)}}), ParameterError, 'are 1;'),
    (with_bounds({**PLANE_BOUNDS, 'left_elbow': {'x': (0, 1)}}), ParameterError,
     "bounds are given for 'left_elbow', which is no planar or floating joint between the base "
     "and the tips; others have their limits from the URDF (of these there are 'drive')"),
    (with_bounds(PLANE_BOUNDS, 'floating'), ParameterError, 'z, roll, pitch missing'),
    (lambda: load_tree(*TREES['two_arms'][:2], []), ParameterError, 'no tip link is given'),
    (lambda: load_tree(*TREES['two_arms'][:2], 'left_tool'), ParameterError,
     "tip_links is the string 'left_tool'; give a sequence of link names"),
    (lambda: load_tree(*TREES['two_arms'][:2], ['left_tool', 'left_tool']), ParameterError,
     'have a name twice'),
    (lambda: load_tree(*TREES['two_arms'][:2], ['left_tol']), ChainError,
     "the link 'left_tol' is not in the URDF; did you mean 'left_tool'"),
    (lambda: load_tree(TREES['two_arms'][0], 'left_flange', ['left_tool', 'right_tool']),
     ChainError, "no joint moves between 'left_flange' and 'left_tool'"),
    (lambda: load_tree(3), ParameterError, "load_tree got 'int'"),
    (lambda: load_tree(*TREES['two_arms']).fk(np.zeros(3)), ParameterError, 'needs 13 numbers'),
    (lambda: load_tree(*TREES['two_arms']).jacobian(np.zeros(13), ['torso']), ParameterError,
     "'torso' is not a tip of this tree"),
    (lambda: load_tree(*TREES['two_arms']).positions({'torso_joint': 0.0}), ParameterError,
     "no position is given for 'left_shoulder_pan'"),
])
def test_errors_say_what_to_do(call, error, sentence):
    with pytest.raises(error) as caught:
        call()
    assert sentence in str(caught.value)


def test_a_planar_joint_cannot_mimic():
    text = mobile('planar').replace(
        '<axis xyz="0 0 1"/>\n</joint></robot>',
        '<axis xyz="0 0 1"/><mimic joint="torso_joint"/></joint></robot>')
    with pytest.raises(ChainError, match="'drive' mimics 'torso_joint', and one of them is pl"):
        load_tree(text, 'floor', ['left_tool'], PLANE_BOUNDS)


def test_a_fixed_joint_with_a_fault_is_not_taken_as_the_identity():
    """The tree is refused as the chain is, whose tip would be half a metre off."""
    text = '''<robot name="r"><link name="a"/><link name="b"/><link name="c"/>
        <joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
        </joint><joint name="f" type="fixed"><parent link="b"/><child link="c"/>
        <origin xyz="0 0 0.5" quat="0 0 0.7 0.7"/></joint></robot>'''
    with pytest.raises(UrdfError, match="'f' gives its rotation as quat"):
        load_tree(text, 'a', ['c'])
