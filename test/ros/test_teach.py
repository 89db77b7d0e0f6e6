# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Waypoints of the joints, and ik_teach: what is kept and recorded is played back."""

import select
import signal
import subprocess
import sys
from threading import Thread

from documents import blocks, commands, program_of
from harness import (
    latest,
    NAMES,
    positions_of,
    PROGRAM,
    ran,
    READY,
    reasons,
    stamp_of,
    tip,
    tool,
)
from motion_checker import path_of as dense_path, states_at
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectoryPoint

from ik_node.client import Arm, ClientError, GoalNotReachedError, TaughtPath
from ik_node.ros.messages.conversion import way_points_message
from ik_node.ros.state_recorder import StateRecorder
from ik_node.tools.teach import parse

DOCUMENT = 'docs/how_to/teach.md'
NOISE = 2e-5  # rad, of the joint states; below what the node takes for the same position
TOLERANCE = 2e-3
# A way on which the arm need not stop.
WAY = READY + np.array([[0.2, 0.05, 0.0, 0.1, 0.0, 0.2], [0.4, 0.10, -0.1, 0.2, 0.1, 0.3],
                        [0.6, 0.10, -0.2, 0.3, 0.2, 0.3], [0.8, 0.05, -0.2, 0.4, 0.2, 0.4]])
NODE_LIMITS = {'motion.acceleration_limits': '[4.0]', 'motion.jerk_limits': '[80.0]'}


@pytest.fixture(scope='module')
def sim():
    """Have noisy joint states, as often as real arms send them."""
    return {'rate': 100.0, 'measuring.noise': NOISE}


@pytest.fixture
def system(shared_system):
    """Return the system with the arm at READY."""
    back(shared_system)
    return shared_system


@pytest.fixture(scope='module')
def arm(shared_system):
    """Return a client."""
    with Arm(timeout=60.0) as made:
        yield made


def back(system):
    """Move the arm to READY, and forget what was seen."""
    assert system.final(system.send_joints(READY))['state'] == 'reached'
    latest(system)
    for seen in (system.states, system.trajectories, system.statuses):
        seen.clear()


def executed(system):
    """Return the times (N,), s, and positions (N, 6) of the joint states so far."""
    latest(system)
    states = [message for _, message in system.states]
    return np.array([stamp_of(state) for state in states]), np.array(
        [positions_of(state) for state in states])


def sent_path(system, start):
    """Return the latest trajectory, with its start."""
    return dense_path(system.trajectories[-1], (start, np.zeros(6), np.zeros(6)))


def sent_times(sent, points):
    """Return when a trajectory is nearest to some points, s."""
    moments = np.arange(0.0, sent.times[-1], 1e-3)
    way = states_at(sent, moments)[:, 0]
    return np.array([moments[np.abs(way - point).max(axis=1).argmin()] for point in points])


def nearest(way, points):
    """Return how near a way (N, n) comes to each of some points (m, n), (m,), rad."""
    return np.array([np.abs(way - point).max(axis=1).min() for point in points])


def taught(system, *arguments, code=0):
    """Run ik_teach to its end while the probe looks on; return all that it says."""
    running = tool('teach', *arguments, errors=True)
    system.wait(lambda: running.poll() is not None, 60.0, 'the end of ik_teach')
    said = running.stdout.read() + running.stderr.read()
    assert running.returncode == code, said
    return said


def send(system, message):
    """Send waypoints; return their final answer."""
    answer = system.final(system.send_goal('joint_path', message))
    assert answer['kind'] == 'joint_path'
    return answer


@pytest.mark.nightly
def test_one_motion_through_all(system, arm):
    """In one trajectory, without a stop; by a client, and of some joints in any order."""
    goal = arm.joint_path(WAY)
    system.wait(lambda: goal.done, 60.0, 'the end')
    answer = goal.wait()
    assert answer.values['kind'] == 'joint_path' and answer.values['way_points'] == '4'
    assert len(system.trajectories) == 1
    sent = sent_path(system, READY)
    states = states_at(sent, np.arange(0.0, sent.times[-1], 1e-3))
    assert nearest(states[:, 0], WAY).max() < 1e-3
    under_way = [np.abs(states[:, 0] - q).max(axis=1) > 0.02 for q in (READY, WAY[-1])]
    assert np.abs(states[under_way[0] & under_way[1], 1]).max(axis=1).min() > 0.05
    assert np.abs(latest(system) - WAY[-1]).max() < 10.0 * NOISE
    assert reasons(system, goal.latest.values['stamp']) == ['ACCEPTED', 'REACHED']
    two = [{'joint_6': 0.1, 'joint_1': 0.5}, {'joint_1': 0.0, 'joint_6': 0.3}]
    goal = arm.joint_path(two)
    system.wait(lambda: goal.done, 60.0, 'the end')
    assert goal.wait().reached
    assert np.abs(latest(system) - [0.0, *WAY[-1][1:5], 0.3]).max() < 1e-3


