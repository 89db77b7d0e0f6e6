# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Ramps to rest among obstacles: along the path of the active trajectory, if need be.

The fastest ramp brakes each joint by itself, and leaves the path.  One that slows down the time
of the trajectory stays on it, where it was proved to be free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ik_node.base.errors import TrajectoryError
from ik_node.collision.distances.certificate import allowed_distances, certify
from ik_node.collision.distances.model import CollisionModel
from ik_node.model.chain import Chain
from ik_node.motion.change.active_trajectory import require_tip_speed
from ik_node.motion.direct.point_to_point import plan_stop, require_free, StartState
from ik_node.motion.trajectory.interpolation import segments
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.sampling import speed_shares, states_at, TIP_POINT_PERIOD_S
from ik_node.motion.trajectory.trajectory import merge_close, subdivide, Trajectory
from ik_node.motion.trajectory.validate import require_jerk, validate

PEAK_SLOWDOWN = 1.5      # times 1 / duration: the largest change of the rate of time
PATH_TIME_SHARE = 0.5    # of the duration of a ramp, by which it goes on in the trajectory
DURATION_GROWTH = 1.3    # from one try to the next
MIN_BEGIN_SPACING_S = 0.1  # between the times at which a ramp is tried to begin
STOP_JERK_RATIO = 1.5    # of the jerk limits, which a ramp may have that is not smooth
POINTS_PER_RAMP = 20     # at least; between points the controller is near the path
INVERSION_SAMPLES = 400


class PathStop(NamedTuple):
    """A ramp to rest on the path of the active trajectory."""

    trajectory: Trajectory
    place: float  # the time (s) in the active trajectory at which it ends


class StopWishes(NamedTuple):
    """What a ramp to rest is to do, if there is one that does."""

    kept: Callable[[Trajectory], bool] = lambda _: True
    """Whether it keeps the path constraints, as the path of the trajectory does."""
    apart: Callable[[Trajectory], bool] = lambda _: True
    """Whether it meets no other arm."""


def plan_free_stop(model: CollisionModel | None, joint_names: tuple[str, ...],
                   active: Trajectory | None, start: StartState, limits: MotionLimits,
                   period: float, wishes: StopWishes = StopWishes()) -> Trajectory:
    """
    Plan the fastest ramp to rest; if that would collide, one on the path of the trajectory.

    That one keeps the jerk limits, unless only a shorter one is free.  If both would, or the other
    one breaks a limit, the fastest: a stop is never lost.

    Parameters
    ----------
    model : CollisionModel or None
        None checks nothing.
    active : Trajectory or None
        The active trajectory, if `start` is on it.
    start, limits, period
        As for :func:`plan_path_stop`.
    wishes : StopWishes, optional

    Raises
    ------
    TrajectoryError
        If no ramp keeps the limits.

    """
    fastest = plan_stop(joint_names, start, limits, period)
    if start.elapsed is None:
        return fastest
    allowed = None
    if model is not None:
        now = allowed_distances(model, fastest.start.q, swept=True)
        # On the path a pair may be as near as when it began, until it is apart: so it was proved.
        begun = allowed_distances(model, active.start.q, swept=True)
        allowed = np.where(now < model.margins, np.minimum(now, begun), now)
    free = [fastest] if (model is None or certify(model, *segments(fastest), now) is None) \
        and wishes.kept(fastest) else []
    if free and wishes.apart(fastest):
        return fastest
    for smooth in (True, False):
        on_path = plan_path_stop(active, start, limits, period, smooth).trajectory
        try:
            validate(on_path, limits)
            require_free(model, on_path, allowed=allowed)
        except TrajectoryError:
            continue
        if wishes.apart(on_path):
            return on_path
        free.append(on_path)
    return free[0] if free else fastest


def plan_path_stop(active: Trajectory, start: StartState, limits: MotionLimits,
                   period: float, smooth: bool = False) -> PathStop:
    """
    Plan a ramp to rest that stays on the path of the active trajectory.

    The rate of its time goes from 1 to 0 by ``1 - 3 x^2 + 2 x^3``, where x goes from 0 to 1.
    While a joint has its largest jerk, or brakes, time cannot be slowed down within the limits:
    then the ramp begins later.  If there is none, the arm goes on to the end of its trajectory.

    Parameters
    ----------
    active : Trajectory
    start : StartState
        On the active trajectory.
    limits : MotionLimits
    period : float
        Largest time between points (s).
    smooth : bool
        Whether the ramp keeps the jerk limits as well, and not 1.5 times these; then it may take
        longer.

    """
    splice = start.elapsed + start.splice_time  # in the time of the active trajectory
    ahead = active.times > splice + limits.min_spacing
    best = start.continued(
        active.joint_names, np.round(active.times[ahead] - start.elapsed, 9),
        np.stack([active.q[ahead], active.qd[ahead], active.qdd[ahead]], axis=1))
    place = active.duration
    for begin in path_begins(active, splice):
        v = states_at(active, np.array([begin]))[0, 1]
        duration = max(PEAK_SLOWDOWN * float((np.abs(v) / limits.acceleration).max()),
                       limits.min_spacing)
        while begin - start.elapsed + duration < best.duration:
            ramp = _slowed(active, begin, duration, start, limits, period)
            try:
                validate(ramp, limits)
                require_jerk(ramp, limits, 1.0 if smooth else STOP_JERK_RATIO)
                best, place = ramp, begin + PATH_TIME_SHARE * duration
                break
            except TrajectoryError:
                duration *= DURATION_GROWTH
    return PathStop(best, place)


