# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
One arm as every solver gets it, and Pinocchio's verdict on every answer.

The verdict is computed on the whole robot description as it lies in its
package; the solvers get the chain alone, cut out of it, so that none of them
spends time on other joints or trips over meshes.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin

from benchmarks.arms import Arm

LIMIT_SLACK = 1e-6      # rad, for limits that a solver keeps in single precision
TOLERANCE_SLACK = 1e-9  # m and rad, for the rounding of its forward kinematics


class Model:
    """
    The chain of an arm.

    Attributes
    ----------
    names : tuple of str
        Joints from base to tip, the order of every q.
    lower, upper : (n,) array
        Limits (rad); one turn about 0 for continuous joints.
    continuous : (n,) array of bool
        Joints without limits.
    frames : (n + 1, 4, 4) array
        Each joint frame in the one before it at q = 0, then the tip in the last.
    axes : (n, 3) array
        Joint axes in their joint frames.
    urdf : Path
        File with the chain alone; its continuous joints are written with the
        limits above in `windowed_urdf`.

    """

    def __init__(self, arm: Arm, folder: Path) -> None:
        self.arm = arm
        self.name, self.base, self.tip = arm.name, arm.base, arm.tip
        self.whole = arm.path.read_bytes().decode()
        elements = _joints_between(self.whole, arm.base, arm.tip)
        moving = [e for e in elements if e.get('type') != 'fixed']
        self.names = tuple(e.get('name') for e in moving)
        self.n = len(moving)
        self.continuous = np.array([e.get('type') == 'continuous' for e in moving])
        limits = [(-np.pi, np.pi) if e.get('type') == 'continuous' else
                  (float(e.find('limit').get('lower')), float(e.find('limit').get('upper')))
                  for e in moving]
        self.lower, self.upper = np.array(limits).T.copy()
        self.urdf, self.windowed_urdf = folder / f'{arm.name}.urdf', \
            folder / f'{arm.name}_windowed.urdf'
        folder.mkdir(parents=True, exist_ok=True)
        self.urdf.write_text(_chain_text(arm, elements))
        for e in moving:
            if e.get('type') == 'continuous':
                e.set('type', 'revolute')
                limit = e.find('limit')
                if limit is None:
                    limit = ElementTree.SubElement(e, 'limit', effort='1', velocity='1')
                limit.set('lower', repr(-np.pi))
                limit.set('upper', repr(np.pi))
        self.windowed_urdf.write_text(_chain_text(arm, elements))
        self._reduce()

    def _reduce(self) -> None:
        """Build Pinocchio's model of the whole robot with every other joint locked."""
        whole = pin.buildModelFromXML(self.whole)
        others = [k for k in range(1, whole.njoints) if whole.names[k] not in self.names]
        self._pin = pin.buildReducedModel(whole, others, pin.neutral(whole))
        self._data = self._pin.createData()
        if tuple(self._pin.names)[1:] != self.names:
            raise ValueError(f'{self.name}: Pinocchio orders the joints differently')
        pin.framesForwardKinematics(self._pin, self._data, pin.neutral(self._pin))
        self._tip_frame = self._pin.getFrameId(self.tip, pin.FrameType.BODY)
        base = self._data.oMf[self._pin.getFrameId(self.base, pin.FrameType.BODY)]
        self._base_inverse = base.inverse().homogeneous.copy()
        frames = [placement.homogeneous for placement in self._pin.jointPlacements[1:]]
        frames[0] = self._base_inverse @ frames[0]
        frames.append(self._pin.frames[self._tip_frame].placement.homogeneous)
        self.frames = np.array(frames)
        self.axes = np.array([np.asarray(joint.createData().S).ravel()[3:]
                              for joint in list(self._pin.joints)[1:]])

    def fk(self, q: np.ndarray) -> np.ndarray:
        """Return the pose of the tip in the base link by Pinocchio, (4, 4)."""
        self._place(q)
        return self._base_inverse @ self._data.oMf[self._tip_frame].homogeneous

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """Return the Jacobian of the tip in its own axes by Pinocchio, (6, n)."""
        return pin.computeFrameJacobian(self._pin, self._data, self._configuration(q),
                                        self._tip_frame, pin.LOCAL)

    def deviation(self, q: np.ndarray, T: np.ndarray) -> np.ndarray:
        """Return the motion (6,) in the tip's own axes that takes it to a pose (m, rad)."""
        return pin.log6(pin.SE3(self.fk(q)).actInv(pin.SE3(T))).vector

    def errors(self, q: np.ndarray, T: np.ndarray) -> tuple[float, float]:
        """Return the distance (m) and the angle (rad) between the tip at `q` and a pose."""
        D = self.fk(q)
        turn = pin.log3(T[:3, :3].T @ D[:3, :3])
        return float(np.linalg.norm(D[:3, 3] - T[:3, 3])), float(np.linalg.norm(turn))

    def inside(self, q: np.ndarray) -> bool:
        """Return whether every joint that has limits is within them."""
        return bool(np.all(self.continuous | ((q >= self.lower - LIMIT_SLACK)
                                              & (q <= self.upper + LIMIT_SLACK))))

    def right(self, q: np.ndarray, T: np.ndarray, tolerance: float,
              position_only: bool = False) -> bool:
        """Return whether `q` is finite, inside the limits and at the goal within tolerance."""
        if q.shape != (self.n,) or not np.isfinite(q).all() or not self.inside(q):
            return False
        position, angle = self.errors(q, T)
        most = tolerance + TOLERANCE_SLACK
        return position <= most and (position_only or angle <= most)

    def wrap(self, q: np.ndarray) -> np.ndarray:
        """Return `q` with whole turns taken off where that brings it inside the limits."""
        low = q - 2.0 * np.pi * np.floor((q - self.lower + LIMIT_SLACK) / (2.0 * np.pi))
        return np.where((q >= self.lower) & (q <= self.upper), q, low)

    def nearest_turns(self, q: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Return `q` with each joint on the turn nearest to `reference` that its limits allow."""
        near = q - 2.0 * np.pi * np.round((q - reference) / (2.0 * np.pi))
        return np.where((near >= self.lower) & (near <= self.upper), near, self.wrap(q))

    def distance(self, a: np.ndarray, b: np.ndarray) -> float:
        """Return the largest difference of a joint (rad), the short way if continuous."""
        d = np.abs(a - b)
        return float(np.where(self.continuous, np.abs((d + np.pi) % (2.0 * np.pi) - np.pi),
                              d).max())

    @cached_property
    def reach(self) -> float:
        """Return an upper bound (m) on the distance of the tip from the first joint."""
        return float(np.linalg.norm(self.frames[1:, :3, 3], axis=1).sum())

    def _configuration(self, q: np.ndarray) -> np.ndarray:
        numbers = []
        for joint, value in zip(list(self._pin.joints)[1:], q):
            numbers += [np.cos(value), np.sin(value)] if joint.nq == 2 else [value]
        return np.array(numbers)

    def _place(self, q: np.ndarray) -> None:
        pin.framesForwardKinematics(self._pin, self._data, self._configuration(q))


def _joints_between(text: str, base: str, tip: str) -> list[ElementTree.Element]:
    """Return the joint elements from base to tip."""
    above = {joint.find('child').get('link'): joint
             for joint in ElementTree.fromstring(text.encode()).findall('joint')}
    path, link = [], tip
    while link != base:
        path.insert(0, above[link])
        link = above[link].find('parent').get('link')
    return path


def _chain_text(arm: Arm, joints: list[ElementTree.Element]) -> str:
    """Write the URDF of a chain: its joints as they are, bare links with a little mass."""
    root = ElementTree.Element('robot', name=arm.name)
    for name in [arm.base] + [e.find('child').get('link') for e in joints]:
        inertial = ElementTree.SubElement(ElementTree.SubElement(root, 'link', name=name),
                                          'inertial')
        ElementTree.SubElement(inertial, 'mass', value='1')
        ElementTree.SubElement(inertial, 'inertia', ixx='0.01', ixy='0', ixz='0', iyy='0.01',
                               iyz='0', izz='0.01')
    for joint in joints:
        copy = ElementTree.SubElement(root, 'joint', joint.attrib)
        tags = ['origin', 'parent', 'child']
        if joint.get('type') != 'fixed':
            tags += ['axis', 'limit']
        copy.extend(e for e in joint if e.tag in tags)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding='unicode')
