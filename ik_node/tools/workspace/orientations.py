# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Evenly distributed orientations and directions, for any number of them."""

from __future__ import annotations

from math import pi, sqrt
from typing import NamedTuple

import numpy as np

SPIRAL_RATIO = 1.533751168755204288118041  # positive root of x^4 = x + 4


class Orientations(NamedTuple):
    """
    Orientations of the tip to try at each position.

    Attributes
    ----------
    quaternions : (K, 4) array
        Quaternions x y z w of norm 1.
    pointing : bool
        Whether only the direction of the tip's z axis counts; the rotation about it is free.

    """

    quaternions: np.ndarray
    pointing: bool = False


def even_orientations(count: int) -> np.ndarray:
    """
    Return unit quaternions x y z w, (count, 4): super-Fibonacci spirals.

    Alexa (2022), "Super-Fibonacci Spirals: Fast, Low-Discrepancy Sampling of SO(3)".
    """
    s = np.arange(count) + 0.5
    inner, outer = np.sqrt(s / count), np.sqrt(1.0 - s / count)
    a, b = 2.0 * pi * s / sqrt(2.0), 2.0 * pi * s / SPIRAL_RATIO
    return np.stack([inner * np.sin(a), inner * np.cos(a), outer * np.sin(b), outer * np.cos(b)],
                    axis=1)


def even_directions(count: int) -> np.ndarray:
    """
    Return unit quaternions x y z w, (count, 4), that rotate the z axis to even directions.

    The directions are a Fibonacci lattice (Gonzalez 2010, "Measurement of Areas on a Sphere
    Using Fibonacci and Latitude-Longitude Lattices"); the rotation to each is the shortest.
    """
    k = np.arange(count)
    z = 1.0 - (2.0 * k + 1.0) / count
    angle = pi * (3.0 - sqrt(5.0)) * k
    across = np.sqrt(1.0 - z * z)
    halves = np.stack([-across * np.sin(angle), across * np.cos(angle), np.zeros(count), 1.0 + z],
                      axis=1)
    return halves / np.linalg.norm(halves, axis=1, keepdims=True)
