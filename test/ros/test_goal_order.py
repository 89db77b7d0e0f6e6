# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Of two goals the newer stays, whatever the older one does."""

from types import SimpleNamespace

from builtin_interfaces.msg import Time
import numpy as np

from ik_node.ros.goals import Goals
from ik_node.ros.status import GoalState


def nothing() -> None:
    """Do nothing."""


def test_an_older_goal_does_not_displace_a_newer_one(probe):
    """One that is sent again takes no place from one that waits; if it has to wait, it ends."""
    goals = Goals(probe, SimpleNamespace(robot=None))
    older, newer = goals.new(Time()), goals.new(Time())
    goals.under_way(older, nothing, 'sent')
    goals.wait(newer, nothing, np.inf)
    goals.under_way(older, nothing, 'sent again')
    assert goals.open() == [older, newer] and newer.state is None
    goals.wait(older, nothing, np.inf)
    assert older.state is GoalState.SUPERSEDED and goals.open() == [newer]
    goals.under_way(newer, nothing, 'sent')
    assert goals.open() == [newer] and goals.current is newer
