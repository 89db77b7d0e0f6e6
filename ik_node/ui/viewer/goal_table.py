# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What became of the last goals, newest first."""

from __future__ import annotations

from html import escape

from diagnostic_msgs.msg import DiagnosticStatus
import viser

from ik_node.ros.status_messages import values_of
from ik_node.ui.viewer.style import AMBER, GREEN, line, RED

SHOWN = 8
COLOURS = {DiagnosticStatus.OK: GREEN, DiagnosticStatus.WARN: AMBER,
           DiagnosticStatus.ERROR: RED}
CELL = 'padding:0.15em 0.4em;vertical-align:top;border-top:1px solid rgba(128,128,128,0.25)'


class GoalTable:
    """A table on the page; ~/status fills it."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._table = server.gui.add_html(line('no goal yet'))
        self._latest: dict[tuple[str, str], DiagnosticStatus] = {}

    def take(self, message: DiagnosticStatus) -> None:
        """Take an answer to a goal."""
        values = values_of(message)
        key = message.hardware_id, values.get('stamp', '')
        # Of a goal that has ended, the place is that of its end.
        self._latest.pop(key, None)
        self._latest[key] = message
        while len(self._latest) > SHOWN:
            self._latest.pop(next(iter(self._latest)))
        rows = ''.join(_row(message) for message in reversed(self._latest.values()))
        self._table.content = (
            '<table style="width:100%;border-collapse:collapse;font-size:0.78em;line-height:1.3">'
            f'{rows}</table>')


def _row(message: DiagnosticStatus) -> str:
    values = {pair.key: escape(pair.value) for pair in message.values}
    colour = COLOURS.get(message.level, '')
    figures = ', '.join(
        f'{what} {values[key]} {unit}' for key, what, unit in (
            ('solve_time_ms', 'solved in', 'ms'), ('duration_s', 'moved', 's'),
            ('measured_position_error_m', 'error', 'm'),
            ('measured_orientation_error_rad', 'error', 'rad')) if key in values)
    return (f'<tr><td style="{CELL};text-align:right">{escape(message.hardware_id)}</td>'
            f'<td style="{CELL}"><b style="color:{colour}">{values.get("state", "")}</b> '
            f'<code>{values.get("reason", "")}</code><br>{escape(message.message)}'
            + (f'<br><span style="opacity:0.7">{figures}</span>' if figures else '')
            + '</td></tr>')
