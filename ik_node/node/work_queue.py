# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Long work in pieces, so that all else of a node has its turn in between."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node

Piece = Callable[[], None]


class WorkQueue:
    """
    One piece of work for each round of the executor.

    An executor calls all that was ready, one after the other, before it looks for what has
    become ready meanwhile, a timer that is due among it: pieces from three callbacks in
    one round make the timer late by all three.
    """

    def __init__(self, node: Node) -> None:
        self._guard = node.create_guard_condition(self._next_round)
        self._waiting: dict[Piece, None] = {}  # in the order in which they came
        self._free = True

    def now(self, piece: Piece) -> None:
        """Do a piece of work now, or in a later round if this one has had its piece."""
        if not self._free:
            self.later(piece)
            return
        self._free = False
        self._guard.trigger()
        piece()

    def later(self, piece: Piece) -> None:
        """Do a piece of work, once, in a later round."""
        self._waiting[piece] = None
        self._guard.trigger()

    def _next_round(self) -> None:
        self._free = True
        if self._waiting:
            piece = next(iter(self._waiting))
            del self._waiting[piece]
            self.now(piece)
