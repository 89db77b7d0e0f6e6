# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A program that uses a node: what it is told if the node is not there, and how it ends."""

import subprocess
import sys
from time import monotonic

from harness import ARM, latest, Probe, process, QUICK, READY, run_system
import numpy as np
import pytest
from rclpy.node import Node
from rclpy.parameter import Parameter
from simulated_time import Simulation

from ik_node.client import Arm, ClientError, GoalNotReachedError, NodeUnreachableError
from ik_node.client.transport import connection

SIDE = [2.0, *READY[1:]]


def test_importing_the_client_is_quick():
    """It loads neither the compiler nor the solver."""
    code = ('import sys, ik_node.client\n'
            'heavy = {name.partition(".")[0] for name in sys.modules} & '
            '{"numba", "ruckig", "scipy", "trimesh"}\n'
            # The table of parameters names the choices of the solver, a path constraint has poses.
            'heavy |= {name for name in sys.modules if name.startswith("ik_node.solver.")} - '
            '{"ik_node.solver.options", "ik_node.solver.goal"}\n'
            'assert not heavy, heavy\n')
    ran = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.fault('clients', 'a program looks for a node that is not there',
                   'an error that says how to start one, when its time is over')
def test_nobody_there():
    """By name, and by looking for any."""
    began = monotonic()
    with pytest.raises(NodeUnreachableError,
                       match='no node /nobody answers within 0.5 s: .*ros2 run ik_node'):
        Arm('/nobody', timeout=0.5)
    with pytest.raises(NodeUnreachableError, match='no ik_node is there in /empty/: start it'):
        Arm(namespace='/empty', timeout=0.5)
    assert monotonic() - began < 15.0


@pytest.mark.fault('clients', 'a program looks for the only node, and there are two; or the node '
                   'is inactive, or not configured',
                   'an error that names the nodes, or the command that activates the node')
@pytest.mark.nightly
def test_two_nodes_and_one_that_is_not_active(tmp_path):
    """None is chosen by chance; the state is named, and what changes it."""
    left, right = (Probe(f'looks_{side}', f'/two/{side}/ik_node') for side in ('left', 'right'))
    for side in ('left', 'right'):
        (tmp_path / side).mkdir()
    with process('ik_node', tmp_path / 'left', {'urdf_file': ARM}, {'__ns': '/two/left'}), \
            process('ik_node', tmp_path / 'right', {'urdf_file': ARM}, {'__ns': '/two/right'}):
        left.wait_for_node()
        right.wait_for_node()
        with pytest.raises(NodeUnreachableError,
                           match="2 nodes, '/two/left/ik_node', '/two/right/ik_node'; name"):
            Arm(namespace='/two')
        assert right.change_state('deactivate')
        with Arm('ik_node', namespace='/two/right') as arm:
            assert arm.name == '/two/right/ik_node'
            with pytest.raises(GoalNotReachedError, match='INACTIVE.*ros2 lifecycle set'):
                arm.joints(READY).wait(20.0)
        assert right.change_state('cleanup')
        with pytest.raises(ClientError, match='is unconfigured: ros2 lifecycle set /two/right/'):
            Arm('/two/right/ik_node')
    for probe in (left, right):
        probe.destroy_node()


@pytest.mark.fault('clients', 'the node is killed while a program waits for a goal',
                   'the wait ends with an error within seconds; the same client can use the node '
                   'that is started next')
def test_a_node_that_dies(tmp_path, probe, recorded):
    """Killed and ended; the client outlives it."""
    slow = {**QUICK, 'motion.velocity_scale': 0.1}
    with run_system(tmp_path, probe, slow) as system, Arm() as arm:
        goal = arm.joints(SIDE)
        system.wait(lambda: goal.accepted)
        system.node.kill()
        began = monotonic()
        with pytest.raises(NodeUnreachableError, match='/ik_node (has ended|was not heard)'):
            goal.wait(60.0)
        assert monotonic() - began < 20.0
        with process('ik_node', tmp_path, {'urdf_file': ARM, **slow}) as node:
            system.health.clear()
            system.wait_until_ready()
            goal = arm.joints(READY)
            system.wait(lambda: goal.accepted or goal.done, 30.0)
            assert not goal.done, goal
            assert node.stop() == 0
            with pytest.raises(GoalNotReachedError, match='stopped .SHUTDOWN.'):
                goal.wait(20.0)


