# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The real arms that the tests run on, and Pinocchio's second opinion about them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import cos, sin
from pathlib import Path
import sysconfig
from typing import NamedTuple

import numpy as np
import pinocchio as pin
import pytest

from ik_node.model.chain import Chain, make_chain
from ik_node.model.description.urdf import parse_urdf, Tree

# The PyPI package example-robot-data.
REAL = Path(sysconfig.get_path('purelib')) / 'cmeel.prefix/share/example-robot-data/robots'
OWN = Path(__file__).parents[1] / 'urdf'


@dataclass(frozen=True)
class Arm:
    """One URDF, the links to name (empty: found), and the links that are expected."""

    path: Path
    base: str = ''
    tip: str = ''
    expected_base: str = 'base_link'
    expected_tip: str = 'tool0'
    n: int = 6


UR = REAL / 'ur_description/urdf'
ARMS = {
    'ur3': Arm(UR / 'ur3_robot.urdf'),
    'ur5': Arm(UR / 'ur5_robot.urdf'),
    'ur10': Arm(UR / 'ur10_robot.urdf'),
    'ur3_limited': Arm(UR / 'ur3_joint_limited_robot.urdf'),
    'ur5_limited': Arm(UR / 'ur5_joint_limited_robot.urdf'),
    'ur10_limited': Arm(UR / 'ur10_joint_limited_robot.urdf'),
    'ur5_gripper': Arm(UR / 'ur5_gripper.urdf'),
    'panda': Arm(REAL / 'panda_description/urdf/panda.urdf', expected_base='panda_link0',
                 expected_tip='panda_hand_tcp', n=7),
    'xarm7': Arm(REAL / 'xarm_description/urdf/xarm7.urdf', expected_base='link_base',
                 expected_tip='link7', n=7),
    'z1': Arm(REAL / 'z1_description/urdf/z1.urdf', expected_base='link00',
              expected_tip='link06'),
    'kinova': Arm(REAL / 'kinova_description/robots/kinova.urdf', expected_base='base',
                  expected_tip='j2s6s200_end_effector'),
    'pr2': Arm(REAL / 'pr2_description/urdf/pr2.urdf', 'torso_lift_link', 'r_wrist_roll_link',
               'torso_lift_link', 'r_wrist_roll_link', 7),
    'baxter': Arm(REAL / 'baxter_description/urdf/baxter.urdf', 'torso', 'right_gripper',
                  'torso', 'right_gripper', 7),
    'six_axis_arm': Arm(OWN / 'six_axis_arm.urdf'),
    'parallel_axes_arm': Arm(OWN / 'parallel_axes_arm.urdf'),
}
# Those of `make test`: three parallel axes, no closed form, a curved wrist with joints that turn
# without end, seven axes of two kinds, a spherical wrist.  All others in `make nightly`.
DAILY = 'ur5', 'z1', 'kinova', 'panda', 'pr2', 'six_axis_arm'
# A palletizer: the tool has no roll and no yaw of its own.
FOUR_AXES = '<robot name="four_axes"><link name="foot"/>' + ''.join(
    f'<link name="{child}"/><joint name="{name}" type="revolute"><parent link="{parent}"/>'
    f'<child link="{child}"/><origin xyz="{xyz}"/><axis xyz="{axis}"/>'
    f'<limit lower="{lower}" upper="{upper}" velocity="2" effort="50"/></joint>'
    for name, parent, child, xyz, axis, lower, upper in (
        ('waist', 'foot', 'body', '0 0 0.2', '0 0 1', -2.8, 2.8),
        ('shoulder', 'body', 'upper_arm', '0 0 0.1', '0 1 0', -1.5, 1.9),
        ('elbow', 'upper_arm', 'forearm', '0 0 0.4', '0 1 0', -0.3, 2.5),
        ('wrist', 'forearm', 'hand', '0.4 0 0', '0 1 0', -2.0, 2.0))) + (
    '<link name="grip"/><joint name="grip_mount" type="fixed"><parent link="hand"/>'
    '<child link="grip"/><origin xyz="0.1 0 0"/></joint></robot>')


