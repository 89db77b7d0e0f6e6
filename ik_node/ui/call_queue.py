# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Hands events over from other threads to the thread of the node.

They are handled, in the same order, on the thread that spins the node.  So no handler needs a
lock.
"""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue

from rclpy.node import Node


class CallQueue:
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
