# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Starts and limits of motions, as the tests of many modules have them."""

import numpy as np

from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.trajectory.limits import MotionLimits, TipLimits
from ik_node.motion.trajectory.trajectory import MotionState


def at_rest(q):
    """Return the start of a motion from rest at joint positions (n,)."""
    return StartState.from_state(MotionState.at_rest(np.array(q, dtype=float)))


def limits_of(chain, velocity=None, acceleration=2.0, jerk=20.0, **tip):
    """Return limits that are the same for all joints, but for velocities of the chain."""
    ones = np.ones(chain.n)
    return MotionLimits(chain.lower, chain.upper,
                        chain.velocity if velocity is None else velocity * ones,
                        acceleration * ones, jerk * ones, TipLimits(**tip))
