# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The last look at a trajectory before it leaves: finite, continuous, within every limit."""

from __future__ import annotations

import numpy as np

from ik_node.errors import quote, TrajectoryError
from ik_node.trajectory.sampler import dense, evaluate, segments
from ik_node.trajectory.trajectory import MotionLimits, Trajectory

SAMPLES_PER_SEGMENT = 8
SHORTEST_STEP = 1e-6  # s
SLACK = 1e-9          # relative and absolute, for rounding
ALLOWANCE = 1e-3      # relative, on top of what the start breaks already


def validate(trajectory: Trajectory, limits: MotionLimits) -> None:
    """
    Check a trajectory, between its points too, as the controller will interpolate it.

    A limit that the start already breaks (a joint pushed past its stop, a
    velocity limit turned down in motion) may not be broken any further.

    Raises
    ------
    TrajectoryError
        Naming joint, quantity, value, bound and time.

    """
    names = trajectory.joint_names
    shape = len(trajectory.times), len(names)
    for label, array in (('q', trajectory.q), ('qd', trajectory.qd), ('qdd', trajectory.qdd)):
        if array.shape != shape:
            raise TrajectoryError(f'{label} has shape {array.shape}, expected {shape}')
        if not np.isfinite(array).all():
            raise TrajectoryError(f'{label} is not finite')
    if shape[0] == 0:
        raise TrajectoryError('the trajectory has no points')
    steps = np.diff(trajectory.times, prepend=0.0)
    if not (np.isfinite(steps).all() and steps.min() >= SHORTEST_STEP):
        raise TrajectoryError(f'its times do not increase by at least {SHORTEST_STEP:g} s')
    if np.any(trajectory.qd[-1]) or np.any(trajectory.qdd[-1]):
        raise TrajectoryError('it does not end at rest')
    # The motion before the hand-over was checked when it was sent; from its last
    # acceleration to none, the speed must still rise by a^2 / 2j.
    k = trajectory.handover
    q0 = np.vstack([trajectory.start.q, trajectory.q[:k]])
    qd0 = np.vstack([trajectory.start.qd, trajectory.qd[:k]])
    qdd0 = np.vstack([trajectory.start.qdd, trajectory.qdd[:k]])
    qd0 = np.vstack([qd0, qd0[-1] + qdd0[-1] * np.abs(qdd0[-1]) / (2.0 * limits.jerk)])
    times, q, qd, qdd = dense(trajectory, SAMPLES_PER_SEGMENT)
    peaks = {'position': _turning_points(times, q, qd),
             'velocity': _turning_points(times, qd, qdd),
             'acceleration': _acceleration_extremes(trajectory)}
    for quantity, values, lower, upper, before in (
            ('position', q, limits.lower, limits.upper, q0),
            ('velocity', qd, -limits.velocity, limits.velocity, qd0),
            ('acceleration', qdd, -limits.acceleration, limits.acceleration, qdd0)):
        lower = np.where(before.min(0) < lower, before.min(0) - ALLOWANCE * np.abs(before.min(0)),
                         lower)
        upper = np.where(before.max(0) > upper, before.max(0) + ALLOWANCE * np.abs(before.max(0)),
                         upper)
        slack = SLACK * (1.0 + np.where(np.isfinite(upper), np.abs(upper), 0.0))
        for instants, found in ((times, values), peaks[quantity]):
            outside = (found < lower - slack) | (found > upper + slack)
            if outside.any():
                i, joint = np.argwhere(outside)[0]
                raise TrajectoryError(
                    f'{quantity} {found[i, joint]:.6g} of joint {quote(names[joint])} at '
                    f'{instants[i]:.3f} s is outside [{lower[joint]:.6g}, {upper[joint]:.6g}]')


def _turning_points(times: np.ndarray, values: np.ndarray,
                    slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return where the values turn between two samples, and how far they go there.

    Between samples whose slopes have different signs the values follow, as near
    as matters, the parabola of the two slopes; elsewhere they stay between the samples.
    """
    h = np.diff(times)[:, None]
    a, b = slopes[:-1], slopes[1:]
    with np.errstate(divide='ignore', invalid='ignore'):
        top = values[:-1] + 0.5 * h * a * a / (a - b)
    return times[:-1], np.where(a * b < 0.0, top, values[:-1])


def _acceleration_extremes(trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Return the begins of the segments, twice, and the extremes of the acceleration inside."""
    begins, lengths, c = segments(trajectory)
    c3, c4, c5 = 6.0 * c[3], 24.0 * c[4], 60.0 * c[5]  # jerk = c3 + c4 t + c5 t^2
    root = np.sqrt(np.maximum(c4 * c4 - 4.0 * c3 * c5, 0.0))
    far = -0.5 * (c4 + np.copysign(root, c4))
    with np.errstate(divide='ignore', invalid='ignore'):
        t = np.nan_to_num(np.stack([far / c5, c3 / far]), nan=0.0, posinf=0.0, neginf=0.0)
    t = np.clip(t, 0.0, lengths[:, None])
    return np.tile(begins, 2), evaluate(c[:, None], t)[2].reshape(-1, c.shape[2])
