# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What can be made to go wrong with the simulated controller, switched while it runs.

How joints and controller behave then is tested in test/simulation.
"""

from time import monotonic

from builtin_interfaces.msg import Duration
from harness import latest, NAMES, positions_of, READY, run_sim, stamp_of
import numpy as np
import pytest
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

pytestmark = pytest.mark.real_time

SIM = '/sim_controller'
HEALTH = f'{SIM}: trajectories'
THERE = np.array(READY) + 0.3


@pytest.fixture(scope='module')
def shared(tmp_path_factory):
    """Run one controller for the tests of this module."""
    with run_sim(tmp_path_factory.mktemp('sim')) as probe:
        yield probe


@pytest.fixture
def sim(shared):
    """Lend it at rest at its posture; what a test has set is set back."""
    shared.states.clear()
    latest(shared)
    yield shared
    shared.set_back()
    shared.commands.publish(trajectory(READY, 0.2))
    shared.wait(lambda: stands_at(shared, READY))


def stands_at(probe, q) -> bool:
    """Return whether the last joint state is exactly there, at rest."""
    if not probe.states:
        return False
    message = probe.states[-1][1]
    return list(message.position) == list(q) and not any(message.velocity)


def first(probe) -> float:
    """Return the latest position of joint_1."""
    return probe.states[-1][1].position[0] if probe.states else np.nan


def trajectory(q, seconds=0.5, start=None) -> JointTrajectory:
    """Return a smooth motion to `q`."""
    message = JointTrajectory(joint_names=NAMES, points=[JointTrajectoryPoint(
        positions=[float(value) for value in q], velocities=[0.0] * 6, accelerations=[0.0] * 6,
        time_from_start=Duration(sec=int(seconds), nanosec=int(seconds % 1 * 1e9)))])
    if start is not None:
        message.header.stamp = start
    return message


def series(probe):
    """Return times since the first, positions and velocities of the states seen."""
    times = np.array([stamp_of(message) for _, message in probe.states])
    q = np.array([positions_of(message) for _, message in probe.states])
    qd = np.array([message.velocity[:6] for _, message in probe.states])
    return times - times[0], q, qd


def settled(probe, seconds=0.3) -> np.ndarray:
    """Wait until nothing has moved for a while; return where it stands."""
    end = monotonic() + 15.0
    while monotonic() < end:
        probe.states.clear()
        probe.spin_for(seconds)
        _, q, _ = series(probe)
        if np.ptp(q, axis=0).max() < 1e-6:
            return q[-1]
    raise AssertionError('it does not come to rest')


def test_lag(sim):
    """The joints come later: while the command is there already they are still on their way."""
    sim.change(SIM, following__lag=0.4)
    sim.commands.publish(trajectory(THERE))
    sim.wait(lambda: first(sim) > READY[0] + 0.001)
    sim.states.clear()
    sim.wait(lambda: abs(first(sim) - THERE[0]) < 1e-5)
    times, q, _ = series(sim)
    assert times[-1] > 0.9
    assert np.abs(q[-1] - THERE).max() < 2e-5


def test_blocked_joints(sim):
    """They stand, the others arrive; released they follow."""
    sim.change(SIM, following__blocked_joints=['joint_2', 'joint_5'])
    sim.commands.publish(trajectory(THERE))
    sim.wait(lambda: first(sim) == THERE[0])
    assert latest(sim) == pytest.approx(np.where([0, 1, 0, 0, 1, 0], READY, THERE))
    sim.change(SIM, following__blocked_joints=[''])
    sim.wait(lambda: stands_at(sim, THERE))


def test_delay(sim):
    """States arrive late, with the stamp of their measurement."""
    def age() -> float:
        sim.states.clear()
        ages = []
        while len(ages) < 50:
            count = len(sim.states)
            sim.wait(lambda count=count: len(sim.states) > count)
            stamp = sim.states[-1][1].header.stamp
            now = sim.get_clock().now().nanoseconds
            ages.append(1e-9 * (now - stamp.sec * 10**9 - stamp.nanosec))
        return min(ages)  # the others are as old as this process is late

    assert age() < 0.1
    sim.change(SIM, measuring__delay=0.5)
    sim.spin_for(0.6)
    assert 0.5 < age() < 0.6


def test_speed_scaling(sim):
    """The same motion takes longer."""
    sim.change(SIM, speed_scaling=0.25)
    sim.commands.publish(trajectory(THERE, 0.4))
    sim.wait(lambda: first(sim) > READY[0])
    sim.states.clear()
    sim.wait(lambda: stands_at(sim, THERE))
    assert 1.4 < series(sim)[0][-1] < 1.8


def test_silent(sim):
    """Nothing is taken, nothing is said, joint states go on; the motion under way ends."""
    counts = {pair.key: pair.value for pair in sim.health[HEALTH].values}
    sim.commands.publish(trajectory(THERE, 1.0))
    sim.wait(lambda: first(sim) > READY[0] + 0.05)
    sim.change(SIM, silent=True)
    held = settled(sim)
    assert READY[0] + 0.05 < held[0] < THERE[0]
    log = sim.running.output
    sim.commands.publish(trajectory(READY))
    sim.spin_for(0.5)
    assert np.array_equal(latest(sim), held)
    assert sim.running.output == log
    now = {pair.key: pair.value for pair in sim.health[HEALTH].values}
    assert now['refused'] == counts['refused']


@pytest.mark.parametrize('constraint', ['trajectory', 'goal'])
def test_constraints(sim, constraint):
    """Violated: the arm holds where it is, the log and /diagnostics say why."""
    sim.change(SIM, following__lag=0.3, following__order=1, constraints__goal_time=0.1,
               **{f'constraints__{constraint}': [0.05]})
    sim.commands.publish(trajectory(THERE))
    words = {'trajectory': 'path tolerance', 'goal': 'goal_time_tolerance'}[constraint]
    sim.wait(lambda: f'aborted: Aborted due to {words}' in sim.health[HEALTH].message)
    assert 'holding position: ' in sim.running.output
    held = settled(sim)
    assert READY[0] + 0.001 < held[0] < THERE[0] - 0.03


@pytest.mark.parametrize('option, message, words', [
    ('allow_partial_joints_goal', JointTrajectory(joint_names=NAMES[:2], points=[
        JointTrajectoryPoint(positions=READY[:2])]), '2 joints'),
    ('allow_nonzero_velocity_at_trajectory_end', JointTrajectory(joint_names=NAMES, points=[
        JointTrajectoryPoint(positions=READY, velocities=[0.1] * 6)]), 'last point'),
    ('allow_integration_in_goal_trajectories', JointTrajectory(joint_names=NAMES, points=[
        JointTrajectoryPoint(velocities=[0.0] * 6)]), '0 positions')])
def test_settings_that_may_be_changed(sim, option, message, words):
    """Refused by default, taken when allowed."""
    def counts():
        return {pair.key: int(pair.value) for pair in sim.health[HEALTH].values}

    refused = counts()['refused']
    sim.commands.publish(message)
    sim.wait(lambda: counts()['refused'] == refused + 1)
    assert words in sim.health[HEALTH].message
    accepted = counts()['accepted']
    sim.change(SIM, **{option: True})
    sim.commands.publish(message)
    sim.wait(lambda: counts()['accepted'] == accepted + 1)


def test_senseless_values_are_refused(sim):
    """With the reason, and nothing is changed."""
    for values, words in (
            ({'constraints.trajectory': [0.1, 0.1]}, 'needs 1 or 6'),
            ({'constraints.goal': [-0.1]}, 'negative'),
            ({'following.blocked_joints': ['elbow']}, "'elbow'"),
            ({'following.order': 3}, ''), ({'speed_scaling': 1.5}, ''),
            ({'measuring.dropped': -0.1}, ''), ({'rate': 10.0}, ''), ({'physics': True}, ''),
            ({'measuring.seed': 3}, ''),
            ({'following.lag': 0.5, 'following.blocked_joints': ['elbow']}, "'elbow'")):
        result = sim.set_parameters(SIM, values)
        assert not result.successful and words in result.reason, values
    sim.commands.publish(trajectory(THERE, 0.2))
    sim.wait(lambda: stands_at(sim, THERE), 2.0)
