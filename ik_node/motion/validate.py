# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Final check of a trajectory: finite, continuous, within every limit."""

from __future__ import annotations

from math import sqrt

import numpy as np

from ik_node.errors import TrajectoryError
from ik_node.kinematics.kernels import compiled, inner
from ik_node.motion import quintic
from ik_node.motion.interpolation import segments
from ik_node.motion.limits import MotionLimits
from ik_node.motion.trajectory import Trajectory
from ik_node.text import quote

SAMPLES_PER_SEGMENT = 8
MAX_BISECTIONS = 30             # of the time between two samples, to find an extremum
MIN_TIME_STEP_S = 1e-6
ROUNDING_SLACK = 1e-9           # relative and absolute
BROKEN_LIMIT_SLACK = 1e-3       # relative, beyond a limit that the start exceeds already
QUANTITY_NAMES = 'position', 'velocity', 'acceleration'

position, velocity, acceleration = map(
    inner, (quintic.position, quintic.velocity, quintic.acceleration))


def validate(trajectory: Trajectory, limits: MotionLimits) -> None:
    """
    Check a trajectory at and between its points, as the controller interpolates it.

    A limit that the start already exceeds (a joint pushed past its stop, a velocity limit
    lowered in motion) may not be exceeded further.

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
    if not (np.isfinite(steps).all() and steps.min() >= MIN_TIME_STEP_S):
        raise TrajectoryError(f'its times do not increase by at least {MIN_TIME_STEP_S:g} s')
    if np.any(trajectory.qd[-1]) or np.any(trajectory.qdd[-1]):
        raise TrajectoryError('it does not end at rest')
    # The lead points were checked when they were sent.  While the acceleration at the splice
    # point falls to zero, the speed still rises by a^2 / 2j.
    k = trajectory.lead_points
    q0 = np.vstack([trajectory.start.q, trajectory.q[:k]])
    qd0 = np.vstack([trajectory.start.qd, trajectory.qd[:k]])
    qdd0 = np.vstack([trajectory.start.qdd, trajectory.qdd[:k]])
    qd0 = np.vstack([qd0, qd0[-1] + qdd0[-1] * np.abs(qdd0[-1]) / (2.0 * limits.jerk)])
    begins, lengths, c = segments(trajectory)
    lowest, highest = np.empty((2, 3, len(names)))
    for i, (lower, upper, before) in enumerate((
            (limits.lower, limits.upper, q0),
            (-limits.velocity, limits.velocity, qd0),
            (-limits.acceleration, limits.acceleration, qdd0))):
        least, most = before.min(0), before.max(0)
        lower = np.where(least < lower, least - BROKEN_LIMIT_SLACK * np.abs(least), lower)
        upper = np.where(most > upper, most + BROKEN_LIMIT_SLACK * np.abs(most), upper)
        slack = ROUNDING_SLACK * (1.0 + np.where(np.isfinite(upper), np.abs(upper), 0.0))
        lowest[i], highest[i] = lower - slack, upper + slack
    i, joint, time, value = first_outside(begins, lengths, c, lowest, highest)
    if i >= 0:
        raise TrajectoryError(
            f'{QUANTITY_NAMES[i]} {value:.6g} of joint {quote(names[joint])} at {time:.3f} s is '
            f'outside [{lowest[i, joint]:.6g}, {highest[i, joint]:.6g}]')


@compiled
def first_outside(begins, lengths, c, lowest, highest):
    """
    Find the first value outside of its bounds.

    Position, then velocity: at SAMPLES_PER_SEGMENT instants, and at the extremum between
    two of them where the derivative changes its sign.  Acceleration: at these instants, and
    where the jerk, a parabola, is zero.

    Parameters
    ----------
    begins, lengths, c : arrays
        From :func:`ik_node.motion.interpolation.segments`.
    lowest, highest : (3, n) arrays
        Bounds of position, velocity and acceleration.

    Returns
    -------
    (int, int, float, float)
        Which of the three (-1: none), which joint, when (s), and its value.

    """
    for i in range(3):
        for k in range(lengths.shape[0]):
            for joint in range(c.shape[2]):
                low, high = lowest[i, joint], highest[i, joint]
                segment = (c[0, k, joint], c[1, k, joint], c[2, k, joint],
                           c[3, k, joint], c[4, k, joint], c[5, k, joint])
                h = lengths[k] / SAMPLES_PER_SEGMENT
                rate_before = 0.0
                for m in range(SAMPLES_PER_SEGMENT + 1):
                    t = m * h
                    found = derivative(segment, t, i)
                    if not low <= found <= high:
                        return i, joint, begins[k] + t, found
                    if i < 2:
                        rate = derivative(segment, t, i + 1)
                        if m > 0 and rate_before * rate < 0.0:
                            t = extremum(segment, t - h, t, rate_before, i)
                            found = derivative(segment, t, i)
                            if not low <= found <= high:
                                return i, joint, begins[k] + t, found
                        rate_before = rate
                if i == 2:
                    # jerk = 6 (c3 + 4 c4 t + 10 c5 t^2)
                    _, _, _, c3, c4, c5 = segment
                    root = 4.0 * c4 * c4 - 10.0 * c3 * c5
                    if root < 0.0:
                        continue
                    far = -2.0 * c4 - np.copysign(sqrt(root), c4)
                    for t in (far / (10.0 * c5) if c5 != 0.0 else 0.0,
                              c3 / far if far != 0.0 else 0.0):
                        t = min(max(t, 0.0), lengths[k])
                        found = acceleration(segment, t)
                        if not low <= found <= high:
                            return i, joint, begins[k], found
    return -1, 0, 0.0, 0.0


@inner
def derivative(segment, t, order):
    """Return position (`order` 0), velocity (1) or acceleration (2) of a quintic at `t` (s)."""
    if order == 0:
        return position(segment, t)
    if order == 1:
        return velocity(segment, t)
    return acceleration(segment, t)


@inner
def extremum(segment, near, far, rate_near, order):
    """Return when (s) a derivative of a quintic is extreme between two times, by bisection."""
    t = far
    for _ in range(MAX_BISECTIONS):
        t = 0.5 * (near + far)
        if rate_near * derivative(segment, t, order + 1) > 0.0:
            near = t
        else:
            far = t
    return t
