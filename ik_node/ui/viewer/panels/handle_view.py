# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The handle on the page: its arrows and rings in the scene, its buttons in the panel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape
from time import monotonic

import numpy as np
from rclpy.node import Node
import viser

from ik_node.base.se3 import pose, rotation_from_quaternion
from ik_node.ui.handle import Entry, Handle, MENU_ENTRIES
from ik_node.ui.viewer.drawing.robot_view import place, send
from ik_node.ui.viewer.drawing.scene import BASE_NODE
from ik_node.ui.viewer.event_queue import Inbox
from ik_node.ui.viewer.panels.settings_panel import NamedPanel, ToolPanel
from ik_node.ui.viewer.style import (
    CSS_AMBER,
    CSS_GREEN,
    CSS_RED,
    HALF_STYLE,
    line,
    mark,
    PINNED_STYLE,
    PLAIN_STYLE,
)

HANDLE_NODE = f'{BASE_NODE}/handle'
HANDLE_SIZE = 0.135       # length of the handle's arrows, times the reach of the arm
BALL_SIZE = 0.16          # radius of the ball at its centre, times the length of its arrows
BALL_OPACITY = 0.75
STATUS_ROWS, ANSWER_ROWS = 3, 2
ANSWER_TIME_S = 10.0      # for which the answer to a button is shown
COLOUR_CSS = {'green': CSS_GREEN, 'amber': CSS_AMBER, 'red': CSS_RED}
BALL_COLOURS = {'green': (38, 191, 77), 'amber': (255, 166, 0), 'red': (230, 38, 26)}
UNKNOWN_COLOUR = 150, 175, 225
HINT_TEXT = 'Drag the handle at the tip: the arm does not move yet.'
FOLLOWING_TEXT = 'Drag the handle at the tip: the arm follows.'


