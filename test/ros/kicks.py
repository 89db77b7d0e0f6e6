# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""How sharply an arm was accelerated, by its joint states alone."""

from harness import positions_of, stamp_of
import numpy as np

from benchmarks.takeover.judge import judge_states

ACCELERATION = 2.0  # rad/s^2, the limit in these tests


def sharpest(states, lagging: bool = False, apart: int = 4) -> float:
    """
    Return the largest change of a joint's velocity per second.

    By positions and mean velocities over `apart` messages, because a Python process
    keeps the times of its updates only roughly.  The limit is 2 in these tests; a
    hand-over beside the motion is 15 and up.
    """
    t = np.array([stamp_of(message) for _, message in states])
    q = np.array([positions_of(message) for _, message in states])
    if not lagging:  # it stands where it was told to be one update before
        t, q = t[:-1], q[1:]
    qd = (q[apart:] - q[:-apart]) / (t[apart:] - t[:-apart])[:, None]
    middle = 0.5 * (t[apart:] + t[:-apart])
    return float((np.abs(qd[apart:] - qd[:-apart])
                  / (middle[apart:] - middle[:-apart])[:, None]).max())


def kicks(states, rate: float = 100.0) -> list[str]:
    """
    Return what of an arm's motion is a kick, by its joint states, in words.

    The arm follows its commands at once, those of a controller of so many cycles a second.
    """
    found = judge_states(*(np.array(values) for values in zip(*(
        (stamp_of(message), message.position, message.velocity) for _, message in states))),
        rate, ACCELERATION)
    return found.faults(ACCELERATION)
