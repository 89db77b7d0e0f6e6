# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""~/move_to_pose and ~/move_through_poses: goals as actions, as a behaviour tree sends them."""

from action_msgs.msg import GoalStatus
from documents import blocks, commands
from geometry_msgs.msg import PoseStamped
from harness import (
    ActionUser,
    FINAL,
    latest,
    lent,
    NOT_BUILT,
    off_sent_way,
    pose,
    READY,
    seconds,
    sent_way,
    tip,
)
import numpy as np
import pytest
from std_srvs.srv import SetBool
import yaml

action = pytest.importorskip('nav2_msgs.action', reason=NOT_BUILT)
BEGIN = tip(READY).translation
SUCCEEDED, CANCELED, ABORTED = (GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED,
                                GoalStatus.STATUS_ABORTED)
THERE = np.array([0.1, -0.3, -0.1])  # m from the tip at READY


def to(offset, frame='base_link'):
    """Return a pose, shifted from the tip at READY, m."""
    stamped = PoseStamped(pose=pose(BEGIN + np.array(offset)))
    stamped.header.frame_id = frame
    return stamped


class Client(ActionUser):
    """Sends goals to one of the actions."""

    def __init__(self, probe, kind, name) -> None:
        super().__init__(probe, kind, name)
        self._kind = kind

    def begin(self, **fields):
        """Send a goal; return the handle of what was accepted."""
        return super().begin(self._kind.Goal(**fields))

    def end(self, handle):
        """Return status and sentence."""
        status, result = super().end(handle)
        assert (result.error_code == 0) == (status == SUCCEEDED)
        return status, result.error_msg

    def moving(self):
        """Wait until the arm moves."""
        self.probe.wait(lambda: np.abs(latest(self.probe) - READY).max() > 0.05, what='a motion')


@pytest.fixture(scope='module')
def clients(shared_system):
    """Return the clients of the module."""
    return (Client(shared_system, action.NavigateToPose, '/ik_node/move_to_pose'),
            Client(shared_system, action.NavigateThroughPoses, '/ik_node/move_through_poses'))


@pytest.fixture
def arm(clients):
    """Lend the probe, with the arm at READY."""
    with lent(clients[0].probe) as probe:
        yield probe


@pytest.fixture
def to_pose(clients):
    """Return the client that sends one pose."""
    return clients[0]


@pytest.fixture
def through_poses(clients):
    """Return the client that sends several."""
    return clients[1]


def finals(probe):
    """Return the final answers on ~/answers: kind, state and reason."""
    return [(each['kind'], each['state'], each['reason']) for each in probe.statuses
            if each['state'] in FINAL]


def wait_for_finals(probe, *expected):
    """Wait for the final answers, and see that there are no others."""
    probe.wait(lambda: len(finals(probe)) >= len(expected), what='the answers')
    assert finals(probe) == [*expected]


def test_reached_with_feedback(arm, to_pose):
    """The tip comes nearer; time and way that are left go to nothing."""
    arm.change('/ik_node', motion__velocity_scale=0.3)
    status, sentence = to_pose.end(to_pose.begin(pose=to(THERE)))
    assert status == SUCCEEDED and 'reached' in sentence
    assert np.allclose(tip(latest(arm)).translation, BEGIN + THERE, atol=1e-4)
    wait_for_finals(arm, ('pose', 'reached', 'REACHED'))
    told = to_pose.told
    assert len(told) > 5
    left = [seconds(each.estimated_time_remaining) for each in told]
    ways = [each.distance_remaining for each in told]
    since = [seconds(each.navigation_time) for each in told]
    assert left == sorted(left, reverse=True) and since == sorted(since)
    assert ways == sorted(ways, reverse=True)
    assert np.ptp(np.add(left, since)[1:-1]) < 0.5  # the end is where it was said to be
    tips, _ = sent_way(arm)
    assert off_sent_way(arm) < 5e-3
    length = np.linalg.norm(np.diff(tips, axis=0), axis=1).sum()
    assert ways[0] == pytest.approx(length, rel=0.1) and ways[-1] < 0.2 * length
    away = [np.linalg.norm([each.current_pose.pose.position.x - BEGIN[0] - THERE[0],
                            each.current_pose.pose.position.y - BEGIN[1] - THERE[1],
                            each.current_pose.pose.position.z - BEGIN[2] - THERE[2]])
            for each in told]
    assert away[0] > 0.8 * np.linalg.norm(THERE) > 4.0 * away[-1]
    assert told[0].current_pose.header.frame_id == 'base_link'


def test_through_poses(arm, through_poses):
    """In straight lines; what is left counts down."""
    arm.change('/ik_node', motion__velocity_scale=0.3)
    corners = [(0.0, -0.1, 0.0), (0.0, -0.1, -0.1), (0.0, 0.0, -0.1)]
    status, sentence = through_poses.end(through_poses.begin(poses=[*map(to, corners)]))
    assert status == SUCCEEDED, sentence
    left = [each.number_of_poses_remaining for each in through_poses.told]
    assert left == sorted(left, reverse=True) and {3, 2, 1} <= {*left}
    assert through_poses.told[0].distance_remaining == pytest.approx(0.3, abs=0.05)
    tips, _ = sent_way(arm)
    assert off_sent_way(arm) < 5e-3
    for corner in corners:
        assert np.linalg.norm(tips - BEGIN - corner, axis=1).min() < 1e-4