class HandleView:
    """
    Shows a :class:`Handle` and moves it to where a person drags it.

    If several windows drag it, the latest pose counts, and the window that sent it holds
    the handle.
    """

    def __init__(self, node: Node, target: str, server: viser.ViserServer, inbox: Inbox) -> None:
        self._server = server
        self._pulled: np.ndarray | None = None  # pose (4, 4) dragged to since the last tick
        self._holder: int | None = None         # number of the window that dragged last
        self._checks: list[tuple[Entry, viser.GuiCheckboxHandle]] = []
        self._reachable = '', ''                # the colour that is shown, and why
        self._answer_end = np.inf               # when the answer is to be hidden (monotonic, s)
        self.handle = Handle(node, target, self, self.say)
        self._add_to_scene(inbox)
        self._add_to_panel(inbox)
        self.show_colour('', '')

    def _add_to_scene(self, inbox: Inbox) -> None:
        self._controls = self._server.scene.add_transform_controls(
            HANDLE_NODE, line_width=3.0, depth_test=False, visible=False)
        self._ball = self._server.scene.add_icosphere(
            f'{HANDLE_NODE}/ball', color=UNKNOWN_COLOUR, opacity=BALL_OPACITY, cast_shadow=False,
            receive_shadow=False)
        self._server.scene.add_label(
            f'{HANDLE_NODE}/label', 'handle', anchor='bottom-right')
        self.set_reach(1.0)

        async def dragged(event: viser.TransformControlsEvent) -> None:
            w, x, y, z = event.target.wxyz
            T = pose(rotation_from_quaternion((x, y, z, w)), np.array(event.target.position))
            inbox.put(partial(self._drag, event.client_id, event.phase, T))

        self._controls.on_update(dragged)

    def _add_to_panel(self, inbox: Inbox) -> None:
        gui = self._server.gui
        # A sticky element stays in view within its container, here the whole panel.
        mark(self._server, PINNED_STYLE)
        self._add_button(inbox, self._entry('stop'), 'red')
        with gui.add_folder('Goal'):
            self._reach = gui.add_html('')
            self._add_button(inbox, self._entry('move'), None)
            for label in ('move in a line', 'plan', 'home', 'handle to tip', 'pause', 'go on'):
                mark(self._server, PLAIN_STYLE, HALF_STYLE)
                self._add_button(inbox, self._entry(label), None)
            self._named = NamedPanel(self._server, inbox, self.handle.named)
            self._tools = ToolPanel(self._server, inbox, self.handle.mount)
            for entry in MENU_ENTRIES:
                if entry.checked is not None:
                    box = gui.add_checkbox(_capitalised(entry.label), False, hint=entry.hint)
                    inbox.on_change(box, partial(self._choose, entry))
                    self._checks.append((entry, box))
            self._answer = gui.add_html(line('', ANSWER_ROWS))

    @staticmethod
    def _entry(label: str) -> Entry:
        return next(entry for entry in MENU_ENTRIES if entry.label == label)

    def _add_button(self, inbox: Inbox, entry: Entry, colour: str | None) -> None:
        button = self._server.gui.add_button(_capitalised(entry.label), color=colour)
        inbox.on_click(button, partial(self._choose, entry))

    def _choose(self, entry: Entry, _value: bool = True) -> None:
        if self.handle.frame:
            entry.do(self.handle)
        else:
            self.say(False, 'the pose of the tip is not known yet')
            self.show_checks()

    def _drag(self, window: int | None, phase: str, T: np.ndarray) -> None:
        if phase == 'update':
            self._pulled, self._holder = T, window
        elif phase == 'end':  # of the mouse button or the window
            self.tick()
            if window == self._holder:
                self.handle.release()
            if self.handle.frame:
                # Of two windows that dragged at once, each shows the other's last pose.
                send(self._server, self._controls, self.handle.T)

    def tick(self) -> None:
        """Move the handle to where it was dragged since the last call."""
        if self._pulled is not None:
            self.handle.drag(self.handle.frame, self._pulled)
            self._pulled = None

    def hide_old_answer(self) -> None:
        """Hide the answer to the last button after ANSWER_TIME_S."""
        if monotonic() > self._answer_end:
            self._answer_end = np.inf
            self._answer.content = line('', ANSWER_ROWS)

    def set_reach(self, reach: float) -> None:
        """Fit the size of the handle to an arm with this reach (m)."""
        size = HANDLE_SIZE * reach
        self._controls.scale = size
        self._ball.radius = BALL_SIZE * size

    # ---- the View of a handle -----------------------------------------------

    def show_pose(self, _frame: str, T_frame_tip: np.ndarray) -> None:
        """Move the handle to a pose (4, 4) in the base link."""
        place(self._controls, T_frame_tip)
        self._controls.visible = True

    def show_colour(self, colour: str, sentence: str) -> None:
        """Show how reachable the pose is, and why."""
        self._reachable = colour, sentence
        dot = (f'<span style="color:{COLOUR_CSS[colour]}">&#9679;</span> '
               if colour in COLOUR_CSS else '')
        hint = FOLLOWING_TEXT if self.handle.following else HINT_TEXT
        text = escape(sentence or hint)
        self._reach.content = line(f'<span title="{text}">{dot}{text}</span>', STATUS_ROWS)
        self._ball.color = BALL_COLOURS.get(colour, UNKNOWN_COLOUR)

    def show_checks(self) -> None:
        """Show the check marks of the menu as they are now."""
        for entry, box in self._checks:
            box.value = entry.checked(self.handle)
            box.hint = entry.instead(self.handle) or entry.hint
        self.show_colour(*self._reachable)

    def show_named(self, names: Sequence[str]) -> None:
        """Offer named poses."""
        self._named.show(names)

    def show_tools(self, names: Sequence[str], mounted: str) -> None:
        """Offer named tools, and show which is mounted."""
        self._tools.show(names, mounted)

    def say(self, good: bool, sentence: str) -> None:
        """Show the answer to the last button, for ANSWER_TIME_S."""
        style = '' if good else f' style="color:{CSS_RED}"'
        self._answer.content = line(f'<span{style}>{escape(sentence)}</span>', ANSWER_ROWS)
        self._answer_end = monotonic() + ANSWER_TIME_S


def _capitalised(label: str) -> str:
    return label[0].upper() + label[1:]
