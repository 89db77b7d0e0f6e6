# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Motions as positions for a forward command controller (output position)."""

import signal

from geometry_msgs.msg import PoseStamped
from harness import ARM, NAMES, pose, Process, process, READY
import numpy as np
import pytest
from std_msgs.msg import Float64MultiArray
from streams import stream_answer

AWAY = np.array(READY) + [0.8, -0.3, 0.3, 0.5, -0.4, 0.6]
MAX_VELOCITY = 3.5  # rad/s; half of the fastest joint's limit
CLOCK_NOISE = 2e-3  # s, between the sample and the stamp of its message
pytestmark = pytest.mark.real_time


class ForwardArm:
    """An arm that is where the forward command controller was last told."""

    def __init__(self, probe):
        self.times, self.q = [], []
        self._probe = probe
        probe.create_subscription(Float64MultiArray, 'forward/commands', self._take, 1000)
        probe.create_timer(0.01, lambda: probe.publish_state(
            NAMES, self.q[-1] if self.q else READY, np.zeros(6)))

    def _take(self, message, info):
        self.times.append(1e-9 * info['source_timestamp'])
        self.q.append(np.array(message.data))

    def require_samples_between_points(self):
        """Check that positions come at their update period where the machine is free."""
        assert np.quantile(np.diff(self.times), 0.1) < 4e-3

    def require_no_leap(self):
        """Check that no joint is told to move faster than it may."""
        q, times = np.array([READY, *self.q]), np.array([self.times[0], *self.times])
        steps = np.abs(np.diff(q, axis=0)).max(axis=1)
        assert (steps <= MAX_VELOCITY * (np.diff(times) + CLOCK_NOISE)).all(), steps.max()


@pytest.fixture
def forward(tmp_path, probe):
    """Run the node on an arm of this kind; yield arm and node."""
    arm = ForwardArm(probe)
    with process('ik_node', tmp_path, {'urdf_file': ARM, 'output': 'position',
                                       'controller': 'forward'}) as node:
        probe.wait_for_node()
        probe.wait_until_ready()
        yield arm, node


def test_a_motion_is_sent_as_positions(forward, probe):
    """It begins where the arm is, ends at the goal, and is sampled fast enough."""
    arm, node = forward
    answer = probe.final(probe.send_joints(AWAY))
    assert answer['state'] == 'reached', answer
    arm.require_no_leap()
    np.testing.assert_allclose(arm.q[0], READY, atol=1e-3)
    np.testing.assert_allclose(arm.q[-1], AWAY, atol=1e-9)
    arm.require_samples_between_points()
    assert 'trajectories go to /forward/commands' in node.output
    count = len(arm.q)
    probe.spin_for(0.3)
    assert len(arm.q) == count  # nothing at rest


def test_a_new_goal_takes_over_a_moving_arm(forward, probe):
    """Without a step: back to where it came from."""
    arm, _ = forward
    first = probe.send_joints(AWAY)
    probe.wait(lambda: arm.q and abs(arm.q[-1][0] - READY[0]) > 0.3)
    second = probe.send_joints(READY)
    assert probe.final(second)['state'] == 'reached'
    assert probe.final(first)['reason'] == 'SUPERSEDED'
    arm.require_no_leap()
    np.testing.assert_allclose(arm.q[-1], READY, atol=1e-9)
    assert np.abs(arm.q[-2] - arm.q[-1]).max() < 1e-4  # not cut off


@pytest.mark.parametrize('end', ['stop', 'deactivate', 'signal'])
def test_it_ramps_down(forward, probe, end):
    """Also if the process ends: it waits for the end of the ramp."""
    arm, node = forward
    stamp = probe.send_joints(AWAY)
    probe.wait(lambda: arm.q and abs(arm.q[-1][0] - READY[0]) > 0.2)
    if end == 'stop':
        assert probe.call(probe.stop).success
    elif end == 'deactivate':
        assert probe.change_state('deactivate')
    else:
        node.send(signal.SIGINT)
    assert probe.final(stamp)['state'] == 'stopped'
    probe.spin_for(1.0)
    arm.require_no_leap()
    assert np.abs(arm.q[-1] - AWAY).max() > 0.1
    assert np.abs(arm.q[-2] - arm.q[-1]).max() < 1e-4
    if end == 'signal':
        assert node.wait() == 0


def test_a_stream_is_sent_as_positions(forward, probe):
    """Its trajectories are sampled as others are."""
    arm, _ = forward
    probe.watch_motion()
    probe.wait(lambda: probe.tip_poses)
    tip, sent = probe.tip_poses[-1].pose, []
    for k in range(150):
        message = PoseStamped(pose=pose(
            [tip.position.x, tip.position.y, tip.position.z + 0.05 * k / 150]))
        message.pose.orientation = tip.orientation
        sent.append(probe.send_goal('stream', message))
        probe.spin_for(0.01)
    assert stream_answer(probe, sent)['reason'] == 'STREAM_ENDED'
    arm.require_no_leap()
    assert len(arm.q) > 150
    arm.require_samples_between_points()


@pytest.mark.fault('time and load', 'the process stands still in a stream sent as positions',
                   'the stream has failed, and the arm stays where it was sent last')
def test_no_leap_in_a_stream_after_a_standstill(forward, probe):
    arm, node = forward
    probe.set_parameters('/ik_node', {'stream.timeout': 2.0})
    probe.watch_motion()
    probe.wait(lambda: probe.tip_poses)
    tip, sent = probe.tip_poses[-1].pose, []

    def stream(count):
        for _ in range(count):
            tip.position.z += 1e-3
            message = PoseStamped(pose=tip)
            sent.append(probe.send_goal('stream', message))
            probe.spin_for(0.01)

    stream(80)
    node.send(signal.SIGSTOP)
    probe.spin_for(0.4)  # until all is heard that it sent before
    there = arm.q[-1]
    node.send(signal.SIGCONT)
    stream(20)
    answer = stream_answer(probe, sent)
    assert answer['reason'] == 'OFF_TRACK' and 'held up' in answer['message']
    np.testing.assert_array_equal(arm.q[-1], there)


@pytest.mark.fault('time and load', 'the process stands still in a motion sent as positions',
                   'the rest of the motion is not sent, which would begin with a leap; the goal '
                   'has failed')
def test_no_leap_after_a_standstill(forward, probe):
    arm, node = forward
    stamp = probe.send_joints(AWAY)
    probe.wait(lambda: arm.q and abs(arm.q[-1][0] - READY[0]) > 0.2)
    node.send(signal.SIGSTOP)
    probe.spin_for(0.4)  # until all is heard that it sent before
    there = arm.q[-1]
    node.send(signal.SIGCONT)
    answer = probe.final(stamp)
    assert (answer['state'], answer['reason']) == ('failed', 'OFF_TRACK'), answer
    assert 'held up' in answer['message']
    np.testing.assert_array_equal(arm.q[-1], there)
    probe.spin_for(0.5)
    arm.q, arm.times = [there], [arm.times[-1]]  # from where it was left
    assert probe.final(probe.send_joints(READY))['state'] == 'reached'
    assert np.abs(arm.q[1] - there).max() < 1e-3


@pytest.mark.fault('parameters', 'output position with another stream.output',
                   'the node does not start, and names both')
def test_streams_have_no_second_output(tmp_path, probe):
    node = Process('ik_node', tmp_path / 'log', {
        'urdf_file': ARM, 'output': 'position', 'stream.output': 'velocity'})
    assert node.wait() == 1
    assert 'leave stream.output at trajectory, not velocity' in node.output
