# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""How late the callbacks of a node are: what a timer that knows when it was due tells."""

from __future__ import annotations

from time import monotonic

import numpy as np
from rclpy.node import Node

from ik_node.ros.clocks import steady_clock

PERIOD = 0.05  # s


class Heartbeat:
    """A steady timer; whatever keeps the node busy makes it late."""

    def __init__(self, node: Node) -> None:
        self._due = np.inf
        self._latest = 0.0
        self._timer = node.create_timer(PERIOD, self._beat,
                                        clock=steady_clock())

    def _beat(self) -> None:
        now = monotonic()
        self._latest = max(self._latest, now - self._due)
        self._due = now + 1e-9 * self._timer.time_until_next_call()

    def latest(self) -> float:
        """Return by how much (s) it was late at most since this was last asked."""
        latest, self._latest = max(self._latest, monotonic() - self._due), 0.0
        return max(latest, 0.0)
