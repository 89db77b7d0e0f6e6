# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Chunks of timed poses by the client, judged by joint states, Pinocchio and what is published."""

from concurrent.futures import ThreadPoolExecutor
from time import monotonic, sleep

from builtin_interfaces.msg import Time
from harness import NOT_BUILT, positions_of, READY, tip
import numpy as np
import pinocchio as pin
import pytest
import rclpy
from rclpy.action import ActionServer
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import Float64MultiArray

from ik_node.base.errors import Reason
from ik_node.client import Arm, ClientError, GoalNotReachedError
from ik_node.node.execution.gripper import Gripper
from ik_node.node.goals.goal import GoalTask
from ik_node.ros.messages.status_messages import GoalState

pytestmark = pytest.mark.real_time
NODE_LIMITS = {}  # those by default
HERE = tip(READY)
QUAT = pin.Quaternion(HERE.rotation).coeffs()
PERIOD_S = 0.05
LATEST_S = 0.5  # by which a motion may begin that takes long to plan


def target(t):
    """Return where the tip is to be at a time, (7,): on a circle, from rest."""
    angle = 1.2 * (t - 0.5 if t > 1.0 else 0.5 * t * t)
    return np.concatenate([HERE.translation + 0.08 * np.array(
        [0.0, np.sin(angle), np.cos(angle) - 1.0]), QUAT])


def poses(begin, count=20):
    """Return a chunk from a time on."""
    return [target(begin + k * PERIOD_S) for k in range(1, count + 1)]


@pytest.fixture(scope='module')
def sim():
    """Return the parameters of the simulated controller: how the arm moves is judged."""
    return {'rate': 100.0}


def time_of(message):
    """Return the stamp of a message, s."""
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


@pytest.fixture
def user(arm):
    """Return a client of the node."""
    with Arm('/ik_node') as made:
        yield made
    sleep(1.6)  # chunks after another goal, which follows, are taken when those of a test are over


def in_background(user, seconds, gripper=False):
    """Send chunks as a policy does: each after some time, and for a second from then on."""
    goals = []
    with user.chunks() as chunks:
        begun = chunks.now
        while (seen := chunks.now) - begun < seconds:
            sleep(0.08)  # what the policy takes
            goals.append(chunks.send(
                poses(seen - begun), period=PERIOD_S, since=seen,
                gripper=[seen - begun + k * PERIOD_S for k in range(1, 21)] if gripper else None))
            sleep(0.12)
        answer = chunks.wait()
    return begun, goals, answer


def test_chunks_are_one_motion(arm, user):
    """In time along the target, without a step, to rest at the last pose; each has one answer."""
    opened = []
    arm.create_subscription(Float64MultiArray, 'gripper_controller/commands',
                            lambda message: opened.append((
                                arm.get_clock().now().nanoseconds * 1e-9, *message.data)), 100)
    arm.wait(lambda: arm.count_publishers('gripper_controller/commands'))
    with ThreadPoolExecutor(1) as threads:
        sent = threads.submit(in_background, user, 4.0, True)
        arm.wait(sent.done, 20.0)
    begun, goals, answer = sent.result()
    assert answer.state is GoalState.REACHED
    assert all(goal.exception.reason is Reason.SUPERSEDED for goal in goals[:-1])
    states = [message for _, message in arm.states]
    late = np.array([np.linalg.norm(tip(positions_of(message)).translation
                                    - target(time_of(message) - begun)[:3])
                     for message in states if 2.0 < time_of(message) - begun < 4.0])
    # Others may keep the machine for a while, and a chunk comes late then.
    assert len(late) > 100 and np.median(late) < 2e-3, np.percentile(late, [50, 90, 100])
    qd = np.array([message.velocity for message in states])
    steps = np.abs(np.diff(qd, axis=0)).max(axis=1) / np.diff([*map(time_of, states)])
    # 2 rad/s^2 is the limit; a late cycle of the controller makes up for what it missed.
    assert np.abs(qd).max() > 0.05 and np.percentile(steps, 99) < 2.5 and steps.max() < 5.0, \
        steps.max()
    away = np.array([opening - (at - begun) for at, opening in opened])
    assert len(opened) > 60 and (np.diff([opening for _, opening in opened]) > 0.0).all()
    assert np.percentile(np.abs(away), 90) < 0.08, away


def test_a_long_chunk_is_in_time(arm, user):
    """Planned beside the other callbacks, from rest."""
    with user.chunks() as chunks:
        begun = chunks.now
        chunks.send(poses(0.0, 100), period=PERIOD_S)
        arm.wait(lambda: arm.states and time_of(arm.states[-1][1]) > begun + 4.0, 20.0)
    seen = [(time_of(message) - begun, tip(positions_of(message)).translation)
            for _, message in arm.states if 2.0 < time_of(message) - begun < 4.0]
    # Where planning takes longer than was expected, the motion is as much later.
    off = min(np.median([np.linalg.norm(p - target(t - late)[:3]) for t, p in seen])
              for late in np.arange(0.0, LATEST_S, 0.01))
    assert len(seen) > 100 and off < 2e-3, off


