# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Robotics Toolbox for Python: its Levenberg-Marquardt solver in C++."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from roboticstoolbox import ET, ETS

from benchmarks.ik.model import Model
from benchmarks.ik.peers.base import MIDDLE, Peer, POSE, POSITION, TOLERANCE


class RtbDefault(Peer):
    """
    ``ETS.ik_LM`` as it is, but for the tolerance.

    The solver stops at E = e'e / 2 < tol with metres and radians in one vector;
    tol = 1e-6^2 / 2 is the loosest that keeps both below 1e-6.
    """

    name = 'RTB ik_LM'
    package = 'roboticstoolbox-python'
    call = 'ETS.ik_LM(T, q0=q, tol=5e-13), method chan, k = 1'
    tasks = (POSE, POSITION, MIDDLE)
    options: dict[str, float] = {}

    def __init__(self, model: Model, task: str) -> None:
        super().__init__(model, task)
        parts, T = [], np.eye(4)
        for k in range(model.n):
            turn = np.eye(4)
            turn[:3, :3] = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]),
                                                         model.axes[k]).matrix()
            # Constant transforms are merged: fewer products for the solver.
            parts += [ET.SE3(T @ model.frames[k] @ turn),
                      ET.Rz(qlim=[model.lower[k], model.upper[k]])]
            T = turn.T
        self.ets = ETS(parts + [ET.SE3(T @ model.frames[-1])])
        self.keywords = {'tol': 0.5 * TOLERANCE**2, **self.options}
        if task == POSITION:
            self.keywords['mask'] = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])

    def fk(self, q: np.ndarray) -> np.ndarray:
        """See :meth:`Peer.fk`."""
        return np.asarray(self.ets.fkine(q))

    def solve(self, T: np.ndarray, seed: np.ndarray) -> object:
        """See :meth:`Peer.solve`."""
        return self.ets.ik_LM(T, q0=seed, **self.keywords)

    def answers(self, returned: object) -> list[np.ndarray]:
        """See :meth:`Peer.answers`."""
        return [returned.q] if returned.success else []


class RtbTuned(RtbDefault):
    """The same with the damping gain and the length of a search that are fastest here."""

    name = 'RTB ik_LM tuned'
    call = 'ETS.ik_LM(T, q0=q, tol=5e-13, k=0.1, ilimit=15)'
    options = {'k': 0.1, 'ilimit': 15}


PEERS = (RtbTuned, RtbDefault)
