# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Hands events of the page, which arrive on viser's event loop, to the thread of the node."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import viser

from ik_node.ui.call_queue import CallQueue


class Inbox(CallQueue):
    """Queue of calls for the thread of the node, also by the controls of the page."""

    def on_click(self, button: viser.GuiButtonHandle, do: Callable[[], None]) -> None:
        """Call `do` when the button is pressed."""
        async def clicked(_event: viser.GuiEvent) -> None:
            self.put(do)

        button.on_click(clicked)

    def on_change(self, control: Any, do: Callable[[Any], None]) -> None:
        """Call `do` with the new value when a control is changed in a window, not by the node."""
        async def changed(event: viser.GuiEvent) -> None:
            if event.client_id is not None:
                self.put(partial(do, event.target.value))

        control.on_update(changed)