def test_a_goal_while_the_new_node_starts(tmp_path, probe, recorded):
    """It is sent when that hears the client, and not lost."""
    slow = {**QUICK, 'motion.velocity_scale': 0.1}
    with run_system(tmp_path, probe, slow) as system, Arm() as arm:
        system.node.kill()
        arm._connection._heard.clear()  # as if it had been killed long ago
        with process('ik_node', tmp_path, {'urdf_file': ARM, **slow}):
            goal = arm.joints(SIDE)
            system.wait(lambda: goal.accepted or goal.done, 30.0)
            assert not goal.done, goal


def test_a_goal_before_the_new_node_is_heard(tmp_path, probe, recorded):
    """The silence of the node before is not that of the node that takes the goal."""
    slow = {**QUICK, 'motion.velocity_scale': 0.1}
    with run_system(tmp_path, probe, slow) as system, Arm() as arm:
        system.spin_for(1.0)  # the client has begun to watch
        arm._connection.instance = arm._connection._greeted = 'before'
        arm._connection._heard = {'before': monotonic() - 7.0}
        assert arm.joints(SIDE).wait(20.0).reached


def test_a_program_that_ends_without_time_for_an_answer_says_so(monkeypatch):
    monkeypatch.setattr(connection, 'wait_for', lambda *_arguments: False)
    assert connection.stop_without('/nobody').startswith('the arm may still move')


@pytest.fixture
def simulated(tmp_path, recorded):
    """Run node and controller by simulated time, which has not begun."""
    probe = Probe()
    Node.set_parameters(probe, [Parameter('use_sim_time', value=True)])
    probe.watch_motion()
    probe.simulation = Simulation(probe)
    given = {'urdf_file': ARM, 'use_sim_time': True, **QUICK}
    with process('sim_controller', tmp_path, {'urdf_file': ARM, 'use_sim_time': True,
                                              'initial_positions': READY}), \
            process('ik_node', tmp_path, given):
        probe.wait_for_node()
        yield probe
    probe.simulation.close()
    probe.destroy_node()


@pytest.mark.fault('clients', 'the node uses simulated time, and the simulation stands still',
                   'an error says that no /clock arrives; later two programs that send at the '
                   'same instant have each their own answers')
@pytest.mark.nightly
def test_simulated_time(simulated, monkeypatch):
    """The client takes over the clock of the node."""
    monkeypatch.setattr(connection, 'CLOCK_PATIENCE_S', 0.5)
    with pytest.raises(ClientError, match='uses simulated time, but no /clock arrives'):
        Arm(timeout=60.0)
    simulated.simulation.rate = 1.0
    simulated.wait_until_ready()
    monkeypatch.undo()
    with Arm() as arm, Arm('ik_node') as other:
        simulated.simulation.rate = 0.0  # all have the same time
        simulated.spin_for(0.1)
        places = [0.1 * k for k in range(1, 7)]
        goals = [each.joints([place, *READY[1:]]) for place, each in zip(places, 3 * [arm, other])]
        simulated.simulation.rate = 1.0
        ends = []
        for goal in goals:
            simulated.wait(lambda goal=goal: goal.done, 60.0)
            ends.append(goal.result)
    assert len({end.values['goal'] for end in ends}) == 6
    assert {end.reason for end in ends} <= {'REACHED', 'SUPERSEDED'}
    reached = [place for place, end in zip(places, ends) if end.reached]
    assert np.abs(latest(simulated)[0] - reached).min() < 1e-5
