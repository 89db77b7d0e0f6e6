# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The handle on the page: its grips in the scene, its menu in the panel."""

from __future__ import annotations

from functools import partial
from html import escape

import numpy as np
from rclpy.node import Node
import viser

from ik_node.se3 import pose, rotation_from_quaternion
from ik_node.ui.handle import Entry, Handle, MENU
from ik_node.ui.viewer.event_queue import Inbox
from ik_node.ui.viewer.robot_view import place
from ik_node.ui.viewer.scene import BASE
from ik_node.ui.viewer.style import AMBER, GREEN, line, RED

SIZE = 0.16  # m, length of the grips
GRIPS = f'{BASE}/handle'
DOTS = {'green': GREEN, 'amber': AMBER, 'red': RED}


class HandleView:
    """
    Shows a :class:`Handle`, and takes it to where a person drags the grips.

    Of what several windows drag, the newest counts; who pulled last has it in hand.
    """

    def __init__(self, node: Node, target: str, server: viser.ViserServer, inbox: Inbox) -> None:
        self._server = server
        self._pulled: np.ndarray | None = None  # since the last tick
        self._holder: int | None = None         # the window that pulled last
        self._checks: list[tuple[Entry, viser.GuiCheckboxHandle]] = []
        self.handle = Handle(node, target, self, self.say)
        self._grips = server.scene.add_transform_controls(
            GRIPS, scale=SIZE, line_width=3.0, depth_test=False, visible=False)

        async def dragged(event: viser.TransformControlsEvent) -> None:
            w, x, y, z = event.target.wxyz
            T = pose(rotation_from_quaternion((x, y, z, w)), np.array(event.target.position))
            inbox.put(partial(self._drag, event.client_id, event.phase, T))

        self._grips.on_update(dragged)
        with server.gui.add_folder('Goal'):
            for entry in MENU:
                self._add(entry, inbox)
            self._reach = server.gui.add_html('')
            self._answer = server.gui.add_html('')
        self.show_colour('', '')

    def _add(self, entry: Entry, inbox: Inbox) -> None:
        def do(_value: bool = True) -> None:
            if self.handle.frame:
                entry.do(self.handle)
            else:
                self.say(False, 'the tip has no known pose yet')

        label = entry.label[0].upper() + entry.label[1:]
        if entry.checked is None:
            button = self._server.gui.add_button(label, color='red' if label == 'Stop' else None)
            inbox.on_click(button, do)
        else:
            box = self._server.gui.add_checkbox(label, False)
            inbox.on_change(box, do)
            self._checks.append((entry, box))

    def _drag(self, window: int | None, phase: str, T: np.ndarray) -> None:
        if phase == 'update':
            self._pulled, self._holder = T, window
        elif phase == 'end' and window == self._holder:  # it lets go, or is closed
            self.tick()
            self.handle.release()

    def tick(self) -> None:
        """Take the handle to where it was dragged since the last call."""
        if self._pulled is not None:
            self.handle.drag(self.handle.frame, self._pulled)
            self._pulled = None

    # ---- what a handle shows ------------------------------------------------

    def show_pose(self, _frame: str, T_frame_tip: np.ndarray) -> None:
        """Put the grips to a pose (4, 4) in the base link."""
        place(self._grips, T_frame_tip)
        self._grips.visible = True

    def show_colour(self, colour: str, sentence: str) -> None:
        """Show how reachable the pose is, and why."""
        dot = f'<span style="color:{DOTS[colour]}">&#9679;</span> ' if colour in DOTS else ''
        hint = 'drag the handle: the arm follows' if self.handle.following \
            else 'drag the handle: nothing moves yet'
        self._reach.content = line(dot + escape(sentence or hint))

    def show_checks(self) -> None:
        """Show the check marks of the menu as they are now."""
        for entry, box in self._checks:
            box.value = entry.checked(self.handle)
        self.show_colour('', '')

    def say(self, good: bool, sentence: str) -> None:
        """Show the answer to what was chosen last."""
        style = '' if good else f' style="color:{RED}"'
        self._answer.content = line(f'<span{style}>{escape(sentence)}</span>')
