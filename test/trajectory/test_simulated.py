# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated controller behaves as the real one on perfect hardware."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from ik_node.trajectory.simulated import ControllerOptions, SimulatedController

JOINTS = ('a', 'b', 'c')
HOME = np.array([0.1, 0.2, 0.3])
PERIOD = 0.01
NOW = 20.0


def stamp(time):
    """Return a builtin_interfaces Time or Duration."""
    whole = math.floor(time)
    return SimpleNamespace(sec=whole, nanosec=round(1e9 * (time - whole)))


def message(points, names=JOINTS, start=0.0):
    """Return a JointTrajectory of (time, positions[, velocities[, accelerations]])."""
    made = []
    for time, *fields in points:
        fields = [list(field) for field in fields] + [[]] * (3 - len(fields))
        made.append(SimpleNamespace(time_from_start=stamp(time), positions=fields[0],
                                    velocities=fields[1], accelerations=fields[2], effort=[]))
    return SimpleNamespace(header=SimpleNamespace(stamp=stamp(start)), joint_names=list(names),
                           points=made)


def controller(**options):
    """Return a controller at rest at home that has run for a while."""
    made = SimulatedController(JOINTS, np.array([False, False, True]), HOME, **options)
    made.update(NOW - PERIOD, PERIOD)
    return made


def run(simulated, begin, end):
    """Return times and measured states of the cycles from `begin` to before `end`."""
    times = begin + PERIOD * np.arange(round((end - begin) / PERIOD))
    return times, [simulated.update(t, PERIOD) for t in times]


LINE = message([(1.0, HOME + 1.0)])


def test_it_stands_at_home_until_told():
    """Without a trajectory it holds."""
    _, states = run(controller(), NOW, NOW + 0.1)
    for state in states:
        assert np.array_equal(state.q, HOME) and not state.qd.any()


def test_stamp_zero_starts_at_the_first_update_after_arrival():
    """The line begins when the update sees it, not when it was offered."""
    simulated = controller()
    assert simulated.offer(LINE, NOW - 5.0) is None
    times, states = run(simulated, NOW, NOW + 1.2)
    for t, state in zip(times[1:], states[1:]):
        assert np.allclose(state.q, HOME + min(t - NOW, 1.0), atol=1e-9)
    assert np.array_equal(states[0].q, HOME)


def test_the_command_is_sampled_one_period_ahead():
    """After the update at t the joints reach at t + period where they are due then."""
    simulated = controller()
    simulated.offer(LINE, NOW)
    simulated.update(NOW, PERIOD)
    assert np.array_equal(simulated.state.q, HOME)
    simulated.update(NOW + PERIOD, PERIOD)
    assert np.allclose(simulated.state.q, HOME + PERIOD, atol=1e-9)


def test_stamp_in_the_future_waits_by_moving_slowly():
    """The path runs from the arrival to the first point at stamp + its time."""
    simulated = controller()
    late = message([(0.0, HOME, np.zeros(3), np.zeros(3)),
                    (1.0, HOME + 1.0, np.zeros(3), np.zeros(3))], start=NOW + 0.5)
    assert simulated.offer(late, NOW) is None
    times, states = run(simulated, NOW, NOW + 2.0)
    for t, state in zip(times, states):
        s = np.clip(t - NOW - 0.5, 0.0, 1.0)
        expected = HOME + 10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5
        assert np.allclose(state.q, expected, atol=1e-8)


def test_stamp_in_the_past_joins_in_the_middle():
    """Points that are past are passed over."""
    simulated = controller()
    early = message([(0.0, HOME), (1.0, HOME + 1.0), (2.0, HOME)], start=NOW - 0.5)
    assert simulated.offer(early, NOW) is None
    times, states = run(simulated, NOW, NOW + 2.0)
    for t, state in zip(times[1:], states[1:]):
        assert np.allclose(state.q, HOME + np.interp(t - NOW + 0.5, [0, 1, 2], [0, 1, 0]),
                           atol=1e-9)


def test_joint_order_is_the_senders():
    """Positions go to the joints that they are named for."""
    simulated = controller()
    assert simulated.offer(message([(0.1, [30.0, 10.0, 20.0])], ('c', 'a', 'b')), NOW) is None
    _, states = run(simulated, NOW, NOW + 0.3)
    assert states[-1].q.tolist() == [10.0, 20.0, 30.0]


def test_joints_left_out_hold():
    """A partial trajectory moves its joints, the others stay."""
    simulated = controller(options=ControllerOptions(allow_partial_joints_goal=True))
    zero = np.zeros(2)
    assert simulated.offer(message([(0.2, [5.0, 7.0], zero, zero)], ('c', 'a')), NOW) is None
    _, states = run(simulated, NOW, NOW + 0.4)
    assert states[-1].q.tolist() == [7.0, HOME[1], 5.0]
    for state in states:
        assert state.q[1] == pytest.approx(HOME[1], abs=1e-12) and state.qd[1] == 0.0


