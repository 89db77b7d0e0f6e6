# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Hands events over from the threads of the page to the thread of the node.

Events of the page arrive on viser's event loop; they are handled, in the same order, on the
thread that spins the node.  So no handler needs a lock.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from rclpy.node import Node
import viser


class Inbox:
    """Queue of calls for the thread of the node."""

    def __init__(self, node: Node) -> None:
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._bell = node.create_guard_condition(self._take_one)

    def put(self, call: Callable[[], None]) -> None:
        """Queue a call; may be used from any thread."""
        self._calls.put(call)
        self._bell.trigger()

    def _take_one(self) -> None:
        try:
            call = self._calls.get_nowait()
        except Empty:
            return
        self._bell.trigger()  # for the next call, also if this one raises
        call()

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
