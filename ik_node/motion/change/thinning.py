# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Trajectories of fewer points, for controllers that take only so many."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from ik_node.base.errors import ParameterError, TrajectoryError
from ik_node.model.joint_space import JointSpace
from ik_node.motion.trajectory import quintic
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.sampling import states_at
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.motion.trajectory.validate import require_jerk, validate

MIN_POINTS = 50  # that a controller takes
ADDED_POINTS = 3  # when a motion is sent: two before one from rest, and one that holds its end
LOOKS_PER_SEGMENT = 4
BOUND_SLACK = 1e-9  # relative
# Of the deviation that is allowed: points that lie on one polynomial go first.
DEVIATION_STEPS = 1e-4, 1e-2, 0.1, 1.0


def require_max_points(count: int) -> None:
    """Raise ParameterError unless a controller can be said to take so many points, or 0 = any."""
    if 0 < count < MIN_POINTS:
        raise ParameterError(f'controller_max_points is {count}; it must be 0, which is no limit, '
                             f'or at least {MIN_POINTS}')


def for_controller(trajectory: Trajectory, max_points: int, levers: np.ndarray, deviation: float,
                   limits: MotionLimits,
                   require: Callable[[Trajectory], None] | None = None) -> Trajectory:
    """
    Return a trajectory that has at most `max_points` when it is sent; 0 = any number.

    Otherwise as :func:`thinned`, and looked at by `require`, which raises a TrajectoryError of one
    that would collide, or does not keep what it has to.  Without it, it is a ramp to rest, which
    is thinned if that is possible: the arm has to stop, there or beside that.
    """
    if max_points == 0:
        return trajectory
    try:
        fewer = thinned(trajectory, max(max_points - ADDED_POINTS, 1), levers, deviation, limits)
    except TrajectoryError:
        if require is not None:
            raise
        return trajectory
    if fewer is not trajectory and require is not None:
        require(fewer)
    return fewer


def levers_of(joints: JointSpace, reach: float) -> np.ndarray:
    """
    Return how far a joint moves and turns a tip at most, (2, n), in m and rad per rad or m.

    Parameters
    ----------
    reach : float
        Largest distance (m) of a tip from a joint that carries it.

    """
    return np.array([np.where(joints.revolute, reach, 1.0), 1.0 * joints.revolute])


def thinned(trajectory: Trajectory, count: int, levers: np.ndarray, deviation: float,
            limits: MotionLimits) -> Trajectory:
    """
    Return a trajectory of at most `count` points on the same path, at the same times.

    The points that are left have their states; between them the controller interpolates.

    Parameters
    ----------
    levers : (2, n) array
        Of :func:`levers_of`.
    deviation : float
        Largest distance of a tip from the path before (m), and its largest rotation (rad).
    limits : MotionLimits
        That it keeps; of the jerk if the trajectory keeps it.

    """
    points = len(trajectory.times)
    if points <= count:
        return trajectory
    bounds = np.array([limits.velocity, limits.acceleration, np.full(len(levers[0]), np.inf)])
    with suppress(TrajectoryError):
        require_jerk(trajectory, limits)
        bounds[2] = limits.jerk
    for share in DEVIATION_STEPS:
        kept = _kept(trajectory, levers, share * deviation, bounds)
        if len(kept) <= count:
            break
    else:
        raise TrajectoryError(
            f'the motion has {points} points, and with {len(kept)} it would still keep its path; '
            f'it may have {count} (controller_max_points): send it in parts')
    fewer = replace(trajectory, **{name: getattr(trajectory, name)[kept]
                                   for name in ('times', 'q', 'qd', 'qdd')})
    validate(fewer, limits)
    return fewer


def _kept(trajectory: Trajectory, levers: np.ndarray, deviation: float,
          bounds: np.ndarray) -> list[int]:
    """
    Return the points that are left if each gap is as wide as is allowed.

    That is by the deviation (m, rad), and by the bounds (3, n) of velocity, acceleration and jerk.
    """
    times, states = trajectory.with_start()
    shares = np.arange(LOOKS_PER_SEGMENT) / LOOKS_PER_SEGMENT
    looks = (times[:-1, None] + np.diff(times)[:, None] * shares).ravel()
    before = states_at(trajectory, looks)
    q, rates = before[:, 0], np.abs(before[:, 1:])
    kept, last = [*range(trajectory.lead_points)], trajectory.lead_points
    for k in range(trajectory.lead_points + 1, len(times)):
        first, end = LOOKS_PER_SEGMENT * last, LOOKS_PER_SEGMENT * k
        c = quintic.coefficients(times[k] - times[last], *states[:, last], *states[:, k])
        t = (looks[first:end] - times[last])[:, None]
        off = np.abs(quintic.position(c[:, None], t) - q[first:end])
        # The motion before may exceed a bound itself.
        allowed = np.vstack([np.maximum(bounds[:2], rates[first:end].max(axis=0)), bounds[2:]])
        if k > last + 1 and ((levers @ off.T).max() > deviation or (
                _peaks(c, t, times[k] - times[last]) > (1.0 + BOUND_SLACK) * allowed).any()):
            last = k - 1
            kept.append(last - 1)  # the start is no point
    return [*dict.fromkeys([*kept, len(times) - 2])]


def _peaks(c: np.ndarray, t: np.ndarray, T: float) -> np.ndarray:
    """Return the largest velocity at times (m, 1), acceleration and jerk (3, n) of quintics."""
    with np.errstate(divide='ignore', invalid='ignore'):
        root = np.sqrt(576.0 * c[4]**2 - 1440.0 * c[3] * c[5])
        turns = np.array([(-24.0 * c[4] + root) / (120.0 * c[5]),
                          (-24.0 * c[4] - root) / (120.0 * c[5]), -c[3] / (4.0 * c[4]),
                          -c[4] / (5.0 * c[5])])
    at = np.vstack([np.zeros_like(c[:1]), np.full_like(c[:1], T),
                    np.clip(np.nan_to_num(turns), 0.0, T)])
    return np.array([np.abs(quintic.velocity(c[:, None], t)).max(axis=0),
                     np.abs(quintic.acceleration(c, at)).max(axis=0),
                     np.abs(quintic.jerk(c, at)).max(axis=0)])