def path_begins(active: Trajectory, splice: float) -> Iterator[float]:
    """Yield times (s) of the active trajectory at which a ramp may begin: where jerk switches."""
    begin = splice
    yield begin
    for knot in active.times[:-1]:
        if knot > begin + MIN_BEGIN_SPACING_S:
            begin = float(knot)
            yield begin


def _slowed(active: Trajectory, begin: float, duration: float, start: StartState,
            limits: MotionLimits, period: float) -> Trajectory:
    """Return the ramp of a duration (s) from a time (s) of the active trajectory on."""
    x = np.linspace(0.0, 1.0, INVERSION_SAMPLES)
    splice, end = start.elapsed + start.splice_time, begin + PATH_TIME_SHARE * duration
    knots = active.times[(active.times > splice) & (active.times < end)]
    # When the trajectory is at its points: as planned until the ramp begins, later then.
    at_knots = np.where(knots <= begin, knots, begin + duration * np.interp(
        knots, begin + duration * _path_share(x), x)) - splice
    spacing = limits.min_spacing
    instants = merge_close([*at_knots, begin - splice], begin - splice + duration, spacing)
    period = max(min(period, duration / POINTS_PER_RAMP), spacing)
    t = np.array(subdivide([0.0, *instants], [period] * len(instants)))
    x = np.maximum(t - (begin - splice), 0.0) / duration
    rate, slope = 1.0 - x**2 * (3.0 - 2.0 * x), 6.0 * x * (x - 1.0) / duration
    on_path = np.where(x > 0.0, begin + duration * _path_share(x), splice + t)
    q, qd, qdd = states_at(active, on_path).swapaxes(0, 1)
    rate, slope = rate[:, None], slope[:, None]
    states = np.stack([q, rate * qd, rate**2 * qdd + slope * qd], axis=1)
    return start.continued(active.joint_names, np.round(start.splice_time + t, 9), states)


def _path_share(x: np.ndarray) -> np.ndarray:
    """Return how far a ramp has gone in the trajectory, as a share of its duration."""
    return x - x**3 * (1.0 - PATH_TIME_SHARE * x)


FIRST_RAMP_S = 0.1        # duration of the ramp to the rate of the motion, first try
RAMP_GROWTH = 1.3         # from one try to the next
MAX_RESUME_RAMP_S = 10.0
RATE_SHARE = 0.9          # from one rate that is tried to the next
MIN_RATE = 0.02           # of the time of the motion
RAMP_POINTS = 20          # at least; between points the controller is near the path
INVERSION_POINTS = 400
NO_MOTION_SHARE = 1e-9    # of the limits, that a motion uses at least
SAME_PLACE = 1e-4         # rad or m, by which the arm may be off the path


def plan_path_resume(chain: Chain, active: Trajectory, place: float, start: StartState,
                     limits: MotionLimits, period: float) -> Trajectory:
    """
    Plan the rest of a motion, from rest on its path, as fast as that is possible.

    The rate of its time goes from 0 to 1 by ``3 x^2 - 2 x^3``, where x goes from 0 to 1, and
    stays there; or to less than 1, if the limits are lower than when the motion was planned, or
    it would be there sooner.

    Parameters
    ----------
    active : Trajectory
        The motion that was paused.
    place : float
        The time (s) in it at which the arm stands.
    start : StartState
        At rest.
    limits : MotionLimits
    period : float
        Largest time between points of the ramp (s).

    Returns
    -------
    Trajectory
        Valid by :func:`ik_node.motion.trajectory.validate.validate`.

    Raises
    ------
    TrajectoryError
        If the arm stands elsewhere, or the limits cannot be kept.

    """
    here = states_at(active, np.array([place]))[0, 0]
    away = float(np.abs(here - start.splice.q).max())
    if away > SAME_PLACE or not start.splice.rests:
        raise TrajectoryError(f'the arm is no longer where the motion was paused (a joint is '
                              f'{away:.3g} rad or m away); send the goal again')
    best, error = None, None
    rate = min(1.0, highest_rate(chain, active, place, limits))
    left = active.duration - place
    # A lower rate may need a shorter ramp.
    while rate > MIN_RATE and (best is None or left / rate < best.duration):
        ramp = FIRST_RAMP_S
        while ramp < MAX_RESUME_RAMP_S:
            trajectory = _resumed(active, place, rate, ramp, start, limits, period)
            if best is not None and trajectory.duration >= best.duration:
                break
            try:
                validate(trajectory, limits)
                require_jerk(trajectory, limits)
                best = trajectory
                break
            except TrajectoryError as this:
                error = this
            ramp *= RAMP_GROWTH
        rate *= RATE_SHARE
    if best is None:
        raise TrajectoryError(f'the rest of the motion cannot keep the limits: {error}')
    return best


