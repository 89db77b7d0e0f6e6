# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The clocks of a node, and the stamps of messages."""

from __future__ import annotations

from time import monotonic

from builtin_interfaces.msg import Duration, Time
from rclpy.clock import Clock, ClockType

CLOCK_READINGS = 3  # of both clocks at most, of which the closest pair is used
CLOSE_READINGS_S = 2e-5  # a pair within this time is good enough


def nanoseconds_of(stamp: Time) -> int:
    """Return a builtin_interfaces/Time in ns."""
    return stamp.sec * 10**9 + stamp.nanosec


def seconds_of(stamp: Time | Duration) -> float:
    """Return a builtin_interfaces/Time or Duration in s."""
    return stamp.sec + 1e-9 * stamp.nanosec


def both_clocks(clock: Clock) -> tuple[float, int]:
    """Return one instant on the monotonic clock (s) and on the clock of a node (ns)."""
    looks = []
    for _ in range(CLOCK_READINGS):
        before = monotonic()
        stamp = clock.now().nanoseconds
        after = monotonic()
        looks.append((after - before, 0.5 * (before + after), stamp))
        if after - before < CLOSE_READINGS_S:
            break
    _, now, stamp = min(looks)  # the shortest interval was interrupted least
    return now, stamp


def steady_clock() -> Clock:
    """Return a clock for timers that the time of day, if it is set, does not move."""
    return Clock(clock_type=ClockType.STEADY_TIME)
