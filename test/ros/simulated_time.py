# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated time, as a simulator publishes it."""

from threading import Event, Thread
from time import monotonic

from rclpy.time import Time
from rosgraph_msgs.msg import Clock

PERIOD = 0.002  # s


class Simulation:
    """Publishes /clock, from 1000 s on, at a rate that can be changed."""

    def __init__(self, probe) -> None:
        self._publisher = probe.create_publisher(Clock, '/clock', 10)
        self._end = Event()
        self._thread = Thread(target=self._run)
        self.time = 1000.0
        self.rate = 0.0
        self._thread.start()

    def _run(self) -> None:
        last = monotonic()
        while not self._end.wait(PERIOD):
            now = monotonic()
            self.time += self.rate * (now - last)
            last = now
            if self.rate:
                self._publisher.publish(Clock(clock=Time(nanoseconds=int(1e9 * self.time))
                                              .to_msg()))

    def close(self) -> None:
        """End it."""
        self._end.set()
        self._thread.join()
