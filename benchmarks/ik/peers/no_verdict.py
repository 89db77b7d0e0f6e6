# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Solvers that return joint positions and no word on whether they are right."""

from __future__ import annotations

import ikpy.chain
import numpy as np
import pinocchio as pin
import pybullet

from benchmarks.ik.model import Model
from benchmarks.ik.peers.base import Peer, POSE, POSITION, TOLERANCE

STEPS = 1000


class PyBullet(Peer):
    """
    PyBullet: damped least squares.

    Its variant with limits treats them as an aim in the null space; it keeps
    no limit either and ends farther from the goal, so the plain one is taken.
    """

    name = 'PyBullet'
    package = 'pybullet'
    kind = 'no verdict'
    call = 'resetJointState, calculateInverseKinematics(1000 steps, threshold 1e-6)'
    tasks = (POSE, POSITION)
    slow = True
    client: int | None = None  # one for all: 28 MB each

    def __init__(self, model: Model, task: str) -> None:
        super().__init__(model, task)
        if PyBullet.client is None:
            PyBullet.client = pybullet.connect(pybullet.DIRECT)
        self.body = pybullet.loadURDF(str(model.urdf), useFixedBase=True,
                                      physicsClientId=self.client)
        infos = [pybullet.getJointInfo(self.body, k, physicsClientId=self.client)
                 for k in range(pybullet.getNumJoints(self.body, physicsClientId=self.client))]
        self.joints = [info[0] for info in infos if info[2] != pybullet.JOINT_FIXED]
        self.tip = next(info[0] for info in infos if info[12].decode() == model.tip)
        self.options = {'maxNumIterations': STEPS, 'residualThreshold': TOLERANCE,
                        'physicsClientId': self.client}

    def fk(self, q: np.ndarray) -> np.ndarray:
        """See :meth:`Peer.fk`."""
        self._place(q)
        state = pybullet.getLinkState(self.body, self.tip, computeForwardKinematics=True,
                                      physicsClientId=self.client)
        return pin.XYZQUATToSE3(np.array(state[4] + state[5])).homogeneous

    def _place(self, q: np.ndarray) -> None:
        for joint, value in zip(self.joints, q):
            pybullet.resetJointState(self.body, joint, value, physicsClientId=self.client)

    def inputs(self, T: np.ndarray, seed: np.ndarray) -> tuple:
        """See :meth:`Peer.inputs`."""
        turn = () if self.task == POSITION \
            else (pin.Quaternion(T[:3, :3]).coeffs().tolist(),)
        return seed.tolist(), T[:3, 3].tolist(), *turn

    def solve(self, seed: list, *goal: list) -> object:
        """See :meth:`Peer.solve`."""
        self._place(seed)
        return pybullet.calculateInverseKinematics(self.body, self.tip, *goal, **self.options)

    def answers(self, returned: object) -> list[np.ndarray]:
        """See :meth:`Peer.answers`."""
        return [np.array(returned)]


class IkPy(Peer):
    """ikpy: a bounded least-squares fit by scipy, in Python."""

    name = 'ikpy'
    package = 'ikpy'
    kind = 'no verdict'
    call = "Chain.inverse_kinematics_frame(T, initial_position=q, orientation_mode='all')"
    tasks = (POSE, POSITION)
    slow = True

    def __init__(self, model: Model, task: str) -> None:
        super().__init__(model, task)
        self.chain = ikpy.chain.Chain.from_urdf_file(str(model.windowed_urdf),
                                                     base_elements=[model.base])
        self.active = [k for k, link in enumerate(self.chain.links) if link.joint_type not in
                       ('fixed', None) and link.name in model.names]
        self.chain.active_links_mask = np.isin(np.arange(len(self.chain.links)), self.active)
        self.mode = None if task == POSITION else 'all'

    def _all(self, q: np.ndarray) -> np.ndarray:
        values = np.zeros(len(self.chain.links))
        values[self.active] = q
        return values

    def fk(self, q: np.ndarray) -> np.ndarray:
        """See :meth:`Peer.fk`."""
        return self.chain.forward_kinematics(self._all(q))

    def inputs(self, T: np.ndarray, seed: np.ndarray) -> tuple:
        """See :meth:`Peer.inputs`."""
        return T, self._all(seed)

    def solve(self, T: np.ndarray, seed: np.ndarray) -> np.ndarray:
        """See :meth:`Peer.solve`."""
        return self.chain.inverse_kinematics_frame(T, initial_position=seed,
                                                   orientation_mode=self.mode)

    def answers(self, returned: object) -> list[np.ndarray]:
        """See :meth:`Peer.answers`."""
        return [returned[self.active]]


PEERS = (PyBullet, IkPy)
