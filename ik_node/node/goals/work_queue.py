# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Long work in slices, so that other callbacks run in between."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node

Slice = Callable[[], None]


class WorkQueue:
    """
    One slice of work for each round of the executor.

    An executor runs all ready callbacks before it looks for new ones, timers among them: slices
    in three callbacks of one round would delay a timer by all three.
    """

    def __init__(self, node: Node) -> None:
        self._guard = node.create_guard_condition(self._next_round)
        self._waiting: dict[Slice, None] = {}  # in the order in which they came
        self._free = True

    def now(self, work: Slice) -> None:
        """Run a slice now, or in a later round if this round has had one."""
        if not self._free:
            self.later(work)
            return
        self._free = False
        self._guard.trigger()
        work()

    def later(self, work: Slice) -> None:
        """Run a slice, once, in a later round."""
        self._waiting[work] = None
        self._guard.trigger()

    def _next_round(self) -> None:
        self._free = True
        if self._waiting:
            work = next(iter(self._waiting))
            del self._waiting[work]
            self.now(work)
