# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Checks by the joint states whether the arm follows its trajectory."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import ceil

import numpy as np

from ik_node.base.errors import Reason
from ik_node.base.text import quote
from ik_node.model.chain import Chain
from ik_node.motion.trajectory.interpolation import sample_segments, state_at
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


# As shares of the joint tolerance: a larger movement shows that the motion has begun; with a
# smaller one between the halves of a window the arm is at rest.
BEGIN_SHARE = 0.1
REST_SHARE = 0.02
WINDOW_S = 0.1             # of the measurements that are averaged
MIN_MEASUREMENTS = 4       # before noise can be told from rest
ARRIVAL_TIME_S = 0.5       # within tolerance; then it has arrived, even if noise hides the rest
NOISE_DEVIATIONS = 3.0     # standard deviations that are attributed to noise
MAX_VIOLATIONS = 3         # consecutive measurements that exceed the path tolerance


@dataclass(frozen=True)
class Verdict:
    """How a motion ended, and one sentence about it."""

    reason: Reason
    sentence: str


@dataclass(frozen=True)
class MonitorOptions:
    """Tolerances and timeouts of a :class:`Monitor`."""

    joint_tolerance: float  # rad or m; a joint this near to its end position has arrived
    start_timeout: float    # time (s) within which the motion must be seen to begin
    # Time (s) without progress after the planned end, after which the motion has failed.
    settle_timeout: float
    state_timeout: float  # age (s) above which joint states are not used
    # (n,), rad or m; a joint further from the planned path, regardless of time, is off track.
    # Infinite for a joint that is not checked, None for no check.
    path_tolerance: np.ndarray | None = None


class Monitor:
    """
    Monitors one trajectory until it ends.

    It judges by progress, not by duration, because controllers that scale their speed are
    slower than planned on purpose.  It averages the last measurements, because single ones
    are noisy.

    Parameters
    ----------
    q_start : (n,) array
        Measured positions when the trajectory was sent.

    """

    def __init__(self, chain: Chain, trajectory: Trajectory, q_start: np.ndarray,
                 options: MonitorOptions) -> None:
        self._chain = chain
        self._trajectory = trajectory
        self._q_start = q_start
        self._options = options
        self._path_tolerance = None if options.path_tolerance is None else PathTolerance(
            chain, trajectory, q_start, options.path_tolerance)
        self._extent = float(np.abs(trajectory.q - q_start).max())
        # Just above encoder noise: a controller may be much slower than planned.
        self._least_move = min(BEGIN_SHARE * options.joint_tolerance, 0.25 * self._extent)
        self._begun = bool(np.any(trajectory.start.qd))
        self._latest: deque[tuple[float, np.ndarray]] = deque()
        self._noise = np.zeros(chain.n)
        self._count = self._violations = 0
        self._inside_since = np.inf
        self._nearest = np.inf
        self._last_progress = trajectory.duration

    def observe(self, elapsed: float, q: np.ndarray, age: float) -> Verdict | None:
        """
        Judge the motion.

        Parameters
        ----------
        elapsed : float
            Seconds since the trajectory was sent.
        q : (n,) array
            Latest measured positions.
        age : float
            Their age (s).

        Returns
        -------
        Verdict or None
            None while the motion continues.

        """
        options, trajectory = self._options, self._trajectory
        if age > options.state_timeout:
            if elapsed > trajectory.duration + options.settle_timeout:
                return Verdict(Reason.STATE_LOST, f'joint states lost: they stopped {age:.1f} s '
                               'ago, so it is not known where the arm ended')
            return None
        off_track = self._add(elapsed - age, q)
        if off_track is not None:
            return off_track
        seen = elapsed - age
        if not self._begun and seen > options.start_timeout and self._count >= MIN_MEASUREMENTS:
            due = self._extent if seen > trajectory.duration else np.abs(
                state_at(trajectory, seen).q - self._q_start).max()
            if due > options.joint_tolerance:
                return Verdict(Reason.NOT_MOVING, 'controller silent: the arm has not moved '
                               f'{seen:.1f} s after the trajectory was sent; is the controller '
                               'active, and does its log say why it refused?')
        if self._latest[-1][0] < trajectory.duration:
            return None
        return self._judge_end(elapsed)

    def _add(self, measured_at: float, q: np.ndarray) -> Verdict | None:
        """Add a measurement unless it was added before; check the path tolerance."""
        latest = self._latest
        if latest and measured_at - latest[-1][0] < 1e-6:
            return None
        self._count += 1
        # Continuous joints: unwrapped, so that the mean makes sense.
        latest.append((measured_at, self._q_start + self._chain.difference(q, self._q_start)))
        while len(latest) > 2 and measured_at - latest[1][0] > WINDOW_S - 1e-6:
            latest.popleft()
        self._begun = self._begun or self._has_moved()
        if self._path_tolerance is None:
            return None
        off = self._path_tolerance.violation(measured_at, q)
        self._violations = 0 if off is None else self._violations + 1
        if self._violations < MAX_VIOLATIONS:
            return None
        k, distance = off
        return Verdict(Reason.OFF_TRACK, f'off track: joint {quote(self._chain.joint_names[k])} '
                       f'is {distance:.4g} away from the planned path, '
                       f'{self._options.path_tolerance[k]:.4g} are allowed; was it blocked, or '
                       'moved by somebody else?')

    def _has_moved(self) -> bool:
        values = np.array([value for _, value in self._latest])
        if np.abs(values[-1] - self._q_start).max() >= self._options.joint_tolerance:
            return True
        if len(values) < MIN_MEASUREMENTS:
            return False
        # The largest estimate: a few measurements may agree by chance.
        self._noise = np.maximum(self._noise, values.std(axis=0, ddof=1))
        moved = np.abs(values.mean(axis=0) - self._q_start)
        return bool((moved >= self._least_move + NOISE_DEVIATIONS * self._noise).any())

    def _judge_end(self, elapsed: float) -> Verdict | None:
        options = self._options
        times, values = zip(*self._latest)
        difference = np.abs(self._chain.difference(np.mean(values, axis=0),
                                                   self._trajectory.end))
        error = float(difference.max())
        # An arm that never moved has not followed a path that ends where it began.
        expected = self._begun or self._extent <= options.joint_tolerance
        if error > options.joint_tolerance or not expected:
            self._inside_since = np.inf
        else:
            self._inside_since = min(self._inside_since, elapsed)
            if self._rests(times, values) or elapsed - self._inside_since >= ARRIVAL_TIME_S:
                return Verdict(Reason.REACHED, 'reached')
        if error < self._nearest - 0.1 * options.joint_tolerance:
            self._nearest, self._last_progress = error, elapsed
        if elapsed - self._last_progress > options.settle_timeout:
            k = int(difference.argmax())
            return Verdict(Reason.OFF_TARGET, f'the arm stands still {error:.4g} from the end of '
                           f'its trajectory at joint {quote(self._chain.joint_names[k])}; was it '
                           'stopped, blocked, or moved by somebody else?')
        return None

    def _rests(self, times: tuple[float, ...], values: tuple[np.ndarray, ...]) -> bool:
        if times[-1] - times[0] < 0.75 * WINDOW_S:
            return False
        half = ceil(len(values) / 2)
        moved = np.abs(np.mean(values[:half], axis=0) - np.mean(values[-half:], axis=0)).max()
        return bool(moved < REST_SHARE * self._options.joint_tolerance)
