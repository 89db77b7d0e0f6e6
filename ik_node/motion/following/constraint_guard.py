# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Guard of a stream that keeps path constraints, as the collision guard beside it keeps distances.

The rows of the constraints are among what the arm is near to: no rate leads to a bound faster than
it can be braked, so the tip slides along it.  Each piece of motion, and the stop after it, is
proved to stay within; one that is not is not commanded, and the next ones are slower.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ik_node.collision.distances.certificate import NO_SEGMENT
from ik_node.collision.distances.sweeps import NEAR_GAP_M, NearPairs
from ik_node.kinematics.kernels import compiled, copy, jacobian_columns, joint_frames
from ik_node.model.chain import Chain
from ik_node.motion.constrained.constraint import PathConstraint
from ik_node.motion.constrained.proof import first_leaving
from ik_node.motion.constrained.rows import (
    constraint_rows,
    constraint_work,
    write_gradient,
    write_values,
)
from ik_node.motion.following.collision_guard import (
    FASTER_SHARE,
    MIN_PACE,
    plan_proof,
    SLOWER_SHARE,
    write_all_pieces,
)
from ik_node.motion.following.commanded import Segment

SLIDING_INSETS = 4.0        # of those of planned postures, at which the tip slides along a bound
SHORTEST_INTERVAL_S = 1e-3  # of a proof


class ConstraintGuard:
    """
    Checks the decisions of a follower.

    Parameters
    ----------
    chain : Chain
    constraints : sequence of PathConstraint

    """

    def __init__(self, chain: Chain, constraints: Sequence[PathConstraint]) -> None:
        self._table, self._rows = chain.table, constraint_rows(constraints)
        self._work = constraint_work(self._rows, chain.table, chain.n)
        self._proof, self.pace = plan_proof(0, chain.n), 1.0
        self._least = np.full(len(self._rows.kinds), np.inf)  # that was allowed so far

    @property
    def count(self) -> int:
        """Return how many rows there are."""
        return len(self._rows.kinds)

    def look(self, q: np.ndarray, near: NearPairs) -> None:
        """Add the rows whose bounds are near at q (n,)."""
        add_rows(self._table, self._rows, q, near, self._work)

    def kept(self, segment: Segment) -> bool:
        """Return whether a decision is proved to stay within."""
        proof = self._proof
        write_all_pieces(segment.limits, segment.state, segment.plan, proof)
        segment, _ = first_leaving(self._table, self._rows, (proof.lengths, proof.c),
                                   SHORTEST_INTERVAL_S, self._least, proof.intervals, self._work)
        kept = segment == NO_SEGMENT
        self.pace = min(self.pace * FASTER_SHARE, 1.0) if kept \
            else max(self.pace * SLOWER_SHARE, MIN_PACE)
        return kept


@compiled
def add_rows(table, rows, q, near, work):
    """
    Add rows of constraints to what the arm is near to at q (n,).

    Parameters
    ----------
    table : (m + 1, 16) array
        Of the chain.
    rows : ConstraintRows
    near : NearPairs, changed
        With room for all rows.
    work : ConstraintWork

    """
    joint_frames(table, q, work.frames)
    write_values(rows, work.frames[-1], work)
    jacobian_columns(table, work.frames, 1.0, work.columns)
    count = near.count[0]
    for j in range(rows.kinds.shape[0]):
        gap = -work.values[j] - SLIDING_INSETS * rows.insets[j]
        if gap > NEAR_GAP_M:
            continue
        write_gradient(rows, j, work, work.step)
        copy(work.step, near.gradients[count])
        for i in range(q.shape[0]):
            near.gradients[count, i] = -near.gradients[count, i]
        near.gaps[count] = gap
        count += 1
    near.count[0] = count
