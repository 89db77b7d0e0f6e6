# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled forward kinematics, Jacobian and pose error.

All functions write into arrays that the caller owns and allocate nothing.
A pose is a row of 12 numbers: rotation (9, row-major), position (3).
"""

from __future__ import annotations

from math import atan2, cos, sin, sqrt

from numba import njit
import numpy as np

_compiled = njit(cache=True, error_model='numpy', nogil=True)


@_compiled
def compose(a, b, out):
    """Write the product of two poses: ``out = a b``, rows of 12; `out` may not be `b`."""
    for i in range(3):
        r0, r1, r2 = a[3 * i], a[3 * i + 1], a[3 * i + 2]
        t = a[9 + i] + r0 * b[9] + r1 * b[10] + r2 * b[11]
        for j in range(3):
            out[3 * i + j] = r0 * b[j] + r1 * b[3 + j] + r2 * b[6 + j]
        out[9 + i] = t


@_compiled
def forward(offsets, joints, factors, q, frames):
    """
    Forward kinematics as the product of the joint transforms along the path.

    Parameters
    ----------
    offsets, joints, factors :
        The tables of :class:`ik_node.model.chain.Chain`.
    q : (n,) array
        Joint positions, rad or m.
    frames : (m + 1, 12) array, written
        Pose of each joint frame (its z axis is the joint axis) and, in the last
        row, of the tip, all in the base frame.

    """
    m = joints.shape[0]
    for k in range(m):
        frame = frames[k]
        if k == 0:
            for i in range(12):
                frame[i] = offsets[0, i]
        else:
            compose(frames[k - 1], offsets[k], frame)
        value = factors[k, 0] * q[joints[k, 1]] + factors[k, 1]
        if joints[k, 0] == 1:
            for i in range(3):
                frame[9 + i] += frame[3 * i + 2] * value
        else:
            c, s = cos(value), sin(value)
            for i in range(3):
                x, y = frame[3 * i], frame[3 * i + 1]
                frame[3 * i] = x * c + y * s
                frame[3 * i + 1] = y * c - x * s
    compose(frames[m - 1], offsets[m], frames[m])


@_compiled
def geometric_jacobian(joints, factors, frames, J):
    """
    Geometric Jacobian of the tip in the base frame, by cross products.

    Revolute: ``[a x (p_tip - p_i); a]``, prismatic: ``[a; 0]`` (Whitney 1972); a
    mimic joint adds its column, times its factor, to the joint that it follows.

    Parameters
    ----------
    frames : (m + 1, 12) array
        From :func:`forward`.
    J : (6, n) array, written
        Rows: linear velocity (m), angular velocity (rad), per unit of q.

    """
    m = joints.shape[0]
    J[:] = 0.0
    tip = frames[m]
    for k in range(m):
        frame, i, f = frames[k], joints[k, 1], factors[k, 0]
        ax, ay, az = frame[2] * f, frame[5] * f, frame[8] * f
        if joints[k, 0] == 1:
            J[0, i] += ax
            J[1, i] += ay
            J[2, i] += az
        else:
            dx, dy, dz = tip[9] - frame[9], tip[10] - frame[10], tip[11] - frame[11]
            J[0, i] += ay * dz - az * dy
            J[1, i] += az * dx - ax * dz
            J[2, i] += ax * dy - ay * dx
            J[3, i] += ax
            J[4, i] += ay
            J[5, i] += az


@_compiled
def pose_error(goal, tip, e):
    """
    Error twist from the tip to the goal, in the base frame.

    ``e = [p_goal - p; log(R_goal R^T)]``, the logarithm as rotation vector
    (rad).  At an angle of exactly pi, where the axis has two signs, the first
    of its largest components is taken positive.

    Parameters
    ----------
    goal, tip : (12,) arrays
        Poses in the base frame.
    e : (6,) array, written

    Returns
    -------
    (float, float)
        Length of the position part (m) and of the orientation part (rad).

    """
    for i in range(3):
        e[i] = goal[9 + i] - tip[9 + i]
    # R = R_goal R^T
    r00 = goal[0] * tip[0] + goal[1] * tip[1] + goal[2] * tip[2]
    r01 = goal[0] * tip[3] + goal[1] * tip[4] + goal[2] * tip[5]
    r02 = goal[0] * tip[6] + goal[1] * tip[7] + goal[2] * tip[8]
    r10 = goal[3] * tip[0] + goal[4] * tip[1] + goal[5] * tip[2]
    r11 = goal[3] * tip[3] + goal[4] * tip[4] + goal[5] * tip[5]
    r12 = goal[3] * tip[6] + goal[4] * tip[7] + goal[5] * tip[8]
    r20 = goal[6] * tip[0] + goal[7] * tip[1] + goal[8] * tip[2]
    r21 = goal[6] * tip[3] + goal[7] * tip[4] + goal[8] * tip[5]
    r22 = goal[6] * tip[6] + goal[7] * tip[7] + goal[8] * tip[8]
    x, y, z = 0.5 * (r21 - r12), 0.5 * (r02 - r20), 0.5 * (r10 - r01)
    sine = sqrt(x * x + y * y + z * z)
    cosine = 0.5 * (r00 + r11 + r22 - 1.0)
    angle = atan2(sine, cosine)
    if cosine > -0.99:
        scale = angle / sine if sine > 1e-9 else 1.0
        e[3], e[4], e[5] = x * scale, y * scale, z * scale
    else:
        # Near pi the axis comes from the symmetric part: (1 - cos) a a^T.
        xx, yy, zz = r00 - cosine, r11 - cosine, r22 - cosine
        if xx >= yy and xx >= zz:
            ax, ay, az = xx, 0.5 * (r01 + r10), 0.5 * (r02 + r20)
        elif yy >= zz:
            ax, ay, az = 0.5 * (r01 + r10), yy, 0.5 * (r12 + r21)
        else:
            ax, ay, az = 0.5 * (r02 + r20), 0.5 * (r12 + r21), zz
        scale = angle / sqrt(ax * ax + ay * ay + az * az)
        if ax * x + ay * y + az * z < 0.0:
            scale = -scale
        e[3], e[4], e[5] = ax * scale, ay * scale, az * scale
    return sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]), angle


def pose_row(T: np.ndarray) -> np.ndarray:
    """Return a homogeneous matrix (4, 4) as a row of 12: rotation (9), position (3)."""
    return np.concatenate([T[:3, :3].ravel(), T[:3, 3]])


def pose_matrix(row: np.ndarray) -> np.ndarray:
    """Return a row of 12 as a homogeneous matrix (4, 4)."""
    T = np.eye(4)
    T[:3, :3] = row[:9].reshape(3, 3)
    T[:3, 3] = row[9:]
    return T
