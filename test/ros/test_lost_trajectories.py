# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the controller does not get is sent again, as soon as the joint states show it."""

from time import monotonic

from harness import ARM, latest, process, READY
from nightly import usual_first
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

pytestmark = pytest.mark.real_time
FAR = [2.6, *READY[1:]]


@pytest.fixture
def lossy(tmp_path, probe, monkeypatch, request):
    """
    Run a system whose trajectories pass through the probe, which loses some.

    Joint states are stamped by a clock that is some seconds ahead: with more than none the
    trajectories have no stamps, and begin on arrival.
    """
    ahead = getattr(request, 'param', 0)
    # The judge of all trajectories takes for granted that they come.
    monkeypatch.delenv('IK_NODE_TEST_RECORD')
    probe.watch_motion()
    probe.lost, probe.lost_until = 0, 0.0  # so many messages, and all until a time

    def relay(message):
        if probe.lost:
            probe.lost -= 1
        elif monotonic() > probe.lost_until:
            probe.commands.publish(message)

    def tell(state):
        state.header.stamp.sec += ahead
        probe.joint_states.publish(state)

    probe.create_subscription(JointTrajectory, 'sent', relay, 100)
    probe.create_subscription(JointState, 'measured', tell, 100)
    with process('sim_controller', tmp_path, {'urdf_file': ARM, 'initial_positions': READY,
                                              'rate': 200.0}, {'joint_states': 'measured'}), \
            process('ik_node', tmp_path, {'urdf_file': ARM}, {'joint_trajectory': 'sent'}):
        probe.wait_for_node()
        probe.wait(lambda: probe.states and probe.commands.get_subscription_count() > 1)
        probe.wait_until_ready()
        yield probe


def moves(probe):
    """Return whether the arm moves."""
    return any(probe.states[-1][1].velocity)


@pytest.mark.fault('controller', 'a trajectory from rest is lost on the way',
                   'planned and sent again as soon as the joint states show it')
def test_a_lost_start(lossy):
    """Long before watch.start_timeout, 1 s by default, each of two times."""
    lossy.lost = lost = 2
    began = monotonic()
    stamp = lossy.send_joints(FAR)
    lossy.wait(lambda: moves(lossy))
    assert monotonic() - began < 0.2 + 0.6 * lost
    assert lossy.final(stamp)['state'] == 'reached' and not lossy.lost


@pytest.mark.fault('controller', 'the ramp of a stop is lost on the way, with its copies',
                   'another one is planned and sent as soon as the joint states show it')
@pytest.mark.parametrize('lossy, copies', usual_first(2, [
    (0, 'one'), (0, 'all'), (3600, 'all')]), indirect=['lossy'])
def test_a_lost_ramp(lossy, copies):
    """Of a few copies one comes; if all are lost, the next ramp does; without stamps, too."""
    stamp = lossy.send_joints(FAR)
    lossy.wait(lambda: moves(lossy) and lossy.states[-1][1].velocity[0] > 0.4)
    asked = monotonic()
    if copies == 'one':
        lossy.lost = 1
    else:
        lossy.lost_until = asked + 0.2
    assert lossy.call(lossy.stop).success
    lossy.wait(lambda: not moves(lossy))
    # A stop in which nothing is lost takes half a second from here.
    assert monotonic() - asked < (1.0 if copies == 'one' else 2.0)
    assert lossy.final(stamp)['state'] == 'stopped' and not lossy.lost
    assert latest(lossy)[0] < 0.98 * FAR[0]
    speeds = np.array([state.velocity[0] for at, state in lossy.states if at > asked])
    assert speeds.max() > 0.4
