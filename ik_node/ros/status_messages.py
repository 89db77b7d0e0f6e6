# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What is said of a goal on ``~/status``, for those who write it and those who read it."""

from __future__ import annotations

from enum import Enum

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus


class GoalState(str, Enum):
    """Where a goal stands; all but ACCEPTED are final."""

    ACCEPTED = 'accepted'
    REACHED = 'reached'
    REJECTED = 'rejected'
    FAILED = 'failed'
    SUPERSEDED = 'superseded'
    STOPPED = 'stopped'


LEVELS = {
    GoalState.ACCEPTED: DiagnosticStatus.OK,
    GoalState.REACHED: DiagnosticStatus.OK,
    GoalState.REJECTED: DiagnosticStatus.ERROR,
    GoalState.FAILED: DiagnosticStatus.ERROR,
    GoalState.SUPERSEDED: DiagnosticStatus.WARN,
    GoalState.STOPPED: DiagnosticStatus.WARN,
}


def stamp_text(stamp: Time) -> str:
    """Return a stamp as answers repeat it."""
    return f'{stamp.sec}.{stamp.nanosec:09d}'
