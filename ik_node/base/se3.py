# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Rigid-body poses as 4x4 homogeneous matrices, and their twists.

``T_a_b`` is the pose of frame b in frame a: it transforms coordinates in b to
coordinates in a.  A twist is ``[v; w]``, linear before angular.  Metres and
radians throughout.  Formulas: Murray, Li and Sastry 1994, "A Mathematical
Introduction to Robotic Manipulation", chapter 2 and appendix A.
"""

from __future__ import annotations

from math import cos, sin

import numpy as np

MAX_ROTATION_ERROR = 1e-6  # of each entry of R R^T - I, of what is taken for a rotation
FARTHEST_GOAL_M = 1e10  # of a pose that is a goal: its square is still a number


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """
    Return the rotation matrix of fixed-axis roll, pitch, yaw (REP-103).

    ``R = Rz(yaw) Ry(pitch) Rx(roll)``, angles in rad, result (3, 3).
    """
    cr, sr, cp, sp, cy, sy = (cos(roll), sin(roll), cos(pitch), sin(pitch), cos(yaw), sin(yaw))
    return np.array([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ])


def rotation_from_quaternion(xyzw: np.ndarray) -> np.ndarray:
    """Return the rotation matrices (..., 3, 3) of unit quaternions (..., 4), x, y, z, w."""
    xyzw = np.asarray(xyzw)
    # For one, plain numbers are faster.
    x, y, z, w = xyzw.tolist() if xyzw.ndim == 1 else np.moveaxis(xyzw, -1, 0)
    R = np.array([
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)]])
    return R if R.ndim == 2 else np.ascontiguousarray(np.moveaxis(R, (0, 1), (-2, -1)))


def rotation_to_axis(axis: np.ndarray) -> np.ndarray:
    """
    Return the smallest rotation (3, 3) of the z axis to the unit vector `axis`.

    For ``-z`` it is a half turn about x.
    """
    x, y, z = axis
    if z < -1.0 + 1e-12:
        return np.diag([1.0, -1.0, -1.0])
    # Rodrigues' formula with sin * k = z x axis = (-y, x, 0) and cos = z.
    f = 1.0 / (1.0 + z)
    return np.array([
        [1.0 - x * x * f, -x * y * f, x],
        [-x * y * f, 1.0 - y * y * f, y],
        [-x, -y, z],
    ])


def rotation_about(axis: np.ndarray, angle: float) -> np.ndarray:
    """Return the rotation (3, 3) by `angle` (rad) about the unit vector `axis` (Rodrigues)."""
    K = hat(axis)
    return np.eye(3) + sin(angle) * K + (1.0 - cos(angle)) * (K @ K)


def pose(rotation: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Return the homogeneous matrix (4, 4) of a rotation (3, 3) and a position (3,) in m."""
    T = np.eye(4)
    T[:3, :3] = rotation
    T[:3, 3] = position
    return T


def inverse(T: np.ndarray) -> np.ndarray:
    """Return the inverse (4, 4) of a rigid pose: ``T_b_a`` from ``T_a_b``."""
    R_t = T[:3, :3].T
    return pose(R_t, -R_t @ T[:3, 3])


