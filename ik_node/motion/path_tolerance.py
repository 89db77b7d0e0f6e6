# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The planned path in joint space, as wide as the joints may stray from it."""

from __future__ import annotations

import numpy as np

from ik_node.model.chain import Chain
from ik_node.motion.interpolation import dense
from ik_node.motion.trajectory import Trajectory

PER_SEGMENT = 4   # instants per segment, between which the path is taken for straight
FINENESS = 0.2    # of the tolerance: largest step between the postures that are compared
EARLY = 0.1       # s that the arm may be ahead of the plan


class Corridor:
    """
    Judges where the arm is, not when: it may be late or slow as it likes.

    So a controller that scales its speed, or whose joints lag alike, stays inside.

    Parameters
    ----------
    q_start : (n,) array
        Measured positions when the trajectory was sent; a lagging arm is still on
        its way to the start of the plan then.
    tolerance : (n,) array
        Rad or m, positive; infinite for a joint that may be anywhere.

    """

    def __init__(self, chain: Chain, trajectory: Trajectory, q_start: np.ndarray,
                 tolerance: np.ndarray) -> None:
        times, q, _, _ = dense(trajectory, PER_SEGMENT)
        begin = trajectory.start.q + chain.difference(q_start, trajectory.start.q)
        times, q = np.append(0.0, times), np.vstack([begin, q])
        counts = np.ceil((np.abs(np.diff(q, axis=0)) / (FINENESS * tolerance)).max(axis=1))
        # Where each posture is, in segments of the path.
        at = np.concatenate([[0.0], *(k + np.arange(1, n + 1) / n for k, n in enumerate(
            np.maximum(counts, 1.0)))])
        indices = np.arange(len(times))
        self._chain = chain
        self._tolerance = tolerance
        self._times = np.interp(at, indices, times)
        self._q = np.column_stack([np.interp(at, indices, column) for column in q.T])

    def departure(self, elapsed: float, q: np.ndarray) -> tuple[int, float] | None:
        """
        Say how far the arm is off the path that was planned until now.

        Parameters
        ----------
        elapsed : float
            s since the trajectory was sent.
        q : (n,) array
            Measured positions.

        Returns
        -------
        (joint, distance) or None
            The joint that is farthest beyond its tolerance, and its distance (rad or
            m), where the fewest joints are; None if all keep it.

        """
        due = max(1, int(np.searchsorted(self._times, elapsed + EARLY, side='right')))
        off = np.abs(self._chain.difference(q, self._q[:due]))
        # Half a step lies between the path and the nearest posture compared.
        share = off / (self._tolerance * (1.0 + 0.5 * FINENESS))
        outside = (share > 1.0).sum(axis=1)
        if not outside.all():
            return None
        # The furthest such posture: a joint that is blocked is behind, the others are not ahead.
        nearest = int(np.flatnonzero(outside == outside.min())[-1])
        k = int(share[nearest].argmax())
        return k, float(off[nearest, k])
