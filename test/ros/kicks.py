# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Largest accelerations of an arm, from its joint states."""

from harness import positions_of, stamp_of
import numpy as np

from benchmarks.takeover.judge import judge

ACCELERATION = 2.0  # rad/s^2, the limit in these tests
LAGGING_ACCELERATION = 8.0  # rad/s^2, the bound for an arm that lags behind its controller


def sharpest(states, apart: int = 4) -> float:
    """
    Return the largest change of a joint's velocity per second.

    From positions and mean velocities over `apart` messages.  The limit is 2 in these tests; a
    splice that leaves the trajectory gives 15 or more.
    """
    t = np.array([stamp_of(message) for _, message in states])
    q = np.array([positions_of(message) for _, message in states])
    qd = (q[apart:] - q[:-apart]) / (t[apart:] - t[:-apart])[:, None]
    middle = 0.5 * (t[apart:] + t[:-apart])
    return float((np.abs(qd[apart:] - qd[:-apart])
                  / (middle[apart:] - middle[:-apart])[:, None]).max())


def kicks(states, rate: float = 100.0) -> list[str]:
    """
    Return the steps in an arm's motion, by its joint states, as sentences.

    The arm follows its commands immediately; the controller has `rate` (Hz).
    """
    found = judge(*(np.array(values) for values in zip(*(
        (stamp_of(message), message.position, message.velocity) for _, message in states))),
        rate, ACCELERATION)
    return found.faults(ACCELERATION)


def no_kick(arm) -> None:
    """Print the largest acceleration of a lagging arm since it was lent, and bound it."""
    kick = sharpest(arm.states)
    print(f'\nlargest acceleration: {kick:.2f} rad/s^2')
    assert kick < LAGGING_ACCELERATION
