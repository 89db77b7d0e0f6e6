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

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import ruckig

from ik_node.errors import TrajectoryError
from ik_node.motion.interpolation import states_at
from ik_node.motion.tip_speed import TipLimits
from ik_node.motion.trajectory import MotionLimits, MotionState, Trajectory
from ik_node.motion.validate import validate

# Points are at least so far apart (s), closer only where the jerk is so high that
# it matters: two switches of the jerk inside one such step leave the quintic off the
# plan by less than OVERSHOOT * jerk * step in acceleration, for which the plan leaves room.
CLOSEST = 1e-3
ON_THE_WAY = 1e-4   # s; points of the motion under way may be so near to one another
STEEPEST = 1e3      # 1/s: a higher jerk than so many times the acceleration is not used
SHARE = 0.1         # of the time from rest to full acceleration: no step that matters is longer
OVERSHOOT = 0.05
VELOCITY_ROOM = 1e-3
TICK = 1e-9         # s, the resolution of times in messages
MOST_POINTS = 500   # a longer motion gets points further apart than asked for
MOST_SLOWINGS = 12
NEAR = 0.985        # of the tip's limit: no faster motion is sought
LEAST_SPEED = 1e-6  # of its limit; for joints that stand
DENSE = 2e-3        # s
MOST_DENSE = 5000
PARTS = 8           # of the time between two switches of the jerk, at least


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
    past : float
        So long (s) before the present time 0 is, if the controller joins the present motion
        by the stamp; 0 if it begins on arrival.

    """

    now: MotionState
    times: np.ndarray
    states: tuple[MotionState, ...]
    past: float = 0.0

    @staticmethod
    def from_state(state: MotionState) -> Departure:
        """Begin at once."""
        return Departure(state, np.empty(0), ())

    @staticmethod
    def from_motion(trajectory: Trajectory, elapsed: float, lead: float,
                    cycle: float = np.inf) -> Departure:
        """
        Leave a motion under way: follow it for `lead` seconds more, then begin.

        With the points of the motion until then, the first of them ON_THE_WAY after time 0: a
        controller that joins by the stamp samples between points of ours only.  One that
        begins on arrival does so at the measured state or its last command; it gets two
        or more points in a `cycle`, so that its first command is on the motion again.

        Parameters
        ----------
        elapsed : float
            Time (s) since `trajectory` began, or less than 0 when it is about to.
        lead : float
            Until the new motion begins (s), within CLOSEST.
        cycle : float
            Time (s) between two updates of the controller; infinite if it joins by the stamp.

        """
        ahead = np.round(np.append(0.0, trajectory.times) - elapsed, 9)
        ahead = ahead[(ahead > 0.0) & (ahead < lead + CLOSEST)]
        # The jerk switches at the points: better at the hand-over than just beside it.
        lead = float(ahead[-1]) if len(ahead) and ahead[-1] > max(lead - CLOSEST, CLOSEST) \
            else round(lead, 9)
        first = [ON_THE_WAY] if np.isinf(cycle) else []
        knots = np.array([0.0, *_apart([*first, *ahead[ahead < lead]], lead, ON_THE_WAY)])
        times = np.round(_divided(knots, 0.5 * max(cycle, CLOSEST)), 9)
        now, *states = states_at(trajectory, elapsed + np.append(0.0, times))
        return Departure(now, times, tuple(states))

    @property
    def handover(self) -> MotionState:
        """Return the state from which the new motion is planned."""
        return self.states[-1] if self.states else self.now


def plan_point_to_point(joint_names: tuple[str, ...], departure: Departure,
                        q_goal: np.ndarray, limits: MotionLimits, period: float,
                        tip_limits: TipLimits | None = None) -> Trajectory:
    """
    Plan the fastest motion to rest at `q_goal` with all joints arriving together.

    If that would leave the joint limits (a joint that moves fast towards its
    limit), the arm is first brought to rest, then moved.  Where the tip would be
    too fast, the velocities of all joints are lowered by one factor.

    Parameters
    ----------
    departure : Departure
        Where the arm is and how it moves.
    q_goal : (n,) array
        Rad or m, inside the limits.
    period : float
        Largest time between points (s).
    tip_limits : TipLimits or None
        How fast the tip may be.  While the arm could not yet have been brought to
        rest, it may be as fast as it is on the way there.

    Returns
    -------
    Trajectory
        Valid by :func:`ik_node.motion.validate.validate`.

    Raises
    ------
    TrajectoryError
        If no motion within the limits was found.

    """
    start = departure.handover

    def directly() -> list[ruckig.Trajectory]:
        return [_slowed(start, q_goal, limits, tip_limits)]

    def by_way_of_rest() -> list[ruckig.Trajectory]:
        stop = _calculate(_to_rest(start, limits))
        rest = MotionState.at_rest(np.array(stop.at_time(stop.duration)[0]))
        return [stop, _slowed(rest, q_goal, limits, tip_limits)]

    ways = [directly] if start.rests else [directly, by_way_of_rest]
    return _first_valid(joint_names, ways, departure, limits, period)


def plan_stop(joint_names: tuple[str, ...], departure: Departure, limits: MotionLimits,
              period: float) -> Trajectory:
    """
    Plan the fastest ramp to rest, each joint by itself.

    Parameters and errors as in :func:`plan_point_to_point`.
    """
    return _first_valid(
        joint_names, [lambda: [_calculate(_to_rest(departure.handover, limits))]],
        departure, limits, period)


def _first_valid(joint_names: tuple[str, ...], ways: list[Callable[[], list[ruckig.Trajectory]]],
                 departure: Departure, limits: MotionLimits, period: float) -> Trajectory:
    error = TrajectoryError('no motion could be planned')
    for way in ways:
        try:
            parts = way()
            begin = departure.times[-1] if len(departure.times) else 0.0
            trajectory = _joined(joint_names, departure, *_sampled(
                begin, parts, period, _closest(limits)))
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
    jerk = np.minimum(limits.jerk, STEEPEST * limits.acceleration)
    request.max_velocity = list((1.0 - VELOCITY_ROOM) * limits.velocity)
    request.max_acceleration = list(limits.acceleration - OVERSHOOT * jerk * _closest(limits))
    request.max_jerk = list(jerk)
    return request


def _closest(limits: MotionLimits) -> float:
    """Return how near to each other (s) points may be."""
    fastest = float((limits.acceleration / limits.jerk).min())
    return min(CLOSEST, SHARE * max(fastest, 1.0 / STEEPEST))


def _to_goal(start: MotionState, q_goal: np.ndarray,
             limits: MotionLimits) -> ruckig.InputParameter:
    request = _request(start, limits)
    request.target_position = list(q_goal)
    return request


def _slowed(start: MotionState, q_goal: np.ndarray, limits: MotionLimits,
            tip_limits: TipLimits | None) -> ruckig.Trajectory:
    """Calculate the motion to `q_goal` on which the tip keeps its limits."""
    motion = _calculate(_to_goal(start, q_goal, limits))
    if tip_limits is None:
        return motion
    braking = _calculate(_to_rest(start, limits))
    allowed = max(1.0, tip_limits.shares(*_dense(braking)[1:]).max())
    times, q, qd = _dense(motion, braking.duration)
    # Relative to the velocities that are reached: a short motion never meets its limits.
    reached = np.clip(np.abs(qd).max(0), LEAST_SPEED * limits.velocity, limits.velocity)
    slow, fast = (0.0, 0.0), (np.inf, np.inf)  # share of those, and excess with it
    share, best = 1.0, None
    for _ in range(MOST_SLOWINGS):
        bound = np.where(times < braking.duration, allowed, 1.0)
        excess = (1.0 + VELOCITY_ROOM) * float(np.max(tip_limits.shares(q, qd) / bound))
        if excess <= 1.0:
            best, slow = motion, (share, excess)
            if excess > NEAR or share == 1.0:
                break
        else:
            fast = share, excess
        share = _between(slow, fast)
        motion = _calculate(_to_goal(start, q_goal, replace(limits, velocity=share * reached)))
        times, q, qd = _dense(motion, braking.duration)
    if best is None:
        raise TrajectoryError(f'no motion was found on which the tip keeps {tip_limits}; it is '
                              f'{excess:.3g} times as fast')
    return best


def _between(slow: tuple[float, float], fast: tuple[float, float]) -> float:
    """Return a share of the velocities between two, of which one is too fast by its excess."""
    (a, low), (b, high) = slow, fast
    middle = (0.5 * (1.0 + NEAR) - low) / (high - low)
    return a + (b - a) * (middle if a == 0.0 else float(np.clip(middle, 0.2, 0.8)))


def _dense(motion: ruckig.Trajectory,
           *more: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return times (s), those of `more` too, q and qd, close enough to find all peaks."""
    end = max(motion.duration, TICK)
    knots = np.unique([0.0, *_switches(motion), *more, end])
    knots = knots[knots <= end]
    q, qd, qdd = (np.array(column) for column in zip(*map(motion.at_time, knots)))
    count = int(np.clip(motion.duration / DENSE, 50, MOST_DENSE))
    parts = np.linspace(0.0, 1.0, PARTS + 1)[:-1]
    times = np.unique(np.concatenate((
        np.linspace(0.0, end, count + 1),
        (knots[:-1, None] + np.diff(knots)[:, None] * parts).ravel())))
    k = np.clip(np.searchsorted(knots, times, side='right') - 1, 0, len(knots) - 2)
    t = (times - knots[k])[:, None]
    jerk = (np.diff(qdd, axis=0) / np.diff(knots)[:, None])[k]
    return (times, q[k] + t * (qd[k] + t * (qdd[k] / 2.0 + t * jerk / 6.0)),
            qd[k] + t * (qdd[k] + t * jerk / 2.0))


