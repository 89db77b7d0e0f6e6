# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""How sharply an arm was accelerated, by its joint states alone."""

from harness import stamp_of
import numpy as np


def sharpest(states, apart: int = 3) -> float:
    """
    Return the largest change of a joint's velocity per second.

    Over `apart` messages: what is measured was told one update before, and a Python
    process keeps the times of its updates only roughly.  So a busy machine adds to the
    acceleration that was planned (2 in these tests); a hand-over beside the motion adds
    more, 15 and up.
    """
    t = np.array([stamp_of(message) for _, message in states])
    qd = np.array([message.velocity[:6] for _, message in states])
    # The velocity of an update belongs to the command before it, so to the time before it.
    return float((np.abs(qd[apart + 1:] - qd[1:-apart])
                  / (t[apart:-1] - t[:-apart - 1])[:, None]).max())
