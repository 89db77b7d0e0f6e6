# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""~/goal_stream: the arm follows a moving target, in real processes."""

import signal
import subprocess
import sys
from time import monotonic

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
from harness import (
    ARM,
    DATA,
    DOWN,
    latest,
    MODEL,
    NAMES,
    pose,
    positions_of,
    process,
    READY,
    ROOT,
    stamped,
    tip,
)
from nightly import usual_first
import numpy as np
import pinocchio as pin
import pytest
from sensor_msgs.msg import JointState
from streams import HERE, speeds, stream_answer, Target

from ik_node.ros.messages.status_messages import answers_stream, STREAM_PAUSE_S

pytestmark = pytest.mark.real_time
# Limits by default; a stream may pause for 2 s: others may keep the machine for so long.
NODE_LIMITS = {'stream.timeout': 2.0}


def test_the_arm_follows_and_comes_to_rest(system):
    """One goal for the whole stream; near the target while it moves, at it when it stands."""
    target = Target(system)
    target.run(3.0)
    errors = target.errors([message for _, message in system.states[-100:]])
    assert np.percentile(errors, 25) < 0.15 * 0.05
    assert [a['state'] for a in target.session()] == ['accepted']
    system.wait(lambda: len(target.session()) == 2, what='the end of the stream')
    answer = target.session()[-1]
    assert (answer['state'], answer['reason']) == ('stopped', 'STREAM_ENDED'), answer
    assert int(answer['poses']) > 30 and float(answer['position_error_m']) < 0.05
    system.spin_for(0.02)  # for what was measured before the answer was sent
    assert np.abs(speeds(system)[-1]).max() < 1e-6
    assert np.abs(speeds(system)).max() > 0.1


@pytest.mark.fault('goals', 'the first poses of a stream are overwritten before they are taken',
                   'its answers have the stamps of the first and the last pose that was taken, '
                   'by which the sender finds them')
def test_a_sender_finds_its_answers(system):
    """It publishes faster than the node takes, and sends another goal before."""
    goal = system.send_joints(READY)
    assert system.final(goal)['state'] == 'reached'
    target = Target(system, rate=1000.0)
    system.node.send(signal.SIGSTOP)
    for _ in range(50):
        message = PoseStamped(pose=pose(target.at(monotonic())))
        target.sent.append(stamped(system, message))
        target.stream.publish(message)
    system.node.send(signal.SIGCONT)
    target.run(5.0, until=target.session)
    target.run(0.5)
    system.wait(lambda: len(target.session()) == 2, what='the end of the stream')
    middle = target.sent.index(target.session()[0]['stamp']) + 1
    first, middle, latest_ = (time_of(target.sent[k]) for k in (0, middle, -1))
    assert target.session()[0]['stamp'] not in target.sent[:10], 'nothing was overwritten'

    def found(first, latest):
        return [a['state'] for a in system.statuses if answers_stream(a, first, latest)]

    assert found(first, latest_) == ['accepted', 'stopped']
    assert found(middle, middle) == ['stopped']
    before = Time(sec=first.sec - 1)
    assert found(before, before) == [] and system.answers(goal)


def time_of(text):
    """Return a stamp that is written as in answers."""
    sec, _, nanosec = text.partition('.')
    return Time(sec=int(sec), nanosec=int(nanosec))


def test_the_example_draws_a_circle(system):
    """examples/stream_circle.py, as in the tutorial: a radius of 10 cm after the first second."""
    start = system.final(system.send((0.5, 0.0, 0.4), DOWN))
    assert start['state'] == 'reached', start
    known = len(system.states)
    example = subprocess.Popen([sys.executable, ROOT / 'examples/stream_circle.py',
                                '--seconds', '4'])
    system.wait(lambda: example.poll() is not None, 60.0, 'the end of the example')
    assert example.returncode == 0
    system.wait(lambda: system.statuses[-1]['reason'] == 'STREAM_ENDED', what='the stream')
    offsets = np.array([tip(positions_of(message)).translation - [0.5, 0.0, 0.4]
                        for _, message in system.states[known:]])
    radii = np.linalg.norm(offsets[:, 1:], axis=1)
    assert np.abs(offsets[:, 0]).max() < 0.005
    # The target stops growing at once, and stops at the end: the arm goes on for a moment.
    assert radii.max() < 0.15
    on_circle = offsets[np.abs(radii - 0.1) < 0.005]
    assert len(on_circle) > 0.3 * len(offsets)
    angles = np.unwrap(np.arctan2(on_circle[:, 1], on_circle[:, 2]))
    assert np.ptp(angles) > np.pi


def test_a_target_that_stands_is_reached(system):
    """To micrometres, by the pull on what error is left."""
    target = Target(system, speed=1e-9)
    target.at = lambda time: HERE.translation + [0.0, 0.08, -0.05]

    def off():
        return np.linalg.norm(tip(latest(system)).translation - target.at(0))

    target.run(10.0, until=lambda: off() < 5e-5)
    target.run(0.5)
    assert off() < 1e-4


@pytest.mark.parametrize('rate', usual_first(1, [10.0, 500.0]))
def test_slower_and_faster_than_it_is_sent_on(system, rate):
    """One session at any rate of the poses."""
    target = Target(system, rate=rate)

    def follows():
        return np.percentile(target.errors([m for _, m in system.states[-100:]]), 75) < 0.06

    target.run(1.5)
    target.run(20.0, follows)  # a machine that stood still has to catch up
    assert follows()
    assert [a['state'] for a in target.session()] == ['accepted']