def highest_rate(chain: Chain, active: Trajectory, place: float, limits: MotionLimits) -> float:
    """
    Return the rate of time above which the rest of a motion breaks a limit for sure.

    Parameters
    ----------
    active : Trajectory
    place : float
        The time in it at which the rest begins (s).

    """
    count = max(2, int((active.duration - place) / TIP_POINT_PERIOD_S))
    q, qd, qdd = states_at(active, np.linspace(place, active.duration, count)).swapaxes(0, 1)
    return 1.0 / max(float(speed_shares(chain, limits.tip, q, qd).max()),
                     float((np.abs(qd) / limits.velocity).max()),
                     float((np.abs(qdd) / limits.acceleration).max()) ** 0.5, NO_MOTION_SHARE)


def _resumed(active: Trajectory, place: float, rate: float, duration: float, start: StartState,
             limits: MotionLimits, period: float) -> Trajectory:
    """Return the rest at a rate, after a ramp of a duration (s)."""
    x = np.linspace(0.0, 1.0, INVERSION_POINTS)
    ramp_places = place + rate * duration * _ramp_share(x)
    knots = active.times[active.times > place + limits.min_spacing]
    if not len(knots):
        raise TrajectoryError('the motion is at its end')
    # When the rest is at the points of the motion.
    at_knots = np.where(knots < ramp_places[-1], duration * np.interp(knots, ramp_places, x),
                        duration + (knots - ramp_places[-1]) / rate)
    end = float(at_knots[-1])
    instants = merge_close(sorted([*at_knots[:-1], *([duration] if duration < end else [])]),
                           end, limits.min_spacing)
    fine = max(min(period, duration / RAMP_POINTS), limits.min_spacing)
    periods = [fine if instant <= duration else np.inf for instant in instants]
    t = np.array(subdivide([0.0, *instants], periods))
    x = np.minimum(t / duration, 1.0)
    places = np.where(x < 1.0, place + rate * duration * _ramp_share(x),
                      ramp_places[-1] + rate * (t - duration))
    rates = (rate * x**2 * (3.0 - 2.0 * x))[:, None]
    slopes = (rate * 6.0 * x * (1.0 - x) / duration)[:, None]
    q, qd, qdd = states_at(active, np.minimum(places, active.duration)).swapaxes(0, 1)
    q[-1] = active.end
    states = np.stack([q, rates * qd, rates**2 * qdd + slopes * qd], axis=1)
    return start.continued(active.joint_names, np.round(start.splice_time + t, 9), states)


def _ramp_share(x: np.ndarray) -> np.ndarray:
    """Return how far a ramp has gone in the motion, as a share of its duration."""
    return x**3 * (1.0 - 0.5 * x)


FIRST_CHANGE_S = 0.2       # duration of the change from one rate to the other, shortest tried
CHANGE_GROWTH = 1.9        # from one that is tried to the next
CHANGE_DURATIONS = 5       # that are tried
LATEST_BEGIN_S = 1.5       # after the splice, at which the change is tried to begin
HIGHEST_RATE_SHARE = 0.95  # of the rate at which a limit is reached, the highest that is tried
RATE_RATIOS = 2            # that are tried at least, where there are trials enough
NEARER_RATE_SHARE = 0.8    # of the change of the rate, from one that is tried to the next
LEAST_CHANGE = 0.05        # of the rate, below which it is not worth while
MAX_RATE_TRIALS = 40
MIN_RATE_TRIALS = 3
MAX_TRIED_POINTS = 10_000  # of all trials, so that a long motion holds nobody up
POINTS_PER_CHANGE = 20     # at least; between points the controller is near the path
INVERSE_SAMPLES = 400


class PathRate(NamedTuple):
    """The rest of a motion at another speed."""

    trajectory: Trajectory
    ratio: float  # of its speed, after the change, to that of the motion before


