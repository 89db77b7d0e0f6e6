# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The rest of a motion that was paused: on its path, from rest to its end."""

from __future__ import annotations

import numpy as np

from ik_node.base.errors import TrajectoryError
from ik_node.model.chain import Chain
from ik_node.motion.direct.start_state import StartState
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.point_times import merge_close, subdivide
from ik_node.motion.trajectory.sampling import states_at
from ik_node.motion.trajectory.tip_speed import speed_shares, TIP_POINT_PERIOD_S
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.motion.trajectory.validate import require_jerk, validate

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
