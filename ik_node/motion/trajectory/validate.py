# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Final check of a trajectory: finite, continuous, within every limit."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from ik_node.base.errors import TrajectoryError
from ik_node.base.text import quote
from ik_node.kinematics.kernels import compiled, inner
from ik_node.motion.trajectory.interpolation import segments
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.quintic import jerk
from ik_node.motion.trajectory.sampling import acceleration, position, quintic_between, velocity
from ik_node.motion.trajectory.trajectory import Trajectory

SAMPLES_PER_SEGMENT = 8
MAX_BISECTIONS = 30             # of the time between two samples, to find an extremum
MIN_TIME_STEP_S = 1e-6
ROUNDING_SLACK = 1e-9           # relative and absolute
JERK_SLACK = 1e-3               # relative, where points are between switches of the jerk
BROKEN_LIMIT_SLACK = 1e-3       # relative, beyond a limit that the start exceeds already
STATE_FIELDS = 'q', 'qd', 'qdd'
QUANTITY_NAMES = 'position', 'velocity', 'acceleration'
NO_FAULT, TIMES_FAULT, END_FAULT, NOT_FINITE = -1, 3, 4, 5  # kinds besides these


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
    for label in STATE_FIELDS:
        found = getattr(trajectory, label).shape
        if found != shape:
            raise TrajectoryError(f'{label} has shape {found}, expected {shape}')
    if shape[0] == 0:
        raise TrajectoryError('the trajectory has no points')
    times, states = trajectory.with_start()
    limit_rows = np.array([limits.lower, limits.upper, limits.velocity, limits.acceleration,
                           limits.jerk])
    found = first_fault(times, states, trajectory.lead_points, limit_rows)
    if found.kind == TIMES_FAULT:
        raise TrajectoryError(f'its times do not increase by at least {MIN_TIME_STEP_S:g} s')
    if found.kind == END_FAULT:
        raise TrajectoryError('it does not end at rest')
    if found.kind >= NOT_FINITE:
        raise TrajectoryError(f'{STATE_FIELDS[found.kind - NOT_FINITE]} is not finite')
    if found.kind >= 0:
        raise TrajectoryError(
            f'{QUANTITY_NAMES[found.kind]} {found.value:.6g} of joint '
            f'{quote(names[found.joint])} at {found.time:.3f} s is outside '
            f'[{found.lowest:.6g}, {found.highest:.6g}]')


def require_jerk(trajectory: Trajectory, limits: MotionLimits, ratio: float = 1.0) -> None:
    """
    Check that the jerk keeps its limits, times a ratio, after the splice point.

    :func:`validate` does not: fast ramps to rest and splices may need more.

    Raises
    ------
    TrajectoryError
        Naming joint and value.

    """
    _, lengths, c = segments(trajectory)
    lengths, c = lengths[trajectory.lead_points:, None], c[:, trajectory.lead_points:]
    with np.errstate(divide='ignore', invalid='ignore'):
        extreme = np.clip(np.nan_to_num(-c[4] / (5.0 * c[5])), 0.0, lengths)
    peaks = np.abs([jerk(c, t) for t in (np.zeros_like(lengths), extreme, lengths)]).max(
        axis=(0, 1), initial=0.0)
    beyond = peaks - (1.0 + JERK_SLACK) * ratio * limits.jerk
    if (beyond > 0.0).any():
        joint = int(beyond.argmax())
        raise TrajectoryError(f'jerk {peaks[joint]:.6g} of joint '
                              f'{quote(trajectory.joint_names[joint])} is above '
                              f'{ratio * limits.jerk[joint]:.6g}')


class Fault(NamedTuple):
    """A fault of a trajectory."""

    kind: int
    """Which of QUANTITY_NAMES is outside its bounds; NO_FAULT; TIMES_FAULT; END_FAULT; or
    NOT_FINITE plus 0, 1, 2 for q, qd, qdd."""
    joint: int
    time: float
    """When, s."""
    value: float
    """What it was."""
    lowest: float
    """The least that is allowed."""
    highest: float
    """The most that is allowed."""


@compiled
def first_fault(times, states, lead_points, limits):
    """
    Find a fault of a trajectory.

    Parameters
    ----------
    times : (k + 1,) array
        s, the first is 0.
    states : (3, k + 1, n) array
        q, qd, qdd of the start and at the points.
    lead_points : int
        See :class:`ik_node.motion.trajectory.trajectory.Trajectory`.  Up to the splice point the
        arm is on the active trajectory, whose speed was checked with the limits of its time.
    limits : (5, n) array
        Lower, upper, velocity, acceleration, jerk.

    """
    count, n = states.shape[1] - 1, states.shape[2]
    for i in range(3):
        for k in range(1, count + 1):
            for joint in range(n):
                if not np.isfinite(states[i, k, joint]):
                    return Fault(NOT_FINITE + i, joint, times[k], 0.0, 0.0, 0.0)
    for k in range(count):
        step = times[k + 1] - times[k]
        if not MIN_TIME_STEP_S <= step < np.inf:
            return Fault(TIMES_FAULT, 0, times[k], step, 0.0, 0.0)
    for joint in range(n):
        if states[1, count, joint] != 0.0 or states[2, count, joint] != 0.0:
            return Fault(END_FAULT, joint, times[count], 0.0, 0.0, 0.0)
    lowest, highest = np.empty(n), np.empty(n)
    for i in range(3):
        for joint in range(n):
            lowest[joint], highest[joint] = bounds(states, lead_points, limits, i, joint)
        # The speed may be highest between two lead points; the others are extreme at points.
        for k in range(lead_points if i == 1 else 0, count):
            for joint in range(n):
                low, high = lowest[joint], highest[joint]
                if control_points_inside(states, times, k, joint, i, low, high):
                    continue
                at, value = outside(states, times, k, joint, i, low, high)
                if at >= 0.0:
                    return Fault(i, joint, times[k] + at, value, low, high)
    return Fault(NO_FAULT, 0, 0.0, 0.0, 0.0, 0.0)


