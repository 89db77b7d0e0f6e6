# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""How long a goal waits for a scene, and how often braking is tried."""

from types import SimpleNamespace

from builtin_interfaces.msg import Time
import pytest

from ik_node.base.errors import IkNodeError, Reason
from ik_node.node.goals.goal import GoalTask
from ik_node.node.scene import scene_changes
from ik_node.node.scene.scene_changes import SceneChanges
from ik_node.node.state.team import ALONE

NO_OTHERS = SimpleNamespace(period=1.0, look=lambda: False, warn=lambda: None, seat=ALONE)


def test_a_goal_waits_for_earlier_scene_changes(probe, monkeypatch):
    """Not for what comes later, and not for ever."""
    changes = SceneChanges(probe, SimpleNamespace(robot=None), None, None, None, None, NO_OTHERS)
    before, after = GoalTask(1, Time()), GoalTask(2, Time())
    assert not changes.waits(before)
    changes._count += 1  # a message whose scene is being made
    assert not changes.waits(before)
    assert changes.waits(after)
    monkeypatch.setattr(scene_changes, 'SCENE_PATIENCE_S', 0.0)
    with pytest.raises(IkNodeError, match='send the goal again') as told:
        changes.waits(after)
    assert told.value.reason is Reason.SCENE_PENDING
    changes._finished = changes._count
    assert not changes.waits(after)


def test_braking_is_tried_until_it_is_possible(probe):
    """A node that was late has to take the joint states first."""
    active, possible = object(), [False, False, True]
    motion = SimpleNamespace(motion_to_recheck=active,
                             brake_before=lambda *_: possible.pop(0))
    changes = SceneChanges(probe, SimpleNamespace(robot=None), None, motion, None, None, NO_OTHERS)
    changes._brake_before(active, None, 'the scene changed')
    probe.wait(lambda: not possible, what='the third attempt')
    assert changes._timer.is_canceled()
    possible.append(False)
    motion.motion_to_recheck = None  # it has ended by itself
    changes._timer.reset()
    probe.wait(changes._timer.is_canceled, what='the end of the attempts')
    assert possible == [False]
