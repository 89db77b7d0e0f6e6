# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated time that does not come, stops, jumps, or runs fast."""

from diagnostic_msgs.msg import DiagnosticStatus
from harness import (
    ARM,
    goes_on_from_here,
    latest,
    positions_of,
    Probe,
    process,
    QUICK,
    READY,
    reasons,
    stamp_of,
)
from nightly import usual_first
import numpy as np
import pytest
from rclpy.node import Node
from rclpy.parameter import Parameter
from simulated_time import Simulation

STALE = DiagnosticStatus.STALE
AWAY = np.array([1.2, 0.1, -0.6, 0.3, 1.2, 0.5])


@pytest.fixture(scope='module')
def simulated(tmp_path_factory, recorded):
    """Run node and controller by simulated time, which has not begun."""
    probe, folder = Probe(), tmp_path_factory.mktemp('simulated')
    Node.set_parameters(probe, [Parameter('use_sim_time', value=True)])
    probe.watch_motion()
    probe.simulation = Simulation(probe)
    given = {'urdf_file': ARM, 'use_sim_time': True}
    with process('sim_controller', folder, {**given, 'initial_positions': READY}), \
            process('ik_node', folder, {**given, **QUICK}):
        probe.wait_for_node()
        probe.wait(probe.commands.get_subscription_count)
        yield probe
    probe.simulation.close()
    probe.destroy_node()


@pytest.fixture
def arm(simulated):
    """Lend it at READY, in time that runs."""
    simulated.simulation.rate = 1.0
    simulated.wait_until_ready()
    if np.abs(latest(simulated) - READY).max() > 1e-6:
        assert reasons(simulated, simulated.send_joints(READY))[-1] == 'REACHED'
    simulated.states.clear()
    yield simulated
    simulated.simulation.rate = 1.0


def under_way(arm) -> str:
    """Send a goal, and wait until the arm is fast; return the stamp."""
    stamp = arm.send_joints(AWAY)
    arm.wait(lambda: arm.states and arm.states[-1][1].velocity[0] > 0.5)
    return stamp


@pytest.mark.fault('time and load', 'use_sim_time, and nobody publishes /clock',
                   'goals are refused: CLOCK_STOPPED, /diagnostics is STALE; as soon as time runs '
                   'they are reached')
def test_no_clock(simulated):
    """Nothing was started anew for it."""
    refused = simulated.final(simulated.send((0.4, 0.2, 0.4)))
    assert refused['reason'] == 'CLOCK_STOPPED' and '/clock' in refused['message']
    simulated.wait_for_health(STALE, 'no time has arrived on /clock')
    simulated.simulation.rate = 1.0
    simulated.wait_until_ready()
    goes_on_from_here(simulated, AWAY)


@pytest.mark.fault('time and load', 'simulated time stands still in motion',
                   'the arm stands with it, and the goal has failed when no joint state comes; '
                   'when time goes on, the next goal is reached from where the arm is')
def test_the_clock_stands_still(arm):
    """With simulated time the joint states stop, too."""
    stamp = under_way(arm)
    arm.simulation.rate = 0.0
    assert reasons(arm, stamp) == ['ACCEPTED', 'STATE_LOST']
    arm.simulation.rate = 1.0
    arm.health.clear()
    arm.wait_until_ready()
    arm.wait(lambda: arm.states and not any(arm.states[-1][1].velocity))
    goes_on_from_here(arm, READY)


@pytest.mark.fault('time and load', 'simulated time is set back a minute in motion',
                   'the motion goes on to its goal without a leap, and the next one as well')
def test_the_clock_is_set_back(arm):
    """The watch has a steady clock; the simulated arm goes on from where it was."""
    stamp = under_way(arm)
    arm.simulation.time -= 60.0
    assert reasons(arm, stamp) == ['ACCEPTED', 'REACHED'], arm.answers(stamp)
    stamps = [stamp_of(message) for _, message in arm.states]
    assert min(np.diff(stamps)) < -50.0
    q = np.array([positions_of(message) for _, message in arm.states])
    # From state to state it is no faster than it may be; the pause of a busy machine is longer.
    pauses = np.where(np.diff(stamps) > 0.0, np.diff(stamps), 0.0)
    assert (np.abs(np.diff(q, axis=0)).max(axis=1) < 0.1 + 3.6 * pauses).all()
    goes_on_from_here(arm, READY)


@pytest.mark.fault('time and load', 'simulated time runs ten times as fast, or half as fast',
                   'goals are reached, also new ones on the way')
@pytest.mark.parametrize('rate', usual_first(1, [10.0, 0.5]))
def test_the_clock_runs_at_another_rate(arm, rate):
    """From rest where the arm is, in motion with one final answer each."""
    arm.simulation.rate = rate
    timeout = 0.5 * max(rate, 1.0)  # half a real second
    assert arm.set_parameters('/ik_node', {'state.timeout': timeout}).successful
    goes_on_from_here(arm, AWAY)
    goes_on_from_here(arm, READY)
    first = under_way(arm)
    second = arm.send_joints(READY)
    assert reasons(arm, second)[-1] == 'REACHED', arm.answers(second)
    assert reasons(arm, first)[-1] in ('SUPERSEDED', 'REACHED')
    assert np.abs(latest(arm) - READY).max() < 1e-3
