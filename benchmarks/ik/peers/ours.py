# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""ik_node itself."""

from __future__ import annotations

import numpy as np

from benchmarks.ik.model import Model
from benchmarks.ik.peers.base import (
    ALL,
    BATCH,
    MIDDLE,
    Peer,
    POSE,
    POSITION,
    Refused,
    TOLERANCE,
)
from benchmarks.ik.ratios import OURS, OURS_NUMERICAL
import ik_node


class IkNode(Peer):
    """The compiled solver through its public call."""

    name = OURS
    kind = 'closed form, else numerical'
    call = 'Solver.solve(T, seed=q)'
    tasks = (POSE, POSITION, MIDDLE, ALL, BATCH)
    closed_form = True

    def __init__(self, model: Model, task: str) -> None:
        super().__init__(model, task)
        self.arm = ik_node.load_urdf(model.urdf, model.base, model.tip)
        gain = 1.0 if task == MIDDLE else 0.0
        self.solver = ik_node.Solver(self.arm, position_tolerance=TOLERANCE,
                                     orientation_tolerance=TOLERANCE, gains=(gain,),
                                     closed_form=self.closed_form)

    @classmethod
    def version(cls) -> str:
        """Return that this is the tree itself."""
        return 'this tree'

    def fk(self, q: np.ndarray) -> np.ndarray:
        """See :meth:`Peer.fk`."""
        return self.arm.fk(q)

    def inputs(self, T: np.ndarray, seed: np.ndarray) -> tuple:
        """See :meth:`Peer.inputs`."""
        return (ik_node.Goal.position(T[:3, 3]) if self.task == POSITION else T), seed

    def solve(self, goal: object, seed: np.ndarray) -> object:
        """See :meth:`Peer.solve`."""
        if self.task == ALL:
            return self.solver.solve_all(goal)
        if self.task == BATCH:
            return self.solver.solve_batch(goal, seeds=seed)
        return self.solver.solve(goal, seed=seed)

    def answers(self, returned: object) -> list[np.ndarray]:
        """See :meth:`Peer.answers`."""
        if self.task == ALL:
            return [result.q for result in returned]
        if self.task == BATCH:
            return [[q] if good else [] for q, good in zip(returned.q, returned.success)]
        return [returned.q] if returned.success else []


class IkNodeNumerical(IkNode):
    """The same without closed forms, on the arms that have one."""

    name = OURS_NUMERICAL
    kind = 'numerical'
    call = 'Solver.solve(T, seed=q), closed_form=False'
    tasks = (POSE, BATCH)
    closed_form = False

    def __init__(self, model: Model, task: str) -> None:
        super().__init__(model, task)
        if not ik_node.Solver(self.arm).closed:
            raise Refused('this arm has no closed form')


PEERS = (IkNode, IkNodeNumerical)
