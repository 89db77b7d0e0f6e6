# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Each arm with its whole tree, and what Pinocchio says about any point of any link."""

from functools import lru_cache

import numpy as np
import pinocchio as pin
import pytest
import robots

from ik_node.kinematics.arm import Arm, load_urdf

# The base is in the middle of the tree, and the joint `tilt` above it mimics a joint below it.
# Beside it: a camera on a joint of its own, a pallet that floats; beyond the tip: two fingers.
BRANCHED = """
<robot name="branched">
  <link name="ground"/><link name="carriage"/><link name="mount"/><link name="base"/>
  <link name="upper"/><link name="rod"/><link name="lower"/><link name="tip"/>
  <link name="finger"/><link name="thumb"/><link name="camera"/><link name="pallet"/>
  <joint name="rail" type="prismatic">
    <parent link="ground"/><child link="carriage"/><origin xyz="0 0 0.4" rpy="0.2 0 -0.4"/>
    <axis xyz="1 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
  </joint>
  <joint name="tilt" type="revolute">
    <parent link="carriage"/><child link="mount"/><origin xyz="0.1 0.2 0" rpy="0 0.5 0"/>
    <axis xyz="0 1 1"/><limit lower="-3" upper="3" effort="1" velocity="1"/>
    <mimic joint="elbow" multiplier="0.5" offset="-0.1"/>
  </joint>
  <joint name="plate" type="fixed">
    <parent link="mount"/><child link="base"/><origin xyz="0 0 0.3" rpy="0.1 0.2 0.3"/>
  </joint>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="0 0.1 0.2" rpy="0.3 0 0"/>
    <axis xyz="1 0 2"/><limit lower="-2" upper="2" effort="1" velocity="1"/>
  </joint>
  <joint name="drive" type="prismatic">
    <parent link="upper"/><child link="rod"/><origin xyz="0.1 0 0.2" rpy="0 0.3 0"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
    <mimic joint="shoulder" multiplier="-0.2" offset="0.05"/>
  </joint>
  <joint name="elbow" type="revolute">
    <parent link="upper"/><child link="lower"/><origin xyz="0.4 0 0" rpy="0 0 0.2"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="1" velocity="1"/>
  </joint>
  <joint name="flange" type="fixed">
    <parent link="lower"/><child link="tip"/><origin xyz="0.3 0 0.1" rpy="0 -0.6 0"/>
  </joint>
  <joint name="grip" type="prismatic">
    <parent link="tip"/><child link="finger"/><origin xyz="0 0 0.1"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="0.1" effort="1" velocity="1"/>
  </joint>
  <joint name="grip_too" type="prismatic">
    <parent link="tip"/><child link="thumb"/><origin xyz="0 0 0.1" rpy="0 0 3"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="0.1" effort="1" velocity="1"/>
    <mimic joint="grip"/>
  </joint>
  <joint name="pan" type="continuous">
    <parent link="ground"/><child link="camera"/><origin xyz="1 0 2" rpy="0 0.7 0"/>
    <axis xyz="0 0 1"/>
  </joint>
  <joint name="loose" type="floating"><parent link="ground"/><child link="pallet"/></joint>
</robot>
"""
NAMES = [*robots.cases(), 'skew', 'branched']


