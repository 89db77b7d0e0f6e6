# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""TRAC-IK through the wheel pytracik."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytracik

from benchmarks.ik.model import Model
from benchmarks.ik.peers.base import MIDDLE, Peer, POSE, TOLERANCE

TIMEOUT = 0.005  # s, its default


class TracIk(Peer):
    """
    Mode Speed.  Its tolerance holds per component, hence the division by sqrt(3).

    It runs KDL and SQP in two threads; here both share the one core.  The class
    ``trac_ik.TracIK`` of the same wheel fails with numpy 2, and finds a
    quaternion by an eigenvalue problem: the function below it is called.
    """

    name = 'TRAC-IK'
    package = 'pytracik'
    call = 'pytracik.ik(solver, q, x, y, z, qx, qy, qz, qw), Speed, 5 ms'
    tasks = (POSE, MIDDLE)

    def __init__(self, model: Model, task: str) -> None:
        super().__init__(model, task)
        self.solver = pytracik.TRAC_IK(model.base, model.tip, model.urdf.read_text(), TIMEOUT,
                                       TOLERANCE / np.sqrt(3.0), pytracik.SolveType.Speed)

    def fk(self, q: np.ndarray) -> np.ndarray:
        """See :meth:`Peer.fk`."""
        return np.asarray(pytracik.fk(self.solver, q))

    def inputs(self, T: np.ndarray, seed: np.ndarray) -> tuple:
        """See :meth:`Peer.inputs`."""
        return seed, *map(float, T[:3, 3]), *map(float, pin.Quaternion(T[:3, :3]).coeffs())

    def solve(self, *inputs: object) -> np.ndarray:
        """See :meth:`Peer.solve`."""
        return pytracik.ik(self.solver, *inputs)

    def answers(self, returned: object) -> list[np.ndarray]:
        """See :meth:`Peer.answers`."""
        return [returned[1:]] if returned[0] >= 0 else []


PEERS = (TracIk,)
