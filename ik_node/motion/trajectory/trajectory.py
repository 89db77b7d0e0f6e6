# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The data of a motion: a state and a trajectory."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np


@dataclass(frozen=True, eq=False)
class MotionState:
    """
    Position, velocity and acceleration of n joints at one instant.

    ``q`` in rad or m, ``qd`` per s, ``qdd`` per s^2, each (n,).
    """

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray

    @staticmethod
    def at_rest(q: np.ndarray) -> MotionState:
        """Return the state of rest at `q` (n,)."""
        return MotionState(np.array(q, dtype=float), np.zeros(len(q)), np.zeros(len(q)))

    @property
    def rests(self) -> bool:
        """Return whether velocity and acceleration are zero."""
        return not (self.qd.any() or self.qdd.any())


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Points for a joint trajectory controller that interpolates by quintics."""

    joint_names: tuple[str, ...]
    start: MotionState
    """Actual or commanded state of the arm at time 0."""
    times: np.ndarray
    """(k,), seconds from the start, positive, strictly increasing."""
    q: np.ndarray
    """(k, n), rad or m."""
    qd: np.ndarray
    """(k, n), per s; the last point is at rest."""
    qdd: np.ndarray
    """(k, n), per s^2; the last point is at rest."""
    lead_points: int = 0
    """How many of the first points repeat the active trajectory; the last of them is the splice
    point."""

    @property
    def duration(self) -> float:
        """Return the time of the last point (s)."""
        return float(self.times[-1])

    @property
    def end(self) -> np.ndarray:
        """Return the joint positions at the end, (n,)."""
        return self.q[-1]

    def without_lead(self) -> Trajectory:
        """Return the same without the points before the splice point."""
        k = max(self.lead_points - 1, 0)
        return replace(self, times=self.times[k:], q=self.q[k:], qd=self.qd[k:], qdd=self.qdd[k:],
                       lead_points=min(self.lead_points, 1))

    def followed_by(self, *others: Trajectory) -> Trajectory:
        """Return this motion and then others, each from rest where the one before ends."""
        parts = (self, *others)
        begins = np.cumsum([0.0, *(part.duration for part in parts[:-1])])
        return replace(
            self, times=np.concatenate([begin + part.times for begin, part in zip(begins, parts)]),
            **{name: np.vstack([getattr(part, name) for part in parts])
               for name in ('q', 'qd', 'qdd')})

    def with_start(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the times (k + 1,), s, and q, qd, qdd (3, k + 1, n), with the start."""
        times = np.zeros(len(self.times) + 1)
        states = np.empty((3, len(self.times) + 1, self.q.shape[1]))
        times[1:] = self.times
        for rows, first, others in zip(states, (self.start.q, self.start.qd, self.start.qdd),
                                       (self.q, self.qd, self.qdd)):
            rows[0], rows[1:] = first, others
        return times, states


TIME_RESOLUTION_S = 1e-9  # of times in messages


def merge_close(instants: Iterable[float], end: float, spacing: float) -> list[float]:
    """
    Return the ascending instants between 0 and `end` (s), and `end`, at least `spacing` apart.

    An instant that is too close to the one before is delayed; one too close to the end
    moves to `spacing` before it.  So the quintic between two instants covers all jerk
    switches inside.
    """
    last = 0.0
    spaced = [last]
    for t in instants:
        if t - last > TIME_RESOLUTION_S:
            last = max(t, last + spacing)
            spaced.append(last)
    inside = spaced[:max(bisect_left(spaced, end - spacing - TIME_RESOLUTION_S), 1)]
    if len(inside) < len(spaced) and inside[-1] < end - 2.0 * spacing:
        inside.append(end - spacing)
    return [*inside[1:], end]


def subdivide(knots: Sequence[float], periods: Sequence[float]) -> list[float]:
    """
    Return all knots (k,) but the first, and times between them (s).

    From one knot to the next they are at most as far apart as `periods` (k - 1,) says.
    """
    instants = []
    for a, b, period in zip(knots, knots[1:], periods):
        if b - a > period:
            count = ceil((b - a) / period)
            instants += [a + number / count * (b - a) for number in range(1, count)]
        instants.append(b)
    return instants
