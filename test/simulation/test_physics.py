# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's arm has the masses of the URDF, sags as statics says, and stays stable."""

import builtins
from dataclasses import replace

from lxml import etree
from nightly import usual_first
import numpy as np
import pinocchio as pin
import pytest
import robots

from ik_node.base.errors import ParameterError, UrdfError
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.motion.trajectory.trajectory import MotionState
from ik_node.simulation.physics import PhysicsPlant, SERVO_BANDWIDTH_RAD_S

ARMS = ['six_axis_arm', 'ur5', 'panda']


def fixed_joints(name):
    """Return where the joints beside the chain stand."""
    tree, chain = robots.tree(name), robots.chain(name)
    return {joint.name: float(np.clip(0.0, joint.lower, joint.upper)) for joint in tree.joints
            if joint.moves and joint.mimic is None and joint.name not in chain.joint_names}


def plant(name, q=None):
    """Return a plant at a posture, in the middle of its ranges without one."""
    chain = robots.chain(name)
    return PhysicsPlant(robots.tree(name), chain, chain.middle if q is None else q,
                        fixed_joints(name))


def gravity(name, q):
    """Return the torques that hold the arm at `q`, by Pinocchio."""
    chain, model = robots.chain(name), robots.reference(name).model
    data = model.createData()
    full = robots.reference(name).configuration(
        {**fixed_joints(name), **robots.positions(chain, q)})
    torques = pin.computeGeneralizedGravity(model, data, full)
    return np.array([torques[model.joints[model.getJointId(joint)].idx_v]
                     for joint in chain.joint_names])


def stiffness(made):
    """Return the stiffness of the servos, in the order of the chain."""
    return made.model.actuator_gainprm[:, 0]


@pytest.mark.parametrize('name', usual_first(
    3, ['panda', 'pr2', 'ur5_gripper', 'ur5', 'z1', 'xarm7']))
def test_sag_is_that_of_statics(name):
    """At rest each servo carries the weight that Pinocchio computes from the same URDF."""
    chain = robots.chain(name)
    for q in robots.random_postures(chain, 5, 3):
        q = chain.middle + 0.8 * (q - chain.middle)
        made = plant(name, q)
        for _ in range(10):
            made.step(MotionState.at_rest(q), 0.3)
        assert np.abs(made.state.qd).max() < 1e-6
        held = stiffness(made) * (q - made.state.q)
        assert held == pytest.approx(gravity(name, made.state.q), abs=1e-3)


def joint_inertia(made, chain, q):
    """Return the mass matrix of the chain's joints at `q`, without the rotors that are added."""
    import mujoco
    model, state = made.model, mujoco.MjData(made.model)
    state.qpos[[model.joint(joint).qposadr[0] for joint in chain.joint_names]] = q
    mujoco.mj_forward(model, state)
    M = np.zeros((model.nv, model.nv))
    for k in range(model.nv):
        mujoco.mj_mulM(model, state, M[k], np.eye(model.nv)[k])
    here = [model.joint(joint).dofadr[0] for joint in chain.joint_names]
    return (M - np.diag(model.dof_armature))[np.ix_(here, here)]


def pinocchio_inertia(reference, chain, q, fixed):
    """Return the same by Pinocchio."""
    data = reference.model.createData()
    pin.crba(reference.model, data, reference.configuration(
        {**fixed, **robots.positions(chain, q)}))
    there = [reference.model.joints[reference.model.getJointId(joint)].idx_v
             for joint in chain.joint_names]
    return (np.triu(data.M) + np.triu(data.M, 1).T)[np.ix_(there, there)]


@pytest.mark.parametrize('name, finger', [
    ('ur5', None), ('z1', None), ('xarm7', None), ('kinova', None), ('panda', 0.0),
    ('panda', 0.03)])
def test_inertia_is_that_of_the_urdf(name, finger):
    """The mass matrix is Pinocchio's, for any positions of the fixed joints."""
    chain, fixed = robots.chain(name), fixed_joints(name)
    if finger is not None:
        fixed['panda_finger_joint1'] = finger
    both = {**fixed, **({'panda_finger_joint2': finger} if finger is not None else {})}
    made = PhysicsPlant(robots.tree(name), chain, chain.middle, fixed)
    for q in robots.random_postures(chain, 5, 1):
        expected = pinocchio_inertia(robots.reference(name), chain, q, both)
        assert joint_inertia(made, chain, q) == pytest.approx(expected, abs=2e-5)


def test_inertia_in_rotated_axes():
    """The origin of an inertial element may have a rotation."""
    root = etree.fromstring(robots.text('ur5'))
    for element in root.iter('inertial'):
        if float(element.find('mass').get('value')) > 0.0:
            element.find('origin').set('rpy', '0.4 -0.7 1.1')
            for axis, moment in (('ixx', '0.05'), ('iyy', '0.07'), ('izz', '0.11')):
                element.find('inertia').set(axis, moment)
    turned = etree.tostring(root).decode()
    tree = parse_urdf(turned)
    chain = make_chain(tree)
    made = PhysicsPlant(tree, chain, chain.middle, {})
    for q in robots.random_postures(chain, 5, 1):
        expected = pinocchio_inertia(robots.Reference(turned), chain, q, {})
        assert joint_inertia(made, chain, q) == pytest.approx(expected, abs=2e-5)


