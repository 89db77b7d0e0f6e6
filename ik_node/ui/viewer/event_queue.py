# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
From the page's threads to the node's.

What a person does arrives on viser's event loop; it is done, in the same order, on the
thread that spins the node.  So nothing behind the inbox needs a lock.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from rclpy.node import Node
import viser


class Inbox:
    """Calls that wait for the node's thread."""

    def __init__(self, node: Node) -> None:
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._bell = node.create_guard_condition(self._take_one)

    def put(self, call: Callable[[], None]) -> None:
        """Have something called on the node's thread; may be used from any thread."""
        self._calls.put(call)
        self._bell.trigger()

    def _take_one(self) -> None:
        try:
            call = self._calls.get_nowait()
        except Empty:
            return
        self._bell.trigger()  # for the next, whatever becomes of this one
        call()

    def on_click(self, button: viser.GuiButtonHandle, do: Callable[[], None]) -> None:
        """Call `do` when a person presses the button."""
        async def clicked(_event: viser.GuiEvent) -> None:
            self.put(do)

        button.on_click(clicked)

    def on_change(self, control: Any, do: Callable[[Any], None]) -> None:
        """Call `do` with the new value when a person, not the node, has changed a control."""
        async def changed(event: viser.GuiEvent) -> None:
            if event.client_id is not None:
                self.put(partial(do, event.target.value))

        control.on_update(changed)
