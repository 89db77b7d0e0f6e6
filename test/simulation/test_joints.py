# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Joints that lag and stick as the textbook says, and measurements that err reproducibly."""

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest

from ik_node.motion.trajectory.trajectory import MotionState
from ik_node.simulation.joints import Following, LaggingPlant, Measuring, Sensors

HOME = np.array([0.1, -0.2, 0.3])


def at(q, qd=0.0, qdd=0.0):
    """Return a state of three joints."""
    return MotionState(*(np.zeros(3) + value for value in (q, qd, qdd)))


def test_perfect_joints_follow_exactly():
    """Without lag and friction: position, velocity and acceleration of the command."""
    plant = LaggingPlant(HOME)
    command = at([1.0, 2.0, 3.0], 0.5, -0.1)
    plant.step(command, 0.01)
    for name in ('q', 'qd', 'qdd'):
        assert np.array_equal(getattr(plant.state, name), getattr(command, name))


@settings(max_examples=60, deadline=None)
@given(lag=st.floats(0.01, 2.0), order=st.sampled_from([1, 2]),
       steps=st.lists(st.tuples(st.floats(1e-3, 0.3), st.floats(-2.0, 2.0)), min_size=1,
                      max_size=6))
def test_lag_solves_its_equation(lag, order, steps):
    """A command in straight pieces is followed as a numerical integrator says."""
    from scipy.integrate import solve_ivp
    plant = LaggingPlant(HOME, Following(lag, order))
    w = 2.0 / lag
    x, begin = np.concatenate([HOME, np.zeros(3)]), HOME
    for dt, target in steps:
        plant.step(at(target), dt)

        def rate(t, x, begin=begin, slope=(target - begin) / dt):
            q, qd = np.split(x, 2)
            command = begin + slope * t
            if order == 1:
                return np.concatenate([(command - q) / lag, np.zeros(3)])
            return np.concatenate([qd, w**2 * (command - q) - 2.0 * w * qd])

        x = solve_ivp(rate, (0.0, dt), x, method='LSODA', rtol=1e-9, atol=1e-11).y[:, -1]
        begin = np.full(3, target)
    assert plant.state.q == pytest.approx(x[:3], abs=1e-6)
    qd = (begin - x[:3]) / lag if order == 1 else x[3:]
    assert plant.state.qd == pytest.approx(qd, abs=1e-5 / lag)


@pytest.mark.parametrize('order', [1, 2])
@pytest.mark.parametrize('lag', [0.05, 0.3])
def test_lag_is_the_delay_of_a_ramp(order, lag):
    """In a motion of constant speed the joints are `lag` seconds behind."""
    plant, dt, speed = LaggingPlant(np.zeros(3), Following(lag, order)), 0.01, 0.7
    for k in range(1, 501):
        plant.step(at(speed * k * dt, speed), dt)
    behind = speed * 5.0 - plant.state.q
    assert behind == pytest.approx(np.full(3, speed * lag), abs=1e-6)
    assert plant.state.qd == pytest.approx(np.full(3, speed), abs=1e-6)


def test_friction_keeps_the_joints_behind():
    """Nothing moves until the command is away by the friction; then at this distance."""
    plant = LaggingPlant(np.zeros(3), Following(friction=0.02))
    there, back = [], []
    path = np.linspace(0.0, 1.0, 101)
    for command, seen in ((path, there), (path[::-1], back)):
        for q in command:
            plant.step(at(q), 0.01)
            seen.append(plant.state.q[0])
    assert there == pytest.approx(np.maximum(path - 0.02, 0.0).tolist())
    assert back == pytest.approx(np.minimum(path[::-1] + 0.02, 0.98).tolist())
    assert plant.state.qd == pytest.approx(np.full(3, -1.0))


def test_friction_and_lag_together():
    """A lagging joint comes to rest short of the command by the friction."""
    plant = LaggingPlant(np.zeros(3), Following(0.1, 2, 0.02))
    for _ in range(300):
        plant.step(at(1.0), 0.01)
    assert plant.state.q == pytest.approx(np.full(3, 0.98))


@pytest.mark.parametrize('following', [Following(), Following(0.1, 1), Following(0.1, 2),
                                       Following(0.0, 1, 0.01)])