def test_sag_is_visible_and_small():
    """A horizontal UR5 hangs a few millimetres low, not more."""
    sag = plant('ur5', np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0])).state.q
    assert 5e-4 < np.abs(sag).max() < 0.02


@pytest.mark.parametrize('name', ARMS)
def test_it_stays_stable(name):
    """From posture to posture at once, and then at rest: no joint runs away."""
    chain = robots.chain(name)
    made = plant(name)
    for q in robots.random_postures(chain, 12, 5):
        for _ in range(100):
            made.step(MotionState.at_rest(q), 0.01)
            assert np.isfinite(made.state.q).all()
        for _ in range(100):
            made.step(MotionState.at_rest(q), 0.01)
        assert np.abs(made.state.qd).max() < 1e-3
        assert np.abs(made.state.q - q).max() < 0.03


@pytest.mark.parametrize('name', ARMS)
def test_it_lags(name):
    """At a slow constant speed the joints are 2 / bandwidth behind, besides the sag."""
    chain = robots.chain(name)
    speed, dt = 0.1, 0.01
    made = plant(name)
    q = chain.middle.copy()
    for _ in range(200):
        q = q + speed * dt
        made.step(MotionState(q, np.full(chain.n, speed), np.zeros(chain.n)), dt)
    if name == 'six_axis_arm':  # its links have no inertia in the URDF; there is no second opinion
        behind = q - made.state.q
        assert (behind > 0.0).any()
        return
    behind = q - made.state.q - gravity(name, made.state.q) / stiffness(made)
    assert behind == pytest.approx(np.full(
        chain.n, speed * 2.0 / SERVO_BANDWIDTH_RAD_S), abs=1.5e-3)


def test_it_stops_at_its_limits():
    """The stops of the joints hold against the servos."""
    chain = robots.chain('six_axis_arm')
    made = plant('six_axis_arm')
    for _ in range(300):
        made.step(MotionState.at_rest(chain.upper + 0.5), 0.01)
    assert (made.state.q < chain.upper + 0.1).all()


def test_blocked():
    """A blocked joint stands exactly; the others go on."""
    chain = robots.chain('ur5')
    made = plant('ur5')
    made.blocked = np.arange(6) == 2
    before = made.state.q.copy()
    for _ in range(200):
        made.step(MotionState.at_rest(chain.middle + 0.3), 0.01)
    assert made.state.q[2] == before[2] and made.state.qd[2] == 0.0
    assert made.state.q[[0, 1, 3]] == pytest.approx(chain.middle[[0, 1, 3]] + 0.3, abs=0.02)


def test_the_same_run_twice_is_the_same():
    """No random part: bit for bit."""
    runs = []
    for _ in range(2):
        made = plant('panda')
        for k in range(50):
            made.step(MotionState.at_rest(robots.chain('panda').middle + 0.002 * k), 0.01)
        runs.append(made.state.q)
    assert np.array_equal(*runs)


def test_short_cycles_add_up():
    """Cycles shorter than the step of the simulation lose no time."""
    q = robots.chain('ur5').middle
    fine, coarse = plant('ur5'), plant('ur5')
    for made, dt in ((fine, 0.0007), (coarse, 0.0105)):
        for _ in range(round(0.0525 / dt)):
            made.step(MotionState.at_rest(q + 0.2), dt)
    # The command arrives as a ramp over the first cycle, so that they may differ by it.
    assert fine.state.q == pytest.approx(coarse.state.q, abs=0.03)
    assert fine.state.q[0] - q[0] > 0.1


def test_mimic_joints_follow():
    """A mimic joint on the path keeps its ratio."""
    tree = parse_urdf(robots.SKEW)
    chain = make_chain(tree, 'base', 'tip')
    q = np.array([0.2, 0.1, 0.4, -0.3])
    made = PhysicsPlant(tree, chain, q, {})
    for _ in range(50):
        made.step(MotionState.at_rest(q), 0.01)
    model, data = made.model, made._data
    for name, value in robots.skew_positions(made.state.q).items():
        assert data.qpos[model.joint(name).qposadr[0]] == pytest.approx(value, abs=5e-3)


def test_without_mujoco_there_is_one_sentence(monkeypatch):
    """It says what to install."""
    imported = builtins.__import__

    def fail(name, *args, **kwargs):
        if name == 'mujoco':
            raise ImportError(name)
        return imported(name, *args, **kwargs)

    monkeypatch.setattr(builtins, '__import__', fail)
    with pytest.raises(ParameterError, match='pip install mujoco'):
        plant('six_axis_arm')


@pytest.mark.parametrize('bad', [
    '<mass value="-1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>',
    '<mass value="nan"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>',
    '<mass value="1"/><inertia ixx="-1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>',
    '<mass value="1"/>', '<mass value="x"/>', '<mass/>'])
def test_an_invalid_inertia_is_refused(bad):
    """The link is named."""
    tree = robots.tree('six_axis_arm')
    link = tree.links[2]
    text = robots.text('six_axis_arm').decode().replace(
        f'<link name="{link}">', f'<link name="{link}"><inertial>{bad}</inertial>', 1)
    assert bad in text
    with pytest.raises(UrdfError, match=link):
        PhysicsPlant(replace(tree, source=text.encode()), robots.chain('six_axis_arm'),
                     robots.chain('six_axis_arm').middle, {})
