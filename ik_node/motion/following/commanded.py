# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The commanded motion of a follower: what was and will be commanded at each time.

All times are integer nanoseconds.  Float seconds of a machine that has run for months are
exact to 1e-9 s only, which would show as acceleration between points 0.1 ms apart.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from ik_node.motion.change.active_trajectory import ActiveTrajectory
from ik_node.motion.following.cycle import CyclePlan, plan_states, plan_switches
from ik_node.motion.trajectory.interpolation import state_at
from ik_node.motion.trajectory.limits import LimitRows, MIN_STREAM_SPACING_S

SEGMENT_HISTORY = 1000  # segments; only those within the look-ahead are needed


def nanoseconds(time: float) -> int:
    """Return seconds as integer nanoseconds."""
    return round(1e9 * time)


MIN_SPACING_NS = nanoseconds(MIN_STREAM_SPACING_S)


@dataclass(frozen=True, eq=False)
class Segment:
    """The decision of one cycle: the motion from a time on, to rest."""

    begin: int         # time (ns)
    limits: LimitRows  # limits of that cycle
    state: np.ndarray  # (3, n), state at its start
    plan: CyclePlan

    def states_at(self, times: Sequence[int]) -> np.ndarray:
        """Return the states (K, 3, n) at times (ns)."""
        states = np.empty((len(times), *self.state.shape))
        plan_states(self.limits, self.state, self.plan,
                    1e-9 * (np.array(times) - self.begin), states)
        return states

    @cached_property
    def switches(self) -> list[int]:
        """Return when (ns) its jerk switches, ascending; the last is its end."""
        after = np.ceil(1e9 * plan_switches(self.limits, self.state, self.plan))
        return (self.begin + after.astype(np.int64)).tolist()


class CommandedMotion:
    """
    Segments of the cycles until now, after the trajectory that was active before.

    Parameters
    ----------
    limits : LimitRows
    state : (3, n) array
        State at `begin`, unless `before` is given.
    begin : int
        Time (ns).
    before : ActiveTrajectory, optional
        What the arm follows until `begin`.

    """

    def __init__(self, limits: LimitRows, state: np.ndarray, begin: int,
                 before: ActiveTrajectory | None = None) -> None:
        self._before = before
        # (3, n), the last state that is decided
        self.state = state if before is None else _state_on(before, begin)
        self.head = begin  # its time (ns)
        self._segments = deque(
            [Segment(begin, limits, self.state, CyclePlan(*np.zeros((2, state.shape[1]))))],
            maxlen=SEGMENT_HISTORY)

    @property
    def last_begin(self) -> int:
        """Return when (ns) the last segment begins."""
        return self._segments[-1].begin

    def advance(self, head: int) -> None:
        """Move the head along the last segment to a time (ns)."""
        if head != self.head:
            self.state, self.head = self._segments[-1].states_at([head])[0], head

    def append(self, segment: Segment) -> None:
        """Add a segment, which begins at the head."""
        self._segments.append(segment)

    def drop(self) -> None:
        """Leave the segment that was added last: the one before it goes on to rest."""
        self._segments.pop()
        self.state = self._segments[-1].states_at([self.head])[0]

    def states_at(self, times: list[int]) -> np.ndarray:
        """Return the states (K, 3, n) that are commanded at ascending times (ns)."""
        found, left = [], times
        for segment in reversed(self._segments):
            first = bisect_left(left, segment.begin)
            if first < len(left):
                found.append(segment.states_at(left[first:]))
                left = left[:first]
            if not left:
                break
        else:
            found.append(self._earlier_states(left))
        return np.concatenate(found[::-1])

    def _earlier_states(self, times: Sequence[int]) -> np.ndarray:
        """Return the states (K, 3, n) at times (ns) before the first segment."""
        if self._before is None:
            return np.array([self._segments[0].state] * len(times))
        return np.array([_state_on(self._before, time) for time in times])

    def point_times(self, first: int) -> list[int]:
        """
        Return the times (ns) of points from `first` to the end, where the jerk switches.

        A point that would be closer than MIN_SPACING_NS to the one before is delayed.
        """
        found = [*self._segments[-1].switches]
        found += [self.head, max(*found, self.head + MIN_SPACING_NS)]
        for after, segment in pairwise(reversed(self._segments)):
            if after.begin <= first:
                break
            found += [*segment.switches[:bisect_left(segment.switches, after.begin)], after.begin]
        begin = self._segments[0].begin
        if self._before is not None and first < begin:
            began, trajectory = nanoseconds(self._before.began), self._before.trajectory
            found += [began + t for t in map(nanoseconds, [0.0, *trajectory.times])
                      if began + t < begin]
        elif self._before is None:
            first = max(first, begin)
        spaced = [first]
        for t in sorted(found):
            if t > first:
                first = max(t, first + MIN_SPACING_NS)
                spaced.append(first)
        return spaced


def _state_on(active: ActiveTrajectory, time: int) -> np.ndarray:
    """Return the state (3, n) on a trajectory at a time (ns)."""
    state = state_at(active.trajectory, 1e-9 * (time - nanoseconds(active.began)))
    return np.array([state.q, state.qd, state.qdd])
