# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Joint torques, judged by Pinocchio and by the energy."""

import re

import numpy as np
from palletiser import following, PALLETISER
import pinocchio as pin
import pytest
import robots

from ik_node.base.errors import UrdfError
from ik_node.kinematics.dynamics import ArmDynamics
from ik_node.model.chain import make_chain
from ik_node.model.description.inertias import Inertia, link_inertias, point_mass
from ik_node.model.description.urdf import parse_urdf

ARMS = 'six_axis_arm', 'ur5', 'panda', 'kinova', 'xarm7', 'baxter'
GRAVITY = np.array([0.3, -2.0, -9.5])
LOAD = Inertia(2.5, np.array([0.03, -0.02, 0.15]),
               np.array([[0.02, 0.001, 0.0], [0.001, 0.03, -0.002], [0.0, -0.002, 0.015]]))
SLIDER = """<robot name="slider"><link name="foot"/>
  <link name="car"><inertial><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/><mass value="3"/>
    <inertia ixx="0.1" ixy="0.01" ixz="0.02" iyy="0.2" iyz="0.03" izz="0.25"/></inertial></link>
  <link name="arm"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.04" iyz="0" izz="0.04"/></inertial></link>
  <link name="rod"><inertial><origin xyz="0 0.1 0.1"/><mass value="1.5"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.02"/></inertial></link>
  <joint name="rail" type="prismatic"><parent link="foot"/><child link="car"/>
    <origin xyz="0 0 0.1" rpy="0.3 0.2 0.1"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="100" velocity="1"/></joint>
  <joint name="turn" type="continuous"><parent link="car"/><child link="arm"/>
    <origin xyz="0 0.1 0.4" rpy="-0.2 0.5 0"/><axis xyz="0 0 1"/>
    <limit effort="50" velocity="2"/></joint>
  <joint name="reach" type="prismatic"><parent link="arm"/><child link="rod"/>
    <origin xyz="0.5 0 0" rpy="0 0.7 0"/><axis xyz="0 0.6 0.8"/>
    <limit lower="0" upper="0.5" effort="20" velocity="1"/></joint></robot>"""


class Oracle:
    """Pinocchio's torques of a chain in a robot whose other joints stand still."""

    def __init__(self, urdf, chain, load=None):
        whole = pin.buildModelFromXML(urdf)
        others = [k for k, name in enumerate(whole.names) if k and name not in chain.joint_names]
        self.chain, self.model = chain, pin.buildReducedModel(whole, others, pin.neutral(whole))
        base = self.model.frames[self.model.getFrameId(chain.base_link, pin.FrameType.BODY)]
        assert base.parentJoint == 0
        self.model.gravity.linear = base.placement.rotation @ GRAVITY
        if load is not None:
            tip = self.model.frames[self.model.getFrameId(chain.tip_link, pin.FrameType.BODY)]
            self.model.appendBodyToJoint(tip.parentJoint, pin.Inertia(
                load.mass, load.centre, load.moments), tip.placement)
        self.data = self.model.createData()
        self.joints = [self.model.joints[self.model.getJointId(name)]
                       for name in chain.joint_names]

    def configuration(self, q):
        """Return joint positions as Pinocchio has them."""
        made = pin.neutral(self.model)
        for joint, value in zip(self.joints, q):
            made[joint.idx_q:joint.idx_q + joint.nq] = \
                (np.cos(value), np.sin(value)) if joint.nq == 2 else value
        return made

    def torques(self, q, qd, qdd):
        """Return the torques in the order of the chain, (n,)."""
        places = [joint.idx_v for joint in self.joints]
        v, a = np.zeros(self.model.nv), np.zeros(self.model.nv)
        v[places], a[places] = qd, qdd
        return pin.rnea(self.model, self.data, self.configuration(q), v, a)[places]

    def energy(self, q, qd):
        """Return kinetic and potential energy, J."""
        v = np.zeros(self.model.nv)
        v[[joint.idx_v for joint in self.joints]] = qd
        configuration = self.configuration(q)
        return pin.computeKineticEnergy(self.model, self.data, configuration, v) \
            + pin.computePotentialEnergy(self.model, self.data, configuration)


