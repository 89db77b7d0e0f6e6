# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Reports on /diagnostics come once in ten checks, and with the first check after a change."""

from ik_node.ros.middleware.clocks import steady_clock
from ik_node.ros.middleware.process import CHECKS_PER_REPORT, PeriodicReport


def test_a_change_is_reported_by_the_next_check(probe):
    """The state is looked at again and again; each report has its number of looks and state."""
    ready, looks, reports = False, 0, []

    def look():
        nonlocal looks
        looks += 1
        return ready

    PeriodicReport(probe, steady_clock(), lambda: reports.append((looks, ready)), look)
    probe.wait(lambda: reports)
    assert reports == [(1, False)]  # the first state is a change
    probe.wait(lambda: looks == 4)
    ready = True
    probe.wait(lambda: len(reports) == 3)
    assert reports[1:] == [(5, True), (5 + CHECKS_PER_REPORT, True)]
