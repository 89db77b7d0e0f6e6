# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated time jumps forward, and the arm with it; or it runs fast."""

from contextlib import closing

from harness import ARM, NAMES, Probe, process, READY, seconds
from nightly import usual_first
import numpy as np
import pytest
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.time import Time
from sensor_msgs.msg import JointState
from simulated_time import Simulation

from ik_node.ros.middleware.clocks import steady_clock

AWAY = np.array([1.2, 0.1, -0.6, 0.3, 1.2, 0.5])


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
                before, self._q = self._q, np.array([np.interp(at, times, row) for row in rows.T])
                self._velocity = np.clip((self._q - before) / 0.01, -1.0, 1.0)
        self.publish_state(NAMES, self._q, self._velocity)


@pytest.fixture
def leaping(tmp_path, recorded):
    """Run a node with a leaping arm, in time that runs."""
    probe = LeapingArm()
    probe.simulation.rate = 1.0
    try:
        with process('ik_node', tmp_path, {'urdf_file': ARM,
                                           'use_sim_time': True}) as probe.node:
            probe.wait_for_node()
            probe.wait_until_ready()
            yield probe
    finally:
        probe.simulation.close()
        probe.destroy_node()


@pytest.mark.fault('time and load', 'simulated time jumps forward in motion',
                   'a motion that is lost by that is answered TIME_JUMPED, and so is a goal '
                   'within a second if the arm leapt; a motion that comes to its end is reached')
@pytest.mark.parametrize('tolerance', usual_first(1, [0.0, 0.05]),
                         ids=['no path tolerance', 'path tolerance'])
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


@pytest.mark.fault('time and load', 'simulated time runs fast, and joint states are held up',
                   'they may differ by what the arm moves in the time that their stamps say')
def test_states_that_were_held_up(tmp_path, probe):
    """Two are 0.4 s of simulated time apart; then some contradict one another."""
    with closing(Simulation(probe)) as simulation, process(
            'ik_node', tmp_path, {'urdf_file': ARM, 'use_sim_time': True}) as node:
        probe.wait_for_node()
        probe.wait(probe.joint_states.get_subscription_count)
        simulation.rate = 1.0
        probe.wait(lambda: simulation.time > 1000.3)
        begin, count = [(1000.0, 0.0), (1000.4, 1.2)], 0
        while 'leapt by' not in node.output:
            time, turned = begin.pop(0) if begin else (1000.4, -0.2 if count % 2 else 1.2)
            message = JointState(name=NAMES, position=READY)
            message.position[0] += turned
            message.header.stamp = Time(nanoseconds=int(1e9 * time)).to_msg()
            probe.joint_states.publish(message)
            probe.spin_for(0.03)
            count += 1
            assert count < 500, 'no leap was seen'
        assert "'joint_1' leapt by 1.4 within" in node.output
