# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""How late the callbacks of the node are, measured by a timer that knows when it was due."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic, thread_time

import numpy as np
from rclpy.node import Node

from ik_node.ros.middleware.clocks import steady_clock

TIMER_PERIOD_S = 0.05
NOTICED_DELAY_S = 0.1  # shorter delays are not kept
CATCH_UP_S = 3.5  # after a pause, until old messages have arrived; DDS resends after 3 s


@dataclass(frozen=True)
class Delay:
    """
    One time in which no callback ran.

    Attributes
    ----------
    end : float
        Monotonic time (s) at which callbacks ran again.
    seconds : float
        How long it lasted.
    idle : float
        How much of it (s) the thread was not running at all: the process was stopped, or the
        processor was given to others.  In the rest it was busy with a long callback.

    """

    end: float
    seconds: float
    idle: float


class CallbackDelay:
    """
    A steady timer; whatever keeps the node from its callbacks makes it late.

    Attributes
    ----------
    on_tick : callable
        Called at each tick of the timer, before anything else.

    """

    def __init__(self, node: Node) -> None:
        self._due = np.inf
        self._used = thread_time()
        self._latest = 0.0
        self._delays: deque[Delay] = deque(maxlen=100)
        self.on_tick: Callable[[], None] = lambda: None
        self._timer = node.create_timer(TIMER_PERIOD_S, self._tick, clock=steady_clock())

    def _tick(self) -> None:
        self.on_tick()
        now = self._now()
        self._latest = max(self._latest, now.seconds)
        if now.seconds > NOTICED_DELAY_S:
            self._delays.append(now)
        self._used = thread_time()
        self._due = now.end + 1e-9 * self._timer.time_until_next_call()

    def _now(self) -> Delay:
        """Return by how much the timer is late at present."""
        now = monotonic()
        late = max(now - self._due, 0.0)
        return Delay(now, late, max(late - (thread_time() - self._used), 0.0))

    def latest(self) -> float:
        """Return the longest delay (s) since this was last called."""
        latest, self._latest = max(self._latest, self._now().seconds), 0.0
        return latest

    def since(self, time: float) -> float:
        """Return how long (s) callbacks did not run after a monotonic time (s)."""
        return sum(min(delay.seconds, max(delay.end - time, 0.0)) for delay in self._all())

    def stood_still(self) -> float:
        """Return how long (s) the process did not run, just now or within CATCH_UP_S."""
        recent = monotonic() - CATCH_UP_S
        return max((delay.idle for delay in self._all() if delay.end > recent), default=0.0)

    def _all(self) -> list[Delay]:
        now = self._now()
        return [*self._delays, now] if now.seconds > NOTICED_DELAY_S else [*self._delays]
