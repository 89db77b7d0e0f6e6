# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The content of ``~/answers`` and ``~/status``, for the node and for its clients."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from math import isfinite
import re
from typing import Any

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus

from ik_node.base.errors import Reason
from ik_node.ros.middleware.clocks import nanoseconds_of


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
# Values of answers that are texts, though some of them may look like numbers.
TEXT_KEYS = frozenset({
    'id', 'stamp', 'last_stamp', 'begin', 'kind', 'state', 'reason', 'message', 'named_pose',
    'solution', 'began_at_rest_because', 'left_out_turns', 'limiting_joint',
    'remedy_limit_joint', 'remedy_limit_end', 'remedy_option', 'remedy_of', 'remedy_way',
    ACTION_GOAL_KEY})
NUMBERS_KEYS = frozenset({  # several, with blanks between
    'q', 'q_start', 'qd_start', 'remedy_shift_m', 'remedy_turn_axis', 'remedy_start'})
NAMES_KEYS = frozenset({'remedy_start_joints'})
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
    return f'goal {number}, see ~/answers'


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


def plain_values(values: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of an answer with numbers as numbers, several of them as lists."""
    return {key: _plain(key, text) for key, text in values.items()}


def _plain(key: str, text: str) -> Any:
    if key in NAMES_KEYS:
        return text.split()
    if key in NUMBERS_KEYS:
        return [float(word) for word in text.split()]
    if key in TEXT_KEYS:
        return text
    if text in ('true', 'false'):
        return text == 'true'
    try:
        number = float(text)
    except ValueError:
        return text
    if not isfinite(number):
        return text
    return int(text) if text.lstrip('-').isdecimal() else number


def level_of(state: GoalState, reason: Reason, kind: str) -> bytes:
    """
    Return the level of an answer.

    A stream or a jog has no goal that it would miss: that its poses end, or that something newer
    takes its place, is its normal end.
    """
    normal = reason is Reason.STREAM_ENDED or state is GoalState.SUPERSEDED
    return DiagnosticStatus.OK if kind in (STREAM_KIND, JOG_KIND) and normal \
        else STATE_LEVELS[state]


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