def _switches(motion: ruckig.Trajectory) -> list[float]:
    """Return the instants (s) at which the jerk of a joint may switch, ascending."""
    return sorted(t for profile in motion.profiles[0]
                  for t in np.cumsum([*profile.brake.t, *profile.t]).tolist())


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


def _sampled(begin: float, parts: list[ruckig.Trajectory], period: float,
             closest: float) -> tuple[np.ndarray, np.ndarray]:
    """Return times (k,), s, and states (k, 3, n) of the parts, one after the other."""
    times, states = [], []
    period = max(period, sum(motion.duration for motion in parts) / MOST_POINTS)
    for motion in parts:
        times.append(np.round(begin + _instants(motion, period, closest), 9))
        states += [motion.at_time(t) for t in (times[-1] - begin).tolist()]
        begin = times[-1][-1]
    return np.concatenate(times), np.array(states)


def _joined(joint_names: tuple[str, ...], departure: Departure, times: np.ndarray,
            states: np.ndarray) -> Trajectory:
    """Return the departure, and the states (k, 3, n) at times (k,), s, after it, to rest."""
    head = np.array([(state.q, state.qd, state.qdd) for state in departure.states])
    q, qd, qdd = np.concatenate([head.reshape(-1, *states.shape[1:]), states]).swapaxes(0, 1)
    qd[-1] = qdd[-1] = 0.0
    return Trajectory(joint_names, departure.now, np.concatenate([departure.times, times]),
                      q, qd, qdd, len(departure.times))


