# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""``output: action``: the node drives follow_joint_trajectory, and nothing else."""

import importlib.util

from builtin_interfaces.msg import Duration
from harness import (
    ARM,
    DOWN,
    FINAL,
    latest,
    lent,
    path_of,
    pose,
    Probe,
    process,
    READY,
    reasons,
    run_system,
    seconds,
    stamped,
    tip,
)
from kicks import sharpest
from nav_msgs.msg import Path
import numpy as np
import pytest
from rclpy.action import ActionServer
from trajectory_msgs.msg import JointTrajectoryPoint

from ik_node.ros.action import ACTION, action_type

SIM = '/sim_controller'
THERE = np.array(READY) + 0.3
FAR = np.array(READY) + 0.8
ACTIVE = {'urdf_file': ARM, 'output': 'action'}
over_dds = pytest.mark.skipif(
    importlib.util.find_spec('control_msgs') is None,
    reason='control_msgs is not installed: it is part of ROS 2, and not on PyPI')


@pytest.fixture(scope='module')
def shared(tmp_path_factory, recorded):
    """Run one system for the tests of this module."""
    probe = Probe()
    with run_system(tmp_path_factory.mktemp('action'), probe, {'output': 'action'}):
        yield probe
    probe.destroy_node()


@pytest.fixture
def arm(shared):
    """Lend it at READY; whatever was done, nothing was published on the topic."""
    with lent(shared) as probe:
        yield probe
        assert not probe.trajectories
        assert [info.node_name for info in probe.get_publishers_info_by_topic(
            '/joint_trajectory')] == [probe.get_name()]


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
    paths = arm.publisher(Path, 'goal_path')
    goal = path_of(pose(tip(READY).translation + [0.0, -0.1, 0.0]))
    stamp = stamped(arm, goal)
    paths.publish(goal)
    assert reasons(arm, stamp) == ['ACCEPTED', 'REACHED']


@over_dds
def test_a_goal_during_a_motion_preempts_it(arm):
    """Without a kick; the abortion of the first is no answer to the second."""
    first = arm.send_joints(FAR)
    arm.wait(lambda: arm.states and arm.states[-1][1].velocity[0] > 0.3)
    second = arm.send_joints(READY)
    assert reasons(arm, second) == ['ACCEPTED', 'REACHED']
    assert reasons(arm, first) == ['ACCEPTED', 'SUPERSEDED']
    assert np.abs(latest(arm) - READY).max() < 1e-5
    assert sharpest(arm.states) < 6.0


@over_dds
def test_stop(arm):
    """It ramps down within its limits, one answer; later goals go on from there."""
    stamp = arm.send_joints(FAR)
    arm.wait(lambda: arm.states and arm.states[-1][1].velocity[0] > 0.3)
    response = arm.call(arm.stop)
    assert response.success and 'at rest in' in response.message
    assert reasons(arm, stamp) == ['ACCEPTED', 'STOPPED']
    arm.wait(lambda: not any(arm.states[-1][1].velocity))
    assert READY[0] + 0.05 < latest(arm)[0] < FAR[0] - 0.05
    assert sharpest(arm.states) < 6.0
    assert reasons(arm, arm.send_joints(FAR)) == ['ACCEPTED', 'REACHED']


@over_dds
def test_path_tolerance_of_the_controller(arm):
    """It gives up and holds: code -4 in words, with its own."""
    arm.change(SIM, following__lag=0.5, constraints__trajectory=[0.05])
    stamp = arm.send_joints(FAR)
    assert reasons(arm, stamp) == ['ACCEPTED', 'OFF_TRACK']
    message = arm.final(stamp)['message']
    assert 'path tolerance' in message and 'it says: ' in message


@over_dds
def test_goal_tolerance_of_the_controller(arm):
    """Code -5 in words."""
    arm.change(SIM, following__friction=0.05, constraints__goal=[0.01],
               constraints__goal_time=0.1)
    stamp = arm.send_joints(THERE)
    assert reasons(arm, stamp) == ['ACCEPTED', 'OFF_TARGET']
    assert 'goal tolerance' in arm.final(stamp)['message']


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


@over_dds
def test_another_client_takes_over(arm):
    """The goal ends, and what the other does is left alone."""
    from ik_node.ros.action import TrajectoryAction
    from ik_node.ros.messages import JointTrajectory
    others = []
    other = TrajectoryAction(arm, ACTION, others.append)
    arm.wait(other.server_is_ready)
    stamp = arm.send_joints(FAR)
    arm.wait(lambda: arm.states and arm.states[-1][1].velocity[0] > 0.3)
    other.send(JointTrajectory(
        joint_names=[f'joint_{k}' for k in range(1, 7)], points=[JointTrajectoryPoint(
            positions=THERE.tolist(), velocities=[0.0] * 6, accelerations=[0.0] * 6,
            time_from_start=Duration(sec=1))]))
    assert reasons(arm, stamp) == ['ACCEPTED', 'INTERRUPTED']
    arm.wait(lambda: others)
    assert np.abs(latest(arm) - THERE).max() < 1e-9
    other._client.destroy()


# ---- servers that are not as they should be ---------------------------------

