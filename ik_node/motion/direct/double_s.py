# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Jerk-limited motions of all joints in closed form, where ruckig is not installed.

From rest to rest each joint has the double-S velocity profile of seven phases, which is the
fastest; slower joints take longer by one factor, so that all arrive together.  Biagiotti and
Melchiorri (2008), "Trajectory Planning for Automatic Machines and Robots", section 3.4.  A
joint that moves is first brought to rest, which ruckig need not do.
"""

from __future__ import annotations

from bisect import bisect_right
from math import copysign, sqrt
from typing import NamedTuple

import numpy as np

from ik_node.base.errors import TrajectoryError
from ik_node.motion.trajectory.limits import LimitRows
from ik_node.motion.trajectory.trajectory import MotionState

Phases = list[tuple[float, float]]  # each its duration (s) and its jerk


class JointState(NamedTuple):
    """Position, velocity and acceleration of one joint; rad or m, per s, per s^2."""

    q: float
    qd: float
    qdd: float

    def after(self, time: float, jerk: float) -> JointState:
        """Return the state after a time (s) with constant jerk."""
        return JointState(
            self.q + time * (self.qd + time * (self.qdd / 2.0 + time * jerk / 6.0)),
            self.qd + time * (self.qdd + time * jerk / 2.0),
            self.qdd + time * jerk)


class JointProfile:
    """
    The motion of one joint to rest, by phases of constant jerk.

    Parameters
    ----------
    start : JointState
    phases : list of (float, float)
        Duration (s) and jerk of each.
    end : float, optional
        Where it rests; without it, where the phases lead.

    """

    def __init__(self, start: JointState, phases: Phases, end: float | None = None) -> None:
        self.start, self.phases = start, phases
        self.instants, self._states = [0.0], [start]
        self._jerks = [jerk for _, jerk in phases]
        for time, jerk in phases:
            self.instants.append(self.instants[-1] + time)
            self._states.append(self._states[-1].after(time, jerk))
        self.end = self._states[-1].q if end is None else end

    @property
    def duration(self) -> float:
        """Return the time (s) from the start to rest."""
        return self.instants[-1]

    def at_time(self, time: float) -> JointState:
        """Return the state at a time (s) of 0 or more."""
        if time >= self.duration:
            return JointState(self.end, 0.0, 0.0)
        k = bisect_right(self.instants, time) - 1
        return self._states[k].after(time - self.instants[k], self._jerks[k])


class DoubleSMotion:
    """A motion of all joints; `duration` (s) and :meth:`at_time` are as in ruckig."""

    def __init__(self, profiles: list[JointProfile]) -> None:
        self.profiles = profiles
        self.duration = max(profile.duration for profile in profiles)

    def at_time(self, time: float) -> tuple[list[float], list[float], list[float]]:
        """Return positions, velocities and accelerations (n,) at a time (s)."""
        q, qd, qdd = zip(*(profile.at_time(time) for profile in self.profiles))
        return list(q), list(qd), list(qdd)

    @property
    def jerk_switches(self) -> list[float]:
        """Return the instants (s) at which the jerk of a joint may switch, ascending."""
        return sorted(t for profile in self.profiles for t in profile.instants[1:])


def double_s_to_goal(start: MotionState, q_goal: np.ndarray, rows: LimitRows) -> DoubleSMotion:
    """
    Return a motion to rest at `q_goal` (n,), all joints arriving together.

    A joint that moves brakes first.
    """
    _require_finite(start.q, start.qd, start.qdd, q_goal)
    stops = double_s_to_rest(start, rows).profiles
    travels = [_rest_to_rest(goal - stop.end, *limits) for goal, stop, limits in zip(
        q_goal.tolist(), stops, _limits_of_joints(rows))]
    duration = max(stop.duration + _duration(travel) for stop, travel in zip(stops, travels))
    return DoubleSMotion([JointProfile(
        stop.start, [*stop.phases, *_stretched(travel, duration - stop.duration)], goal)
        for goal, stop, travel in zip(q_goal.tolist(), stops, travels)])


def double_s_to_rest(start: MotionState, rows: LimitRows) -> DoubleSMotion:
    """Return the fastest stop of each joint; errors as in :func:`double_s_to_goal`."""
    _require_finite(start.q, start.qd, start.qdd)
    states = map(JointState, start.q.tolist(), start.qd.tolist(), start.qdd.tolist())
    return DoubleSMotion([
        JointProfile(state, _braking(state, acceleration, jerk))
        for state, (_, acceleration, jerk) in zip(states, _limits_of_joints(rows))])


def _require_finite(*arrays: np.ndarray) -> None:
    if not all(np.isfinite(array).all() for array in arrays):
        raise TrajectoryError('no motion could be planned: a position, velocity or acceleration '
                              'is not a finite number')


def _limits_of_joints(rows: LimitRows) -> list[tuple[float, float, float]]:
    """Return velocity, acceleration and jerk of each joint."""
    return list(zip(rows.velocity.tolist(), rows.acceleration.tolist(), rows.jerk.tolist()))


def _duration(phases: Phases) -> float:
    return sum(time for time, _ in phases)


def _braking(state: JointState, acceleration: float, jerk: float) -> Phases:
    """Return the phases that bring a joint to rest as fast as can be."""
    _, qd, qdd = state
    # The velocity that is left if the acceleration is taken back at once.
    left = qd + qdd * abs(qdd) / (2.0 * jerk)
    if left == 0.0:
        return [(abs(qdd) / jerk, -copysign(jerk, qdd))]
    # Along the acceleration that is needed, both the change and the jerk are positive.
    sign = -copysign(1.0, left)
    change, now = -sign * qd, sign * qdd
    peak = sqrt(max(jerk * change + 0.5 * now**2, 0.0))
    hold = 0.0
    if peak > acceleration:
        peak = acceleration
        ramps = (peak**2 + abs(peak - now) * (peak + now)) / (2.0 * jerk)
        hold = max((change - ramps) / peak, 0.0)
    return [(abs(peak - now) / jerk, sign * copysign(jerk, peak - now)), (hold, 0.0),
            (peak / jerk, -sign * jerk)]


def _rest_to_rest(distance: float, velocity: float, acceleration: float, jerk: float) -> Phases:
    """Return the seven phases of the fastest motion over a distance, none for no distance."""
    length = abs(distance)
    if length == 0.0:
        return []
    # Times of constant jerk and of speeding up, if the velocity limit is reached.
    ramp = min(acceleration / jerk, sqrt(velocity / jerk))
    speeding = ramp + velocity / (ramp * jerk)
    cruise = length / velocity - speeding
    if cruise < 0.0:
        cruise = 0.0
        ramp = min(acceleration / jerk, (length / (2.0 * jerk))**(1.0 / 3.0))
        speeding = 0.5 * ramp + sqrt(0.25 * ramp**2 + length / (ramp * jerk))
    hold = max(speeding - 2.0 * ramp, 0.0)
    jerk = copysign(jerk, distance)
    return [(ramp, jerk), (hold, 0.0), (ramp, -jerk), (cruise, 0.0),
            (ramp, -jerk), (hold, 0.0), (ramp, jerk)]


def _stretched(phases: Phases, duration: float) -> Phases:
    """Return the phases of a motion over the same distance that takes a duration (s)."""
    if not phases:
        return []
    factor = duration / _duration(phases)
    return [(factor * time, jerk / factor**3) for time, jerk in phases]
