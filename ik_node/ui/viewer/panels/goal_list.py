# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The last goals, newest first, one line each."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from diagnostic_msgs.msg import DiagnosticStatus
import viser

from ik_node.ros.messages.status_messages import values_of
from ik_node.ui.viewer.style import CSS_AMBER, CSS_GREEN, CSS_RED, line

SHOWN_GOALS = 5
LEVEL_COLOURS = {DiagnosticStatus.OK: CSS_GREEN, DiagnosticStatus.WARN: CSS_AMBER,
                 DiagnosticStatus.ERROR: CSS_RED}
# Reasons that are told with a distance: how far the nearest posture is from the goal.
DISTANCE_WORDS = {
    'OUT_OF_REACH': ('out of reach by', 'position_error_m', 'm'),
    'INNER_VOID': ('too close to the base by', 'position_error_m', 'm'),
    'ORIENTATION_OUT_OF_REACH': ('orientation out of reach by', 'orientation_error_rad', 'rad')}
DETAIL_LABELS = (
    ('solve_time_ms', 'solved in', 'ms'), ('duration_s', 'motion', 's'),
    ('measured_position_error_m', 'position error', 'm'),
    ('measured_orientation_error_rad', 'orientation error', 'rad'))
LIST_CSS = 'font-size:0.85em;line-height:1.5;padding:0.1em 0.75em'
LINE_CSS = 'cursor:pointer;white-space:nowrap;overflow:hidden;text-overflow:ellipsis'
DETAIL_CSS = 'opacity:0.75;padding:0 0 0.3em 1.2em;overflow-wrap:anywhere'


class GoalList:
    """Lists the last goals; a click on a line shows the details of that goal."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._html = server.gui.add_html(line('Goals are listed here.'))
        self._latest: dict[tuple[str, str], DiagnosticStatus] = {}

    def take(self, message: DiagnosticStatus) -> None:
        """Take a message of ~/answers."""
        key = message.hardware_id, values_of(message).get('stamp', '')
        # The final answer moves a goal to the top of the list.
        self._latest.pop(key, None)
        self._latest[key] = message
        while len(self._latest) > SHOWN_GOALS:
            self._latest.pop(next(iter(self._latest)))
        entries = ''.join(map(_entry, reversed(self._latest.values())))
        self._html.content = f'<div style="{LIST_CSS}">{entries}</div>'


def summary(message: DiagnosticStatus) -> str:
    """Return one line of plain text about a goal, as "✓ reached in 1.5 s"."""
    values = values_of(message)
    state, reason = values.get('state', ''), values.get('reason', '')
    duration = _rounded(values, 'duration_s', '.1f')
    if state == 'accepted':
        return '… moving' + (f', takes {duration} s' if duration else '')
    if state == 'reached':
        if reason == 'ALREADY_THERE':
            return '✓ already there'
        what = 'nearest pose reached' if reason == 'NEAREST' else 'reached'
        return f'✓ {what}' + (f' in {duration} s' if duration else '')
    if state == 'superseded':
        return '– replaced by a newer goal'
    if state == 'stopped':
        return '– stream ended' if reason == 'STREAM_ENDED' else '– stopped'
    return f'✗ {state}: {_why(message.message, reason, values)}'


def _why(sentence: str, reason: str, values: Mapping[str, str]) -> str:
    if reason in DISTANCE_WORDS:
        words, key, unit = DISTANCE_WORDS[reason]
        distance = _rounded(values, key, '.2f')
        if distance:
            return f'{words} {distance} {unit}'
    return sentence.partition(';')[0]


def _rounded(values: Mapping[str, str], key: str, form: str) -> str:
    """Return a number of the message in another format, '' without one."""
    try:
        return format(float(values[key]), form)
    except (KeyError, ValueError):
        return ''


def _entry(message: DiagnosticStatus) -> str:
    values = values_of(message)
    text = escape(summary(message))
    colour = LEVEL_COLOURS.get(message.level, '')
    details = ', '.join(f'{what} {values[key]} {unit}' for key, what, unit in DETAIL_LABELS
                        if key in values)
    lines = '<br>'.join(escape(text) for text in (
        f'goal {message.hardware_id}: {message.message}', values.get('reason', ''), details)
        if text)
    return (f'<details><summary style="{LINE_CSS};color:{colour}" title="{text}">{text}</summary>'
            f'<div style="{DETAIL_CSS}">{lines}</div></details>')
