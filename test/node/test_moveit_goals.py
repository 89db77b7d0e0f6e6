# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Tolerances of MoveIt's constraints, as those of a goal."""

from math import asin, atan2

import numpy as np
import pinocchio as pin

from ik_node.node.doors.moveit_goals import inner_angles, MAX_ANGLE_RAD


def test_angles_that_are_kept_both_ways():
    """As fixed angles Rx Ry Rz and as a rotation vector, at and between the corners."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        tolerance = rng.uniform(0.0, MAX_ANGLE_RAD, 3) * rng.choice([1.0, 0.1, 0.01], 3)
        inner = inner_angles(tolerance)
        assert (inner >= 0.0).all() and (inner <= tolerance).all()
        for _ in range(8):
            v = inner * rng.choice([-1.0, 1.0], 3) * rng.choice([1.0, 1.0, 0.5], 3)
            R = pin.exp3(v)
            angles = np.array([atan2(-R[1, 2], R[2, 2]), asin(R[0, 2]), atan2(-R[0, 1], R[0, 0])])
            # An axis whose tolerance is too small beside the others is exact.
            assert (np.abs(angles) <= tolerance)[inner > 0.0].all()


def test_little_is_given_away():
    """Of equal tolerances of 0.1 rad more than nine tenths are made use of."""
    assert (inner_angles(np.full(3, 0.1)) > 0.09).all()