class Subject:
    """
    An arm, a fixed position for every joint that is not in it, and Pinocchio's opinion.

    Pinocchio knows nothing of mimic joints: `follow` takes the rates of the n
    coordinates to those of all joints.
    """

    def __init__(self, arm: Arm, reference: robots.Reference) -> None:
        self.arm = arm
        self.reference = reference
        self.joints = {joint.name: joint for joint in arm.tree.joints
                       if joint.moves and joint.type.value not in ('floating', 'planar')}
        rng = np.random.default_rng(50)
        self.others = {name: rng.uniform(max(joint.lower, -1.0), min(joint.upper, 1.0))
                       for name, joint in self.joints.items()
                       if joint.mimic is None and name not in arm.joint_names}
        zero = np.array(list(self.positions(np.zeros(arm.n)).values()))
        self.follow = np.array([np.array(list(self.positions(unit).values())) - zero
                                for unit in np.eye(arm.n)]).T

    def postures(self, count: int, seed: int) -> np.ndarray:
        """Return random postures (count, n) inside the limits."""
        return robots.random_postures(self.arm, count, seed)

    def positions(self, q: np.ndarray) -> dict[str, float]:
        """Return the position of every joint."""
        known = {**robots.positions(self.arm, q), **self.others}

        def position(joint):
            if joint.mimic is None:
                return known[joint.name]
            return joint.mimic.multiplier * position(self.joints[joint.mimic.joint]) \
                + joint.mimic.offset
        return {name: position(joint) for name, joint in self.joints.items()}

    def pose(self, link: str, q: np.ndarray) -> np.ndarray:
        """Return the pose of a link in the base link."""
        return self.reference.pose(self.arm.base_link, link, self.positions(q))

    def axes(self, frame: str, link: str, q: np.ndarray) -> np.ndarray:
        """Return the directions of the axes of `frame` in the base."""
        return {'base': np.eye(4), 'tool': self.pose(self.arm.tip_link, q),
                'link': self.pose(link, q)}[frame][:3, :3]

    def jacobian(self, q, link, point, frame):
        """Return the Jacobian of a point of a link against the base, which may move too."""
        model, index, data = self._with_point(link, point)
        pin.computeJointJacobians(model, data, self.reference.configuration(self.positions(q)))
        pin.updateFramePlacements(model, data)
        base = model.getFrameId(self.arm.base_link, pin.FrameType.BODY)
        J = pin.getFrameJacobian(model, data, index, pin.LOCAL_WORLD_ALIGNED)
        J_base = pin.getFrameJacobian(model, data, base, pin.LOCAL_WORLD_ALIGNED)
        arm = data.oMf[index].translation - data.oMf[base].translation
        J_base[:3] += np.cross(J_base[3:], arm, axis=0)
        return self._turn(J - J_base, q, self.axes(frame, link, q))

    def jacobian_rate(self, q, qd, link, point):
        """Return the rate of the Jacobian in base and in link axes; the base stands still."""
        model, index, data = self._with_point(link, point)
        v = np.zeros(model.nv)
        v[self._columns()] = self.follow @ qd
        pin.computeJointJacobiansTimeVariation(
            model, data, self.reference.configuration(self.positions(q)), v)
        pin.updateFramePlacements(model, data)
        aligned = pin.getFrameJacobianTimeVariation(model, data, index, pin.LOCAL_WORLD_ALIGNED)
        local = pin.getFrameJacobianTimeVariation(model, data, index, pin.LOCAL)
        return (self._turn(aligned, q, np.eye(3)), local[:, self._columns()] @ self.follow)

    def _with_point(self, link, point):
        model = pin.Model(self.reference.model)
        parent = model.getFrameId(link, pin.FrameType.BODY)
        frame = model.frames[parent]
        placement = frame.placement * pin.SE3(np.eye(3), np.array(point, dtype=float))
        index = model.addFrame(pin.Frame('the point', frame.parentJoint, parent, placement,
                                         pin.FrameType.OP_FRAME))
        return model, index, model.createData()

    def _columns(self):
        model = self.reference.model
        return [model.joints[model.getJointId(name)].idx_v for name in self.joints]

    def _turn(self, J, q, R_base_axes):
        """Take columns in the axes of Pinocchio's world to other axes, given in the base."""
        R_world_base = self.reference.pose(self.arm.tree.root, self.arm.base_link,
                                           self.positions(q))[:3, :3]
        R = R_base_axes.T @ R_world_base.T
        J = J[:, self._columns()] @ self.follow
        return np.vstack([R @ J[:3], R @ J[3:]])


@lru_cache(maxsize=None)
def make_subject(name: str) -> Subject:
    """Return an arm of robots.py, the skew one or the branched one."""
    own = {'skew': robots.SKEW, 'branched': BRANCHED}
    if name in own:
        return Subject(load_urdf(own[name], 'base', 'tip'), robots.Reference(own[name]))
    arm = robots.ARMS[name]
    return Subject(Arm.from_tree(robots.tree(name), arm.base, arm.tip), robots.reference(name))


@pytest.fixture(params=NAMES)
def subject(request):
    """Return one arm after the other."""
    return make_subject(request.param)


@pytest.fixture
def branched():
    """Return the arm in the middle of a tree."""
    return make_subject('branched')


@pytest.fixture
def ur5():
    """Return a six-axis arm."""
    return make_subject('ur5')
