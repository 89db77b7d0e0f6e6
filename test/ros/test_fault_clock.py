# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated time that does not come, stops, jumps, or runs fast."""

from threading import Event, Thread
from time import monotonic

from diagnostic_msgs.msg import DiagnosticStatus
from harness import (
    ARM,
    COLD_START,
    goes_on_from_here,
    latest,
    positions_of,
    Probe,
    process,
    READY,
    reasons,
    seconds,
    stamp_of,
)
import numpy as np
import pytest
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.time import Time
from rosgraph_msgs.msg import Clock

from ik_node.ros.clocks import steady_clock

STALE = DiagnosticStatus.STALE
PERIOD = 0.002  # s
AWAY = np.array([1.2, 0.1, -0.6, 0.3, 1.2, 0.5])


class Simulation:
    """Publishes /clock, from 1000 s on, at a rate that can be changed."""

    def __init__(self, probe) -> None:
        self._publisher = probe.create_publisher(Clock, '/clock', 10)
        self._end = Event()
        self._thread = Thread(target=self._run)
        self.time = 1000.0
        self.rate = 0.0
        self._thread.start()

    def _run(self) -> None:
        last = monotonic()
        while not self._end.wait(PERIOD):
            now = monotonic()
            self.time += self.rate * (now - last)
            last = now
            if self.rate:
                self._publisher.publish(Clock(clock=Time(nanoseconds=int(1e9 * self.time))
                                              .to_msg()))

    def close(self) -> None:
        """End it."""
        self._end.set()
        self._thread.join()


@pytest.fixture(scope='module')
def simulated(tmp_path_factory, recorded):
    """Run node and controller by simulated time, which has not begun."""
    probe, folder = Probe(), tmp_path_factory.mktemp('simulated')
    Node.set_parameters(probe, [Parameter('use_sim_time', value=True)])
    probe.watch_motion()
    probe.simulation = Simulation(probe)
    given = {'urdf_file': ARM, 'use_sim_time': True}
    with process('sim_controller', folder, {**given, 'initial_positions': READY}), \
            process('ik_node', folder, given):
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
    arm.wait(lambda: not any(arm.states[-1][1].velocity))
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
    assert np.abs(np.diff(q, axis=0)).max() < 0.3
    goes_on_from_here(arm, READY)


@pytest.mark.fault('time and load', 'simulated time jumps ahead by seconds in motion',
                   'the simulated arm continues its trajectory from where it was, no faster than '
                   'planned; the next goal is reached')
@pytest.mark.parametrize('jump', [2.0, 60.0])
def test_the_clock_jumps_ahead(arm, jump):
    """Nothing was simulated meanwhile, so the arm has not moved meanwhile."""
    stamp = under_way(arm)
    arm.simulation.time += jump
    arm.final(stamp)
    arm.wait(lambda: not any(arm.states[-1][1].velocity))
    stamps = [stamp_of(message) for _, message in arm.states]
    assert max(np.diff(stamps)) > 0.9 * jump
    q = np.array([positions_of(message) for _, message in arm.states])
    assert np.abs(np.diff(q, axis=0)).max() < 0.3
    goes_on_from_here(arm, READY)


@pytest.mark.fault('time and load', 'simulated time runs ten times as fast, or half as fast',
                   'goals are reached, also new ones on the way')
@pytest.mark.parametrize('rate', [10.0, 0.5])
def test_the_clock_runs_at_another_rate(arm, rate):
    """From rest where the arm is, in motion with one final answer each."""
    arm.simulation.rate = rate
    goes_on_from_here(arm, AWAY)
    goes_on_from_here(arm, READY)
    first = under_way(arm)
    second = arm.send_joints(READY)
    assert reasons(arm, second)[-1] == 'REACHED', arm.answers(second)
    assert reasons(arm, first)[-1] in ('SUPERSEDED', 'REACHED')
    assert np.abs(latest(arm) - READY).max() < 1e-3


# ---- a jump -----------------------------------------------------------------

class LeapingArm(Probe):
    """
    An arm that is where its trajectory has it at the time of /clock, as a controller commands.

    With `blocked` it stands instead.
    """

    def __init__(self) -> None:
        super().__init__()
        Node.set_parameters(self, [Parameter('use_sim_time', value=True)])
        self.watch_motion()
        self.simulation = Simulation(self)
        self.blocked = False
        self._q = np.array(READY)
        self._began, self._count = 0.0, 0
        self._velocity = np.zeros(6)
        self.create_timer(0.01, self._publish, clock=steady_clock())

    def _publish(self) -> None:
        now = 1e-9 * self.get_clock().now().nanoseconds
        if len(self.trajectories) > self._count:
            self._count = len(self.trajectories)
            stamp = self.trajectories[-1].header.stamp
            self._began = seconds(stamp) or now
        if self._count and not self.blocked:
            points = self.trajectories[-1].points
            times = [seconds(point.time_from_start) for point in points]
            rows = np.array([point.positions for point in points])
            at = now - self._began
            if at >= times[0]:
                before, self._q = self._q, np.array(
                    [np.interp(at, times, row) for row in rows.T])
                self._velocity = np.clip((self._q - before) / 0.01, -1.0, 1.0)
        self.publish_state([f'joint_{k}' for k in range(1, 7)], self._q, self._velocity)


@pytest.fixture
def leaping(tmp_path, recorded):
    """Run a node with a leaping arm, in time that runs."""
    probe = LeapingArm()
    probe.simulation.rate = 1.0
    with process('ik_node', tmp_path, {'urdf_file': ARM, 'use_sim_time': True}) as probe.node:
        probe.wait_for_node()
        probe.wait(lambda: probe.says_ready('/ik_node'), COLD_START)
        yield probe
    probe.simulation.close()
    probe.destroy_node()


@pytest.mark.fault('time and load', 'simulated time jumps forward in motion',
                   'a motion that is lost by that is answered TIME_JUMPED, and so is a goal '
                   'within a second if the arm leapt; a motion that comes to its end is reached')
@pytest.mark.parametrize('tolerance', [0.0, 0.05], ids=['no path tolerance', 'path tolerance'])
def test_time_jumps_forward(leaping, tolerance):
    """It is said to be what it is: nobody left a path, and no joint states are late."""
    assert leaping.set_parameters('/ik_node', {
        'watch.path_tolerance': [tolerance], 'motion.velocity_scale': 0.1}).successful
    stamp = leaping.send_joints(AWAY)
    leaping.wait(lambda: np.abs(leaping._q - READY).max() > 0.1, what='a motion')
    leaping.simulation.time += 5.0
    leaping.wait(lambda: "]: simulated time jumped" in leaping.node.output
                 and 'leapt by' in leaping.node.output, what='jump and leap')
    following = leaping.send_joints(READY)
    answer = leaping.final(following)
    assert answer['reason'] == 'TIME_JUMPED', answer
    assert 'simulated time jumped forward by 5.0 s, and joint' in answer['message']
    answer = leaping.final(stamp)
    if tolerance:
        assert (answer['state'], answer['reason']) == ('failed', 'TIME_JUMPED'), answer
        assert 'time jumped forward by 5.0 s' in answer['message']
    else:
        assert answer['reason'] == 'REACHED', answer
    leaping.health.clear()
    leaping.wait_until_ready()
    for words in 'off track', 'trajectories late', 'joint states are':
        assert words not in leaping.node.output, words
