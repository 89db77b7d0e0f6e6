# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The thread that writes recordings: what waits for it, for how long, and what does not."""

from threading import Event
from types import SimpleNamespace

from builtin_interfaces.msg import Time
from harness import ARM
import numpy as np
import pytest

from ik_node.base.errors import Reason
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import read_urdf
from ik_node.motion.requests import SolveRequest
from ik_node.node import recorder
from ik_node.node.goals.answers import StatusReporter
from ik_node.node.goals.goal import GoalTask
from ik_node.node.recorder import MAX_WAITING_RECORDINGS, Recorder
from ik_node.node.robot.robot import Robot
from ik_node.node.robot.settings import make_settings
from ik_node.replay import load
from ik_node.ros.messages.status_messages import GoalState
from ik_node.ros.parameters.tables import IK_NODE
from ik_node.solver.goal import Goal

DEFAULTS = {row.name: row.default for row in IK_NODE}
TREE = read_urdf(ARM)


@pytest.fixture
def node(probe, tmp_path):
    """Return what records goals, what answers them, the robot, and where it records."""
    folder = tmp_path / 'goals'
    chain = make_chain(TREE)
    robot = Robot(TREE, make_settings({**DEFAULTS, 'record.folder': str(folder)}, chain))
    made = Recorder(probe, SimpleNamespace(robot=robot), lambda: DEFAULTS)
    status = StatusReporter(probe, listeners=[made.on_answer])
    yield SimpleNamespace(recorder=made, status=status, robot=robot, folder=folder, chain=chain)
    made.close(10.0)


def answered(node, number):
    """Have a goal solved and answered; return its identifier."""
    task = GoalTask(number, Time(), 'pose')
    node.robot.settings.plan(SolveRequest(Goal(np.eye(4)), node.chain.middle), task.requests)
    node.status.report(task, GoalState.REJECTED, Reason.OUT_OF_REACH, 'too far')
    return node.status.id_of(task)


@pytest.fixture
def slow_disk(monkeypatch):
    """Let nothing be written until it is told to; return events: it has begun, it may go on."""
    write, begun, go_on = recorder.write_recording, Event(), Event()

    def slowly(writing):
        begun.set()
        assert go_on.wait(30.0)
        return write(writing)

    monkeypatch.setattr(recorder, 'write_recording', slowly)
    return begun, go_on


def test_the_end_waits_for_a_slow_disk(node, slow_disk):
    """As long as it may; what waited is written."""
    begun, go_on = slow_disk
    ids = [answered(node, number) for number in (1, 2)]
    assert begun.wait(30.0) and not node.folder.exists()
    thread = node.recorder._thread
    node.recorder.close(0.1)  # the disk is too slow
    assert thread.is_alive()
    go_on.set()
    thread.join(30.0)
    assert {path.name for path in node.folder.iterdir()} == {
        f'goal-{each}.json.gz' for each in ids}
    # A disk that is quick enough is waited for.
    last = answered(node, 3)
    node.recorder.close(30.0)
    assert load(node.folder / f'goal-{last}.json.gz').goal == {
        'number': 3, 'kind': 'pose', 'stamp': '0.000000000', 'state': 'rejected',
        'reason': 'OUT_OF_REACH', 'message': 'too far'}


def test_goals_do_not_wait_for_the_disk(node, slow_disk):
    """When too many recordings wait, those that follow are left out."""
    begun, go_on = slow_disk
    answered(node, 1)
    assert begun.wait(30.0)
    for number in range(2, MAX_WAITING_RECORDINGS + 10):
        answered(node, number)  # returns, though nothing is written
    go_on.set()
    node.recorder.close(30.0)
    assert len([*node.folder.iterdir()]) == MAX_WAITING_RECORDINGS + 1


def test_a_link_is_not_followed(node, tmp_path):
    """Whoever can write into the folder must not have the node write elsewhere; the next is."""
    node.folder.mkdir()
    other = tmp_path / 'other'
    other.write_text('of somebody else')
    first = node.status.id_of(GoalTask(1, Time(), 'pose'))
    part = node.folder / f'goal-{first}.json.gz.part'
    part.symlink_to(other)
    assert answered(node, 1) == first
    last = answered(node, 2)
    node.recorder.close(30.0)
    assert other.read_text() == 'of somebody else' and part.is_symlink()
    assert load(node.folder / f'goal-{last}.json.gz').goal['number'] == 2


def test_a_goal_that_ends_after_the_folder_was_unset(node, tmp_path, monkeypatch):
    """It is not recorded, here or where the node was started."""
    monkeypatch.chdir(tmp_path)
    task = GoalTask(1, Time(), 'pose')
    node.robot.settings.plan(SolveRequest(Goal(np.eye(4)), node.chain.middle), task.requests)
    assert len(task.requests) == 1
    node.robot.settings = make_settings(DEFAULTS, node.chain)
    node.status.report(task, GoalState.REJECTED, Reason.OUT_OF_REACH, 'too far')
    answered(node, 2)
    node.recorder.close(30.0)
    assert not [*tmp_path.iterdir()]
