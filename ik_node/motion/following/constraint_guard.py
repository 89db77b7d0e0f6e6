# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Guards of a stream that keep path constraints, as the collision guard beside them keeps distances,
and the speed limit of the tip.

The rows of the constraints are among what the arm is near to: no rate leads to a bound faster than
it can be braked, so the tip slides along it.  Each piece of motion, and the stop after it, is
proved to stay within; one that is not is not commanded, and the next ones are slower.

Rates are chosen within the limit of the tip, but the joints stop each by itself: the tip may be
faster on the way to rest than before.  A cycle after which it would be is planned again at a lower
pace, so that the tip stays on its path; if that does not suffice, the jerks last only as long as
the tip keeps its limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

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
    write_pieces,
)
from ik_node.motion.following.commanded import Segment
from ik_node.motion.following.cycle import CycleTiming
from ik_node.motion.following.options import CycleReport
from ik_node.motion.trajectory.tip_speed import peak_twist, tip_work

SLIDING_INSETS = 4.0        # of those of planned postures, at which the tip slides along a bound
SHORTEST_INTERVAL_S = 1e-3  # of a proof
PACE_TRIALS = 4             # of a cycle, ...
TIP_SLOWER_SHARE = 0.85     # ... each at this share of the pace
TIP_FASTER_SHARE = 1.02     # of the pace, after a cycle that is kept at once
ROUNDING = 1e-6             # of a speed
SPEED_BISECTIONS = 7        # of the time that the jerks of a cycle last


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


class TipGuard:
    """
    Plans cycles of a follower so slowly that the tip keeps its speed limit, up to rest.

    Parameters
    ----------
    chain : Chain
    speed : float
        Limit of the tip, m/s.

    """

    def __init__(self, chain: Chain, speed: float) -> None:
        self._table, self._speed = chain.table, speed
        self._proof, self._work, self.pace = plan_proof(0, chain.n), tip_work(chain), 1.0

    def warm_up(self, segment: Segment) -> None:
        """Load or compile the kernel of :meth:`paced`."""
        keep_tip_speed(self._table, segment.limits, segment.state, segment.plan, self._speed,
                       True, self._proof, self._work)

    def paced(self, cycle: Callable[[CycleTiming], CycleReport], timing: CycleTiming,
              segment: Segment) -> CycleReport:
        """
        Plan a cycle so slowly that the tip keeps its limit up to rest; return the report.

        If it would not on the fastest stop from the state either (the limit was lowered, or
        another motion goes before), it is no faster than on that.

        Parameters
        ----------
        cycle : callable
            Writes the plan of the segment by a timing.
        timing : CycleTiming
        segment : Segment

        """
        for k in range(PACE_TRIALS):
            report = cycle(timing)
            share = keep_tip_speed(self._table, segment.limits, segment.state, segment.plan,
                                   self._speed, k == PACE_TRIALS - 1, self._proof, self._work)
            if share == 1.0:
                break
            self.pace = max(TIP_SLOWER_SHARE * timing.pace, MIN_PACE)
            timing = timing._replace(pace=self.pace)
        if k == 0:
            self.pace = min(self.pace * TIP_FASTER_SHARE, 1.0)
        return report


@compiled
def keep_tip_speed(table, limits, state, plan, speed, shortens, proof, work):
    """
    Return 1 if the tip keeps its limit in a cycle and the stop after it; else a smaller share.

    Then, if that is wanted, the jerks last only this share of their time, after which it is kept.

    Parameters
    ----------
    table : (m + 1, 16) array
        Of the chain.
    limits : LimitRows
    state : (3, n) array
    plan : CyclePlan
    speed : float
        Limit of the tip, m/s.
    shortens : bool
        Whether the plan is changed.
    proof : PlanProof
        Workspace.
    work : TipWork

    """
    times, wanted = plan.jerk_time, plan.jerk_time.copy()
    low, high, most = 0.0, 1.0, speed
    for k in range(SPEED_BISECTIONS + 3):
        stops = k == 1  # at once, which may be too fast as well
        share = 0.0 if stops else 1.0 if k < 3 else 0.5 * (low + high)
        for i in range(wanted.shape[0]):
            times[i] = share * wanted[i]
        write_pieces(limits, state, plan, proof)
        peak, _ = peak_twist(table, proof.lengths, proof.c, inf if stops else most, work)
        if stops:
            most = max(speed, (1.0 + ROUNDING) * peak)
        elif peak <= most:
            low = share
        else:
            high = share
        if low == 1.0 or k == 2 and not shortens:
            break
    for i in range(wanted.shape[0]):
        times[i] = (low if shortens else 1.0) * wanted[i]
    return low
