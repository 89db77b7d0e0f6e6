# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""All postures that reach the pose of the handle: one button for each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html import escape

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
import viser

from ik_node.ros.messages.status_messages import values_of
from ik_node.ros.middleware.qos import LATCHED_QOS
from ik_node.ui.handle import Handle
from ik_node.ui.node_client import Answer
from ik_node.ui.viewer.drawing.robot_view import Colour
from ik_node.ui.viewer.event_queue import Inbox
from ik_node.ui.viewer.panels.handle_view import BALL_COLOURS, COLOUR_CSS, UNKNOWN_COLOUR
from ik_node.ui.viewer.style import line, mark, PLAIN_STYLE

COLOUR_SIGNS = {'green': '✓', 'amber': '!', 'red': '✗'}
BRANCH_KEY = 'branch_'  # with which the keys of labels begin
MAX_POSTURE_BUTTONS = 16
ABOUT_ROWS = 3
LIST_HINT = 'Lists all postures that reach the pose of the handle; nothing moves.'


class PosturePanel:
    """
    Lists the postures of a preview; a chosen one is shown, and set on the joint sliders.

    Parameters
    ----------
    target : str
        Name of the ik_node.
    handle : Handle
        Asks for the list.
    say : callable
        Takes whether something went well, and a sentence.
    choose : callable
        Takes the joint positions in the order of the chain, rad or m, and the colour of the
        ghost that shows them.

    """

    def __init__(self, node: Node, target: str, server: viser.ViserServer, inbox: Inbox,
                 handle: Handle, say: Answer, choose: Callable[[list[float], Colour], None]
                 ) -> None:
        self._server, self._inbox, self._handle = server, inbox, handle
        self._say, self._choose = say, choose
        self._listed = ''  # stamp of the list that is shown
        self._folder = server.gui.add_folder('Postures', expand_by_default=False)
        with self._folder:
            mark(server, PLAIN_STYLE)
            ask = server.gui.add_button('List postures', hint=LIST_HINT)
            self._about = server.gui.add_html('')
        self._entries: list[viser.GuiInputHandle | viser.GuiHtmlHandle] = []
        inbox.on_click(ask, self._ask)
        node.create_subscription(DiagnosticArray, f'{target}/postures', self._take, LATCHED_QOS)

    def _ask(self) -> None:
        self._clear('')
        if self._handle.frame:
            self._handle.list_postures()
        else:
            self._say(False, 'the pose of the tip is not known yet')

    def refresh(self) -> None:
        """Take the list off the page once the handle has another pose."""
        if self._listed and self._listed != self._handle.listed:
            self._clear('')

    def _take(self, message: DiagnosticArray) -> None:
        found = [(values_of(status), status.message) for status in message.status]
        stamp = found[0][0].get('stamp', '') if found else ''
        if not stamp or stamp != self._handle.listed:
            return  # another program has asked for it
        more = len(found) - MAX_POSTURE_BUTTONS
        self._clear(f'{len(found)} posture{"s" * (len(found) > 1)}, the nearest first'
                    + (f'; the last {more} are not shown' if more > 0 else '')
                    + '. Choose one: the sliders take its joints.')
        self._listed = stamp
        with self._folder:
            for number, (values, sentence) in enumerate(found[:MAX_POSTURE_BUTTONS], 1):
                self._add(number, values, sentence)

    def _add(self, number: int, values: dict[str, str], sentence: str) -> None:
        colour = values.get('colour', '')
        sides = ', '.join(f'{key.removeprefix(BRANCH_KEY)} {value}'
                          for key, value in values.items() if key.startswith(BRANCH_KEY))
        self._entries.append(mark(self._server, PLAIN_STYLE))
        button = self._server.gui.add_button(
            f'{COLOUR_SIGNS.get(colour, "")} {number}: {sides or "posture"}', hint=sentence)
        self._entries.append(button)
        try:
            q = [float(position) for position in values.get('q', '').split()]
        except ValueError:
            return  # an ik_node sends numbers
        self._inbox.on_click(button, partial(self._show, q, colour, f'{number}: {sentence}'))

    def _show(self, q: list[float], colour: str, sentence: str) -> None:
        dot = f'<span style="color:{COLOUR_CSS.get(colour, "")}">&#9679;</span> '
        self._about.content = line(dot + escape(sentence), ABOUT_ROWS)
        red, green, blue = BALL_COLOURS.get(colour, UNKNOWN_COLOUR)
        self._choose(q, (red / 255, green / 255, blue / 255))

    def _clear(self, about: str) -> None:
        """Take the entries off the page, and show a text about them."""
        for entry in self._entries:
            entry.remove()
        self._entries.clear()
        self._listed = ''
        self._about.content = line(escape(about), ABOUT_ROWS) if about else ''
