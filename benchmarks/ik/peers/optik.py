# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""OptIK: SLSQP in Rust with random restarts."""

from __future__ import annotations

import numpy as np
import optik

from benchmarks.ik.model import Model
from benchmarks.ik.peers.base import MIDDLE, Peer, POSE, POSITION, TOLERANCE


class OptIk(Peer):
    """Mode speed on one thread; its objective is a sum of squares."""

    name = 'OptIK'
    package = 'optik-py'
    call = 'Robot.ik(config, T, q), speed, parallelism 1'
    tasks = (POSE, POSITION, MIDDLE)

    def __init__(self, model: Model, task: str) -> None:
        super().__init__(model, task)
        self.robot = optik.Robot.from_urdf_file(str(model.windowed_urdf), model.base, model.tip)
        self.robot.set_parallelism(1)
        options = {'angular_weight': [0.0, 0.0, 0.0]} if task == POSITION else {}
        self.config = optik.SolverConfig(solution_mode='speed', max_time=0.1, max_restarts=1000,
                                         tol_f=TOLERANCE**2, **options)

    def fk(self, q: np.ndarray) -> np.ndarray:
        """See :meth:`Peer.fk`."""
        return np.array(self.robot.fk(q))

    def solve(self, T: np.ndarray, seed: np.ndarray) -> object:
        """See :meth:`Peer.solve`."""
        return self.robot.ik(self.config, T, seed)

    def answers(self, returned: object) -> list[np.ndarray]:
        """See :meth:`Peer.answers`."""
        return [] if returned is None else [np.array(returned[0])]


PEERS = (OptIk,)
