# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled samples of a trajectory, for what looks at it at every joint state.

:mod:`ik_node.motion.trajectory.interpolation` has the same in NumPy, for programs without the
compiler.
"""

from __future__ import annotations

import numpy as np

from ik_node.kinematics import kernels
from ik_node.kinematics.kernels import compiled, inner
from ik_node.model.chain import Chain
from ik_node.motion.trajectory import quintic
from ik_node.motion.trajectory.interpolation import positions_at
from ik_node.motion.trajectory.limits import TipLimits
from ik_node.motion.trajectory.trajectory import Trajectory

position, velocity, acceleration, terms = map(
    inner, (quintic.position, quintic.velocity, quintic.acceleration, quintic.terms))


@inner
def quintic_between(T, states, k, joint):
    """
    Return the coefficients of a joint between the points k and k + 1, lowest power first.

    Parameters
    ----------
    T : float
        Time between them (s).
    states : (3, k + 1, n) array
        q, qd, qdd of the start and at the points.

    """
    return terms(T, (states[0, k, joint], states[1, k, joint], states[2, k, joint]),
                 (states[0, k + 1, joint], states[1, k + 1, joint], states[2, k + 1, joint]))


def states_at(trajectory: Trajectory, times: np.ndarray) -> np.ndarray:
    """Return q, qd, qdd (m, 3, n) as commanded at `times` (m,), s after the start."""
    found = np.empty((len(times), 3, trajectory.q.shape[1]))
    sample(*trajectory.with_start(), times, found)
    return found


def compiled_segments(trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what :func:`ik_node.motion.trajectory.interpolation.segments` does, quicker."""
    times, states = trajectory.with_start()
    c = np.empty((6, len(times) - 1, states.shape[2]))
    write_quintics(times, states, c)
    return times[:-1], times[1:] - times[:-1], c


@compiled
def write_quintics(times, states, c):
    """
    Write the quintics between points, c (6, k, n), lowest power of the time since each first.

    Parameters
    ----------
    times : (k + 1,) array
        s.
    states : (3, k + 1, n) array
        q, qd, qdd at the points.

    """
    for k in range(c.shape[1]):
        for joint in range(c.shape[2]):
            c[0, k, joint], c[1, k, joint], c[2, k, joint], c[3, k, joint], c[4, k, joint], \
                c[5, k, joint] = quintic_between(times[k + 1] - times[k], states, k, joint)


@compiled
def sample(times, states, wanted, found):
    """
    Write the commanded states at some times.

    Before 0 the start is extrapolated backwards with its acceleration, because the arm still
    follows the trajectory before; after the last point it rests at the end.

    Parameters
    ----------
    times : (k + 1,) array
        s, the first is 0.
    states : (3, k + 1, n) array
        q, qd, qdd of the start and at the points.
    wanted : (m,) array
        s.
    found : (m, 3, n) array, written

    """
    last, n = times.shape[0] - 1, states.shape[2]
    for row in range(wanted.shape[0]):
        t = wanted[row]
        if t <= 0.0 or t >= times[last]:
            k, t = (0, t) if t <= 0.0 else (last, 0.0)
            for joint in range(n):
                q, qd, qdd = states[0, k, joint], states[1, k, joint], states[2, k, joint]
                found[row, 0, joint] = q + t * (qd + 0.5 * t * qdd)
                found[row, 1, joint] = qd + t * qdd
                found[row, 2, joint] = qdd
            continue
        k = np.searchsorted(times, t, 'right') - 1
        for joint in range(n):
            segment = quintic_between(times[k + 1] - times[k], states, k, joint)
            found[row, 0, joint] = position(segment, t - times[k])
            found[row, 1, joint] = velocity(segment, t - times[k])
            found[row, 2, joint] = acceleration(segment, t - times[k])


MAX_TIP_POINTS = 200
TIP_POINT_PERIOD_S = 0.01


def tip_path(chain: Chain, trajectory: Trajectory) -> np.ndarray:
    """Return at most MAX_TIP_POINTS tip positions (N, 3), m, evenly spaced in time."""
    count = int(np.clip(trajectory.duration / TIP_POINT_PERIOD_S, 2, MAX_TIP_POINTS))
    q = positions_at(trajectory, np.linspace(0.0, trajectory.duration, count))
    poses = np.empty((count, 12))
    kernels.tip_poses(chain.table, np.ascontiguousarray(q), poses)
    return poses[:, 9:]


def tip_rates(chain: Chain, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return speed (m/s) and angular speed (rad/s) of the tip, each (k,).

    Parameters
    ----------
    q, qd : (k, n) arrays
        Rad or m, and per s.

    """
    rates = np.empty((len(q), 2))
    kernels.tip_rates(chain.table, np.ascontiguousarray(q, dtype=float),
                      np.ascontiguousarray(qd, dtype=float), rates)
    return rates[:, 0], rates[:, 1]


def speed_shares(chain: Chain, limits: TipLimits, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """Return the share of its speed limits that the tip uses, (k,), 1 = all, at (k, n) states."""
    speed, angular_speed = tip_rates(chain, q, qd)
    return np.maximum(speed / limits.speed, angular_speed / limits.angular_speed)


class TipWay:
    """The path length of the tip on a trajectory, measured at the points of :func:`tip_path`."""

    def __init__(self, chain: Chain, trajectory: Trajectory) -> None:
        self.positions = tip_path(chain, trajectory)  # (m, 3), of the tip in the base frame, m
        # (m,), s since the trajectory began, from 0 to its end
        self.times = np.linspace(0.0, trajectory.duration, len(self.positions))
        steps = np.linalg.norm(np.diff(self.positions, axis=0), axis=1)
        self.lengths = np.append(0.0, np.cumsum(steps))  # (m,), path length (m) up to there

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
