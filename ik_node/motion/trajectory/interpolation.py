# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
How a joint_trajectory_controller interpolates between points.

The degree depends on what both points have: positions only -> line; with velocities ->
cubic; with accelerations as well -> quintic.  Before the first point the motion starts from
the state at arrival; after the last one it holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb, pi

import numpy as np

from ik_node.motion.trajectory import quintic
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory


@dataclass(frozen=True, eq=False)
class Point:
    """A point: time (s) and position, velocity, acceleration, each (n,) or absent."""

    time: float
    q: np.ndarray | None
    qd: np.ndarray | None = None
    qdd: np.ndarray | None = None


def coefficients(a: Point, b: Point) -> np.ndarray:
    """
    Return the polynomial from `a` to `b`, (6, n), lowest power of (t - t_a) first.

    Line, cubic Hermite or quintic Hermite, depending on what both points have.
    """
    T = b.time - a.time
    c = np.zeros((6, len(a.q)))
    c[0] = a.q
    if T <= 0.0:
        return c
    if a.qd is None or b.qd is None:
        c[1] = (b.q - a.q) / T
    elif a.qdd is None or b.qdd is None:
        c[1] = a.qd
        c[2] = (3.0 * (b.q - a.q) - (2.0 * a.qd + b.qd) * T) / T**2
        c[3] = (2.0 * (a.q - b.q) + (a.qd + b.qd) * T) / T**3
    else:
        c[:] = quintic.coefficients(T, a.q, a.qd, a.qdd, b.q, b.qd, b.qdd)
    return c


