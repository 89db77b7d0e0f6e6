# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled cubic splines through the nodes of a path."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ik_node.kinematics.kernels import compiled, inner


class Spline(NamedTuple):
    """Cubic splines of c channels through N nodes."""

    s: np.ndarray  # (N,), path coordinates of the nodes
    # values, first, second: (N, c), values at the nodes, first and second derivatives by s
    values: np.ndarray
    first: np.ndarray
    second: np.ndarray


@compiled
def fit(spline, part_starts):
    """
    Fit cubic splines, one for each part between two stops.

    Parameters
    ----------
    spline : Spline
        Its `first` and `second` are written.
    part_starts : (k + 1,) int array
        The first node of each part, and the end of the last part; a node at a stop belongs
        to two parts and appears twice.  A part has at least four nodes.

    """
    s, y, first, second = spline.s, spline.values, spline.first, spline.second
    channels = y.shape[1]
    factor, right = np.empty(s.shape[0]), np.empty(s.shape[0])
    for part in range(part_starts.shape[0] - 1):
        a, b = part_starts[part], part_starts[part + 1] - 1
        for c in range(channels):
            # End slopes: of the cubic through the four nodes there.
            left_slope = end_slope(s, y, c, a, 1)
            right_slope = end_slope(s, y, c, b, -1)
            h = s[a + 1] - s[a]
            factor[a] = 0.5
            right[a] = 3.0 / h * ((y[a + 1, c] - y[a, c]) / h - left_slope)
            for i in range(a + 1, b + 1):
                h0 = s[i] - s[i - 1]
                d0 = (y[i, c] - y[i - 1, c]) / h0
                if i < b:
                    h1 = s[i + 1] - s[i]
                    d1 = (y[i + 1, c] - y[i, c]) / h1
                else:
                    h1, d1 = 0.0, right_slope
                pivot = 2.0 * (h0 + h1) - h0 * factor[i - 1]
                factor[i] = h1 / pivot
                right[i] = (6.0 * (d1 - d0) - h0 * right[i - 1]) / pivot
            second[b, c] = right[b]
            for i in range(b - 1, a - 1, -1):
                second[i, c] = right[i] - factor[i] * second[i + 1, c]
            for i in range(a, b):
                h = s[i + 1] - s[i]
                first[i, c] = (y[i + 1, c] - y[i, c]) / h \
                    - h / 6.0 * (2.0 * second[i, c] + second[i + 1, c])
            first[b, c] = right_slope


@inner
def end_slope(s, y, c, i, direction):
    """Return the slope at node i of the cubic through it and the next three nodes."""
    total = 0.0
    for j in range(1, 4):
        # Derivative at x_i of the Lagrange polynomials, in terms of y_j - y_i.
        weight = 1.0 / (s[i + j * direction] - s[i])
        for k in range(1, 4):
            if k != j:
                weight *= (s[i] - s[i + k * direction]) / (s[i + j * direction]
                                                           - s[i + k * direction])
        total += weight * (y[i + j * direction, c] - y[i, c])
    return total


@inner
def cell_of(s, at, k):
    """Return the cell between nodes, of positive length, that contains `at`; search from k."""
    last = s.shape[0] - 2
    while k < last and at >= s[k + 1]:
        k += 1
    while k > 0 and at < s[k]:
        k -= 1
    while k > 0 and s[k + 1] <= s[k]:
        k -= 1
    return k


@inner
def spline_at(spline, cell, at, c):
    """Return value, first and second derivative of channel c at a coordinate in a cell."""
    s, y, second = spline.s, spline.values, spline.second
    h = s[cell + 1] - s[cell]
    a, b = (s[cell + 1] - at) / h, (at - s[cell]) / h
    m0, m1 = second[cell, c], second[cell + 1, c]
    value = a * y[cell, c] + b * y[cell + 1, c] \
        + ((a * a * a - a) * m0 + (b * b * b - b) * m1) * h * h / 6.0
    slope = (y[cell + 1, c] - y[cell, c]) / h \
        - (3.0 * a * a - 1.0) / 6.0 * h * m0 + (3.0 * b * b - 1.0) / 6.0 * h * m1
    return value, slope, a * m0 + b * m1
