# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The last look at a trajectory before it leaves: finite, continuous, within every limit."""

from __future__ import annotations

from math import sqrt

import numpy as np

from ik_node.errors import TrajectoryError
from ik_node.kinematics.kernels import compiled, copy, inner
from ik_node.motion.interpolation import segments
from ik_node.motion.trajectory import MotionLimits, Trajectory
from ik_node.text import quote

SAMPLES_PER_SEGMENT = 8
HALVINGS = 30         # of the time between two samples, to where a value turns
SHORTEST_STEP = 1e-6  # s
SLACK = 1e-9          # relative and absolute, for rounding
QUANTITIES = 'position', 'velocity', 'acceleration'
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
    begins, lengths, c = segments(trajectory)
    lowest, highest = np.empty((2, 3, len(names)))
    for i, (lower, upper, before) in enumerate((
            (limits.lower, limits.upper, q0),
            (-limits.velocity, limits.velocity, qd0),
            (-limits.acceleration, limits.acceleration, qdd0))):
        lower = np.where(before.min(0) < lower, before.min(0) - ALLOWANCE * np.abs(before.min(0)),
                         lower)
        upper = np.where(before.max(0) > upper, before.max(0) + ALLOWANCE * np.abs(before.max(0)),
                         upper)
        slack = SLACK * (1.0 + np.where(np.isfinite(upper), np.abs(upper), 0.0))
        lowest[i], highest[i] = lower - slack, upper + slack
    i, joint, time, value = first_outside(begins, lengths, c, lowest, highest)
    if i >= 0:
        raise TrajectoryError(
            f'{QUANTITIES[i]} {value:.6g} of joint {quote(names[joint])} at {time:.3f} s is '
            f'outside [{lowest[i, joint]:.6g}, {highest[i, joint]:.6g}]')


@inner
def evaluate(c0, c1, c2, c3, c4, c5, t, state):
    """Write position, velocity and acceleration (3,) of a quintic at a time (s)."""
    state[0] = c0 + t * (c1 + t * (c2 + t * (c3 + t * (c4 + t * c5))))
    state[1] = c1 + t * (2.0 * c2 + t * (3.0 * c3 + t * (4.0 * c4 + t * 5.0 * c5)))
    state[2] = 2.0 * c2 + t * (6.0 * c3 + t * (12.0 * c4 + t * 20.0 * c5))


@compiled
def first_outside(begins, lengths, c, lowest, highest):
    """
    Look for a motion outside of its bounds.

    Position, then velocity: at SAMPLES_PER_SEGMENT instants, and where they turn
    between two, whose slopes have different signs.  Acceleration: at the instants,
    and where the jerk, a parabola, is zero.

    Parameters
    ----------
    begins, lengths, c : arrays
        From :func:`ik_node.motion.interpolation.segments`.
    lowest, highest : (3, n) arrays
        Of position, velocity and acceleration.

    Returns
    -------
    (int, int, float, float)
        Which of the three (-1: none), which joint, when (s), and its value.

    """
    state, before = np.empty(3), np.empty(3)
    for i in range(3):
        for k in range(lengths.shape[0]):
            for joint in range(c.shape[2]):
                low, high = lowest[i, joint], highest[i, joint]
                c0, c1, c2, c3, c4, c5 = (c[0, k, joint], c[1, k, joint], c[2, k, joint],
                                          c[3, k, joint], c[4, k, joint], c[5, k, joint])
                h = lengths[k] / SAMPLES_PER_SEGMENT
                for m in range(SAMPLES_PER_SEGMENT + 1):
                    t = m * h
                    evaluate(c0, c1, c2, c3, c4, c5, t, state)
                    found = state[i]
                    if not low <= found <= high:
                        return i, joint, begins[k] + t, found
                    if i < 2 and m > 0 and before[i + 1] * state[i + 1] < 0.0:
                        near, far = t - h, t
                        for _ in range(HALVINGS):
                            t = 0.5 * (near + far)
                            evaluate(c0, c1, c2, c3, c4, c5, t, state)
                            if before[i + 1] * state[i + 1] > 0.0:
                                near = t
                            else:
                                far = t
                        found = state[i]
                        if not low <= found <= high:
                            return i, joint, begins[k] + t, found
                        evaluate(c0, c1, c2, c3, c4, c5, m * h, state)
                    copy(state, before)
                if i == 2:
                    # jerk = 6 (c3 + 4 c4 t + 10 c5 t^2)
                    root = 4.0 * c4 * c4 - 10.0 * c3 * c5
                    if root < 0.0:
                        continue
                    far = -2.0 * c4 - np.copysign(sqrt(root), c4)
                    for t in (far / (10.0 * c5) if c5 != 0.0 else 0.0,
                              c3 / far if far != 0.0 else 0.0):
                        t = min(max(t, 0.0), lengths[k])
                        found = 2.0 * c2 + t * (6.0 * c3 + t * (12.0 * c4 + t * 20.0 * c5))
                        if not low <= found <= high:
                            return i, joint, begins[k], found
    return -1, 0, 0.0, 0.0