def plan_path_rate(chain: Chain, active: Trajectory, start: StartState, ratio: float,
                   limits: MotionLimits, period: float) -> PathRate:
    """
    Plan the rest of a motion on its path at another speed.

    The rate of its time goes from 1 to the ratio by ``1 + (ratio - 1) (3 x^2 - 2 x^3)``, where x
    goes from 0 to 1, and stays there.  While a joint has its largest jerk or acceleration, the
    rate cannot be changed within the limits: then the change begins later.  If the motion cannot
    be as fast as wanted, it becomes as fast as it can be.

    Parameters
    ----------
    active : Trajectory
    start : StartState
        On the active trajectory.
    ratio : float
        Of the new speed to that of the active trajectory; above 0.
    limits : MotionLimits
    period : float
        Largest time between points of the change (s).

    Returns
    -------
    PathRate
        Its trajectory is valid by :func:`ik_node.motion.trajectory.validate.validate`, also in
        its jerk.

    Raises
    ------
    TrajectoryError
        If the motion is over before, or the limits cannot be kept.

    """
    if start.elapsed is None:
        raise TrajectoryError('where the controller is on the motion is not known')
    splice, error, trials = start.elapsed + start.splice_time, None, 0
    if ratio > 1.0:
        highest = highest_rate(chain, active, splice, limits)
        # Exactly there a limit is reached, and nothing is left for the change.
        ratio = min(ratio, max(HIGHEST_RATE_SHARE * highest, min(highest, 1.0)))
    most = int(np.clip(MAX_TRIED_POINTS // len(active.times), MIN_RATE_TRIALS, MAX_RATE_TRIALS))
    each = max(most // RATE_RATIOS, MIN_RATE_TRIALS)
    durations = FIRST_CHANGE_S * CHANGE_GROWTH**np.arange(CHANGE_DURATIONS)
    # The earliest in force first.
    changes = sorted(((begin, duration) for begin in path_begins(active, splice)
                      for duration in durations.tolist() if begin <= splice + LATEST_BEGIN_S),
                     key=sum)
    while abs(ratio - 1.0) > LEAST_CHANGE and trials < most:
        for begin, duration in changes[:min(each, most - trials)]:
            trials += 1
            try:
                trajectory = _changed(active, begin, ratio, duration, start, limits, period)
                validate(trajectory, limits)
                require_jerk(trajectory, limits)
                if ratio > 1.0:
                    require_tip_speed(chain, limits.tip, trajectory)
                return PathRate(trajectory, ratio)
            except TrajectoryError as this:
                error = this
        ratio = 1.0 + NEARER_RATE_SHARE * (ratio - 1.0)
    error = error or 'it is as fast as it may be'
    raise TrajectoryError(f'its speed cannot be changed within the limits: {error}')


def _changed(active: Trajectory, begin: float, ratio: float, duration: float, start: StartState,
             limits: MotionLimits, period: float) -> Trajectory:
    """Return the rest of a motion, whose rate changes from a time (s) of it on."""
    splice, spacing = start.elapsed + start.splice_time, limits.min_spacing
    x = np.linspace(0.0, 1.0, INVERSE_SAMPLES)
    places = begin + duration * _share_gone(x, ratio)
    if places[-1] > active.duration - spacing:
        raise TrajectoryError('the motion is over before')
    knots = active.times[active.times > splice + spacing]
    # When the arm is at the points of the motion, s after the splice.
    at_knots = begin - splice + np.where(
        knots <= begin, knots - begin, np.where(
            knots < places[-1], duration * np.interp(knots, places, x),
            duration + (knots - places[-1]) / ratio))
    end, changed = float(at_knots[-1]), begin - splice + duration
    instants = merge_close(sorted({*at_knots[:-1].tolist(), begin - splice, changed}), end,
                           spacing)
    fine = max(min(period, duration / POINTS_PER_CHANGE), spacing)
    periods = [fine if begin - splice < instant <= changed else np.inf for instant in instants]
    t = np.array(subdivide([0.0, *instants], periods))
    x = np.clip((t - (begin - splice)) / duration, 0.0, 1.0)
    on_path = np.where(x <= 0.0, splice + t, np.where(
        x < 1.0, begin + duration * _share_gone(x, ratio), places[-1] + ratio * (t - changed)))
    rates = (1.0 + (ratio - 1.0) * x**2 * (3.0 - 2.0 * x))[:, None]
    slopes = ((ratio - 1.0) * 6.0 * x * (1.0 - x) / duration)[:, None]
    q, qd, qdd = states_at(active, np.minimum(on_path, active.duration)).swapaxes(0, 1)
    q[-1] = active.end
    states = np.stack([q, rates * qd, rates**2 * qdd + slopes * qd], axis=1)
    return start.continued(active.joint_names, np.round(start.splice_time + t, 9), states)


def _share_gone(x: np.ndarray, ratio: float) -> np.ndarray:
    """Return how far the change has gone in the motion, as a share of its duration."""
    return x + (ratio - 1.0) * x**3 * (1.0 - 0.5 * x)
