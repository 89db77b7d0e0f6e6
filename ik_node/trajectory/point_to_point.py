# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Time-optimal, jerk-limited motion from any state to rest, by ruckig.

Berscheid and Kroeger (2021), "Jerk-limited Real-time Trajectory Generation with
Arbitrary Target States".  The points lie where the jerk switches, so that the
controller's quintic between two points is the planned motion itself, and at
regular times besides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import ruckig

from ik_node.errors import TrajectoryError
from ik_node.trajectory.sampler import state_at
from ik_node.trajectory.trajectory import MotionLimits, MotionState, Trajectory
from ik_node.trajectory.validate import validate

# Points closer than this are one point.  A jerk switch so near to a point leaves
# the quintic off the plan by at most OVERSHOOT * jerk * CLOSEST in acceleration,
# for which the plan leaves room.
CLOSEST = 1e-3  # s
OVERSHOOT = 0.5
MOST_POINTS = 2000  # a longer motion gets points further apart than asked for


@dataclass(frozen=True, eq=False)
class Departure:
    """
    Where a motion begins.

    Attributes
    ----------
    now : MotionState
        The commanded state at time 0.
    times : (k,) array
        Instants (s) at which the arm still follows its present motion; empty at rest.
    states : tuple of MotionState, length k
        The present motion at those instants; the new motion begins at the last.

    """

    now: MotionState
    times: np.ndarray
    states: tuple[MotionState, ...]

    @staticmethod
    def from_state(state: MotionState) -> Departure:
        """Begin at once."""
        return Departure(state, np.empty(0), ())

    @staticmethod
    def from_motion(trajectory: Trajectory, elapsed: float, lead: float) -> list[Departure]:
        """
        Leave a motion under way: follow it for `lead` seconds more, then begin.

        Two ways, the better first.  Smooth: the first point is at `lead`, so that
        the controller, which takes over a few milliseconds sooner or later than
        assumed, has this long to close the gap.  Exact: with the points of the
        motion before that, for when its own course between them matters to a limit.
        `elapsed` is the time (s) since `trajectory` began.
        """
        between = trajectory.times[(trajectory.times > elapsed + CLOSEST)
                                   & (trajectory.times < elapsed + lead - CLOSEST)] - elapsed
        return [Departure(state_at(trajectory, elapsed), times,
                          tuple(state_at(trajectory, elapsed + t) for t in times))
                for times in (np.array([lead]), np.append(between, lead))]

    @property
    def handover(self) -> MotionState:
        """Return the state from which the new motion is planned."""
        return self.states[-1] if self.states else self.now


def plan_point_to_point(joint_names: tuple[str, ...], departures: list[Departure],
                        q_goal: np.ndarray, limits: MotionLimits, period: float) -> Trajectory:
    """
    Plan the fastest motion to rest at `q_goal` with all joints arriving together.

    If that would leave the joint limits (a joint that moves fast towards its
    limit), the arm is first brought to rest, then moved.

    Parameters
    ----------
    departures : list of Departure
        Where the arm is and how it moves; the first that serves is taken.
    q_goal : (n,) array
        Rad or m, inside the limits.
    period : float
        Largest time between points (s).

    Returns
    -------
    Trajectory
        Valid by :func:`ik_node.trajectory.validate.validate`.

    Raises
    ------
    TrajectoryError
        If no motion within the limits was found.

    """
    start = departures[0].handover

    def directly() -> list[ruckig.Trajectory]:
        return [_calculate(_to_goal(start, q_goal, limits))]

    def by_way_of_rest() -> list[ruckig.Trajectory]:
        stop = _calculate(_to_rest(start, limits))
        rest = MotionState.at_rest(np.array(stop.at_time(stop.duration)[0]))
        return [stop, _calculate(_to_goal(rest, q_goal, limits))]

    ways = [directly] if start.rests else [directly, by_way_of_rest]
    return _first_valid(joint_names, ways, departures, limits, period)