@pytest.mark.nightly
def test_with_times(system):
    """At their pace: a slow motion takes as long as it says."""
    message = way_points_message(NAMES[::-1], WAY[:, ::-1], np.array([1.0, 2.0, 3.0, 4.0]))
    answer = send(system, message)
    assert answer['state'] == 'reached' and 4.0 <= float(answer['duration_s']) < 4.3
    sent = sent_path(system, READY)
    for k, point in enumerate(WAY, 1):
        late = sent_times(sent, [point])[0] - k
        assert -1e-3 < late < 0.3


def test_from_a_moving_arm(system):
    """It is brought to rest, and then moved through all; the goal before is superseded."""
    before = system.send_joints(WAY[3])
    system.wait(lambda: np.abs(latest(system) - READY).max() > 0.1, what='a motion')
    assert send(system, way_points_message(NAMES, WAY[:2]))['state'] == 'reached'
    assert system.final(before)['state'] == 'superseded'
    assert np.abs(latest(system) - WAY[1]).max() < 10.0 * NOISE


def wrong(**changes):
    """Return a goal that differs from a good one."""
    message = way_points_message(NAMES, WAY)
    for name, value in changes.items():
        setattr(message, name, value)
    return message


@pytest.mark.parametrize('message, reason, words', [
    (wrong(points=[]), 'PATH_INVALID', '0 waypoints'),
    (wrong(joint_names=['ghost', *NAMES[1:]]), 'GOAL_JOINTS', "'ghost'"),
    (wrong(joint_names=[NAMES[0]] * 6), 'GOAL_JOINTS', 'each joint once'),
    (wrong(joint_names=NAMES[:5]), 'GOAL_JOINTS', 'waypoint 1 of 4 has 6 positions for 5'),
    (wrong(points=[*wrong().points, JointTrajectoryPoint(positions=[9.0] * 6)]), 'BEYOND_LIMIT',
     "waypoint 5 of 5: 'joint_1' is 9, outside"),
    (wrong(points=[JointTrajectoryPoint(positions=[np.nan] * 6)]), 'GOAL_NOT_FINITE',
     'waypoint 1 of 1'),
    (way_points_message(NAMES, WAY, np.array([0.0, 1.0, 2.0, 3.0])), 'PATH_INVALID',
     'waypoint 1 of 4 has the time 0, but'),
    (way_points_message(NAMES, WAY, np.array([2.0, 1.0, 2.0, 3.0])), 'PATH_INVALID',
     'waypoint 2 of 4 has the time 1 s; times must increase'),
    (way_points_message(NAMES, np.tile(WAY, (1000, 1))), 'PATH_INVALID', 'at most 262144')])
@pytest.mark.fault('goals', 'waypoints over DDS that cannot be passed',
                   'refused with the number of the waypoint; nothing moves')
def test_refused(shared_system, message, reason, words):
    """In one sentence."""
    shared_system.trajectories.clear()
    answer = send(shared_system, message)
    assert (answer['state'], answer['reason']) == ('rejected', reason)
    assert words in answer['message']
    assert not shared_system.trajectories


def test_a_collision_is_refused(system, arm):
    """With the number of the waypoint, and the share of the motion that is free."""
    there = tip(0.5 * (WAY[2] + WAY[3])).translation
    adding = arm.scene.add_box('box', [0.01] * 3, there)
    system.wait(lambda: adding.done, what='the box')
    answer = send(system, wrong())
    clearing = arm.scene.clear()
    system.wait(lambda: clearing.done, what='no box')
    assert (answer['state'], answer['reason']) == ('rejected', 'COLLISION')
    assert 'on the way to waypoint 4 of 4' in answer['message'], answer
    assert "'box'" in answer['message'] and 0.5 < float(answer['path_fraction']) < 1.0
    assert not system.trajectories


