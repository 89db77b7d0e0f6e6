# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Quaternions at the ROS boundary: order x, y, z, w.

tf_transformations where it is installed (a ROS machine); on a machine without
ROS, transforms3d, which it wraps and which has the order w, x, y, z.
"""

from __future__ import annotations

import numpy as np

try:
    import tf_transformations

    BACKEND = 'tf_transformations'
except ImportError:
    import transforms3d.euler
    import transforms3d.quaternions

    BACKEND = 'transforms3d'


def quaternion_from_rotation(rotation: np.ndarray) -> np.ndarray:
    """Return the unit quaternion x, y, z, w of a rotation matrix (3, 3)."""
    if BACKEND == 'tf_transformations':
        T = np.eye(4)
        T[:3, :3] = rotation
        return np.asarray(tf_transformations.quaternion_from_matrix(T))
    w, x, y, z = transforms3d.quaternions.mat2quat(rotation)
    return np.array([x, y, z, w])


def quaternion_from_rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Return the unit quaternion x, y, z, w of fixed-axis roll, pitch, yaw (rad, REP-103)."""
    if BACKEND == 'tf_transformations':
        return np.asarray(tf_transformations.quaternion_from_euler(roll, pitch, yaw))
    w, x, y, z = transforms3d.euler.euler2quat(roll, pitch, yaw, 'sxyz')
    return np.array([x, y, z, w])


def quaternions_after(first: np.ndarray, then: np.ndarray) -> np.ndarray:
    """Return ``first * then``: one quaternion (4,) with each of many (N, 4), x, y, z, w."""
    x, y, z, w = first
    return then @ np.array([[w, z, -y, -x], [-z, w, x, -y], [y, -x, w, -z], [x, y, z, w]])
