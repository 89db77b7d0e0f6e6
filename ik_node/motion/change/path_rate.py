# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Change the speed of the active motion on its path."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ik_node.base.errors import TrajectoryError
from ik_node.model.chain import Chain
from ik_node.motion.change.path_resume import highest_rate
from ik_node.motion.change.path_stop import path_begins
from ik_node.motion.change.received_trajectory import require_tip_speed
from ik_node.motion.direct.start_state import StartState
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.point_times import merge_close, subdivide
from ik_node.motion.trajectory.sampling import states_at
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.motion.trajectory.validate import require_jerk, validate

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
    """
    The rest of a motion at another speed.

    Attributes
    ----------
    trajectory : Trajectory
    ratio : float
        Of its speed, after the change, to that of the motion before.

    """

    trajectory: Trajectory
    ratio: float


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