def test_a_sender_that_goes_on_does_not_undo_a_stop(arm, user):
    """What it sends is refused until it pauses."""
    chunks = user.chunks()
    begun = chunks.now
    chunks.send(poses(0.0, 20), period=PERIOD_S)
    sleep(0.5)
    assert user.stop().wait()
    with pytest.raises(GoalNotReachedError) as error:
        for _ in range(3):
            chunks.send(poses(chunks.now - begun), period=PERIOD_S)
            sleep(0.2)
    assert error.value.reason is Reason.STOPPED
    resumed = user.chunks()
    assert resumed.send(poses(0.0, 5), period=PERIOD_S).wait().reached


def test_a_sender_that_goes_on_does_not_take_the_place_of_another_goal(arm, user):
    """That is reached, and what is sent meanwhile is refused."""
    chunks = user.chunks()
    chunks.send(poses(0.0, 20), period=PERIOD_S)
    sleep(0.3)
    other = user.joints(READY)
    sleep(0.1)
    with pytest.raises(GoalNotReachedError) as error:
        for _ in range(3):
            user.chunk(poses(0.0, 20), PERIOD_S * np.arange(1, 21)).wait()
    assert error.value.reason is Reason.STOPPED and other.wait().reached


def test_chunks_that_are_none(arm, user):
    """Each is refused with what is wrong; the motion under way goes on."""
    chunks = user.chunks()
    going = chunks.send(poses(0.0, 20), period=PERIOD_S)
    for given, reason in [
            (dict(times=[0.2, 0.1]), Reason.PATH_INVALID),
            (dict(times=[-2.0, -1.0]), Reason.GOAL_STALE),
            (dict(times=[1.0, 30.0]), Reason.PATH_INVALID)]:
        with pytest.raises(GoalNotReachedError) as error:
            user.chunk([target(0.0), target(0.1)], **given).wait()
        assert error.value.reason is reason, error.value
    with pytest.raises(ClientError, match='no poses'):
        user.chunk([], [])
    with pytest.raises(ClientError, match='paused by its sender'):
        user.pause().wait()
    for given in dict(times=[0.1]), dict(times=[0.1, np.nan]), dict(times=[1, 2], gripper=[1]):
        with pytest.raises(ClientError):
            user.chunk([target(0.0), target(0.1)], **given)
    assert going.wait().reached


def test_openings_do_not_go_back(arm, user):
    """A chunk of another phase, whose first openings are past, has those after what was sent."""
    opened = []
    arm.create_subscription(Float64MultiArray, 'gripper_controller/commands',
                            lambda message: opened.append(message.data[0]), 100)
    arm.wait(lambda: arm.count_publishers('gripper_controller/commands'))

    def send():
        with user.chunks() as chunks:
            begun = chunks.now
            for phase in 0.0, 0.3:
                times = phase + 0.4 * np.arange(1, 6)
                chunks.send([target(0.0)] * 5, period=0.4, since=begun + phase, gripper=times)
                sleep(0.9)
            return chunks.wait()

    with ThreadPoolExecutor(1) as threads:
        sent = threads.submit(send)
        arm.wait(sent.done, 20.0)
    assert sent.result().reached
    assert len(opened) > 4 and (np.diff(opened) > 0.0).all(), opened


def test_openings_go_to_an_action(tmp_path):
    """Each that differs, when it is due; those of a goal that has ended are dropped."""
    action = pytest.importorskip('control_msgs.action', reason=NOT_BUILT)
    node = rclpy.create_node('gripper_user')
    asked = []

    def execute(goal):
        asked.append((monotonic(), goal.request.command.position))
        goal.succeed()
        return action.GripperCommand.Result()

    server = ActionServer(node, action.GripperCommand, 'hand/gripper_cmd', execute)
    gripper = Gripper(node, 'hand/gripper_cmd')
    spinner = SingleThreadedExecutor()
    spinner.add_node(node)

    def spin(seconds):
        end = monotonic() + seconds
        while monotonic() < end:
            spinner.spin_once(0.02)

    spin(1.0)  # until both know each other
    task, now = GoalTask(1, Time()), monotonic()
    task.state = GoalState.ACCEPTED
    gripper.follow(task, now + np.array([0.2, 0.4, 0.6, 0.8]), np.array([0.04, 0.04, 0.01, 0.0]))
    gripper.follow(task, now + np.array([0.7, 1.5]), np.array([0.02, 0.03]))
    spin(1.2)
    assert [opening for _, opening in asked] == [0.04, 0.01, 0.02]
    assert all(abs(at - now - due) < 0.15 for (at, _), due in zip(asked, (0.2, 0.6, 0.7)))
    task.state = GoalState.STOPPED
    spin(0.8)
    assert len(asked) == 3
    spinner.shutdown()
    server.destroy()
    node.destroy_node()