def plan_stop(joint_names: tuple[str, ...], departures: list[Departure], limits: MotionLimits,
              period: float) -> Trajectory:
    """
    Plan the fastest ramp to rest, each joint by itself.

    Parameters and errors as in :func:`plan_point_to_point`.
    """
    return _first_valid(
        joint_names, [lambda: [_calculate(_to_rest(departures[0].handover, limits))]],
        departures, limits, period)


def _first_valid(joint_names: tuple[str, ...], ways: list[Callable[[], list[ruckig.Trajectory]]],
                 departures: list[Departure], limits: MotionLimits,
                 period: float) -> Trajectory:
    error = TrajectoryError('no motion could be planned')
    for way in ways:
        try:
            parts = way()
        except TrajectoryError as this:
            error = this
            continue
        for departure in departures:
            try:
                trajectory = _sampled(joint_names, departure, parts, period)
                validate(trajectory, limits)
                return trajectory
            except TrajectoryError as this:
                error = this
    raise error


def _request(start: MotionState, limits: MotionLimits) -> ruckig.InputParameter:
    request = ruckig.InputParameter(len(start.q))
    request.current_position = list(start.q)
    request.current_velocity = list(start.qd)
    request.current_acceleration = list(start.qdd)
    room = np.minimum(OVERSHOOT * limits.jerk * CLOSEST, 0.5 * limits.acceleration)
    request.max_velocity = list(0.999 * limits.velocity)
    request.max_acceleration = list(limits.acceleration - room)
    request.max_jerk = list(limits.jerk)
    return request


def _to_goal(start: MotionState, q_goal: np.ndarray,
             limits: MotionLimits) -> ruckig.InputParameter:
    request = _request(start, limits)
    request.target_position = list(q_goal)
    return request


def _to_rest(start: MotionState, limits: MotionLimits) -> ruckig.InputParameter:
    request = _request(start, limits)
    request.control_interface = ruckig.ControlInterface.Velocity
    request.synchronization = ruckig.Synchronization.No
    return request


def _calculate(request: ruckig.InputParameter) -> ruckig.Trajectory:
    motion = ruckig.Trajectory(request.degrees_of_freedom)
    try:
        outcome = ruckig.Ruckig(request.degrees_of_freedom).calculate(request, motion)
    except (ruckig.RuckigError, ValueError) as error:
        raise TrajectoryError(f'no motion could be planned: {error}') from None
    if outcome not in (ruckig.Result.Working, ruckig.Result.Finished):
        raise TrajectoryError(f'no motion could be planned: ruckig says {outcome.name}')
    return motion


def _sampled(joint_names: tuple[str, ...], departure: Departure,
             parts: list[ruckig.Trajectory], period: float) -> Trajectory:
    """Sample the departure and the parts, one after the other."""
    times = list(departure.times)
    states = [(state.q, state.qd, state.qdd) for state in departure.states]
    period = max(period, sum(motion.duration for motion in parts) / MOST_POINTS)
    for motion in parts:
        begin = times[-1] if times else 0.0
        for t in _instants(motion, period):
            times.append(begin + t)
            states.append(motion.at_time(t))
    q, qd, qdd = (np.array(column) for column in zip(*states))
    qd[-1] = qdd[-1] = 0.0
    return Trajectory(joint_names, departure.now, np.array(times), q, qd, qdd,
                      len(departure.times))


def _instants(motion: ruckig.Trajectory, period: float) -> list[float]:
    """Return when the jerk of a joint switches, regular times, and the end, without 0."""
    end = motion.duration
    wanted = list(np.arange(1, int(end / period) + 1) * period)
    for profile in motion.profiles[0]:
        t = 0.0
        for step in (*profile.brake.t, *profile.t):
            t += step
            wanted.append(t)
    instants: list[float] = []
    for t in sorted(wanted):
        if t - (instants[-1] if instants else 0.0) >= CLOSEST and t <= end - CLOSEST:
            instants.append(t)
    return [*instants, max(end, CLOSEST)]
