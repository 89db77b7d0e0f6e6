# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Joint states that contradict one another, leap, or have odd stamps: the test publishes them."""

from math import pi
from time import monotonic

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from harness import ARM, positions_of, Probe, process, READY, seconds
import numpy as np
import pytest
from rclpy.duration import Duration
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

ERROR = DiagnosticStatus.ERROR
NAMES = [f'joint_{k}' for k in range(1, 7)]
LEAPT = np.array(READY) + [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
THERE = np.array(READY) + 0.3


@pytest.fixture(scope='module')
def shared(tmp_path_factory, recorded):
    """Run the node alone; joint_6 turns without limit."""
    folder = tmp_path_factory.mktemp('node')
    urdf = folder / 'arm.urdf'
    urdf.write_text(ARM.read_text().replace('name="joint_6" type="revolute"',
                                            'name="joint_6" type="continuous"'))
    probe = Probe()
    probe.watch_motion()
    with process('ik_node', folder, {'urdf_file': urdf}) as probe.node:
        probe.wait_for_node()
        yield probe
    probe.destroy_node()


@pytest.fixture
def alone(shared):
    """Lend it when what was told of the joints before is forgotten."""
    shared.spin_for(1.2)
    shared.trajectories.clear()
    shared.timers_made = []
    yield shared
    for timer in shared.timers_made:
        shared.destroy_timer(timer)


def tell(probe, q, stamp=None, velocities=True, publisher=None) -> None:
    """Publish a posture from now on; `stamp` gives the time of a message, q its positions."""
    def once() -> None:
        positions = q() if callable(q) else q
        message = JointState(name=NAMES, position=[*map(float, positions)],
                             velocity=[0.0] * 6 if velocities else [])
        message.header.stamp = stamp() if stamp else probe.get_clock().now().to_msg()
        (publisher or probe.joint_states).publish(message)

    probe.timers_made.append(probe.create_timer(0.02, once))


def begins_at(probe, q) -> None:
    """Send a goal, and see that its trajectory begins at q."""
    probe.send_joints(THERE)
    probe.wait(lambda: probe.trajectories, what='a trajectory')
    assert np.abs(np.array(probe.trajectories[0].points[0].positions) - q).max() < 2e-3
    assert probe.call(probe.stop).success


@pytest.mark.fault('joint states', 'two publishers of different values',
                   'a warning with how many there are; goals are refused, and /diagnostics is '
                   'ERROR, as long as they contradict one another')
def test_two_publishers(alone):
    """As joint_state_publisher beside the driver does."""
    other = alone.create_publisher(JointState, 'joint_states', 10)
    alone.wait(other.get_subscription_count)
    tell(alone, READY)
    tell(alone, LEAPT, publisher=other)
    alone.wait(lambda: "joint 'joint_1' leapt by 1 within" in alone.node.output)
    answer = alone.final(alone.send_joints(THERE))
    assert (answer['state'], answer['reason']) == ('rejected', 'STATE_INVALID')
    assert '2 publishers on /joint_states' in answer['message'] and not alone.trajectories
    alone.wait_for_health(ERROR, 'leapt by 1 within', '2 publishers on /joint_states')
    alone.destroy_timer(alone.timers_made.pop())
    alone.destroy_publisher(other)
    alone.spin_for(1.5)
    begins_at(alone, READY)


@pytest.mark.fault('joint states', 'a joint leaps by 1 rad between two messages',
                   'a warning; goals are refused, and /diagnostics is ERROR, for a second, then '
                   'they are taken from where it is')
def test_a_leap(alone):
    """Its old state does not count any more."""
    tell(alone, READY)
    alone.spin_for(0.5)
    said = alone.node.output.count('leapt')
    alone.health.clear()
    alone.wait(lambda: '/ik_node: health' in alone.health)
    alone.spin_for(0.4)  # the next comes while it counts as a leap
    alone.destroy_timer(alone.timers_made.pop())
    tell(alone, LEAPT)
    alone.spin_for(0.2)
    assert alone.final(alone.send_joints(THERE))['reason'] == 'STATE_INVALID'
    alone.wait(lambda: alone.node.output.count('leapt') > said)
    alone.wait_for_health(ERROR, 'leapt by 1 within')
    alone.spin_for(1.5)
    begins_at(alone, LEAPT)


@pytest.mark.fault('joint states',
                   'states that were held up arrive together, with their own stamps',
                   'no leap: the time between their stamps counts')
def test_states_that_arrive_together(alone):
    """As from a process or a network that stood still while the arm moved."""
    said, now = alone.node.output.count('leapt'), alone.get_clock().now()
    alone.wait(alone.joint_states.get_subscription_count)
    for k in range(4):
        message = JointState(name=NAMES, position=[READY[0] + 0.5 * k, *READY[1:]])
        message.header.stamp = (now - Duration(seconds=3.0 - k)).to_msg()
        alone.joint_states.publish(message)
    tell(alone, [READY[0] + 1.5, *READY[1:]])
    alone.spin_for(0.2)
    answer = alone.final(alone.send_joints(THERE))
    assert answer['reason'] != 'STATE_INVALID', answer
    assert alone.node.output.count('leapt') == said


@pytest.mark.fault('joint states', 'a joint without limits is counted from another turn on',
                   'no leap; the goal is the nearest turn')
def test_another_turn(alone):
    """A driver that wraps its angles, and one that has turned forty times."""
    turns = [0.0, 0.0, 0.0, 0.0, 0.0, 80.0 * pi]
    tell(alone, READY)
    alone.spin_for(0.5)
    alone.destroy_timer(alone.timers_made.pop())
    tell(alone, np.array(READY) + turns)
    alone.spin_for(0.2)
    alone.send_joints(THERE)
    alone.wait(lambda: alone.trajectories)
    assert np.allclose(alone.trajectories[0].points[-1].positions, THERE + turns, atol=1e-6)
    assert alone.call(alone.stop).success


NOW = 1_700_000_000


@pytest.mark.fault('joint states',
                   'stamps that are zero, of the past, of the future, or go backwards',
                   'the time of receipt counts; goals are taken')
@pytest.mark.parametrize('stamp', [
    Time, lambda: Time(sec=1), lambda: Time(sec=2**31 - 1),
    lambda: Time(sec=NOW - int(monotonic()), nanosec=500_000_000)],
    ids=['zero', 'past', 'future', 'backwards'])
def test_odd_stamps(alone, stamp):
    """It is known when they came."""
    tell(alone, READY, stamp=stamp)
    alone.spin_for(0.5)
    begins_at(alone, READY)


@pytest.mark.fault('joint states', 'no velocities',
                   'a new goal in motion goes on from the planned state')
def test_no_velocities(alone):
    """The arm follows its trajectory; what it tells are positions alone."""
    began = []

    def q() -> np.ndarray:
        if not alone.trajectories:
            return np.array(READY)
        began.append(monotonic())
        points = alone.trajectories[0].points
        times = [0.0, *(seconds(point.time_from_start) for point in points)]
        path = np.array([READY, *(point.positions for point in points)])
        return np.array([np.interp(began[-1] - began[0], times, column) for column in path.T])

    tell(alone, q, velocities=False)
    alone.spin_for(0.5)
    alone.send_joints(THERE + 0.5)
    alone.wait(lambda: alone.trajectories and positions_of(alone.states[-1][1])[0] > 0.2)
    alone.send_joints(READY)
    alone.wait(lambda: len(alone.trajectories) > 1)
    first = alone.trajectories[1].points[0]
    assert np.min(first.velocities) > 0.2
    assert np.abs(np.array(first.positions) - positions_of(alone.states[-1][1])).max() < 0.5
    assert alone.call(alone.stop).success


@pytest.mark.fault('joint states', 'published best effort, as sensors are, or reliable',
                   'both are heard')
@pytest.mark.parametrize('policy, moved', [(ReliabilityPolicy.BEST_EFFORT, -0.3),
                                           (ReliabilityPolicy.RELIABLE, -0.6)])
def test_any_reliability(alone, policy, moved):
    """The node asks for no more than it needs; each is told elsewhere, away from old plans."""
    q = np.array(READY) + moved
    publisher = alone.create_publisher(JointState, 'joint_states', QoSProfile(
        depth=1, reliability=policy))
    alone.wait(publisher.get_subscription_count)
    tell(alone, q, publisher=publisher)
    alone.spin_for(0.5)
    begins_at(alone, q)
    alone.destroy_publisher(publisher)