def test_a_blocked_joint_stands(following):
    """It keeps its place without velocity, the others move; released, it follows again."""
    plant = LaggingPlant(HOME, following)
    plant.blocked = np.array([False, True, False])
    for _ in range(500):
        plant.step(at(1.0), 0.01)
    assert plant.state.q[1] == HOME[1] and plant.state.qd[1] == 0.0
    assert plant.state.q[[0, 2]] == pytest.approx([1.0, 1.0], abs=0.0101)
    plant.blocked = np.zeros(3, dtype=bool)
    for _ in range(500):
        plant.step(at(1.0), 0.01)
    assert plant.state.q[1] == pytest.approx(1.0, abs=0.0101)


def test_no_time_no_motion():
    """A cycle without time leaves lagging joints where they are."""
    for following in (Following(0.1), Following(friction=0.01)):
        plant = LaggingPlant(HOME, following)
        plant.step(at(1.0), 0.0)
        assert np.array_equal(plant.state.q, HOME) and np.isfinite(plant.state.qd).all()


# ---- sensors ----------------------------------------------------------------

def measured(sensors, count=4000):
    """Return positions and velocities measured of an arm at home."""
    states = [sensors.measure(at(HOME, 0.5)) for _ in range(count)]
    return np.array([s.q for s in states]), np.array([s.qd for s in states])


def test_noise_has_its_standard_deviation():
    """Mean, deviation of positions and of velocities, and no correlation between joints."""
    q, qd = measured(Sensors(1, Measuring(noise=1e-3, velocity_noise=2e-2)))
    assert q.mean(axis=0) == pytest.approx(HOME, abs=1e-4)
    assert q.std(axis=0) == pytest.approx(np.full(3, 1e-3), rel=0.1)
    assert qd.mean(axis=0) == pytest.approx(np.full(3, 0.5), abs=2e-3)
    assert qd.std(axis=0) == pytest.approx(np.full(3, 2e-2), rel=0.1)
    assert np.abs(np.corrcoef(np.hstack([q, qd]).T) - np.eye(6)).max() < 0.1


def test_the_seed_fixes_the_noise():
    """The same seed measures the same, another does not."""
    noisy = Measuring(noise=1e-3, velocity_noise=1e-2)
    first, second, other = (measured(Sensors(seed, noisy), 10)[0] for seed in (3, 3, 4))
    assert np.array_equal(first, second)
    assert not np.isclose(first, other, atol=1e-6).any()


def test_options_do_not_shift_the_draws():
    """Noise that is switched on later is that of its cycle."""
    always = Sensors(3, Measuring(noise=1e-3))
    later = Sensors(3)
    for k in range(10):
        if k == 5:
            later.measuring = Measuring(noise=1e-3)
        a, b = (sensors.measure(at(HOME)).q for sensors in (always, later))
        assert np.array_equal(b, a if k >= 5 else HOME)


def arrivals(sensors, count=1000, period=0.01):
    """Return (time of arrival, time of measurement) of all that arrives."""
    return [(k * period, sent) for k in range(count)
            for sent, _ in sensors.deliver(k * period, at(HOME))]


@pytest.mark.parametrize('delay', [0.0, 0.01, 0.105, 0.3])
def test_delay(delay):
    """Everything arrives once, in order, in the first cycle after the delay."""
    got = arrivals(Sensors(0, Measuring(delay=delay)))
    assert [sent for _, sent in got] == [k * 0.01 for k in range(len(got))]
    assert all(delay - 1e-9 <= now - sent < delay + 0.0101 for now, sent in got)
    assert len(got) == 1000 - int(np.ceil(delay / 0.01))


def test_dropped_measurements_are_not_delivered():
    """Later measurements are."""
    sensors = Sensors(0, Measuring(delay=0.1))
    one, two = (MotionState.at_rest(np.array(q)) for q in ([1.0], [1.0, 2.0]))
    assert not sensors.deliver(0.0, one) and not sensors.deliver(0.05, one)
    sensors.forget()
    assert not sensors.deliver(0.1, two)
    assert [at for at, _ in sensors.deliver(0.2, two)] == [0.1]


@pytest.mark.parametrize('share', [0.0, 0.3, 0.9, 1.0])
def test_dropped(share):
    """The share that is lost is lost, by the seed."""
    got = arrivals(Sensors(7, Measuring(dropped=share)))
    assert len(got) / 1000 == pytest.approx(1.0 - share, abs=0.05 if 0 < share < 1 else 0)
    assert got == arrivals(Sensors(7, Measuring(dropped=share)))
