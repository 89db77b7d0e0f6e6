# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Parse command-line values; bad values are refused with a sentence."""

from __future__ import annotations

from argparse import ArgumentTypeError
from math import isfinite
import re

import numpy as np

from ik_node.errors import ParameterError
from ik_node.se3 import rotation_from_quaternion

NODE_NAME = re.compile(r'/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*')


def finite(text: str) -> float:
    """Return a number that is neither NaN nor infinite."""
    try:
        number = float(text)
    except ValueError:
        number = float('nan')
    if not isfinite(number):
        raise ArgumentTypeError(f'{text!a} is not a finite number')
    return number


def node_name(text: str) -> str:
    """Return a node name, with or without a namespace."""
    if not NODE_NAME.fullmatch(text):
        raise ArgumentTypeError(f'{text!a} is not a node name; give e.g. ik_node or /left/ik_node')
    return text


def rotation_from(quaternion: np.ndarray) -> np.ndarray:
    """Return the rotation matrix of a quaternion x, y, z, w, which is normalised first."""
    length = np.linalg.norm(quaternion)
    if not 0.0 < length < np.inf:
        raise ParameterError(f'the quaternion {list(quaternion)} has no direction')
    return rotation_from_quaternion(quaternion / length)
