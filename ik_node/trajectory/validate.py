# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The last look at a trajectory before it leaves: finite, continuous, within every limit."""

from __future__ import annotations

import numpy as np

from ik_node.errors import quote, TrajectoryError
from ik_node.trajectory.sampler import dense
from ik_node.trajectory.trajectory import MotionLimits, Trajectory

SAMPLES_PER_SEGMENT = 8
SHORTEST_STEP = 1e-6  # s
SLACK = 1e-9          # relative and absolute, for rounding


def validate(trajectory: Trajectory, limits: MotionLimits) -> None:
    """
    Check a trajectory, between its points too, as the controller will interpolate it.

    A limit that the start already breaks (a joint pushed past its stop, a
    velocity scale turned down in motion) may not be broken any further.

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
    start = trajectory.start
    times, q, qd, qdd = dense(trajectory, SAMPLES_PER_SEGMENT)
    for quantity, values, lower, upper in (
            ('position', q, np.minimum(limits.lower, start.q), np.maximum(limits.upper, start.q)),
            ('velocity', qd, *_both(limits.velocity, start.qd)),
            ('acceleration', qdd, *_both(limits.acceleration, start.qdd))):
        slack = SLACK * (1.0 + np.where(np.isfinite(upper), np.abs(upper), 0.0))
        outside = (values < lower - slack) | (values > upper + slack)
        if outside.any():
            i, k = np.argwhere(outside)[0]
            raise TrajectoryError(
                f'{quantity} {values[i, k]:.6g} of joint {quote(names[k])} at {times[i]:.3f} s '
                f'is outside [{lower[k]:.6g}, {upper[k]:.6g}]')


def _both(limit: np.ndarray, at_start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.minimum(-limit, at_start), np.maximum(limit, at_start)
