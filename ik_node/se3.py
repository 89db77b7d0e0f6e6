# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Rigid-body poses as 4x4 homogeneous matrices.

``T_a_b`` is the pose of frame b in frame a: it takes coordinates in b to
coordinates in a.  Metres and radians throughout.
"""

from __future__ import annotations

from math import cos, sin

import numpy as np


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


def rotation_to_axis(axis: np.ndarray) -> np.ndarray:
    """
    Return a rotation (3, 3) that takes the z axis to the unit vector `axis`.

    The shortest one; for ``-z`` a half turn about x.
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
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
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
    """Return how far two poses in one frame are apart: position (m), rotation angle (rad)."""
    R = T_a[:3, :3].T @ T_b[:3, :3]
    sine = 0.5 * np.linalg.norm([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    angle = float(np.arctan2(sine, 0.5 * (np.trace(R) - 1.0)))
    return float(np.linalg.norm(T_a[:3, 3] - T_b[:3, 3])), angle