@inner
def bounds(states, lead_points, limits, i, joint):
    """Return the bounds of position (`i` 0), velocity (1) or acceleration (2) of a joint."""
    if i == 0:
        lower, upper = limits[0, joint], limits[1, joint]
    else:
        upper = limits[1 + i, joint]
        lower = -upper
    least, most = np.inf, -np.inf
    for k in range(lead_points + 1):
        least, most = min(least, states[i, k, joint]), max(most, states[i, k, joint])
    if i == 1:
        # While the acceleration at the splice point falls to zero, the speed still rises by
        # a^2 / 2j.
        qdd = states[2, lead_points, joint]
        peak = states[1, lead_points, joint] + qdd * abs(qdd) / (2.0 * limits[4, joint])
        least, most = min(least, peak), max(most, peak)
    if least < lower:
        lower = least - BROKEN_LIMIT_SLACK * abs(least)
    if most > upper:
        upper = most + BROKEN_LIMIT_SLACK * abs(most)
    slack = ROUNDING_SLACK * (1.0 + (abs(upper) if np.isfinite(upper) else 0.0))
    return lower - slack, upper + slack


@inner
def control_points_inside(states, times, k, joint, i, low, high):
    """
    Return whether the Bezier control points between two points are all inside the bounds.

    Then so is the polynomial, or its derivative, which is in their convex hull (Farin, "Curves
    and Surfaces for CAGD", section 4.3).  This decides almost all cases at once.
    """
    T = times[k + 1] - times[k]
    q0, q1 = states[0, k, joint], states[0, k + 1, joint]
    step0, step1 = 0.2 * T * states[1, k, joint], 0.2 * T * states[1, k + 1, joint]
    bend0, bend1 = 0.05 * T * T * states[2, k, joint], 0.05 * T * T * states[2, k + 1, joint]
    b1, b2 = q0 + step0, q0 + 2.0 * step0 + bend0
    b4, b3 = q1 - step1, q1 - 2.0 * step1 + bend1
    if i == 0:
        return (low <= min(q0, b1, b2, b3, b4, q1)) and (max(q0, b1, b2, b3, b4, q1) <= high)
    d0, d1, d2, d3, d4 = step0, b2 - b1, b3 - b2, b4 - b3, step1
    if i == 1:
        low, high = 0.2 * T * low, 0.2 * T * high
        return low <= min(d0, d1, d2, d3, d4) and max(d0, d1, d2, d3, d4) <= high
    a0, a1, a2, a3 = bend0, d2 - d1, d3 - d2, bend1
    low, high = 0.05 * T * T * low, 0.05 * T * T * high
    return low <= min(a0, a1, a2, a3) and max(a0, a1, a2, a3) <= high


@inner
def outside(states, times, k, joint, i, low, high):
    """
    Find the first value of a joint outside its bounds, between two points.

    Position, then velocity: at SAMPLES_PER_SEGMENT instants, and at the extremum between
    two of them where the derivative changes its sign.  Acceleration: at these instants, and
    where the jerk, a parabola, is zero.

    Returns
    -------
    (float, float)
        When (s after the first point; negative: never), and the value.

    """
    length = times[k + 1] - times[k]
    segment = quintic_between(length, states, k, joint)
    h = length / SAMPLES_PER_SEGMENT
    rate_before = 0.0
    for m in range(SAMPLES_PER_SEGMENT + 1):
        t = m * h
        found = derivative(segment, t, i)
        if not low <= found <= high:
            return t, found
        if i < 2:
            rate = derivative(segment, t, i + 1)
            if m > 0 and rate_before * rate < 0.0:
                t = extremum(segment, t - h, t, rate_before, i)
                found = derivative(segment, t, i)
                if not low <= found <= high:
                    return t, found
            rate_before = rate
    if i == 2:
        # jerk = 6 (c3 + 4 c4 t + 10 c5 t^2)
        _, _, _, c3, c4, c5 = segment
        root = 4.0 * c4 * c4 - 10.0 * c3 * c5
        if root < 0.0:
            return -1.0, 0.0
        far = -2.0 * c4 - np.copysign(sqrt(root), c4)
        for t in (far / (10.0 * c5) if c5 != 0.0 else 0.0, c3 / far if far != 0.0 else 0.0):
            t = min(max(t, 0.0), length)
            found = acceleration(segment, t)
            if not low <= found <= high:
                return t, found
    return -1.0, 0.0


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
