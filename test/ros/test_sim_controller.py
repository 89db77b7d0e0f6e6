# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated controller as a process of its own; its rules are tested in test/motion."""

from harness import ARM, latest, NAMES, process, READY, run_sim, stamp_of
import numpy as np
import pytest
from rclpy.duration import Duration
from test_sim_faults import stands_at, trajectory

HEALTH = '/sim_controller: trajectories'


@pytest.fixture(scope='module')
def shared(tmp_path_factory):
    """Run the controller alone."""
    with run_sim(tmp_path_factory.mktemp('sim')) as probe:
        yield probe


@pytest.fixture
def sim(shared):
    """Lend it at rest at READY."""
    yield shared
    shared.commands.publish(trajectory(READY, 0.2))
    shared.wait(lambda: stands_at(shared, READY))


@pytest.mark.real_time
def test_starts_at_its_posture_and_publishes_at_its_rate(sim):
    """joint_states carry names, positions and velocities, in step with the rate."""
    message = sim.states[-1][1]
    assert list(message.name) == NAMES
    assert list(message.position) == READY and not any(message.velocity)
    sim.states.clear()
    sim.wait(lambda: len(sim.states) > 200)
    stamps = np.array([stamp_of(message) for _, message in sim.states])
    assert np.median(np.diff(stamps)) == pytest.approx(0.005, rel=0.1)


def test_moves_and_holds(sim):
    """The joints follow the trajectory and stay at its end."""
    target = np.array(READY) + 0.2
    sim.commands.publish(trajectory(target, 0.5))
    sim.wait(lambda: np.abs(np.array(sim.states[-1][1].position) - target).max() < 1e-12)
    sim.spin_for(0.3)
    assert np.abs(latest(sim) - target).max() < 1e-12
    assert not any(sim.states[-1][1].velocity)


def test_each_state_has_its_stamp(sim):
    """The joints are where the trajectory is at the stamp, however late the process is."""
    begin = sim.get_clock().now() + Duration(seconds=0.3)
    motion = trajectory(np.array(READY) + 0.5, 1.0)
    motion.points.insert(0, trajectory(READY, 0.0).points[0])
    motion.header.stamp = begin.to_msg()
    sim.commands.publish(motion)
    sim.states.clear()
    sim.wait(lambda: sim.states and np.array_equal(sim.states[-1][1].position,
                                                   np.array(READY) + 0.5))
    s = np.clip([stamp_of(message) - stamp_of(motion) for _, message in sim.states], 0.0, 1.0)
    q = np.array([message.position for _, message in sim.states])
    along = 0.5 * (10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5)
    assert np.count_nonzero((s > 0.0) & (s < 1.0)) > 50
    assert np.abs(q - READY - along[:, None]).max() < 1e-6


@pytest.mark.fault('controller', 'nonsense for the simulated controller',
                   'refused on the log and on /diagnostics, nothing moves')
def test_refusal_is_said_on_diagnostics(sim):
    """What is refused is named on the log and on /diagnostics, and nothing moves."""
    short = trajectory(READY)
    short.joint_names = NAMES[:5]
    sim.commands.publish(short)
    sim.wait(lambda: 'refused' in sim.health[HEALTH].message)
    assert '5 joints' in sim.health[HEALTH].message
    assert {pair.key: pair.value for pair in sim.health[HEALTH].values}['refused'] == '1'
    sim.wait(lambda: 'trajectory refused' in sim.running.output)
    assert np.abs(latest(sim) - READY).max() == 0.0


@pytest.mark.parametrize('positions, words', [
    ('[0.0, 0.0]', 'needs 1 or 6'), ('[9.0, 0.0, 0.0, 0.0, 0.0, 0.0]', 'joint limits')])
def test_bad_posture_at_start(tmp_path, positions, words):
    """A posture that the arm cannot take is refused at start."""
    with process('sim_controller', tmp_path,
                 {'urdf_file': ARM, 'initial_positions': positions}) as running:
        assert running.wait() == 1
        assert words in running.output