def evaluate(c: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return position, velocity and acceleration of the polynomial `c` (6, ...) at `t` (s)."""
    return quintic.position(c, t), quintic.velocity(c, t), quintic.acceleration(c, t)


def segments(trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return the quintics from the start to the last point.

    Returns
    -------
    begins : (k,) array
        Begin of each segment (s).
    lengths : (k,) array
        Duration of each segment (s).
    c : (6, k, n) array
        Coefficients in the time since its start, lowest power first.

    """
    start = trajectory.start
    times = np.concatenate([[0.0], trajectory.times])
    q = np.vstack([start.q, trajectory.q])
    qd = np.vstack([start.qd, trajectory.qd])
    qdd = np.vstack([start.qdd, trajectory.qdd])
    lengths = np.diff(times)
    c = quintic.coefficients(lengths[:, None], q[:-1], qd[:-1], qdd[:-1], q[1:], qd[1:], qdd[1:])
    return times[:-1], lengths, c


def segments_from(trajectory: Trajectory, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return as :func:`segments` the rest of a trajectory `t` seconds after its start."""
    begins, lengths, c = segments(trajectory)
    first = int(np.searchsorted(begins + lengths, t, side='right'))
    begins, lengths, c = begins[first:], lengths[first:], c[:, first:]
    if len(begins) and (passed := t - begins[0]) > 0.0:
        # Taylor series there.
        powers = passed ** np.arange(6)
        c[:, 0] = [sum(comb(j, k) * powers[j - k] * c[j, 0] for j in range(k, 6))
                   for k in range(6)]
        begins[0], lengths[0] = t, lengths[0] - passed
    return begins, lengths, c


def sample_segments(trajectory: Trajectory, per_segment: int) -> tuple[np.ndarray, ...]:
    """
    Sample the motion at and between the points.

    Parameters
    ----------
    per_segment : int
        Samples per segment, the first at its start.

    Returns
    -------
    times (s), q, qd, qdd : arrays (k * per_segment + 1,), (..., n), (..., n), (..., n)

    """
    begins, lengths, c = segments(trajectory)
    t = lengths[:, None] * (np.arange(per_segment) / per_segment)
    parts = evaluate(c[:, :, None, :], t[:, :, None])
    last = trajectory.q[-1], trajectory.qd[-1], trajectory.qdd[-1]
    stacked = [np.vstack([part.reshape(-1, c.shape[2]), end]) for part, end in zip(parts, last)]
    return np.append((begins[:, None] + t).ravel(), trajectory.times[-1]), *stacked


def positions_at(trajectory: Trajectory, times: np.ndarray) -> np.ndarray:
    """Return the commanded positions (N, n) at `times` (N,), s, from the start to the end."""
    begins, _, c = segments(trajectory)
    k = np.searchsorted(begins, times, side='right') - 1
    return evaluate(c[:, k], (times - begins[k])[:, None])[0]


def state_at(trajectory: Trajectory, t: float) -> MotionState:
    """
    Return the commanded state at `t` seconds after the start.

    Before 0 the start is extrapolated backwards with its acceleration, because the arm still
    follows the previous trajectory.  After the last point it rests at the end.
    """
    if t <= 0.0:
        q, qd, qdd = trajectory.start.q, trajectory.start.qd, trajectory.start.qdd
        return MotionState(q + t * (qd + 0.5 * t * qdd), qd + t * qdd, qdd)
    k = int(np.searchsorted(trajectory.times, t, side='right'))
    if k == len(trajectory.times):
        return MotionState.at_rest(trajectory.end)
    if k == 0:
        a = Point(0.0, trajectory.start.q, trajectory.start.qd, trajectory.start.qdd)
    else:
        a = _point(trajectory, k - 1)
    return MotionState(*evaluate(coefficients(a, _point(trajectory, k)), t - a.time))


def _point(trajectory: Trajectory, k: int) -> Point:
    return Point(float(trajectory.times[k]), trajectory.q[k], trajectory.qd[k], trajectory.qdd[k])


class Sampler:
    """
    Samples the points of a message, from the state of the arm at its arrival.

    Parameters
    ----------
    points : list of Point
        Times on the clock of the samples (s); positions may be absent where they can be
        integrated from velocities or accelerations.
    before : Point
        State and time at arrival.  A derivative that it lacks and the first point has
        starts from zero.
    wrap : (n,) array of bool
        Joints without limits: `before` is shifted by whole turns to be nearest to the
        first point.

    """

    def __init__(self, points: list[Point], before: Point, wrap: np.ndarray) -> None:
        first = points[0]
        n = len(before.q)
        if before.qd is None and first.qd is not None:
            before = replace(before, qd=np.zeros(n))
        if before.qdd is None and first.qdd is not None:
            before = replace(before, qdd=np.zeros(n))
        if first.q is not None:
            turn = np.remainder(first.q - before.q + pi, 2.0 * pi) - pi
            # Half a turn away: keep the sign of the difference.
            half = np.abs(np.abs(turn) - pi) < 1e-9
            turn = np.where(half, np.copysign(pi, first.q - before.q), turn)
            before = replace(before, q=np.where(wrap, first.q - turn, before.q))
        self._points = [before]
        for point in points:
            self._points[-1:] = _integrated(self._points[-1], point)
        last, zero = self._points[-1], np.zeros(n)
        self._end = MotionState(last.q, zero if last.qd is None else last.qd,
                                zero if last.qdd is None else last.qdd)
        self._segment = np.inf, -np.inf, np.empty((6, 0))  # begin, end, coefficients: the last one

    @property
    def end_time(self) -> float:
        """Return the time of the last point (s)."""
        return self._points[-1].time

    def sample(self, t: float) -> MotionState:
        """Return the commanded state at time `t` (s)."""
        points = self._points
        if t >= points[-1].time:
            return self._end
        begin, end, c = self._segment
        if not begin <= t < end:
            k = next(k for k in range(1, len(points)) if t < points[k].time)
            a, b = points[k - 1], points[k]
            if t < a.time:
                return MotionState(*evaluate(coefficients(replace(a, qd=None), b), 0.0))
            self._segment = begin, _, c = a.time, b.time, coefficients(a, b)
        return MotionState(*evaluate(c, t - begin))


def _integrated(a: Point, b: Point) -> tuple[Point, Point]:
    """Integrate the missing positions and velocities of `b` from `a`, by the trapezoidal rule."""
    if b.q is not None:
        return a, b
    T = max(b.time - a.time, 0.0)
    zero = np.zeros(len(a.q))
    if a.qd is None:
        a = replace(a, qd=zero)
    if b.qd is None:
        if a.qdd is None:
            a = replace(a, qdd=zero)
        b = replace(b, qd=a.qd + 0.5 * (a.qdd + b.qdd) * T)
    return a, replace(b, q=a.q + 0.5 * (a.qd + b.qd) * T)
