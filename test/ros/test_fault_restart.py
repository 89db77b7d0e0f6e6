# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Whoever is killed in mid-motion and started again: goals are reached again, nothing jumps."""

from geometry_msgs.msg import PoseStamped
from harness import (
    ARM,
    goes_on_from_here,
    latest,
    pose,
    positions_of,
    Probe,
    Process,
    READY,
    reasons,
    stamped,
    tip,
)
import numpy as np
import pytest

AWAY = np.array([1.2, 0.1, -0.6, 0.3, 1.2, 0.5])
ELSEWHERE = np.array([-0.8, 0.2, -0.5, 0.4, 0.8, -0.3])


class Pair:
    """Node and controller, each of which can be killed and started again."""

    def __init__(self, folder, probe) -> None:
        self._folder = folder
        self.probe = probe
        self.count = 0
        self.running: dict[str, Process] = {}

    def start(self, name: str, **parameters) -> Process:
        """Start one of them."""
        self.count += 1
        parameters = {key.replace('__', '.'): value for key, value in parameters.items()}
        self.running[name] = Process(name, self._folder / f'{name}_{self.count}.log',
                                     {'urdf_file': ARM, **parameters})
        return self.running[name]

    def restart(self, name: str, **parameters) -> None:
        """End one of them as a user does, and start it anew."""
        assert self.running[name].stop() == 0
        self.start(name, **parameters)

    def start_sim(self, posture=READY) -> None:
        """Start the controller with the arm at a posture."""
        self.start('sim_controller', initial_positions=[*map(float, posture)])

    def wait_until_ready(self) -> None:
        """Wait until the node that runs now says that it is."""
        self.probe.health.clear()
        self.probe.wait_for_node()
        self.probe.wait_until_ready()
        self.probe.wait(lambda: self.probe.states, what='joint states')

    def under_way(self) -> str:
        """Send a goal, and wait until the arm is fast; return the stamp."""
        stamp = self.probe.send_joints(AWAY)
        self.probe.wait(lambda: self.probe.states and self.probe.states[-1][1].velocity[0] > 0.5)
        return stamp


@pytest.fixture(scope='module')
def shared_pair(tmp_path_factory, recorded):
    """Run node and controller for the tests of this module, each of which may kill them."""
    probe, folder = Probe(), tmp_path_factory.mktemp('pair')
    probe.watch_motion()
    pair = Pair(folder, probe)
    yield pair
    for each in pair.running.values():
        each.kill()
    probe.destroy_node()
    assert not [log for log in folder.glob('*.log') if 'Traceback' in log.read_text()]


@pytest.fixture
def pair(shared_pair):
    """Lend the pair, running."""
    for name in 'sim_controller', 'ik_node':
        if name not in shared_pair.running or not shared_pair.running[name].running():
            shared_pair.start_sim() if name == 'sim_controller' else shared_pair.start(name)
    shared_pair.wait_until_ready()
    return shared_pair


@pytest.fixture
def probe(shared_pair):
    """Lend the eyes of the pair."""
    return shared_pair.probe


def at_rest(probe) -> bool:
    """Return whether the arm stands."""
    return bool(probe.states) and not any(probe.states[-1][1].velocity)


@pytest.mark.fault('kill, cut off and restart', 'the controller is killed in motion',
                   'the goal has failed, because nobody knows where the arm ended; a controller '
                   'that comes, the arm wherever it is, is sent on from there')
def test_the_controller_is_killed(pair, probe):
    """The arm is found elsewhere: the last plan and the last state do not count."""
    stamp = pair.under_way()
    pair.running['sim_controller'].kill()
    assert reasons(probe, stamp) == ['ACCEPTED', 'STATE_LOST']
    refused = probe.final(probe.send_joints(READY))
    assert refused['reason'] in ('STATE_STALE', 'NO_LISTENER')
    probe.states.clear()
    pair.start_sim(ELSEWHERE)
    pair.wait_until_ready()
    goes_on_from_here(probe, READY)


@pytest.mark.fault('kill, cut off and restart', 'the node is killed in motion',
                   'the arm goes on to the end of its trajectory and rests; a new node begins '
                   'there')
def test_the_node_is_killed(pair, probe):
    """No trajectory has an end in motion."""
    pair.under_way()
    pair.running['ik_node'].kill()
    probe.wait(lambda: at_rest(probe))
    assert np.abs(latest(probe) - AWAY).max() < 1e-6
    pair.start('ik_node')
    pair.wait_until_ready()
    goes_on_from_here(probe, READY)


@pytest.mark.fault('kill, cut off and restart', 'the node is killed, and a new one has a goal '
                   'while the arm still moves',
                   'the new motion begins where and as fast as the arm is, without a kick')
def test_a_new_node_takes_over_a_moving_arm(pair, probe):
    """It knows nothing of the motion but the joint states."""
    pair.restart('ik_node', motion__velocity_scale=0.02)
    pair.wait_until_ready()
    probe.send_joints(AWAY + [1.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    probe.wait(lambda: probe.states and probe.states[-1][1].velocity[0] > 0.04)
    pair.running['ik_node'].kill()
    pair.start('ik_node')
    pair.wait_until_ready()
    count = len(probe.trajectories)
    assert probe.states[-1][1].velocity[0] > 0.04, 'the arm rests already'
    stamp = probe.send_joints(READY)
    probe.wait(lambda: len(probe.trajectories) > count)
    here = probe.states[-1][1]
    first = probe.trajectories[count].points[0]
    assert np.abs(np.array(first.positions) - positions_of(here)).max() < 0.02
    assert first.velocities[0] > 0.02
    assert reasons(probe, stamp) == ['ACCEPTED', 'REACHED']
    # From there to its first point it keeps all limits, as conftest.py looks at.


@pytest.mark.fault('kill, cut off and restart', 'node and controller are killed in motion',
                   'started again, they reach the next goal from where the arm is')
@pytest.mark.nightly
def test_both_are_killed(pair, probe):
    """Nobody remembers anything."""
    pair.under_way()
    for each in pair.running.values():
        each.kill()
    probe.states.clear()
    pair.start('ik_node')
    pair.start_sim(ELSEWHERE)
    pair.wait_until_ready()
    goes_on_from_here(probe, READY)


@pytest.mark.fault('kill, cut off and restart', 'the node is killed while it streams',
                   'the arm comes to rest by itself: every streamed trajectory ends so')
@pytest.mark.nightly
def test_the_node_is_killed_while_it_streams(pair, probe):
    """Nobody sends on."""
    stream = probe.publisher(PoseStamped, 'goal_stream')
    here = tip(READY).translation

    def send() -> None:
        t = 1e-9 * probe.get_clock().now().nanoseconds
        message = PoseStamped(pose=pose(here + [0.0, 0.1 * np.sin(2.0 * t), 0.0]))
        stamped(probe, message)
        stream.publish(message)

    timer = probe.create_timer(0.02, send)
    probe.wait(lambda: probe.states and np.abs(probe.states[-1][1].velocity).max() > 0.2)
    pair.running['ik_node'].kill()
    probe.destroy_timer(timer)
    probe.wait(lambda: at_rest(probe))
    pair.start('ik_node')
    pair.wait_until_ready()
    goes_on_from_here(probe, READY)