def motions(chain, count=20):
    """Return random states (count, n) of a chain."""
    random = np.random.default_rng(5)
    lower = np.where(np.isfinite(chain.lower), chain.lower, -np.pi)
    upper = np.where(np.isfinite(chain.upper), chain.upper, np.pi)
    return (random.uniform(lower, upper, (count, chain.n)),
            *random.uniform(-3.0, 3.0, (2, count, chain.n)))


def slider():
    """Return the tree and the chain of an arm with sliding joints."""
    tree = parse_urdf(SLIDER)
    return tree, make_chain(tree, 'foot', 'rod')


def case(name):
    """Return URDF, tree and chain."""
    if name == 'slider':
        return SLIDER, *slider()
    return robots.text(name).decode(), robots.tree(name), robots.chain(name)


@pytest.mark.parametrize('load', [None, LOAD], ids=['alone', 'with a load'])
@pytest.mark.parametrize('name', [*ARMS, 'slider'])
def test_torques(name, load):
    """They are those of Pinocchio; a tool on the chain changes nothing."""
    urdf, tree, chain = case(name)
    T = np.eye(4)
    T[:3, 3] = 0.1, 0.2, 0.3
    dynamics = ArmDynamics(chain.with_tool(T), tree, load, tuple(GRAVITY))
    oracle, (Q, Qd, Qdd) = Oracle(urdf, chain, load), motions(chain)
    expected = np.array([oracle.torques(*state) for state in zip(Q, Qd, Qdd)])
    assert np.allclose(dynamics.torques(Q, Qd, Qdd), expected, rtol=1e-9,
                       atol=1e-9 * np.abs(expected).max())
    rest = np.zeros(chain.n)
    assert np.allclose(dynamics.holding_torques(Q), [oracle.torques(q, rest, rest) for q in Q],
                       atol=1e-9 * np.abs(expected).max())
    assert dynamics.link_mass > 1.0


@pytest.mark.parametrize('name', ['six_axis_arm', 'slider'])
def test_power_is_the_rate_of_energy(name):
    """What the joints do in a short time is what the energy of Pinocchio's model gains."""
    urdf, tree, chain = case(name)
    dynamics, oracle = ArmDynamics(chain, tree, LOAD, tuple(GRAVITY)), Oracle(urdf, chain, LOAD)
    step = 1e-5
    for q, qd, qdd in zip(*motions(chain, 5)):
        gain = [oracle.energy(q + t * qd + 0.5 * t * t * qdd, qd + t * qdd) for t in (-step, step)]
        power = float(dynamics.torques(q[None], qd[None], qdd[None])[0] @ qd)
        assert power == pytest.approx((gain[1] - gain[0]) / (2 * step), rel=1e-5, abs=1e-3)


def test_a_mimic_joint():
    """Its torque counts for the joint that it follows: both turn one rod each, by lever arms."""
    text = SLIDER.replace('<limit lower="0" upper="0.5" effort="20" velocity="1"/></joint>',
                          '<limit lower="0" upper="0.5" effort="20" velocity="1"/>'
                          '<mimic joint="rail" multiplier="0.5" offset="0.1"/></joint>')
    tree = parse_urdf(text)
    chain, free = make_chain(tree, 'foot', 'rod'), slider()
    assert chain.joint_names == ('rail', 'turn')
    Q, Qd, Qdd = motions(chain, 5)

    def spread(values, offset=0.0):
        return np.column_stack([values, 0.5 * values[:, 0] + offset])

    both = ArmDynamics(free[1], free[0]).torques(spread(Q, 0.1), spread(Qd), spread(Qdd))
    expected = both[:, :2] + np.column_stack([0.5 * both[:, 2], 0.0 * both[:, 2]])
    assert np.allclose(ArmDynamics(chain, tree).torques(Q, Qd, Qdd), expected, atol=1e-9)


