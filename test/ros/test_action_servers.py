# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""``output: action`` where the server is absent, silent, dies, or has other joints."""

import importlib.util

from harness import ARM, latest, NAMES, NOT_BUILT, Probe, process, READY, reasons, run_system
from managers import Manager
import numpy as np
import pytest
from rclpy.action import ActionServer, GoalResponse

from ik_node.node.execution.supervisor import MAX_PLANS
from ik_node.ros.action_client import ACTION_NAME, action_type

THERE = np.array(READY) + 0.3
ACTIVE = {'urdf_file': ARM, 'output': 'action'}
over_dds = pytest.mark.skipif(importlib.util.find_spec('control_msgs') is None, reason=NOT_BUILT)


@pytest.mark.fault('controller', 'a trajectory is refused by the action',
                   'the goal is answered so')
@over_dds
def test_a_controller_with_other_joints_refuses(tmp_path, probe):
    """The goal is answered so, and the arm stands."""
    with run_system(tmp_path, probe, {'output': 'action'},
                    {'tip_link': 'link_5', 'initial_positions': READY[:5]}):
        stamp = probe.send_joints(THERE)
        assert reasons(probe, stamp) == ['ACCEPTED', 'REFUSED']
        probe.wait(lambda: '6 joints' in probe.sim.output)
        assert np.abs(latest(probe) - [*READY[:5], 0.0]).max() == 0.0


@pytest.mark.skipif(importlib.util.find_spec('controller_manager_msgs') is None,
                    reason=NOT_BUILT)
@over_dds
def test_a_refusal_by_an_inactive_controller(tmp_path, probe):
    """The action of an inactive controller refuses all; the manager is beside the controller."""
    manager = Manager(probe, '/left/controller_manager')
    manager.states['probe'] = 'inactive'
    server = ActionServer(probe, action_type(), f'/left/arm/{ACTION_NAME}', lambda handle: None,
                          goal_callback=lambda request: GoalResponse.REJECT)
    probe.create_timer(0.02, lambda: probe.publish_state(NAMES, READY))
    with process('ik_node', tmp_path, {
            'urdf_file': ARM, 'output': 'action', 'controller': '/left/arm'}):
        probe.wait_for_node()
        probe.wait_until_ready()
        stamp = probe.send_joints(THERE)
        assert reasons(probe, stamp) == ['ACCEPTED', 'REFUSED']
        assert "/left/controller_manager says: 'probe' is inactive; activate it: " \
            in probe.final(stamp)['message']
    server.destroy()


@pytest.mark.fault('start, end and middleware', 'no action server yet',
                   'goals are refused with its name; once it is there they are taken')
@over_dds
@pytest.mark.nightly
def test_no_server(tmp_path, probe):
    """One sentence with the name of the action; once it is there, goals are taken."""
    with process('ik_node', tmp_path, {**ACTIVE, 'controller': 'arm'}):
        probe.wait_for_node()
        while_starting = probe.create_timer(0.02, lambda: probe.publish_state(NAMES, READY))
        health = '/ik_node: health'
        probe.wait(lambda: health in probe.health
                   and 'nobody listens' in probe.health[health].message
                   and 'joint state' not in probe.health[health].message)
        stamp = probe.send_joints(THERE)
        assert reasons(probe, stamp) == ['NO_LISTENER']
        assert 'nobody serves the action /arm/follow_joint_trajectory' \
            in probe.final(stamp)['message']
        probe.destroy_timer(while_starting)
        with process('sim_controller', tmp_path,
                     {'urdf_file': ARM, 'initial_positions': READY},
                     remap={'__ns': '/arm', 'joint_states': '/joint_states'}):
            probe.wait_until_ready()
            assert reasons(probe, probe.send_joints(THERE)) == ['ACCEPTED', 'REACHED']


class SilentServer:
    """Takes goals and does nothing with them; the arm stands, and says so."""

    def __init__(self, probe: Probe) -> None:
        self.goals = []
        self._probe = probe
        self._server = ActionServer(probe, action_type(), ACTION_NAME, lambda handle: None,
                                    handle_accepted_callback=self.goals.append)
        probe.create_timer(0.02, lambda: probe.publish_state(NAMES, READY))

    def leave(self) -> None:
        """Be gone; the joint states go on."""
        self._server.destroy()


@pytest.fixture
def alone(tmp_path, probe):
    """Run the node alone, before a server of the test's own."""
    with process('ik_node', tmp_path, {**ACTIVE, 'watch.start_timeout': 0.5}) as node:
        probe.server = SilentServer(probe)
        probe.node = node
        probe.watch_motion()
        probe.wait_for_node()
        probe.wait_until_ready()
        yield probe
        assert not probe.trajectories


@pytest.mark.fault('controller', 'the action never ends',
                   'the watch on the joint states ends the goal')
@over_dds
def test_a_silent_server(alone):
    """It is sent again, then there is one final answer."""
    stamp = alone.send_joints(THERE)
    assert reasons(alone, stamp) == ['ACCEPTED', 'NOT_MOVING']
    assert 'controller silent' in alone.final(stamp)['message']
    assert 1 < len(alone.server.goals) <= MAX_PLANS


@over_dds
def test_the_server_leaves_during_a_goal(alone):
    """The client of rclpy does not notice; the watch does."""
    stamp = alone.send_joints(THERE)
    alone.wait(lambda: alone.server.goals)
    alone.server.leave()
    accepted, ended = reasons(alone, stamp)
    # What has left may be seen for a while; then it is taken for silent.
    assert accepted == 'ACCEPTED' and ended in ('NO_LISTENER', 'NOT_MOVING')


@over_dds
@pytest.mark.nightly
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
        assert 'topic, action, position' in node.output
        assert len(node.output.strip().splitlines()) == 1