@pytest.mark.nightly
def test_way_points_are_kept_and_played(system, tmp_path):
    """One at once, several by Enter, without the node; the arm is then moved through them."""
    file = tmp_path / 'points.yaml'
    assert "'above' is kept" in taught(system, 'keep', 'above', '--file', file)
    running = subprocess.Popen(
        [sys.executable, '-c', PROGRAM.format(name='teach'), 'keep', '--file', file],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for number, q in ((2, WAY[1]), (3, WAY[3])):
        assert system.final(system.send_joints(q))['state'] == 'reached'
        said = running.stdout.readline()
        while f"'point_{number}'?" not in said:
            assert said, 'ik_teach has ended'
            said = running.stdout.readline()
        running.stdin.write('\n')
        running.stdin.flush()
        said = running.stdout.readline()
        assert f"'point_{number}' is kept" in said and f'has {number} waypoints' in said
    running.stdin.write('q\n')
    running.stdin.close()
    assert running.wait(20.0) == 0
    path = TaughtPath.read(file)
    assert path.names == ('above', 'point_2', 'point_3') and [*path.joint_names] == NAMES
    assert np.abs(path.q - [READY, WAY[1], WAY[3]]).max() < 10.0 * NOISE
    system.states.clear()
    system.trajectories.clear()
    assert 'reached' in taught(system, 'play', file)
    _, way = executed(system)
    assert np.abs(way[-1] - path.q[-1]).max() < 10.0 * NOISE and len(system.trajectories) == 2
    moments = sent_times(sent_path(system, READY), path.q[1:])
    assert nearest(states_at(sent_path(system, READY), moments)[:, 0], path.q[1:]).max() < 2e-3
    system.trajectories.clear()
    running = tool('send_goal', '--joint-path', file)
    system.wait(lambda: running.poll() is not None, 60.0, 'the end')
    assert running.returncode == 0 and len(system.trajectories) == 1


class Hand:
    """Joint states of an arm that is moved by hand, with noise, and exact stamps at 100 Hz."""

    def __init__(self, system):
        self._system, self._noise = system, np.random.default_rng(5)
        self._begin, self._count = system.get_clock().now().nanoseconds, 0
        self._publisher = system.create_publisher(JointState, 'hand_states', 100)
        system.wait(self._publisher.get_subscription_count, what='ik_teach')

    def show(self, positions):
        """Publish joint positions (N, 6), one after the other."""
        for q in positions:
            message = JointState(name=NAMES, position=[*q + NOISE * self._noise.normal(size=6)])
            stamp = self._begin + 10_000_000 * self._count
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
            self._publisher.publish(message)
            self._count += 1
            self._system.spin_once(0.003)

    def close(self):
        """Leave the topic, when all has been taken."""
        self._system.spin_for(0.3)
        self._system.destroy_publisher(self._publisher)


def by_hand():
    """Return a motion from READY as positions (N, 6), every 10 ms."""
    message = way_points_message(NAMES, WAY[[1, 3, 2, 0]], np.array([0.8, 1.6, 2.6, 3.4]))
    for point in message.points:
        point.velocities = point.accelerations = [0.0] * 6
    path = dense_path(message, (READY, np.zeros(6), np.zeros(6)))
    return states_at(path, np.arange(0.0, path.times[-1], 0.01))[:, 0]


SLOWER = 0.8  # than it was recorded


def test_a_motion_is_recorded_and_played(system, tmp_path):
    """What is executed is what was recorded, as fast as is asked for."""
    file, margin, true = tmp_path / 'motion.yaml', 5.0 * NOISE, by_hand()
    running = tool('teach', 'record', file, '--tolerance', TOLERANCE, '--topic', 'hand_states')
    hand = Hand(system)
    while not select.select([running.stdout], [], [], 0.0)[0]:
        hand.show(true[:1])
    assert 'recording' in running.stdout.readline()
    for positions in (np.tile(true[0], (60, 1)), true, np.tile(true[-1], (60, 1))):
        hand.show(positions)
    hand.close()
    running.send_signal(signal.SIGINT)
    system.wait(lambda: running.poll() is not None, what='the end')
    said = running.stdout.read()
    assert running.returncode == 0 and 'points, within 0.002 rad' in said, said
    path = TaughtPath.read(file)
    assert 2.9 < path.duration < 3.45 and len(path.q) < 40
    fine = np.array([np.interp(np.arange(0.0, len(true), 0.1), np.arange(len(true)), column)
                     for column in true.T]).T
    assert nearest(fine, path.q).max() < TOLERANCE + margin
    back(system)
    assert 'reached' in taught(system, 'play', file, '--speed', SLOWER)
    _, way = executed(system)
    assert nearest(fine, way).max() < 2.0 * TOLERANCE + margin
    sent = sent_path(system, path.q[0])
    late = sent_times(sent, path.q[1:-1]) - path.times[1:-1] / SLOWER
    assert late.min() > -0.02 and sent.times[-1] < path.duration / SLOWER + 0.4, late
    assert nearest(states_at(sent, np.arange(0.0, sent.times[-1], 1e-3))[:, 0],
                   true).max() < 2.0 * TOLERANCE + margin  # it goes all the way
    assert np.abs(way[-1] - path.q[-1]).max() < margin
    assert 'is there already' in taught(system, 'record', file, code=2)
    assert 'a recorded motion' in taught(system, 'keep', 'x', '--file', file, code=2)


@pytest.mark.nightly
def test_by_a_client(system, arm):
    """A program records a motion and plays it; what cannot be is refused."""
    made = []
    thread = Thread(target=lambda: made.append(arm.record(3.0, TOLERANCE)))
    thread.start()
    system.spin_for(0.5)
    system.send_joints(WAY[1])
    system.wait(lambda: not thread.is_alive(), 30.0, 'the record')
    path = made[0]
    assert [*path.joint_names] == NAMES and 0.3 < path.duration < 2.5
    goal = arm.play(path)
    system.wait(lambda: goal.done, 60.0, 'the end')
    assert goal.wait().values['kind'] == 'joint_path'
    assert np.abs(latest(system) - path.q[-1]).max() < 10.0 * NOISE
    for call, words in ((lambda: arm.play(path, -1.0), 'must be positive'),
                        (lambda: arm.play(TaughtPath(('a',), np.zeros((1, 1)))), "'a'; the arm"),
                        (lambda: arm.joint_path(TaughtPath(('a',), np.zeros((1, 1)))), "of 'a'"),
                        (lambda: arm.joint_path([{'joint_1': 0.0}, {'joint_2': 0.0}]), 'same'),
                        (lambda: arm.joint_path([[0.0] * 6], [1.0, 2.0]), '2 times for 1 points'),
                        (lambda: arm.joint_path('x'), "point 1 of the path 'x' must be numbers")):
        with pytest.raises(ClientError, match=words):
            call()
    # At a limit with noise, and of one joint, beside one that the arm lacks.
    some = TaughtPath(('gripper', 'joint_1'), np.array([[9.0, 2.9605], [9.0, 2.8]]))
    goal = arm.play(some)
    system.wait(lambda: goal.done, 60.0, 'the end')
    assert goal.wait().reached
    assert np.abs(latest(system) - [2.8, *path.q[-1, 1:]]).max() < 10.0 * NOISE
    far = TaughtPath(tuple(NAMES), np.full((2, 6), 9.0))
    goal = arm.play(far)
    system.wait(lambda: goal.done, what='the refusal')
    with pytest.raises(GoalNotReachedError, match='outside its limits'):
        goal.wait()


def test_without_joint_states(shared_system, tmp_path):
    """It is said, in a second; so is a joint that is missing, and a file that is none."""
    file = tmp_path / 'none.yaml'
    assert 'no joint states came on /nothing within 1 s' in taught(
        shared_system, 'record', file, '--topic', 'nothing', '--wait', 1, code=2)
    assert "no joint states of 'ghost' came" in taught(
        shared_system, 'keep', 'a', '--joints', 'joint_1', 'ghost', '--wait', 1, code=2)
    assert 'No such file' in taught(shared_system, 'play', file, code=2)
    assert not file.exists()


def state(time, **positions):
    """Return a joint state with a stamp, s."""
    message = JointState(name=[*positions], position=[*map(float, positions.values())])
    message.header.stamp.sec, message.header.stamp.nanosec = int(time), round(time % 1 * 1e9)
    return message


def test_joint_states_of_several_nodes():
    """Each joint has times of its own; odd messages are left out."""
    recorder = StateRecorder(['b', 'a'])
    assert recorder.latest == {}
    for k in range(200):
        t = 0.01 * k
        recorder.take(state(5.0 + t, a=np.sin(t), c=1.0), 0.0)
        recorder.take(state(5.004 + t, b=np.cos(t + 0.004)), 0.0)
        recorder.take(state(5.0 + t, a=7.0), 0.0)  # not newer
        recorder.take(JointState(name=['a', 'b'], position=[1.0]), 9.9)
        recorder.take(state(5.002 + t, a=np.nan, b=np.inf), 0.0)
        recorder.take(JointState(name=['a', 'a'], position=[1.0, 2.0]), 9.9)
    assert [*recorder.latest] == ['b', 'a']
    path, gap = recorder.path(TOLERANCE)
    assert path.joint_names == ('b', 'a') and gap == pytest.approx(0.01, abs=1e-6)
    assert np.abs(path.q[:, 0]**2 + path.q[:, 1]**2 - 1.0).max() < 1e-3
    recorder.forget()
    assert recorder.latest == {}


def test_the_document(system, tmp_path):
    """Its program in Python runs to its end."""
    assert ran(program_of(DOCUMENT), tmp_path)[0].startswith('reached')
    assert TaughtPath.read(tmp_path / 'two.yaml').names == ('here', 'there')


def test_commands_of_the_document():
    """They are read as they stand there."""
    found = [command for block in blocks('bash') if block.document == DOCUMENT
             for command in commands(block.text) if command[0] == 'ik_teach']
    assert {parse(command[1:]).action for command in found} == {'keep', 'record', 'play'}