def test_it_holds_at_the_end():
    """After the last point: last position, no velocity."""
    simulated = controller()
    simulated.offer(LINE, NOW)
    _, states = run(simulated, NOW, NOW + 3.0)
    for state in states[102:]:
        assert np.array_equal(state.q, HOME + 1.0)
        assert not state.qd.any() and not state.qdd.any()


def test_continuous_joints_take_the_short_way():
    """Only the joint without limits is taken round by the short way."""
    simulated = controller()
    goal = HOME + np.array([0.0, 2.0 * np.pi, 2.0 * np.pi])
    simulated.offer(message([(1.0, goal)]), NOW)
    _, states = run(simulated, NOW, NOW + 0.5)
    assert states[-1].q[1] > HOME[1] + 2.0
    assert np.allclose([state.q[2] for state in states[1:]], goal[2])


MOVING = message([(1.0, HOME + 1.0, np.zeros(3), np.zeros(3))])
BACK = message([(0.5, HOME, np.zeros(3), np.zeros(3))])


def quintic_from(q, qd, qdd, T):
    """Return the coefficients of the quintic from a state to rest at home."""
    rows = np.array([[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 2, 0, 0, 0],
                     [T**k for k in range(6)], [k * T**max(k - 1, 0) for k in range(6)],
                     [k * (k - 1) * T**max(k - 2, 0) for k in range(6)]], dtype=float)
    zero = np.zeros(3)
    return np.linalg.solve(rows, np.array([q, qd, qdd, HOME, zero, zero]))


@pytest.mark.parametrize('from_desired', [False, True])
def test_preemption(from_desired):
    """A new path starts from the measured state, or from the last command with acceleration."""
    simulated = controller(options=ControllerOptions(
        interpolate_from_desired_state=from_desired))
    simulated.offer(MOVING, NOW)
    _, states = run(simulated, NOW, NOW + 0.3)
    last = states[-1]  # measured at NOW + 0.29, where the command for NOW + 0.3 was made
    assert simulated.offer(BACK, NOW + 0.3) is None
    times, states = run(simulated, NOW + 0.3, NOW + 1.0)
    arrival = states[0]
    assert arrival.q[0] > last.q[0] and arrival.qdd[0] != 0.0
    if from_desired:
        # The command of the cycle before belongs to its time, one period earlier.
        begin, T, qdd = times[0] - PERIOD, 0.5 + PERIOD, arrival.qdd
    else:
        begin, T, qdd = times[0], 0.5, np.zeros(3)
    c = quintic_from(arrival.q, arrival.qd, qdd, T)
    for t, state in zip(times[1:], states[1:]):
        s = t - begin
        expected = sum(c[k] * s**k for k in range(6)) if s < T else HOME
        assert np.allclose(state.q, expected, atol=1e-8)


def test_a_new_trajectory_replaces_the_old_at_once():
    """Only the newest trajectory counts, also when two come between updates."""
    simulated = controller()
    simulated.offer(MOVING, NOW)
    run(simulated, NOW, NOW + 0.3)
    simulated.offer(MOVING, NOW + 0.3)
    simulated.offer(BACK, NOW + 0.3)
    _, states = run(simulated, NOW + 0.3, NOW + 3.0)
    assert np.array_equal(states[-1].q, HOME)


@pytest.mark.parametrize('bad', [
    message([(1.0, HOME)], ('a', 'b', 'x')), message([]), message([(1.0, HOME[:2])]),
    message([(1.0, HOME)], ('a',)), message([(1.0, HOME, np.ones(3))]),
    message([(1.0, HOME)], start=NOW - 10.0), message([(1.0, HOME), (1.0, HOME)])])
def test_a_refusal_leaves_the_motion_alone(bad):
    """A refused message changes nothing and says why."""
    undisturbed, disturbed = controller(), controller()
    for simulated in (undisturbed, disturbed):
        simulated.offer(MOVING, NOW)
        run(simulated, NOW, NOW + 0.3)
    assert disturbed.offer(bad, NOW + 0.3)
    for a, b in zip(run(undisturbed, NOW + 0.3, NOW + 1.2)[1],
                    run(disturbed, NOW + 0.3, NOW + 1.2)[1]):
        assert np.array_equal(a.q, b.q) and np.array_equal(a.qd, b.qd)


def test_options_reach_the_rules():
    """The switches of the controller are those of the acceptance."""
    moving_end = message([(1.0, HOME, np.ones(3))])
    assert 'last point' in controller().offer(moving_end, NOW)
    kind = controller(options=ControllerOptions(allow_nonzero_velocity_at_trajectory_end=True))
    assert kind.offer(moving_end, NOW) is None


def test_integrated_positions_start_from_the_present():
    """With integration a message of velocities moves on from where the arm is."""
    simulated = controller(options=ControllerOptions(allow_integration_in_goal_trajectories=True))
    zero = np.zeros(3)
    only_velocities = message([(1.0, [], np.ones(3)), (2.0, [], zero)])
    assert simulated.offer(only_velocities, NOW) is None
    _, states = run(simulated, NOW, NOW + 2.5)
    assert np.allclose(states[-1].q, HOME + 1.0)
