# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Pinocchio has no solver; its documentation shows this loop."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from benchmarks.ik.model import Model
from benchmarks.ik.peers.base import Peer, POSE, POSITION, random_starts, TOLERANCE

STEPS = 20
DAMPING, DAMPING_FLOOR = 0.01, 1e-12  # lambda^2 = DAMPING |e|^2 + DAMPING_FLOOR


class Clik(Peer):
    """
    The closed loop of Pinocchio's example, written for speed.

    Against the example: full steps, damping that vanishes with the error,
    joints clipped to their limits, and a restart after 20 steps; each of them
    makes it faster or surer.
    """

    name = 'Pinocchio CLIK'
    package = 'pin'
    call = 'a Python loop of forwardKinematics, log6, computeJointJacobian, Jlog6, solve'
    tasks = (POSE, POSITION)

    def __init__(self, model: Model, task: str) -> None:
        super().__init__(model, task)
        self.pin = pin.buildModelFromUrdf(str(model.windowed_urdf))
        self.data = self.pin.createData()
        self.tip = self.pin.getFrameId(model.tip)
        self.joint = self.pin.njoints - 1
        self.joint_to_tip = self.pin.frames[self.tip].placement
        self.lower = np.where(model.continuous, -np.inf, model.lower)
        self.upper = np.where(model.continuous, np.inf, model.upper)
        self.starts = random_starts(model)
        self.solve = self._position if task == POSITION else self._pose

    def fk(self, q: np.ndarray) -> np.ndarray:
        """See :meth:`Peer.fk`."""
        pin.framesForwardKinematics(self.pin, self.data, q)
        return self.data.oMf[self.tip].homogeneous.copy()

    def inputs(self, T: np.ndarray, seed: np.ndarray) -> tuple:
        """See :meth:`Peer.inputs`."""
        if self.task == POSITION:
            return T[:3, 3].copy(), seed
        return pin.SE3(T) * self.joint_to_tip.inverse(), seed

    def _pose(self, goal: pin.SE3, q: np.ndarray) -> np.ndarray | None:
        model, data, joint = self.pin, self.data, self.joint
        # The error is measured at the last joint; the tip moves by its offset more.
        enough = (0.5 * TOLERANCE)**2
        for start in self.starts:
            for _ in range(STEPS):
                pin.forwardKinematics(model, data, q)
                error = data.oMi[joint].actInv(goal)
                e = pin.log6(error).vector
                square = e @ e
                if square < enough:
                    return q
                J = -pin.Jlog6(error.inverse()) @ pin.computeJointJacobian(model, data, q, joint)
                q = self._step(q, J, e, square, 6)
            q = start
        return None

    def _position(self, goal: np.ndarray, q: np.ndarray) -> np.ndarray | None:
        model, data, tip = self.pin, self.data, self.tip
        for start in self.starts:
            for _ in range(STEPS):
                pin.forwardKinematics(model, data, q)
                pin.updateFramePlacement(model, data, tip)
                e = data.oMf[tip].actInv(goal)
                square = e @ e
                if square < TOLERANCE**2:
                    return q
                J = pin.computeFrameJacobian(model, data, q, tip, pin.LOCAL)[:3]
                q = self._step(q, -J, e, square, 3)
            q = start
        return None

    def _step(self, q: np.ndarray, J: np.ndarray, e: np.ndarray, square: float,
              rows: int) -> np.ndarray:
        A = J @ J.T
        A.flat[::rows + 1] += DAMPING * square + DAMPING_FLOOR
        return np.clip(q - J.T @ np.linalg.solve(A, e), self.lower, self.upper)

    def answers(self, returned: object) -> list[np.ndarray]:
        """See :meth:`Peer.answers`."""
        return [] if returned is None else [returned]


PEERS = (Clik,)
