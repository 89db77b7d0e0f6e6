# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""``output: action``: the node drives follow_joint_trajectory, and nothing else."""

import importlib.util

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PoseStamped
from harness import (
    DOWN,
    FINAL,
    latest,
    lent,
    NAMES,
    NOT_BUILT,
    path_of,
    pose,
    Probe,
    READY,
    reasons,
    run_system,
    tip,
)
from kicks import kicks
import numpy as np
import pytest
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ik_node.ros.action_client import ACTION_NAME, TrajectoryAction

SIM = '/sim_controller'
THERE = np.array(READY) + 0.3
FAR = np.array(READY) + 0.8
STATES = 50  # so many joint states show the node the controller's clock
SLOW = 0.07  # share of the joint velocities, so that a motion to FAR takes seconds
over_dds = pytest.mark.skipif(importlib.util.find_spec('control_msgs') is None, reason=NOT_BUILT)


@pytest.fixture(scope='module')
def shared(tmp_path_factory, recorded):
    """Run one system for the tests of this module."""
    probe = Probe()
    with run_system(tmp_path_factory.mktemp('action'), probe, {'output': 'action'},
                    {'rate': 100.0}):
        yield probe
    probe.destroy_node()


@pytest.fixture
def arm(shared):
    """Lend it at READY; whatever is done, nothing is published on the topic."""
    with lent(shared) as probe:
        yield probe
        published = len(probe.trajectories)
    assert not published


@over_dds
def test_a_goal_is_reached(arm):
    """With the measured error, and the largest that the controller told of."""
    stamp = arm.send((0.4, 0.2, 0.4), DOWN)
    assert reasons(arm, stamp) == ['ACCEPTED', 'REACHED']
    assert np.linalg.norm(tip(latest(arm)).translation - [0.4, 0.2, 0.4]) < 2e-6
    assert float(arm.final(stamp)['measured_position_error_m']) < 2e-6
    # The controller compares what is measured with a command of one cycle, 10 ms, later.
    assert 0.0 <= float(arm.final(stamp)['tracking_error']) < 0.05


@over_dds
def test_nobody_publishes_trajectories(arm):
    """There is no other way to the controller: the node has no publisher on the topic."""
    # A process that was killed before is in the graph until DDS no longer waits for it.
    arm.wait(lambda: [info.node_name for info in arm.get_publishers_info_by_topic(
        '/joint_trajectory')] == [arm.get_name()], 40.0)


@over_dds
def test_the_tracking_error_is_told(arm):
    """A lagging arm is behind by the lag times its speed."""
    arm.change(SIM, following__lag=0.2)
    stamp = arm.send_joints([1.5, *READY[1:]])
    assert reasons(arm, stamp) == ['ACCEPTED', 'REACHED']
    fastest = max(message.velocity[0] for _, message in arm.states)
    assert float(arm.final(stamp)['tracking_error']) == pytest.approx(0.2 * fastest, rel=0.2)


@over_dds
def test_a_path_is_followed(arm):
    """Lines go by the action as well."""
    goal = path_of(pose(tip(READY).translation + [0.0, -0.1, 0.0]))
    stamp = arm.send_goal('path', goal)
    assert reasons(arm, stamp) == ['ACCEPTED', 'REACHED']


@over_dds
@pytest.mark.real_time
def test_a_goal_during_a_motion_preempts_it(arm):
    """Without a kick; the abortion of the first is no answer to the second."""
    arm.change('/ik_node', motion__velocity_scale=SLOW)
    arm.states.clear()
    arm.wait(lambda: len(arm.states) > STATES)
    first = arm.send_joints(FAR)
    arm.wait(lambda: arm.states and arm.states[-1][1].velocity[0] > 0.1)
    second = arm.send_joints(READY)
    assert reasons(arm, second) == ['ACCEPTED', 'REACHED']
    assert reasons(arm, first) == ['ACCEPTED', 'SUPERSEDED']
    assert np.abs(latest(arm) - READY).max() < 1e-5
    assert not kicks(arm.states)


@over_dds
def test_stop(arm):
    """It ramps down within its limits, one answer; later goals go on from there."""
    arm.change('/ik_node', motion__velocity_scale=SLOW)
    stamp = arm.send_joints(FAR)
    arm.wait(lambda: arm.states and arm.states[-1][1].velocity[0] > 0.1)
    response = arm.call(arm.stop)
    assert response.success and 'at rest in' in response.message
    assert reasons(arm, stamp) == ['ACCEPTED', 'STOPPED']
    arm.wait(lambda: not any(arm.states[-1][1].velocity))
    assert READY[0] + 0.05 < latest(arm)[0] < FAR[0] - 0.05
    assert not kicks(arm.states)
    assert reasons(arm, arm.send_joints(FAR)) == ['ACCEPTED', 'REACHED']


