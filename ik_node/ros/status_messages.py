# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The content of ``~/status``, for the node and for its clients."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
import re
from typing import Any

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus

from ik_node.ros.clocks import nanoseconds_of


class GoalState(str, Enum):
    """State of a goal; all but ACCEPTED are final."""

    ACCEPTED = 'accepted'
    REACHED = 'reached'
    REJECTED = 'rejected'
    FAILED = 'failed'
    SUPERSEDED = 'superseded'
    STOPPED = 'stopped'


STREAM_KIND, JOG_KIND = 'stream', 'jog'  # of goals that consist of many messages
# Without a pose or a command, at least, after which a stream that was ended starts again.
STREAM_PAUSE_S = 0.5
ACTION_GOAL_KEY = 'action_goal'  # of answers to a goal of an action
HOME_TEXT = re.compile(r'goal (\d+),')
STATE_LEVELS = {
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


def action_goal_text(goal_id: Any) -> str:
    """Return the unique_identifier_msgs/UUID of an action's goal, as answers repeat it."""
    return bytes(goal_id.uuid).hex()


def home_text(number: int) -> str:
    """Return the answer of the service ``~/home``, which names the goal that it became."""
    return f'goal {number}, see ~/status'


def home_number(text: str) -> str:
    """Return the number in a :func:`home_text`, as answers have it; '' if there is none."""
    found = HOME_TEXT.match(text)
    return found[1] if found else ''


def is_final(values: Mapping[str, str]) -> bool:
    """Return whether an answer, by its values, is the last one to its goal."""
    return values['state'] != GoalState.ACCEPTED.value


def values_of(status: DiagnosticStatus) -> dict[str, str]:
    """Return the values of an answer by their keys."""
    return {pair.key: pair.value for pair in status.values}


def answers_stream(values: Mapping[str, str], first: Time, latest: Time,
                   kind: str = STREAM_KIND) -> bool:
    """
    Return whether an answer, by its values, is to a stream on ``~/goal_stream``, or to a jog.

    Poses of a stream may be overwritten before the node takes them, so its answers need not
    have the stamp of the first one.  They have the stamp of the first pose that was taken and
    that of the last one: they are the sender's if these are between its own.  So it is with the
    commands of a jog.

    Parameters
    ----------
    values : mapping
        As :func:`values_of`.
    first, latest : builtin_interfaces/Time
        Stamps of the first and the latest pose that were sent.
    kind : str
        STREAM_KIND or JOG_KIND.

    """
    if values.get('kind') != kind:
        return False
    begin, end = (_nanoseconds(values[key]) for key in ('stamp', 'last_stamp'))
    return begin <= nanoseconds_of(latest) and end >= nanoseconds_of(first)


def _nanoseconds(text: str) -> int:
    seconds, _, fraction = text.partition('.')
    return int(seconds) * 10**9 + int(fraction)
