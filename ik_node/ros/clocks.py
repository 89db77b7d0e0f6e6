# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The clocks of a node."""

from __future__ import annotations

from rclpy.clock import Clock, ClockType


def steady_clock() -> Clock:
    """Return a clock for timers that the time of day, if it is set, does not move."""
    return Clock(clock_type=ClockType.STEADY_TIME)
