# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Forward jumps of simulated time, which make motions and stamps look late."""

from __future__ import annotations

from collections import deque
from time import monotonic

from rclpy.clock import JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.node import Node

SMALLEST_JUMP_S = 0.5
RATE_WINDOW = 40  # samples over which the rate of simulated time is estimated
RATE_TIME_S = 0.1  # of samples at least, before the rate is known
RATE_MARGIN = 2.0  # simulated time may become this much faster without a jump
JUMP_MEMORY_S = 60.0  # for which a jump is remembered


class TimeJumps:
    """
    Tells jumps of ``/clock`` from a simulation that runs fast or was not heard for a while.

    An update of simulated time is a jump if it is SMALLEST_JUMP_S more than the time since the
    one before, at RATE_MARGIN times the rate of the last seconds, accounts for.
    """

    def __init__(self, node: Node) -> None:
        self._clock = node.get_clock()
        self._logger = node.get_logger()
        self._samples: deque[tuple[float, int]] = deque(maxlen=RATE_WINDOW)
        # When (monotonic s), by how much (s), and the time before (ns).
        self._jumps: deque[tuple[float, float, int]] = deque(maxlen=100)
        self._handle = self._clock.create_jump_callback(
            JumpThreshold(min_forward=Duration(seconds=SMALLEST_JUMP_S), min_backward=None,
                          on_clock_change=False), post_callback=self._on_jump)

    def sample(self) -> None:
        """Note the time; called periodically."""
        if not self._clock.ros_time_is_active:
            return
        now = self._clock.now().nanoseconds
        if now and (not self._samples or now != self._samples[-1][1]):
            if self._samples and now < self._samples[-1][1]:
                self._samples.clear()  # it was set back
            self._samples.append((monotonic(), now))

    def _on_jump(self, jump: TimeJump) -> None:
        if not self._samples:
            return
        now, delta = monotonic(), 1e-9 * jump.delta.nanoseconds
        (first, begin), (last, end) = self._samples[0], self._samples[-1]
        if last - first < RATE_TIME_S:
            return  # it has just begun; the rate is not known yet
        rate = max(1e-9 * (end - begin) / (last - first), 1.0)
        if delta <= SMALLEST_JUMP_S + RATE_MARGIN * rate * (now - last):
            return
        # The rate is estimated as if the time before had jumped, too.
        self._samples = deque(((at, time + jump.delta.nanoseconds) for at, time in self._samples),
                              maxlen=RATE_WINDOW)
        before = self._clock.now().nanoseconds - jump.delta.nanoseconds
        self._jumps.append((now, delta, before))
        self._logger.warning(f'simulated time jumped forward by {delta:.1f} s',
                             throttle_duration_sec=5.0)

    def since(self, time: float) -> float:
        """Return by how much (s) time jumped forward after a monotonic time (s), in all."""
        after = max(time, monotonic() - JUMP_MEMORY_S)
        return sum(delta for at, delta, _ in self._jumps if at > after)

    def since_stamp(self, stamp: int) -> float:
        """Return by how much (s) time jumped forward after a stamp (ns), in all."""
        after = monotonic() - JUMP_MEMORY_S
        return sum(delta for at, delta, before in self._jumps if at > after and before >= stamp)

    def close(self) -> None:
        """Look no more."""
        self._handle.unregister()