def test_rods_beside_the_arm_that_follow_its_joints():
    """What they need is added, by their speed ratios, to the joints that they follow."""
    tree = parse_urdf(PALLETISER)
    chain, model = make_chain(tree, 'base', 'tool'), pin.buildModelFromXML(PALLETISER)
    model.gravity.linear, data = GRAVITY, model.createData()
    names = [*model.names[1:]]

    def all_joints(q):
        at = dict(zip(chain.joint_names, q)) | following(q)
        return np.array([at[name] for name in names])

    offset = all_joints(np.zeros(3))
    G = np.column_stack([all_joints(e) - offset for e in np.eye(3)])
    states = motions(chain)
    expected = [G.T @ pin.rnea(model, data, all_joints(q), G @ qd, G @ qdd)
                for q, qd, qdd in zip(*states)]
    dynamics = ArmDynamics(chain, tree, gravity=tuple(GRAVITY))
    assert np.allclose(dynamics.torques(*states), expected, atol=1e-9)
    assert dynamics.link_mass == pytest.approx(18.0)


def test_two_bodies_are_one():
    """Sums, and other frames, as by Pinocchio."""
    other = Inertia(1.5, np.array([-0.2, 0.1, 0.0]), np.diag([0.01, 0.02, 0.025]))
    T = pin.SE3(pin.rpy.rpyToMatrix(0.3, -0.4, 0.5), np.array([0.1, 0.2, -0.3]))
    expected = pin.Inertia(LOAD.mass, LOAD.centre, LOAD.moments) \
        + T.act(pin.Inertia(other.mass, other.centre, other.moments))
    found = LOAD + other.moved(T.homogeneous)
    assert found.mass == expected.mass and np.allclose(found.centre, expected.lever)
    assert np.allclose(found.moments, expected.inertia)
    nothing = point_mass(0.0, np.zeros(3))
    assert (nothing + nothing).mass == 0.0 and (nothing + LOAD).mass == LOAD.mass


def test_inertias_of_the_urdf():
    """Those of Pinocchio in the frames of the links."""
    found = link_inertias(parse_urdf(SLIDER))
    assert {*found} == {'car', 'arm', 'rod'}
    model = pin.buildModelFromXML(SLIDER)
    for joint, link in (('rail', 'car'), ('turn', 'arm'), ('reach', 'rod')):
        expected = model.inertias[model.getJointId(joint)]
        # Pinocchio's joint frame of an oblique axis is that of the link, too.
        assert found[link].mass == expected.mass
        assert np.allclose(found[link].centre, expected.lever, atol=1e-12)
        assert np.allclose(found[link].moments, expected.inertia, atol=1e-12)


@pytest.mark.parametrize(('old', 'new', 'words'), [
    ('mass value="3"', 'mass value="-3"', "of the link 'car' has the mass -3 kg"),
    ('mass value="3"', 'mass value="heavy"',
     "of the link 'car' is not usable: value needs 1 finite number, got 'heavy'"),
    ('mass value="3"', 'mass value="nan"', "value needs 1 finite number, got 'nan'$"),
    ('ixx="0.1"', 'ixx="-0.1"', 'none may be negative'),
    ('xyz="0.1 0.2 0.3"', 'xyz="0.1 0.2"', "xyz needs 3 finite numbers, got '0.1 0.2'")])
def test_inertias_that_cannot_be(old, new, words):
    """One sentence names the link and the value; a URDF is read all the same."""
    assert old in SLIDER
    tree = parse_urdf(SLIDER.replace(old, new))
    with pytest.raises(UrdfError, match=words):
        link_inertias(tree)
    assert not re.search('\n', words)


def test_masses_whose_place_is_unknown():
    """What hangs on a joint with a fault is not left out without a word."""
    tree = parse_urdf(SLIDER.replace('name="reach" type="', 'name="reach" type="un'))
    chain = make_chain(tree, tree.root, 'arm')
    with pytest.raises(UrdfError, match='reach.*mass of the link .rod. is.*not known'):
        ArmDynamics(chain, tree)
