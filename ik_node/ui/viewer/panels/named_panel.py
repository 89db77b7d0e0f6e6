# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The named poses on the page: a list to choose from, and a button."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import viser

from ik_node.ui.viewer.event_queue import Inbox
from ik_node.ui.viewer.style import mark, PLAIN_STYLE

NO_CHOICE = ''  # the only option while there are no named poses


class NamedPanel:
    """
    Hidden while there are no named poses.

    Parameters
    ----------
    go : callable
        Takes the name that is chosen, when the button is pressed.

    """

    def __init__(self, server: viser.ViserServer, inbox: Inbox,
                 go: Callable[[str], None]) -> None:
        self._go = go
        self._choice = server.gui.add_dropdown('Named pose', (NO_CHOICE,), visible=False)
        mark(server, PLAIN_STYLE)
        self._button = server.gui.add_button('Move to the named pose', visible=False)
        inbox.on_click(self._button, self._move)

    def _move(self) -> None:
        if self._choice.value != NO_CHOICE:
            self._go(self._choice.value)

    def show(self, names: Sequence[str]) -> None:
        """Offer these names; the choice stays if it is among them."""
        chosen = self._choice.value
        options = tuple(dict.fromkeys(names)) or (NO_CHOICE,)  # a list takes no name twice
        if options != tuple(self._choice.options):
            self._choice.options = options
            self._choice.value = chosen if chosen in options else options[0]
        self._choice.visible = self._button.visible = bool(names)
