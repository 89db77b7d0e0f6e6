# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The clocks of a node, and the stamps of messages."""

from __future__ import annotations

from builtin_interfaces.msg import Duration, Time
from rclpy.clock import Clock, ClockType


def nanoseconds_of(stamp: Time) -> int:
    """Return a builtin_interfaces/Time in ns."""
    return stamp.sec * 10**9 + stamp.nanosec


def seconds_of(stamp: Time | Duration) -> float:
    """Return a builtin_interfaces/Time or Duration in s."""
    return stamp.sec + 1e-9 * stamp.nanosec


def steady_clock() -> Clock:
    """Return a clock for timers that the time of day, if it is set, does not move."""
    return Clock(clock_type=ClockType.STEADY_TIME)
