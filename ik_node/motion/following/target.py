# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled estimate of the pose, velocity and acceleration of a streamed target."""

from __future__ import annotations

from math import cos, exp, sin, sqrt
from typing import NamedTuple

import numpy as np

from ik_node.kinematics.kernels import compiled, copy, inner, pose_error

JERK_MEMORY = 4.0    # of the filter's memory, over which the jerk is averaged
SURE_INTERVAL = 0.3  # of the memory, between two poses; at twice as much no jerk is believed


class TargetState(NamedTuple):
    """
    Motion of the target in the base frame.

    Attributes
    ----------
    pose : (12,) array
        See :mod:`ik_node.kinematics.kernels`.
    velocity, acceleration : (6,) arrays
        Linear (m) and angular (rad) parts, per s and s^2, in the axes of the base.

    """

    pose: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray


@inner
def rotate(pose, x, y, z):
    """Rotate a pose (12,) about its origin by a rotation vector in the base frame, in place."""
    angle = sqrt(x * x + y * y + z * z)
    if angle < 1e-12:
        return
    x, y, z = x / angle, y / angle, z / angle
    c, s = cos(angle), sin(angle)
    u = 1.0 - c
    for k in range(3):
        a, b, d = pose[k], pose[3 + k], pose[6 + k]
        pose[k] = (c + u * x * x) * a + (u * x * y - s * z) * b + (u * x * z + s * y) * d
        pose[3 + k] = (u * x * y + s * z) * a + (c + u * y * y) * b + (u * y * z - s * x) * d
        pose[6 + k] = (u * x * z - s * y) * a + (u * y * z + s * x) * b + (c + u * z * z) * d


@inner
def predict(target, t, pose):
    """Write the pose (12,) of the target after `t` seconds of constant acceleration."""
    copy(target.pose, pose)
    v, a = target.velocity, target.acceleration
    h = 0.5 * t
    for i in range(3):
        pose[9 + i] += t * (v[i] + h * a[i])
    rotate(pose, t * (v[3] + h * a[3]), t * (v[4] + h * a[4]), t * (v[5] + h * a[5]))


@inner
def add_lag(filtered, jerk, sure, memory, target):
    """Write the target (TargetState) from what the filter has, which lags behind by its jerk."""
    copy(filtered.pose, target.pose)
    for i in range(6):
        target.velocity[i] = filtered.velocity[i] + 3.0 * sure * memory**2 * jerk[i]
        target.acceleration[i] = filtered.acceleration[i] + 3.0 * sure * memory * jerk[i]
    far, pose = sure * memory**3, target.pose
    for i in range(3):
        pose[9 + i] += far * jerk[i]
    rotate(pose, far * jerk[3], far * jerk[4], far * jerk[5])


@compiled
def correct(filtered, target, jerk, measured, dt, memory, jump, sure, pose, e):
    """
    Correct the target by a pose that was measured `dt` seconds after the last.

    The fading-memory polynomial filter of the second degree (Morrison 1969, "Introduction to
    Sequential Smoothing and Prediction"): the best parabola through the past poses, whose
    weight falls by a factor of e every `memory` seconds.  A pose farther from the
    prediction than `jump` (m, rad) restarts the filter there, at rest.

    A parabola lags behind a motion with jerk: its errors of pose, velocity and acceleration are
    then `memory` cubed, 3 times its square and 3 times it, times the jerk.  These are added, by
    the jerk that follows from the mean of the corrections.

    Parameters
    ----------
    filtered : TargetState, changed
        Of the filter.
    target : TargetState, written
    jerk : (6,) array, changed
    measured : (12,) array
    jump : (float, float)
    sure : float
        Share of the jerk that is believed.
    pose : (12,) array, e : (6,) array
        Workspace.

    Returns
    -------
    (bool, float, float)
        Whether it was a jump, and how far from the prediction the pose was (m, rad).

    """
    predict(filtered, dt, pose)
    distance, angle = pose_error(measured, pose, e)
    velocity, acceleration = filtered.velocity, filtered.acceleration
    if distance > jump[0] or angle > jump[1]:
        copy(measured, filtered.pose)
        for i in range(6):
            velocity[i] = acceleration[i] = jerk[i] = 0.0
        add_lag(filtered, jerk, 0.0, memory, target)
        return True, distance, angle
    theta = exp(-dt / memory)
    left, mean = 1.0 - theta, 1.0 - exp(-dt / (JERK_MEMORY * memory))
    alpha, beta, gamma = (1.0 - theta**3, 1.5 * left * left * (1.0 + theta) / dt,
                          left**3 / (dt * dt))
    for i in range(6):
        velocity[i] += dt * acceleration[i] + beta * e[i]
        acceleration[i] += gamma * e[i]
        jerk[i] += mean * (gamma * e[i] / dt - jerk[i])
    for i in range(3):
        pose[9 + i] += alpha * e[i]
    rotate(pose, alpha * e[3], alpha * e[4], alpha * e[5])
    copy(pose, filtered.pose)
    sure *= min(max(2.0 - dt / (SURE_INTERVAL * memory), 0.0), 1.0)
    add_lag(filtered, jerk, sure, memory, target)
    return False, distance, angle
