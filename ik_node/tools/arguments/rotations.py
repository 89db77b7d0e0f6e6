# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Orientations that are given on a command line."""

from __future__ import annotations

import numpy as np

from ik_node.base.errors import ParameterError
from ik_node.base.se3 import rotation_from_quaternion
from ik_node.base.text import shown


def rotation_from(quaternion: np.ndarray) -> np.ndarray:
    """
    Return the rotation matrix (3, 3) of a quaternion x, y, z, w of any length but 0.

    Raises
    ------
    ParameterError
        If its length is 0 or not finite.

    """
    length = np.linalg.norm(quaternion)
    if not 0.0 < length < np.inf:
        raise ParameterError(f'the quaternion {shown(list(quaternion))} has no direction')
    return rotation_from_quaternion(quaternion / length)
