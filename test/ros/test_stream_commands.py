# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""~/goal_stream to a controller that takes positions or velocities, or has no common clock."""

from geometry_msgs.msg import TwistStamped
from harness import ARM, NAMES, process, READY, stamped
from nightly import usual_first
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from streams import Target
from trajectory_msgs.msg import JointTrajectory

pytestmark = pytest.mark.real_time


@pytest.mark.parametrize('kind', usual_first(1, ['trajectory', 'position']))
def test_a_goal_ends_a_stream_that_cannot_be_joined(tmp_path, probe, kind):
    """Without a common clock it waits for rest, though the sender of the stream goes on."""
    commands, trajectories = [], []

    def obey(message):
        commands.append(message)
        tell()  # where the arm is now, also if the timer is late

    probe.create_subscription(Float64MultiArray, 'forward/commands', obey, 1000)
    probe.create_subscription(JointTrajectory, 'forward/joint_trajectory',
                              trajectories.append, 100)
    with process('ik_node', tmp_path, {'urdf_file': ARM, 'stream.output': kind,
                                       'controller': 'forward'}):
        probe.wait_for_node()

        def tell():
            message = JointState(name=NAMES, position=[*(
                commands[-1].data if commands else READY)], velocity=[0.0] * 6)
            probe.joint_states.publish(message)  # without a stamp

        probe.create_timer(0.01, tell)
        probe.wait_until_ready()
        target = Target(probe)
        target.run(0.5)
        stamp = probe.send_joints(np.array(READY) + 0.1)
        target.run(10.0, until=lambda: probe.answers(stamp))
        answer = probe.answers(stamp)[0]
        assert answer['state'] == 'accepted' and answer['began_at_rest_because']
        assert target.session()[-1]['reason'] == 'SUPERSEDED'
        assert probe.final(stamp)['reason'] == 'NOT_MOVING'  # so is this arm
    # It began at rest: slower than what two points of a ramp have between them.
    first = next(t for t in trajectories
                 if np.allclose(t.points[-1].positions, np.array(READY) + 0.1, atol=1e-6))
    assert first.header.stamp.sec == 0 and np.abs(first.points[0].velocities).max() < 0.01


@pytest.mark.parametrize('kind, end', usual_first(3, [
    ('position', 'STREAM_ENDED'), ('velocity', 'STREAM_ENDED'), ('position', 'STOPPED'),
    ('velocity', 'INACTIVE'), ('velocity', 'SHUTDOWN')]))
def test_commands_for_forward_controllers(tmp_path, probe, kind, end):
    """On <controller>/commands: the state, or its velocity; at rest at last, however it ends."""
    commands = []
    probe.watch_motion()
    probe.create_subscription(Float64MultiArray, 'forward/commands', commands.append, 1000)
    with process('ik_node', tmp_path, {'urdf_file': ARM, 'stream.output': kind,
                                       'controller': 'forward', 'stream.timeout': 1.0}) as node:
        # Nobody moves: an arm that always says that it stands where it was told to be.
        q = np.array(READY)
        probe.wait_for_node()

        def tell():
            nonlocal q
            if commands:
                q = np.array(commands[-1].data) if kind == 'position' \
                    else q + 0.01 * np.array(commands[-1].data)
            probe.publish_state(NAMES, q, np.zeros(6))

        probe.create_timer(0.01, tell)
        probe.wait(lambda: '/ik_node: health' in probe.health, 60.0)
        probe.spin_for(1.5)
        target = Target(probe)
        target.run(2.0)
        if end == 'STOPPED':
            probe.call(probe.stop)
        elif end == 'INACTIVE':
            assert probe.change_state('deactivate')
        elif end == 'SHUTDOWN':
            assert node.stop() == 0
        probe.wait(lambda: len(target.session()) == 2, what='the end of the stream')
        assert target.session()[-1]['reason'] == end, target.session()
        probe.spin_for(1.0)
        assert len(target.session()) == 2
    values = np.array([message.data for message in commands])
    assert values.shape[1] == 6 and len(values) > 100 and not probe.trajectories
    if kind == 'position':
        assert np.abs(values[0] - READY).max() < 1e-3
        assert np.abs(np.diff(values, axis=0)).max() < 0.05
        assert np.abs(np.diff(values[-2:], axis=0)).max() < 1e-4
    else:
        # limits of acceleration and jerk: it ramps down, and does not just stop
        assert np.abs(np.diff(values, axis=0)).max() < 0.1
        assert not values[-1].any() and 0.05 < np.abs(values).max() < 2.0


def test_a_jog_takes_over_a_stream_of_velocities(tmp_path, probe):
    """The commands go on without a step, and end at rest."""
    commands = []
    probe.create_subscription(Float64MultiArray, 'forward/commands', commands.append, 1000)
    probe.create_subscription(JointTrajectory, 'forward/joint_trajectory', print, 100)
    with process('ik_node', tmp_path, {'urdf_file': ARM, 'stream.output': 'velocity',
                                       'controller': 'forward', 'stream.timeout': 0.5}):
        q, integrated = np.array(READY), 0
        probe.wait_for_node()

        def tell():
            nonlocal q, integrated
            for message in commands[integrated:]:
                q = q + 0.01 * np.array(message.data)
            integrated = len(commands)
            probe.publish_state(NAMES, q, np.zeros(6))

        probe.create_timer(0.01, tell)
        probe.wait_until_ready()
        target = Target(probe)
        target.run(1.5)
        jogger = probe.publisher(TwistStamped, 'delta_twist_cmds')
        message = TwistStamped()
        message.twist.linear.z = 0.2
        begin = len(commands)
        for _ in range(60):
            stamped(probe, message)
            jogger.publish(message)
            probe.spin_for(0.02)
        probe.wait(lambda: probe.statuses[-1]['kind'] == 'jog'
                   and probe.statuses[-1]['state'] == 'stopped', what='the end of the jog')
        probe.spin_for(0.3)
    assert target.session()[-1]['reason'] == 'SUPERSEDED'
    assert probe.statuses[-1]['reason'] == 'STREAM_ENDED'
    values = np.array([message.data for message in commands])
    assert np.abs(values[begin - 1]).max() > 0.02, 'the stream had come to rest'
    assert np.abs(np.diff(values, axis=0)).max() < 0.1 and not values[-1].any()
    assert np.abs(values[begin + 30:]).max() > 0.05