@pytest.mark.fault('controller', 'the path tolerance is violated',
                   'the goal has failed, with code and words of the controller')
@over_dds
def test_path_tolerance_of_the_controller(arm):
    """It gives up and holds: code -4 in words, with its own."""
    arm.change(SIM, following__lag=0.5, constraints__trajectory=[0.05])
    stamp = arm.send_joints(FAR)
    assert reasons(arm, stamp) == ['ACCEPTED', 'OFF_TRACK']
    message = arm.final(stamp)['message']
    assert 'path tolerance' in message and 'it says: ' in message


@pytest.mark.fault('controller', 'the goal tolerance is violated',
                   'the goal has failed, with code and words of the controller')
@over_dds
def test_goal_tolerance_of_the_controller(arm):
    """Code -5 in words."""
    arm.change(SIM, following__friction=0.05, constraints__goal=[0.01], constraints__goal_time=0.1)
    stamp = arm.send_joints(THERE)
    assert reasons(arm, stamp) == ['ACCEPTED', 'OFF_TARGET']
    assert 'goal tolerance' in arm.final(stamp)['message']


@pytest.mark.fault('controller', 'deactivated during a motion',
                   'the goal ends so; later ones are refused until it is active')
@over_dds
def test_an_inactive_controller(arm):
    """On the way the motion is given up; later goals are refused; active again all is well."""
    stamp = arm.send_joints(FAR)
    arm.wait(lambda: arm.states and arm.states[-1][1].velocity[0] > 0.3)
    arm.change(SIM, silent=True)
    assert reasons(arm, stamp) == ['ACCEPTED', 'INTERRUPTED']
    assert 'deactivate' in arm.final(stamp)['message']
    stamp = arm.send_joints(FAR)
    assert reasons(arm, stamp) == ['ACCEPTED', 'REFUSED']
    assert 'refused' in arm.final(stamp)['message']


@pytest.mark.fault('controller', 'another client of the action takes over',
                   'the goal ends so, and what the other does is left alone')
@over_dds
def test_another_client_takes_over(arm):
    """The goal ends, and what the other does is left alone."""
    others = []
    other = TrajectoryAction(arm, ACTION_NAME, others.append)
    arm.wait(other.server_is_ready)
    stamp = arm.send_joints(FAR)
    arm.wait(lambda: arm.states and arm.states[-1][1].velocity[0] > 0.3)
    other.send(JointTrajectory(
        joint_names=NAMES, points=[JointTrajectoryPoint(
            positions=THERE.tolist(), velocities=[0.0] * 6, accelerations=[0.0] * 6,
            time_from_start=Duration(sec=1))]))
    assert reasons(arm, stamp) == ['ACCEPTED', 'INTERRUPTED']
    arm.wait(lambda: others)
    assert np.abs(latest(arm) - THERE).max() < 1e-9
    other._client.destroy()


@over_dds
def test_a_stream_is_not_sent_by_the_action(arm):
    """With what to set instead."""
    goal = PoseStamped(pose=pose(tip(READY).translation))
    stamp = arm.send_goal('stream', goal)
    arm.wait(lambda: arm.answers(stamp))
    answer, = arm.answers(stamp)
    assert answer['state'] in FINAL and 'stream.output' in answer['message']


@over_dds
@pytest.mark.fault('controller', 'another client takes the controller on the ramp to a pause',
                   'the goal fails: INTERRUPTED; the next one is reached')
def test_another_client_ends_a_pause(arm):
    """The ramp is the goal's, too."""
    arm.change('/ik_node', motion__velocity_scale=SLOW)
    stamp = arm.send_joints(FAR)
    arm.wait(lambda: abs(latest(arm)[0] - READY[0]) > 0.1, what='the way')
    pauser = arm.create_client(SetBool, '/ik_node/pause')
    other = TrajectoryAction(arm, ACTION_NAME, lambda _verdict: None)
    arm.wait(other.server_is_ready)
    assert arm.call(pauser, SetBool.Request(data=True)).success
    other.send(JointTrajectory(joint_names=NAMES, points=[
        JointTrajectoryPoint(positions=[*map(float, latest(arm))], velocities=[0.0] * 6,
                             time_from_start=Duration(sec=1))]))
    assert reasons(arm, stamp)[-1] == 'INTERRUPTED', arm.final(stamp)
    arm.spin_for(1.2)
    assert arm.final(arm.send_joints(READY))['state'] == 'reached'
    arm.destroy_client(pauser)
