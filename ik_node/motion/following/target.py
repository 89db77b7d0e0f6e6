# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled estimate of where a streamed target is, and how it moves.

A target is a row of 24: pose in the base frame (12), velocity (6) and
acceleration (6), linear (m) and angular (rad) parts, in the axes of the base.
"""

from __future__ import annotations

from math import cos, exp, sin, sqrt

from ik_node.kinematics.kernels import compiled, copy, inner, pose_error

TARGET = 24
VELOCITY, ACCELERATION = 12, 18


@inner
def turn(pose, x, y, z):
    """Turn a pose (12,) about its origin by a rotation vector in the base frame, in place."""
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
    """Write the pose (12,) of the target `t` seconds on, at constant acceleration."""
    copy(target[:12], pose)
    v, a = target[VELOCITY:], target[ACCELERATION:]
    h = 0.5 * t
    for i in range(3):
        pose[9 + i] += t * (v[i] + h * a[i])
    turn(pose, t * (v[3] + h * a[3]), t * (v[4] + h * a[4]), t * (v[5] + h * a[5]))


@compiled
def take_pose(target, measured, dt, memory, jump, pose, e):
    """
    Correct the target by a pose that was measured `dt` seconds after the last.

    The fading-memory polynomial filter of the second degree (Morrison 1969,
    "Introduction to Sequential Smoothing and Prediction"): the best parabola
    through the past, in which a pose counts less by e each `memory` seconds.  A pose
    farther from the prediction than `jump` (m, rad) begins a new past, at rest.

    Parameters
    ----------
    target : (24,) array, changed
    measured : (12,) array
    jump : (float, float)
    pose : (12,) array, e : (6,) array
        Workspace.

    Returns
    -------
    bool
        Whether it was a jump.

    """
    predict(target, dt, pose)
    distance, angle = pose_error(measured, pose, e)
    if distance > jump[0] or angle > jump[1]:
        copy(measured, target[:12])
        target[12:] = 0.0
        return True
    theta = exp(-dt / memory)
    left = 1.0 - theta
    alpha, beta, gamma = (1.0 - theta**3, 1.5 * left * left * (1.0 + theta) / dt,
                          left**3 / (dt * dt))
    for i in range(6):
        target[VELOCITY + i] += dt * target[ACCELERATION + i] + beta * e[i]
        target[ACCELERATION + i] += gamma * e[i]
    for i in range(3):
        pose[9 + i] += alpha * e[i]
    turn(pose, alpha * e[3], alpha * e[4], alpha * e[5])
    copy(pose, target[:12])
    return False
