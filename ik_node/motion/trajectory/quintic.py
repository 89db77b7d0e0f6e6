# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Quintic polynomials: coefficients from two end states, values and derivatives.

Coefficients are a sequence of six, lowest power first.  The functions take arrays as
well as numbers; compiled code wraps them (:mod:`ik_node.motion.trajectory.validate`), so there is
no numba here.
"""

from __future__ import annotations

import numpy as np


def terms(T, start, end):
    """Return the six coefficients between two states, each its q, qd and qdd, as a tuple."""
    q0, qd0, qdd0 = start
    q1, qd1, qdd1 = end
    dq = q1 - q0 - qd0 * T - 0.5 * qdd0 * T * T  # remaining displacement
    dv = (qd1 - qd0 - qdd0 * T) * T
    da = (qdd1 - qdd0) * T * T
    T3 = T * T * T
    return (q0, qd0, 0.5 * qdd0,
            (10.0 * dq - 4.0 * dv + 0.5 * da) / T3,
            (-15.0 * dq + 7.0 * dv - da) / (T3 * T),
            (6.0 * dq - 3.0 * dv + 0.5 * da) / (T3 * T * T))


def coefficients(T, q0, qd0, qdd0, q1, qd1, qdd1) -> np.ndarray:
    """
    Return the quintic between two states, (6, ...).

    The duration `T` (s) broadcasts against the states; all states have one shape.
    """
    return np.array(terms(T, (q0, qd0, qdd0), (q1, qd1, qdd1)))


def position(c, t):
    """Return the value at `t` (s)."""
    return c[0] + t * (c[1] + t * (c[2] + t * (c[3] + t * (c[4] + t * c[5]))))


def velocity(c, t):
    """Return the first derivative at `t` (s)."""
    return c[1] + t * (2.0 * c[2] + t * (3.0 * c[3] + t * (4.0 * c[4] + t * 5.0 * c[5])))


def acceleration(c, t):
    """Return the second derivative at `t` (s)."""
    return 2.0 * c[2] + t * (6.0 * c[3] + t * (12.0 * c[4] + t * 20.0 * c[5]))


def jerk(c, t):
    """Return the third derivative at `t` (s)."""
    return 6.0 * c[3] + t * (24.0 * c[4] + t * 60.0 * c[5])
