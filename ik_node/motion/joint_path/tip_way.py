# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The distance that the tip has covered on a trajectory."""

from __future__ import annotations

import numpy as np

from ik_node.model.chain import Chain
from ik_node.motion.trajectory.tip_speed import tip_path
from ik_node.motion.trajectory.trajectory import Trajectory


class TipWay:
    """
    The path length of the tip on a trajectory, as measured at the points of :func:`tip_path`.

    Attributes
    ----------
    times : (m,) array
        s since the trajectory began, from 0 to its end.
    positions : (m, 3) array
        Of the tip in the base frame, m.
    lengths : (m,) array
        Path length (m) up to there.

    """

    def __init__(self, chain: Chain, trajectory: Trajectory) -> None:
        self.positions = tip_path(chain, trajectory)
        self.times = np.linspace(0.0, trajectory.duration, len(self.positions))
        steps = np.linalg.norm(np.diff(self.positions, axis=0), axis=1)
        self.lengths = np.append(0.0, np.cumsum(steps))

    def left(self, elapsed: float) -> tuple[float, float]:
        """Return the time (s) and the path length (m) to the end, `elapsed` s after the start."""
        return (max(float(self.times[-1]) - max(elapsed, 0.0), 0.0),
                float(self.lengths[-1] - np.interp(elapsed, self.times, self.lengths)))

    def passed_at(self, points: np.ndarray) -> np.ndarray:
        """Return when (s) the tip passes nearest to each of some points (k, 3), in their order."""
        return passing_times(self.times, self.positions, points)


def passing_times(times: np.ndarray, positions: np.ndarray, points: np.ndarray) -> np.ndarray:
    """
    Return when (k,), s, something passes some points, in their order.

    The last of them is passed at the end.  The sum of the distances is the least that this order
    has, so that a place that is passed several times is told apart by the points between.

    Parameters
    ----------
    times : (m,) array
        s.
    positions : (m, d) array
        Where it is then: of the tip, or joint positions.
    points : (k, d) array

    """
    # The least sum up to each point, if it is passed at an instant (k, m).
    sums, before = np.empty((len(points), len(times))), np.zeros(len(times))
    for k, point in enumerate(points):
        sums[k] = before + np.linalg.norm(positions - point, axis=1)
        before = np.minimum.accumulate(sums[k])
    passed = np.full(len(points), len(times) - 1)
    for k in range(len(points) - 2, -1, -1):
        passed[k] = sums[k, :passed[k + 1] + 1].argmin()
    return times[passed]
