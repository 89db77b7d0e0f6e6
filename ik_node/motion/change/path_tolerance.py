# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Path tolerance: how far the joints may be from the planned path in joint space."""

from __future__ import annotations

import numpy as np

from ik_node.model.chain import Chain
from ik_node.motion.trajectory.interpolation import sample_segments
from ik_node.motion.trajectory.trajectory import Trajectory

CHORDS_PER_SEGMENT = 4   # straight lines that stand for one segment of the trajectory
STEP_SHARE = 0.2         # of the tolerance: largest step between configurations compared
MAX_EARLINESS_S = 0.1    # that the arm may be ahead of the plan


class PathTolerance:
    """
    Compares the arm with the planned path, regardless of time.

    A controller that scales its speed, or whose joints all lag alike, stays within the
    tolerance.

    Parameters
    ----------
    q_start : (n,) array
        Measured positions when the trajectory was sent; a lagging arm has yet to reach the
        start of the plan then.
    tolerance : (n,) array
        Rad or m, positive; infinite for a joint that is not checked.

    """

    def __init__(self, chain: Chain, trajectory: Trajectory, q_start: np.ndarray,
                 tolerance: np.ndarray) -> None:
        times, q, _, _ = sample_segments(trajectory, CHORDS_PER_SEGMENT)
        begin = trajectory.start.q + chain.difference(q_start, trajectory.start.q)
        times, q = np.append(0.0, times), np.vstack([begin, q])
        counts = np.ceil((np.abs(np.diff(q, axis=0)) / (STEP_SHARE * tolerance)).max(axis=1))
        # Path coordinate of each configuration, in chords.
        at = np.concatenate([[0.0], *(k + np.arange(1, n + 1) / n for k, n in enumerate(
            np.maximum(counts, 1.0)))])
        indices = np.arange(len(times))
        self._chain = chain
        self._tolerance = tolerance
        self._times = np.interp(at, indices, times)
        self._q = np.column_stack([np.interp(at, indices, column) for column in q.T])

    def violation(self, elapsed: float, q: np.ndarray) -> tuple[int, float] | None:
        """
        Return how far the arm is from the path that was planned until now.

        Parameters
        ----------
        elapsed : float
            Time (s) since the trajectory was sent.
        q : (n,) array
            Measured positions.

        Returns
        -------
        (joint, distance) or None
            The joint that exceeds its tolerance most, and its distance (rad or m), at the
            configuration of the path where the fewest joints exceed theirs; None if no
            joint does.

        """
        due = max(1, int(np.searchsorted(self._times, elapsed + MAX_EARLINESS_S, side='right')))
        off = np.abs(self._chain.difference(q, self._q[:due]))
        # The path may be half a step away from the nearest configuration compared.
        share = off / (self._tolerance * (1.0 + 0.5 * STEP_SHARE))
        outside = (share > 1.0).sum(axis=1)
        if not outside.all():
            return None
        # The latest such configuration: a blocked joint is behind, the others are not ahead.
        nearest = int(np.flatnonzero(outside == outside.min())[-1])
        k = int(share[nearest].argmax())
        return k, float(off[nearest, k])