@over_dds
def test_a_controller_with_other_joints_refuses(tmp_path, probe):
    """The goal is answered so, and the arm stands."""
    with run_system(tmp_path, probe, {'output': 'action'},
                    {'tip_link': 'link_5', 'initial_positions': READY[:5]}):
        stamp = probe.send_joints(THERE)
        assert reasons(probe, stamp) == ['ACCEPTED', 'REFUSED']
        probe.wait(lambda: '6 joints' in probe.sim.output)
        assert np.abs(latest(probe) - [*READY[:5], 0.0]).max() == 0.0


@over_dds
def test_no_server(tmp_path, probe):
    """One sentence with the name of the action; once it is there, goals are taken."""
    with process('ik_node', tmp_path, {**ACTIVE, 'controller': 'arm'}) as node:
        probe.wait_for_node()
        while_starting = probe.create_timer(0.02, lambda: probe.publish_state(
            [f'joint_{k}' for k in range(1, 7)], READY))
        probe.wait(lambda: 'ready for goals' in node.output)
        stamp = probe.send_joints(THERE)
        assert reasons(probe, stamp) == ['NO_LISTENER']
        assert 'nobody serves the action /arm/follow_joint_trajectory' \
            in probe.final(stamp)['message']
        probe.destroy_timer(while_starting)
        with process('sim_controller', tmp_path,
                     {'urdf_file': ARM, 'initial_positions': READY},
                     remap={'follow_joint_trajectory': 'arm/follow_joint_trajectory'}):
            probe.wait_until_ready()
            assert reasons(probe, probe.send_joints(THERE)) == ['ACCEPTED', 'REACHED']


class SilentServer:
    """Takes goals and does nothing with them; the arm stands, and says so."""

    def __init__(self, probe: Probe) -> None:
        self.goals = []
        self._probe = probe
        self._server = ActionServer(probe, action_type(), ACTION, lambda handle: None,
                                    handle_accepted_callback=self.goals.append)
        probe.create_timer(0.02, lambda: probe.publish_state(
            [f'joint_{k}' for k in range(1, 7)], READY))

    def leave(self) -> None:
        """Be gone; the joint states go on."""
        self._server.destroy()


@pytest.fixture
def alone(tmp_path, probe):
    """Run the node alone, before a server of the test's own."""
    with process('ik_node', tmp_path, ACTIVE) as node:
        probe.server = SilentServer(probe)
        probe.node = node
        probe.watch_motion()
        probe.wait_for_node()
        probe.wait_until_ready()
        yield probe
        assert not probe.trajectories


@over_dds
def test_a_silent_server(alone):
    """It is sent twice, then there is one final answer."""
    stamp = alone.send_joints(THERE)
    assert reasons(alone, stamp) == ['ACCEPTED', 'NOT_MOVING']
    assert 'controller silent' in alone.final(stamp)['message'] and len(alone.server.goals) == 2


@over_dds
def test_the_server_leaves_during_a_goal(alone):
    """rclpy's client does not notice; the watch does."""
    stamp = alone.send_joints(THERE)
    alone.wait(lambda: alone.server.goals)
    alone.server.leave()
    assert reasons(alone, stamp) == ['ACCEPTED', 'NO_LISTENER']


@over_dds
def test_the_controller_dies_during_a_goal(tmp_path, probe):
    """With it go the joint states; one final answer, and a new controller serves new goals."""
    with process('ik_node', tmp_path, ACTIVE):
        with process('sim_controller', tmp_path, {
                'urdf_file': ARM, 'initial_positions': READY}) as sim:
            probe.watch_motion()
            probe.wait_for_node()
            probe.wait_until_ready()
            stamp = probe.send_joints(THERE)
            probe.wait(lambda: probe.states and probe.states[-1][1].velocity[0] > 0.1)
            sim.kill()
        assert reasons(probe, stamp) == ['ACCEPTED', 'STATE_LOST']
        probe.health.clear()
        with process('sim_controller', tmp_path, {
                'urdf_file': ARM, 'initial_positions': READY}):
            probe.wait_until_ready()
            assert reasons(probe, probe.send_joints(THERE)) == ['ACCEPTED', 'REACHED']


@over_dds
def test_a_stream_is_not_sent_by_the_action(arm):
    """With what to set instead."""
    from geometry_msgs.msg import PoseStamped
    streams = arm.publisher(PoseStamped, 'goal_stream')
    goal = PoseStamped(pose=pose(tip(READY).translation))
    stamp = stamped(arm, goal)
    streams.publish(goal)
    arm.wait(lambda: arm.answers(stamp))
    answer, = arm.answers(stamp)
    assert answer['state'] in FINAL and 'stream.output' in answer['message']


# ---- at start ---------------------------------------------------------------

def test_without_control_msgs(tmp_path, monkeypatch):
    """One sentence, exit code 1."""
    hidden = tmp_path / 'hidden'
    hidden.mkdir()
    (hidden / 'control_msgs.py').write_text('raise ImportError\n')
    monkeypatch.setenv('PYTHONPATH', str(hidden), prepend=':')
    with process('ik_node', tmp_path, ACTIVE) as node:
        assert node.wait() == 1
        assert 'needs the ROS package control_msgs' in node.output
        assert len(node.output.strip().splitlines()) == 1


def test_no_such_output(tmp_path):
    """What there is is named."""
    with process('ik_node', tmp_path, {**ACTIVE, 'output': 'service'}) as node:
        assert node.wait() == 1
        assert 'topic or action' in node.output
        assert len(node.output.strip().splitlines()) == 1
