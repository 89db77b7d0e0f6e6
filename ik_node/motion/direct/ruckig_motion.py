# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Time-optimal, jerk-limited motions of all joints, by ruckig.

Where ruckig is not installed (it has no package in ROS or Ubuntu), or finds none, as with ramps of
1 ms in a motion of many minutes, by the double-S profiles of
:mod:`ik_node.motion.direct.double_s`.

Berscheid and Kroeger (2021), "Jerk-limited Real-time Trajectory Generation with
Arbitrary Target States".
"""

from __future__ import annotations

from importlib.util import find_spec
from itertools import accumulate
from typing import Protocol

import numpy as np

from ik_node.motion.direct.double_s import double_s_to_goal, double_s_to_rest, DoubleSMotion
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import MotionState, TIME_RESOLUTION_S

RUCKIG_INSTALLED = find_spec('ruckig') is not None
if RUCKIG_INSTALLED:
    import ruckig

NO_RUCKIG_NOTICE = ('ruckig is not installed: an arm that gets a goal while it moves comes to '
                    'rest first; for the fastest motions: pip install ruckig')
SAMPLE_PERIOD_S = 2e-3       # of the samples in which peaks are looked for
SAMPLE_COUNTS = 50, 5000     # fewest and most of them
SAMPLES_PER_PHASE = 8        # of constant jerk, at least


class JointMotion(Protocol):
    """A motion of n joints to rest, as ruckig plans it."""

    @property
    def duration(self) -> float:
        """Return how long it takes (s)."""

    def at_time(self, time: float) -> tuple[list[float], list[float], list[float]]:
        """Return positions, velocities and accelerations (n,) at a time (s)."""


def ruckig_version() -> str:
    """Return the version of ruckig, 'none' if it is not installed."""
    return str(ruckig.__version__) if RUCKIG_INSTALLED else 'none'


def motion_to_goal(start: MotionState, q_goal: np.ndarray, limits: MotionLimits) -> JointMotion:
    """
    Return the fastest motion to rest at `q_goal` (n,), all joints arriving together.

    Without ruckig, a joint that moves brakes first.
    """
    found = None
    if RUCKIG_INSTALLED:
        request = _request(start, limits)
        request.target_position = q_goal.tolist()
        found = _calculated(request)
    return found or double_s_to_goal(start, q_goal, limits.for_goals())


def motion_to_rest(start: MotionState, limits: MotionLimits) -> JointMotion:
    """Return the fastest stop of each joint; errors as in :func:`motion_to_goal`."""
    found = None
    if RUCKIG_INSTALLED:
        request = _request(start, limits)
        request.control_interface = ruckig.ControlInterface.Velocity
        request.synchronization = ruckig.Synchronization.No
        found = _calculated(request)
    return found or double_s_to_rest(start, limits.for_goals())


def _request(start: MotionState, limits: MotionLimits) -> ruckig.InputParameter:
    # Lists of plain numbers: others are converted one by one.
    request, rows = ruckig.InputParameter(len(start.q)), limits.for_goals()
    request.current_position = start.q.tolist()
    request.current_velocity = start.qd.tolist()
    request.current_acceleration = start.qdd.tolist()
    request.max_velocity = rows.velocity.tolist()
    request.max_acceleration = rows.acceleration.tolist()
    request.max_jerk = rows.jerk.tolist()
    return request


def _calculated(request: ruckig.InputParameter) -> ruckig.Trajectory | None:
    """Return what ruckig plans; None if it finds nothing."""
    motion = ruckig.Trajectory(request.degrees_of_freedom)
    try:
        outcome = ruckig.Ruckig(request.degrees_of_freedom).calculate(request, motion)
    except (ruckig.RuckigError, ValueError):
        return None
    return motion if outcome in (ruckig.Result.Working, ruckig.Result.Finished) else None


def jerk_switches(motion: JointMotion) -> list[float]:
    """Return the instants (s) at which the jerk of a joint may switch, ascending."""
    if isinstance(motion, DoubleSMotion):
        return motion.jerk_switches
    switches = []
    for profile in motion.profiles[0]:
        switches += accumulate((*profile.brake.t, *profile.t))
    return sorted(switches)


def sample_peaks(motion: JointMotion,
                 *more: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Sample a motion closely enough to find all peaks of the tip's speed.

    Parameters
    ----------
    *more : float
        Further times (s) that must be among the samples.

    Returns
    -------
    times, q, qd : (N,), (N, n), (N, n) arrays
        s, rad or m, and per s.

    """
    end = max(motion.duration, TIME_RESOLUTION_S)
    knots = np.unique([0.0, *jerk_switches(motion), *more, end])
    knots = knots[knots <= end]
    q, qd, qdd = (np.array(column) for column in zip(*map(motion.at_time, knots)))
    count = int(np.clip(motion.duration / SAMPLE_PERIOD_S, *SAMPLE_COUNTS))
    parts = np.linspace(0.0, 1.0, SAMPLES_PER_PHASE + 1)[:-1]
    times = np.unique(np.concatenate((
        np.linspace(0.0, end, count + 1),
        (knots[:-1, None] + np.diff(knots)[:, None] * parts).ravel())))
    k = np.clip(np.searchsorted(knots, times, side='right') - 1, 0, len(knots) - 2)
    t = (times - knots[k])[:, None]
    jerk = (np.diff(qdd, axis=0) / np.diff(knots)[:, None])[k]
    return (times, q[k] + t * (qd[k] + t * (qdd[k] / 2.0 + t * jerk / 6.0)),
            qd[k] + t * (qdd[k] + t * jerk / 2.0))