def distance(T_a: np.ndarray, T_b: np.ndarray) -> tuple[float, float]:
    """Return the distance between two poses in one frame: position (m), rotation (rad)."""
    R = T_a[:3, :3].T @ T_b[:3, :3]
    sine = 0.5 * np.linalg.norm([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    angle = float(np.arctan2(sine, 0.5 * (np.trace(R) - 1.0)))
    return float(np.linalg.norm(T_a[:3, 3] - T_b[:3, 3])), angle


def hat(v: np.ndarray) -> np.ndarray:
    """Return the skew-symmetric matrix (3, 3) of `v` (3,): ``hat(v) @ x = v x x``."""
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def vee(M: np.ndarray) -> np.ndarray:
    """Return the vector (3,) of the skew-symmetric part of `M` (3, 3); inverts :func:`hat`."""
    return 0.5 * np.array([M[2, 1] - M[1, 2], M[0, 2] - M[2, 0], M[1, 0] - M[0, 1]])


def rotation_quaternion(R: np.ndarray) -> np.ndarray:
    """Return a unit quaternion w, x, y, z of `R` (3, 3), exact to rounding; its sign is open."""
    (r00, r01, r02), (r10, r11, r12), (r20, r21, r22) = R
    # Row k is 4 q_k times the quaternion (Shepperd 1978).  The row of the largest component
    # has the smallest rounding error.
    rows = np.array([
        [1.0 + r00 + r11 + r22, r21 - r12, r02 - r20, r10 - r01],
        [r21 - r12, 1.0 + r00 - r11 - r22, r01 + r10, r02 + r20],
        [r02 - r20, r01 + r10, 1.0 - r00 + r11 - r22, r12 + r21],
        [r10 - r01, r02 + r20, r12 + r21, 1.0 - r00 - r11 + r22],
    ])
    quaternion = rows[np.argmax(np.diagonal(rows))]
    return quaternion / np.linalg.norm(quaternion)


def rotation_log(R: np.ndarray) -> np.ndarray:
    """
    Return the rotation vector (3,) of `R` (3, 3): unit axis times angle in [0, pi].

    Computed from the unit quaternion (w, v): ``angle = 2 atan2(|v|, w)``, exact to
    rounding for every angle.  At pi, where the sign of the axis is not unique, the
    first of its largest components is positive.
    """
    w, *v = rotation_quaternion(R)
    v = np.array(v)
    if w < 0.0:
        w, v = -w, -v
    length = np.linalg.norm(v)
    if length == 0.0:
        return np.zeros(3)
    return v * (2.0 * np.arctan2(length, w) / length)


def adjoint(T: np.ndarray) -> np.ndarray:
    """
    Return the adjoint (6, 6) of a pose ``T_a_b``: it transforms twists in b to twists in a.

    ``Ad = [[R, hat(p) R], [0, R]]``.
    """
    R = T[:3, :3]
    Ad = np.zeros((6, 6))
    Ad[:3, :3] = Ad[3:, 3:] = R
    Ad[:3, 3:] = hat(T[:3, 3]) @ R
    return Ad


def small_adjoint(twist: np.ndarray) -> np.ndarray:
    """
    Return the adjoint (6, 6) of a twist ``[v; w]``; its product with a twist is the Lie bracket.

    ``ad = [[hat(w), hat(v)], [0, hat(w)]]``.  It equals ``dAd/dt Ad^-1`` of a frame
    that moves with this twist.
    """
    ad = np.zeros((6, 6))
    ad[:3, :3] = ad[3:, 3:] = hat(twist[3:])
    ad[:3, 3:] = hat(twist[:3])
    return ad


def twist_exp(twist: np.ndarray) -> np.ndarray:
    """
    Return the pose (4, 4) after moving with a constant twist for one unit of time.

    Parameters
    ----------
    twist : (6,) array
        ``[v; w]`` in m and rad.

    """
    W = hat(twist[3:])
    square = float(twist[3:] @ twist[3:])
    angle = np.sqrt(square)
    # sin(a)/a, (1 - cos(a))/a^2 and (a - sin(a))/a^3; np.sinc(x) is sin(pi x)/(pi x).
    a = np.sinc(angle / np.pi)
    b = 0.5 * np.sinc(0.5 * angle / np.pi) ** 2
    c = (1.0 - a) / square if square > 0.0 else 1.0 / 6.0
    return pose(np.eye(3) + a * W + b * (W @ W),
                twist[:3] + (b * W + c * (W @ W)) @ twist[:3])


def twist_log(T: np.ndarray) -> np.ndarray:
    """Return the twist (6,) with ``twist_exp(twist) = T``; its angle is in [0, pi]."""
    w = rotation_log(T[:3, :3])
    W = hat(w)
    square = float(w @ w)
    half = 0.5 * np.sqrt(square)
    d = (1.0 - half / np.tan(half)) / square if square > 0.0 else 1.0 / 12.0
    p = T[:3, 3]
    return np.concatenate([p - 0.5 * (W @ p) + d * (W @ (W @ p)), w])
