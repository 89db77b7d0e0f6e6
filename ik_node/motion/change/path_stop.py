# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Ramps to rest among obstacles: along the path of the active trajectory, if need be.

The fastest ramp brakes each joint by itself, and leaves the path.  One that slows down the time
of the trajectory stays on it, where it was proved to be free.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ik_node.base.errors import TrajectoryError
from ik_node.collision.distances.certificate import allowed_distances, certify
from ik_node.collision.distances.model import CollisionModel
from ik_node.motion.direct.collision_free import require_free
from ik_node.motion.direct.point_to_point import plan_stop
from ik_node.motion.direct.start_state import StartState
from ik_node.motion.trajectory.interpolation import segments
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.point_times import merge_close, subdivide
from ik_node.motion.trajectory.sampling import states_at
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.motion.trajectory.validate import require_jerk, validate

PEAK_SLOWDOWN = 1.5      # times 1 / duration: the largest change of the rate of time
PATH_TIME_SHARE = 0.5    # of the duration of a ramp, by which it goes on in the trajectory
DURATION_GROWTH = 1.3    # from one try to the next
MIN_BEGIN_SPACING_S = 0.1  # between the times at which a ramp is tried to begin
STOP_JERK_RATIO = 1.5    # of the jerk limits, which a ramp may have that is not smooth
POINTS_PER_RAMP = 20     # at least; between points the controller is near the path
INVERSION_SAMPLES = 400


class PathStop(NamedTuple):
    """
    A ramp to rest on the path of the active trajectory.

    Attributes
    ----------
    trajectory : Trajectory
    place : float
        The time (s) in the active trajectory at which it ends.

    """

    trajectory: Trajectory
    place: float


def plan_free_stop(model: CollisionModel | None, joint_names: tuple[str, ...],
                   active: Trajectory | None, start: StartState, limits: MotionLimits,
                   period: float) -> Trajectory:
    """
    Plan the fastest ramp to rest; if that would collide, one on the path of the trajectory.

    If both would, or the other one breaks a limit, the fastest: a stop is never lost.

    Parameters
    ----------
    model : CollisionModel or None
        None checks nothing.
    active : Trajectory or None
        The active trajectory, if `start` is on it.
    start, limits, period
        As for :func:`plan_path_stop`.

    Raises
    ------
    TrajectoryError
        If no ramp keeps the limits.

    """
    fastest = plan_stop(joint_names, start, limits, period)
    if model is None or start.elapsed is None:
        return fastest
    now = allowed_distances(model, fastest.start.q, swept=True)
    if certify(model, *segments(fastest), now) is None:
        return fastest
    # On the path a pair may be as near as when it began, until it is apart: so it was proved.
    begun = allowed_distances(model, active.start.q, swept=True)
    allowed = np.where(now < model.margins, np.minimum(now, begun), now)
    on_path = plan_path_stop(active, start, limits, period).trajectory
    try:
        validate(on_path, limits)
        require_free(model, on_path, allowed=allowed)
    except TrajectoryError:
        return fastest
    return on_path


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