def test_the_example_of_the_documents(arm, to_pose):
    """The goal of the how-to is reached as it stands there."""
    (block,) = [block for block in blocks('bash')
                if block.document == 'docs/how_to/behavior_trees.md']
    (command,) = commands(block.text)
    given, goal = yaml.safe_load(command[-1])['pose'], PoseStamped()
    goal.header.frame_id = given['header']['frame_id']
    for part, values in given['pose'].items():
        for name, value in values.items():
            setattr(getattr(goal.pose, part), name, value)
    status, sentence = to_pose.end(to_pose.begin(pose=goal))
    assert status == SUCCEEDED, sentence
    assert np.allclose(tip(latest(arm)).translation, [0.4, 0.2, 0.4], atol=1e-4)


@pytest.mark.fault('goals', 'a goal of an action that cannot be done',
                   'aborted with the reason; nothing moves')
@pytest.mark.parametrize('fields, reason', [
    ({'pose': to([3.0, 0.0, 0.0])}, 'OUT_OF_REACH'),
    ({'pose': to([np.nan, 0.0, 0.0])}, 'GOAL_NOT_FINITE'),
    ({'pose': to(THERE, 'nowhere')}, 'FRAME_UNKNOWN'),
    ({'pose': to(THERE), 'behavior_tree': 'tree.xml'}, 'CALL_INVALID'),
    ({'poses': []}, 'PATH_INVALID')])
def test_refused(arm, to_pose, through_poses, fields, reason):
    """With the reason and a sentence."""
    client = through_poses if 'poses' in fields else to_pose
    status, sentence = client.end(client.begin(**fields))
    assert status == ABORTED and sentence.startswith(f'{reason}: '), sentence
    arm.wait(lambda: finals(arm), what='the answer')
    assert [each[1:] for each in finals(arm)] == [('rejected', reason)]
    assert not arm.trajectories and np.abs(latest(arm) - READY).max() < 1e-6


def test_cancel_is_of_one_goal(arm, to_pose, through_poses):
    """The arm comes to rest; a goal that waits goes without touching the motion under way."""
    arm.change('/ik_node', motion__velocity_scale=0.2)
    handle = to_pose.begin(pose=to(THERE))
    to_pose.moving()
    handle.cancel_goal_async()
    status, sentence = to_pose.end(handle)
    assert status == CANCELED and sentence.startswith('STOPPED: cancelled by its client')
    arm.wait(lambda: not any(arm.states[-1][1].velocity), what='rest')
    assert 0.04 < np.abs(latest(arm) - READY).max() < 0.5
    # Long enough to be planned beside the motion, which goes on meanwhile.
    long = [to([0.0, 1e-4 * k, 0.0]) for k in range(1, 2001)]
    arm.change('/ik_node', motion__velocity_scale=0.1)
    moving = to_pose.begin(pose=to(THERE))
    arm.wait(lambda: to_pose.told, what='feedback')
    waiting = through_poses.begin(poses=long)
    waiting.cancel_goal_async()
    status, sentence = through_poses.end(waiting)
    assert status == CANCELED and '; before it began' in sentence
    assert to_pose.end(moving)[0] == SUCCEEDED
    wait_for_finals(arm, ('pose', 'stopped', 'STOPPED'), ('path', 'stopped', 'STOPPED'),
                    ('pose', 'reached', 'REACHED'))


def test_cancel_of_the_motion_under_way(arm, to_pose, through_poses):
    """A goal that is planned meanwhile goes on, from where the arm comes to rest."""
    arm.change('/ik_node', motion__velocity_scale=0.1)
    moving = to_pose.begin(pose=to(THERE))
    arm.wait(lambda: to_pose.told, what='feedback')
    waiting = through_poses.begin(poses=[to([0.0, 1e-4 * k, 0.0]) for k in range(1, 2001)])
    moving.cancel_goal_async()
    status, sentence = to_pose.end(moving)
    assert status == CANCELED, sentence
    arm.change('/ik_node', motion__velocity_scale=1.0)
    status, sentence = through_poses.end(waiting)
    assert status == SUCCEEDED, sentence
    wait_for_finals(arm, ('pose', 'stopped', 'STOPPED'), ('path', 'reached', 'REACHED'))


def test_superseded_and_paused(arm, to_pose):
    """A newer goal aborts it; while it is paused the time that is left stands still."""
    arm.change('/ik_node', motion__velocity_scale=0.08)
    handle = to_pose.begin(pose=to(THERE))
    to_pose.moving()
    pause = arm.create_client(SetBool, '/ik_node/pause')
    arm.call(pause, SetBool.Request(data=True))
    arm.wait(lambda: any(each['reason'] == 'PAUSED' for each in arm.statuses), what='the pause')
    arm.wait(lambda: not any(arm.states[-1][1].velocity), what='rest')
    known = len(to_pose.told)
    arm.wait(lambda: len(to_pose.told) > known + 3, what='feedback')
    assert len({seconds(each.estimated_time_remaining) for each in to_pose.told[known + 1:]}) == 1
    assert to_pose.told[-1].estimated_time_remaining.sec >= 0
    assert to_pose.told[-1].distance_remaining > 0.02
    stamp = arm.send_joints(READY)
    status, sentence = to_pose.end(handle)
    assert status == ABORTED and sentence.startswith('SUPERSEDED: ')
    assert arm.final(stamp)['state'] == 'reached'