def _instants(motion: ruckig.Trajectory, period: float, closest: float) -> np.ndarray:
    """Return when the jerk of a joint switches, times at most `period` apart, and the end."""
    return _divided(np.array([0.0, *_apart(
        _switches(motion), max(motion.duration, closest), closest)]), period)


def _divided(knots: np.ndarray, period: float) -> np.ndarray:
    """Return all knots but the first, and times between them, at most `period` apart."""
    steps = np.diff(knots)
    counts = np.maximum(1, np.ceil(steps / period)).astype(int)
    which = np.repeat(np.arange(len(steps)), counts)  # step
    number = 1 + np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    instants = knots[which] + number / counts[which] * steps[which]
    instants[-1] = knots[-1]
    return instants


def _apart(instants: Iterable[float], end: float, closest: float) -> list[float]:
    """
    Return the ascending instants between 0 and `end` (s), and `end`, not closer than `closest`.

    What is too close to the instant before moves to the end of that step (to the begin of
    the last step), so that the quintic does not carry what is between them any further.
    """
    apart = [0.0]
    for t in instants:
        if t - apart[-1] > TICK:
            apart.append(max(t, apart[-1] + closest))
    inside = [0.0, *(t for t in apart[1:] if t < end - closest - TICK)]
    if len(inside) < len(apart) and inside[-1] < end - 2.0 * closest:
        inside.append(end - closest)
    return [*inside[1:], end]
