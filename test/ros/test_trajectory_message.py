# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What is sent to the controller for a planned trajectory."""

import numpy as np
import pytest

from ik_node.motion.controller_rules import refusal
from ik_node.motion.trajectory import MotionState, Trajectory
from ik_node.ros.messages import trajectory_message

NAMES = 'shoulder', 'elbow'
Q_END = 0.3, -0.7
STAMP_S = 100


def at_rest(duration, points=3):
    """Return a trajectory that stays at Q_END."""
    rest = np.zeros((points, 2))
    return Trajectory(NAMES, MotionState.at_rest(np.array(Q_END)),
                      duration * np.arange(1, points + 1) / points, rest + Q_END, rest, rest)


@pytest.mark.parametrize('duration', [0.002, 0.006, 0.4, 0.5 - 1e-10])
def test_a_short_trajectory_is_not_over_when_it_arrives(duration):
    """A controller takes it up to 0.5 s late, and holds its end."""
    message = trajectory_message(at_rest(duration), STAMP_S * 10**9)
    assert refusal(message, NAMES, STAMP_S + 0.5) is None
    assert len(message.points) == 4
    last = message.points[-1]
    assert tuple(last.positions) == Q_END
    assert not any(last.velocities) and not any(last.accelerations)


@pytest.mark.parametrize('duration, stamp', [(0.006, None), (0.7, STAMP_S * 10**9)])
def test_others_are_sent_as_they_are(duration, stamp):
    """Without a stamp a trajectory begins on arrival; a long one is not over then."""
    message = trajectory_message(at_rest(duration), stamp)
    assert len(message.points) == 3
    assert message.points[-1].time_from_start.nanosec == round(1e9 * duration)
