# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Reports on /diagnostics: once a second, and at once when something changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from rclpy.clock import Clock
from rclpy.node import Node

CHECK_PERIOD_S = 0.1
CHECKS_PER_REPORT = 10


class PeriodicReport:
    """
    Calls a function once a second, and earlier when a state changes.

    Parameters
    ----------
    report : callable
        Publishes the report.
    state : callable
        Returns what a change of is reported within CHECK_PERIOD_S.

    """

    def __init__(self, node: Node, clock: Clock, report: Callable[[], None],
                 state: Callable[[], Hashable]) -> None:
        self._publish, self._state = report, state
        self._last: Hashable = None
        self._checks = 0
        node.create_timer(CHECK_PERIOD_S, self._check, clock=clock)

    def _check(self) -> None:
        state = self._state()
        self._checks += 1
        if state != self._last or self._checks >= CHECKS_PER_REPORT:
            self._last, self._checks = state, 0
            self._publish()