# Three slides with a plate of 10 cm; a box stands amid their ranges, so that they are free only
# around it.
GANTRY = '''<robot name="gantry"><link name="base_link"><collision><origin xyz="0 0 0.5"/>
  <geometry><box size="{}"/></geometry></collision></link><link name="x"/><link name="y"/>
  <link name="z"><collision><geometry><box size="0.1 0.1 0.04"/></geometry></collision></link>
  <link name="tool0"/>''' + ''.join(
    f'''<joint name="joint_{name}" type="prismatic"><parent link="{parent}"/><child link="{name}"/>
    <origin xyz="{at}"/><axis xyz="{axis}"/>
    <limit lower="-{end}" upper="{end}" effort="100" velocity="0.5"/></joint>'''
    for name, parent, at, axis, end in (
        ('x', 'base_link', '0 0 0', '1 0 0', 0.4), ('y', 'x', '0 0 0', '0 1 0', 0.3),
        ('z', 'y', '0 0 0.5', '0 0 1', 0.5))) + '''<joint name="flange" type="fixed">
  <parent link="z"/><child link="tool0"/></joint></robot>'''


def cases(names: Iterable[str] = ARMS, *others: object) -> list:
    """Return arms as cases of a parametrised test, those that are not DAILY as nightly ones."""
    return [pytest.param(name, *others, marks=() if name in DAILY else pytest.mark.nightly)
            for name in names]


@lru_cache(maxsize=None)
def text(name: str) -> bytes:
    """Return the URDF of an arm as it lies on the disk."""
    return ARMS[name].path.read_bytes()


@lru_cache(maxsize=None)
def tree(name: str) -> Tree:
    """Return the checked tree of an arm."""
    return parse_urdf(text(name))


@lru_cache(maxsize=None)
def chain(name: str) -> Chain:
    """Return the chain of an arm."""
    return make_chain(tree(name), ARMS[name].base, ARMS[name].tip)


@lru_cache(maxsize=None)
def reference(name: str) -> Reference:
    """Return Pinocchio's model of an arm."""
    return Reference(text(name).decode())


class JointPlace(NamedTuple):
    """Where a joint is in Pinocchio's vectors: first in q, how many in q, and in the velocity."""

    first: int
    count: int
    velocity: int


class Reference:
    """
    Pinocchio's kinematics of a URDF, asked by joint and link names.

    It knows nothing of mimic joints: each joint gets the position it is given.
    """

    def __init__(self, urdf: str) -> None:
        self.model = pin.buildModelFromXML(urdf)
        self.data = self.model.createData()
        self._neutral = pin.neutral(self.model)
        self._joints: dict[str, JointPlace] = {}
        self._frames: dict[str, int] = {}

    def configuration(self, positions: dict[str, float]) -> np.ndarray:
        """Return Pinocchio's vector of these positions; of other joints the neutral ones."""
        q = self._neutral.copy()
        for name, value in positions.items():
            if name not in self._joints:
                joint = self.model.joints[self.model.getJointId(name)]
                self._joints[name] = JointPlace(joint.idx_q, joint.nq, joint.idx_v)
            first, count, _ = self._joints[name]
            if count == 2:  # a continuous joint is (cos, sin)
                q[first:first + 2] = cos(value), sin(value)
            else:
                q[first] = value
        return q

    def frame(self, link: str) -> int:
        """Return the number of the frame of a link."""
        if link not in self._frames:
            self._frames[link] = self.model.getFrameId(link, pin.FrameType.BODY)
        return self._frames[link]

    def pose(self, base: str, link: str, positions: dict[str, float]) -> np.ndarray:
        """Return the pose (4, 4) of a link in a base link."""
        return self.poses(base, [link], positions)[link]

    def poses(self, base: str, links: Iterable[str],
              positions: dict[str, float]) -> dict[str, np.ndarray]:
        """Return the poses (4, 4) of links in a base link, by name."""
        pin.forwardKinematics(self.model, self.data, self.configuration(positions))
        T_base_world = pin.updateFramePlacement(self.model, self.data, self.frame(base)).inverse()
        return {link: (T_base_world * pin.updateFramePlacement(
            self.model, self.data, self.frame(link))).homogeneous for link in links}

    def jacobian(self, base: str, link: str, positions: dict[str, float]) -> np.ndarray:
        """Return the Jacobian (6, joints given) of a link in the axes of a base link."""
        q = self.configuration(positions)
        pin.computeJointJacobians(self.model, self.data, q)
        T_world_base = pin.updateFramePlacement(self.model, self.data, self.frame(base))
        full = pin.getFrameJacobian(self.model, self.data, self.frame(link),
                                    pin.LOCAL_WORLD_ALIGNED)
        R_base_world = T_world_base.rotation.T
        columns = [self._joints[name].velocity for name in positions]
        return np.vstack([R_base_world @ full[:3, columns], R_base_world @ full[3:, columns]])


