# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled cubic splines through the nodes of a path."""

from __future__ import annotations

import numpy as np

from ik_node.kinematics.kernels import compiled, inner


@compiled
def fit(s, first, y, slopes, bends):
    """
    Fit cubic splines, one for each part between two stops.

    Parameters
    ----------
    s : (N,) array
        Where the nodes are.
    first : (k + 1,) int array
        At which node each part begins, and where the last ends; a node at a stop
        belongs to two parts and is there twice.
    y : (N, c) array
        Values at the nodes; four in a part at least.
    slopes, bends : (N, c) arrays, written
        First and second derivatives by s there.

    """
    channels = y.shape[1]
    factor, right = np.empty(s.shape[0]), np.empty(s.shape[0])
    for part in range(first.shape[0] - 1):
        a, b = first[part], first[part + 1] - 1
        for c in range(channels):
            # Slopes at the ends, of the cubic through the four nodes there.
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
            bends[b, c] = right[b]
            for i in range(b - 1, a - 1, -1):
                bends[i, c] = right[i] - factor[i] * bends[i + 1, c]
            for i in range(a, b):
                h = s[i + 1] - s[i]
                slopes[i, c] = (y[i + 1, c] - y[i, c]) / h \
                    - h / 6.0 * (2.0 * bends[i, c] + bends[i + 1, c])
            slopes[b, c] = right_slope


@inner
def end_slope(s, y, c, i, way):
    """Return the slope at node i of the cubic through it and the next three that way."""
    total = 0.0
    for j in range(1, 4):
        # Derivative at x_i of the Lagrange polynomials, in terms of y_j - y_i.
        weight = 1.0 / (s[i + j * way] - s[i])
        for k in range(1, 4):
            if k != j:
                weight *= (s[i] - s[i + k * way]) / (s[i + j * way] - s[i + k * way])
        total += weight * (y[i + j * way, c] - y[i, c])
    return total


@inner
def spline_at(s, y, bends, cell, at, c):
    """Return value, first and second derivative of channel c at a coordinate in a cell."""
    h = s[cell + 1] - s[cell]
    a, b = (s[cell + 1] - at) / h, (at - s[cell]) / h
    m0, m1 = bends[cell, c], bends[cell + 1, c]
    value = a * y[cell, c] + b * y[cell + 1, c] \
        + ((a * a * a - a) * m0 + (b * b * b - b) * m1) * h * h / 6.0
    slope = (y[cell + 1, c] - y[cell, c]) / h \
        - (3.0 * a * a - 1.0) / 6.0 * h * m0 + (3.0 * b * b - 1.0) / 6.0 * h * m1
    return value, slope, a * m0 + b * m1