@pytest.mark.nightly
def test_two_publishers(system):
    """Who disagree, one in another frame: one session, and the arm goes between them, safely."""
    others = system.create_publisher(PoseStamped, '/ik_node/goal_stream', 10)
    targets = [HERE.translation + [0.0, 0.0, z] for z in (-0.02, -0.12)]
    target = Target(system)
    target.at = lambda time: targets[0]
    end = monotonic() + 4.0
    while monotonic() < end:
        target.run(0.01)
        # link_1 turns about the base's z axis with the first joint.
        shown = pin.SE3(HERE.rotation, targets[1])
        q = positions_of(system.states[-1][1])
        pin.framesForwardKinematics(MODEL, DATA, q)
        there = DATA.oMf[MODEL.getFrameId('link_1')].actInv(shown)
        message = PoseStamped(pose=pose(there.translation, there.rotation))
        target.sent.append(stamped(system, message, 'link_1'))
        others.publish(message)
    assert [a['state'] for a in target.session()] == ['accepted']
    reached = tip(latest(system))
    assert -0.125 < (reached.translation - HERE.translation)[2] < -0.015
    assert np.abs((reached.translation - HERE.translation)[:2]).max() < 0.01
    assert np.linalg.norm(pin.log3(reached.rotation.T @ HERE.rotation)) < 0.05
    system.wait(lambda: len(target.session()) == 2, what='the end of the stream')
    answer = target.session()[-1]
    assert answer['reason'] == 'STREAM_ENDED', answer['message']
    assert int(answer['poses']) > 100
    assert -0.13 < (tip(latest(system)).translation - HERE.translation)[2] < 0.0, 'it went on'


SPOILT = (
    lambda m: setattr(m.header.stamp, 'sec', -5),
    lambda m: setattr(m.header.stamp, 'sec', 1),
    lambda m: setattr(m.header.stamp, 'sec', m.header.stamp.sec + 100),
    lambda m: setattr(m.header, 'frame_id', ''),
    lambda m: setattr(m.pose.position, 'z', float('inf')),
    lambda m: setattr(m.pose.orientation, 'w', 9.0))


@pytest.mark.nightly
def test_poses_that_cannot_be_are_left_out(system):
    """In the midst of a session: said on the log, not counted, and the session goes on."""
    target = Target(system, speed=0.05)
    target.run(1.0)
    for spoil in SPOILT:
        message = PoseStamped(pose=pose(target.at(monotonic())))
        stamped(system, message)
        spoil(message)
        target.stream.publish(message)
        system.spin_for(0.1)  # before the next takes its place
    target.run(1.0)
    assert [a['state'] for a in target.session()] == ['accepted'], target.session()
    assert 'a pose of the stream is left out: the stamp of the goal is negative' \
        in system.node.output
    system.wait(lambda: len(target.session()) == 2, what='the end of the stream')
    answer = target.session()[-1]
    assert answer['reason'] == 'STREAM_ENDED', answer['message']
    assert int(answer['poses']) <= len(target.sent)
    assert 'Traceback' not in system.node.output and system.node.running()


def test_a_stop_takes_over_a_stream_without_stamps(system):
    """It leaves what the controller interpolates to the first point of the last message."""
    assert system.set_parameters('/ik_node', {
        'stream.stamped': False, 'stream.timeout': 0.3}).successful
    stream = system.publisher(PoseStamped, 'goal_stream')
    for k in range(4):
        side = 0.2 if k % 2 else -0.2
        target = PoseStamped(pose=pose(HERE.translation + [0.0, side, 0.0]))
        sent = []
        # Until about when the acceleration is the limit, and the jerk switches.
        while np.abs(system.states[-1][1].velocity[:6]).max() < 0.04 + 0.02 * k:
            sent.append(stamped(system, target))
            stream.publish(target)
            system.spin_for(0.01)
            assert len(sent) < 1000, 'the arm does not follow'
        system.trajectories.clear()
        assert system.call(system.stop).success
        assert stream_answer(system, sent)['reason'] == 'STOPPED'
        system.wait(lambda: system.trajectories)
        assert any(system.trajectories[-1].points[0].velocities)
        system.spin_for(1.2 * STREAM_PAUSE_S)  # or it would be the stream that was stopped


@pytest.mark.fault('joint states', 'stamps an hour ahead', 'a stream is sent to begin on arrival')
def test_without_a_common_clock_there_are_no_stamps(tmp_path, probe):
    """Joint states whose stamps are an hour ahead: the trajectories begin on arrival."""
    probe.watch_motion()
    with process('ik_node', tmp_path, {'urdf_file': ARM}) as node:
        probe.wait_for_node()

        def tell():
            message = JointState(name=NAMES, position=READY, velocity=[0.0] * 6)
            message.header.stamp = probe.get_clock().now().to_msg()
            message.header.stamp.sec += 3600
            probe.joint_states.publish(message)

        probe.create_timer(0.01, tell)
        probe.wait_until_ready()
        probe.spin_for(0.3)
        target = Target(probe)
        target.run(10.0, lambda: len(probe.trajectories) > 10)
        assert len(probe.trajectories) > 10
        assert all(t.header.stamp.sec == 0 for t in probe.trajectories)
        assert 'without stamps' in node.output