def positions(robot: Chain, q: np.ndarray) -> dict[str, float]:
    """Return the joint positions of a chain by name."""
    return dict(zip(robot.joint_names, map(float, q)))


def tip_pose(name: str, q: np.ndarray) -> np.ndarray:
    """Return the pose (4, 4) of the tip of an arm at joint positions (n,), by Pinocchio."""
    robot = chain(name)
    return reference(name).pose(robot.base_link, robot.tip_link, positions(robot, q))


def random_pose(rng: np.random.Generator, reach: float = 0.4) -> np.ndarray:
    """Return a pose (4, 4) within a box, m, in any orientation."""
    T = np.eye(4)
    T[:3, :3] = pin.exp3(rng.normal(size=3))
    T[:3, 3] = rng.uniform(-reach, reach, 3)
    return T


def random_postures(robot: Chain, count: int, seed: int) -> np.ndarray:
    """Return joint positions inside the limits, one turn for continuous joints, (count, n)."""
    lower = np.where(np.isfinite(robot.lower), robot.lower, -np.pi)
    upper = np.where(np.isfinite(robot.upper), robot.upper, np.pi)
    return np.random.default_rng(seed).uniform(lower, upper, (count, robot.n))


# Prismatic, continuous, mimic of a mimic on the path, skew axes, fixed joints between.
SKEW = """
<robot name="skew">
  <link name="world"/><link name="base"/><link name="a"/><link name="b"/><link name="c"/>
  <link name="d"/><link name="plate"/><link name="e"/><link name="f"/><link name="tip"/>
  <joint name="mount" type="fixed">
    <parent link="world"/><child link="base"/><origin xyz="1 2 3" rpy="0.3 -0.2 0.9"/>
  </joint>
  <joint name="turn" type="continuous">
    <parent link="base"/><child link="a"/><origin xyz="0.1 0 0.2" rpy="0.1 0.2 0.3"/>
    <axis xyz="1 2 -3"/>
  </joint>
  <joint name="slide" type="prismatic">
    <parent link="a"/><child link="b"/><origin xyz="0 0.2 0" rpy="-1.1 0.4 0.2"/>
    <axis xyz="-1 0.5 0.2"/><limit lower="-0.3" upper="0.6" effort="1" velocity="1"/>
  </joint>
  <joint name="bend" type="revolute">
    <parent link="b"/><child link="c"/><origin xyz="0.3 0 0" rpy="0 0 0.7"/>
    <axis xyz="0 0 -1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
  </joint>
  <joint name="echo" type="revolute">
    <parent link="c"/><child link="d"/><origin xyz="0.2 0.1 0"/>
    <axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="1" velocity="1"/>
    <mimic joint="bend" multiplier="-0.7" offset="0.2"/>
  </joint>
  <joint name="screwed" type="fixed">
    <parent link="d"/><child link="plate"/><origin xyz="0 0 0.15" rpy="1.2 -0.4 0.1"/>
  </joint>
  <joint name="echo_of_echo" type="prismatic">
    <parent link="plate"/><child link="e"/><origin xyz="0 0.05 0.1" rpy="0 -0.3 0"/>
    <axis xyz="1 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
    <mimic joint="echo" multiplier="0.1" offset="0.05"/>
  </joint>
  <joint name="roll" type="revolute">
    <parent link="e"/><child link="f"/><origin xyz="0 0 0.2" rpy="0.5 0.5 0.5"/>
    <axis xyz="0.6 0 0.8"/><limit lower="-2" upper="2.5" effort="1" velocity="1"/>
  </joint>
  <joint name="tool" type="fixed">
    <parent link="f"/><child link="tip"/><origin xyz="0.02 0.03 0.1" rpy="0 1.57 0.3"/>
  </joint>
</robot>
"""


def skew_chain() -> Chain:
    """Return the chain of SKEW."""
    return make_chain(parse_urdf(SKEW.encode()), 'base', 'tip')


def skew_positions(q: np.ndarray) -> dict[str, float]:
    """Return the positions of all six joints of the skew arm at its four coordinates."""
    turn, slide, bend, roll = map(float, q)
    echo = -0.7 * bend + 0.2
    return {'turn': turn, 'slide': slide, 'bend': bend, 'echo': echo,
            'echo_of_echo': 0.1 * echo + 0.05, 'roll': roll}
