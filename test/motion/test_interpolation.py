# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""How points become motion: the controller's interpolation."""

from dataclasses import replace

from hypothesis import given, settings, strategies as st
import numpy as np
from numpy.polynomial import Polynomial
import pytest

from ik_node.motion.trajectory import quintic
from ik_node.motion.trajectory.interpolation import (
    coefficients,
    evaluate,
    Point,
    sample_segments,
    Sampler,
    segments,
    segments_from,
    state_at,
)
from ik_node.motion.trajectory.sampling import compiled_segments, states_at
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory

NEVER = np.zeros(2, dtype=bool)


def fit(T, conditions):
    """Return the polynomial of least order that meets {(derivative, time): value}."""
    size = len(conditions)
    rows, values = [], []
    for (order, t), value in conditions.items():
        rows.append([Polynomial.basis(k).deriv(order)(t) if order else t**k for k in range(size)])
        values.append(value)
    return Polynomial(np.linalg.solve(np.array(rows, dtype=float), values))


def random_points(seed, orders, n=2):
    """Return points at increasing times with as many derivatives as given."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.2, 1.0, len(orders)))
    return [Point(t, *(rng.uniform(-1.0, 1.0, n) for _ in range(order + 1)))
            for t, order in zip(times, orders)]


def expected(a, b, k, t):
    """Return position, velocity and acceleration of joint `k` between two points."""
    T = b.time - a.time
    conditions = {(0, 0.0): a.q[k], (0, T): b.q[k]}
    if a.qd is not None and b.qd is not None:
        conditions.update({(1, 0.0): a.qd[k], (1, T): b.qd[k]})
        if a.qdd is not None and b.qdd is not None:
            conditions.update({(2, 0.0): a.qdd[k], (2, T): b.qdd[k]})
    p = fit(T, conditions)
    return [p(t - a.time), p.deriv()(t - a.time), p.deriv(2)(t - a.time)]


# ---- the polynomials --------------------------------------------------------

@pytest.mark.parametrize('orders', [(a, b) for a in range(3) for b in range(3)])
def test_the_degree_depends_on_both_ends(orders):
    """Line, cubic or quintic, by the end that has fewer derivatives; against a fit by numpy."""
    for seed in range(20):
        a, b = random_points(seed, orders)
        c = coefficients(a, b)
        assert c.shape == (6, 2)
        for t in np.linspace(a.time, b.time, 7):
            q, qd, qdd = evaluate(c, t - a.time)
            for k in range(2):
                assert np.allclose([q[k], qd[k], qdd[k]], expected(a, b, k, t), atol=1e-8)
    degree = 1 + 2 * min(orders)
    assert np.all(c[degree + 1:] == 0.0) and np.any(c[degree] != 0.0)


def test_a_segment_without_length_stays():
    """Points at one time give no division by zero."""
    a = Point(1.0, np.array([0.1, 0.2]), np.ones(2))
    c = coefficients(a, Point(1.0, np.array([3.0, 4.0]), np.ones(2)))
    assert np.array_equal(c[0], a.q) and not c[1:].any()


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.floats(0.01, 10.0), st.lists(st.floats(-5.0, 5.0), min_size=6, max_size=6))
def test_quintic_meets_both_ends(T, ends):
    """The quintic has position, velocity and acceleration of both ends."""
    q0, v0, a0, q1, v1, a1 = map(np.array, ends)
    c = quintic.coefficients(T, q0, v0, a0, q1, v1, a1)
    assert np.allclose(evaluate(c, 0.0), (q0, v0, a0), atol=1e-12)
    scale = 1e-9 * max(1.0, 1.0 / T**2)
    assert np.allclose(evaluate(c, T), (q1, v1, a1), atol=1e-7 + scale)


# ---- the sampler ------------------------------------------------------------

@pytest.mark.parametrize('order', [0, 1, 2])
def test_samples_pass_the_points(order):
    """From the state at arrival through every point, for each degree."""
    before, *points = random_points(30 + order, [order] * 5)
    sampler = Sampler(points, before, NEVER)
    every = [before, *points]
    for a, b in zip(every, every[1:]):
        for t in np.linspace(a.time, b.time, 5)[:-1]:
            state = sampler.sample(t)
            for k in range(2):
                assert np.allclose([state.q[k], state.qd[k], state.qdd[k]],
                                   expected(a, b, k, t), atol=1e-8)
    assert sampler.end_time == points[-1].time


@pytest.mark.parametrize('order', [0, 1, 2])
def test_times_may_come_in_any_order(order):
    """What is sampled does not depend on what was sampled before."""
    before, *points = random_points(5, [order] * 6)
    times = np.random.default_rng(6).uniform(before.time - 0.3, points[-1].time + 0.3, 100)
    sampler = Sampler(points, before, NEVER)
    for t in times:
        found, alone = sampler.sample(t), Sampler(points, before, NEVER).sample(t)
        for name in ('q', 'qd', 'qdd'):
            assert np.array_equal(getattr(found, name), getattr(alone, name))


def test_each_segment_has_its_own_degree():
    """A point without velocities makes both its segments straight."""
    before, *points = random_points(40, [2, 2, 0, 2, 1])
    sampler = Sampler(points, before, NEVER)
    every = [before, *points]
    for (a, b), degree in zip(zip(every, every[1:]), (5, 1, 1, 3)):
        times = np.linspace(a.time, b.time, 9)[:-1]
        q = np.array([sampler.sample(t).q for t in times])
        residues = [np.abs(np.polyval(np.polyfit(times - a.time, q[:, 0], d), times - a.time)
                           - q[:, 0]).max() for d in (degree, degree - 1)]
        assert residues[0] < 1e-9 and residues[1] > 1e-6


def test_missing_derivatives_of_the_start_are_zero():
    """Where the first point has derivatives, the start gets zeros to match."""
    _, first = random_points(50, [2, 2])
    start = Point(0.0, np.array([0.3, -0.3]))
    sampler = Sampler([first], start, NEVER)
    rest = Point(0.0, start.q, np.zeros(2), np.zeros(2))
    state = sampler.sample(0.0)
    assert np.array_equal(state.q, start.q) and not state.qd.any() and not state.qdd.any()
    for t in np.linspace(0.0, first.time, 7)[:-1]:
        assert np.allclose([sampler.sample(t).q[0]], expected(rest, first, 0, t)[0], atol=1e-9)
    # A velocity alone in the first point: a cubic from rest.
    velocity = Point(first.time, first.q, first.qd)
    sampler = Sampler([velocity], start, NEVER)
    cubic = expected(rest, velocity, 1, 0.4 * first.time)
    assert sampler.sample(0.4 * first.time).qdd[1] == pytest.approx(cubic[2])


def test_a_start_keeps_the_derivatives_that_it_has():
    """A measured velocity is not replaced by zero."""
    _, first = random_points(51, [2, 2])
    start = Point(0.0, np.zeros(2), np.array([0.7, -0.4]))
    state = Sampler([first], start, NEVER).sample(0.0)
    assert np.allclose(state.qd, start.qd) and not state.qdd.any()
    # A first point with positions only: a straight line all the same.
    line = Point(first.time, first.q)
    assert np.allclose(Sampler([line], start, NEVER).sample(0.0).qd, first.q / first.time)


def test_after_the_last_point_it_holds():
    """Last position, derivatives zero unless given."""
    before, *points = random_points(60, [1, 1, 1])
    end = points[-1]
    for t in (end.time, end.time + 1e-9, end.time + 1e3):
        held = Sampler(points, before, NEVER).sample(t)
        assert np.array_equal(held.q, end.q)
        assert np.array_equal(held.qd, end.qd) and not held.qdd.any()
    line = [Point(p.time, p.q) for p in points]
    held = Sampler(line, before, NEVER).sample(end.time)
    assert np.array_equal(held.q, end.q) and not held.qd.any() and not held.qdd.any()


def test_before_the_arrival_it_holds():
    """Before the arrival the position is the one at arrival."""
    before, *points = random_points(61, [2, 2])
    assert np.array_equal(Sampler(points, before, NEVER).sample(before.time - 1.0).q, before.q)


def test_points_in_the_past_are_skipped():
    """A trajectory whose first points are past is joined in its middle."""
    points = random_points(62, [1, 1, 1, 1])
    arrival = 0.5 * (points[1].time + points[2].time)
    sampler = Sampler(points, Point(arrival, np.full(2, 9.0), np.zeros(2)), NEVER)
    for k in range(2):
        assert sampler.sample(arrival).q[k] == pytest.approx(
            expected(points[1], points[2], k, arrival)[0])


# ---- integration of absent positions ----------------------------------------

def test_velocities_are_integrated():
    """Positions from velocities by the trapezoidal rule, then a cubic."""
    start = Point(0.0, np.array([0.5, 0.0]), np.zeros(2))
    points = [Point(1.0, None, np.array([1.0, -2.0])), Point(3.0, None, np.array([0.0, 0.0]))]
    sampler = Sampler(points, start, NEVER)
    assert np.allclose(sampler.sample(1.0).q, [1.0, -1.0])
    assert np.allclose(sampler.sample(3.0).q, [2.0, -3.0])
    assert np.allclose(sampler.sample(1.0).qd, [1.0, -2.0])
    middle = Point(1.0, np.array([1.0, -1.0]), points[0].qd)
    end = Point(3.0, np.array([2.0, -3.0]), points[1].qd)
    assert sampler.sample(1.7).q[1] == pytest.approx(expected(middle, end, 1, 1.7)[0])


def test_accelerations_are_integrated_twice():
    """Velocities from accelerations, positions from those, then a quintic."""
    start = Point(0.0, np.zeros(2), np.zeros(2), np.zeros(2))
    sampler = Sampler([Point(2.0, None, None, np.array([1.0, -3.0]))], start, NEVER)
    end = sampler.sample(2.0)
    assert np.allclose(end.qd, [1.0, -3.0]) and np.allclose(end.q, [1.0, -3.0])
    assert np.allclose(end.qdd, [1.0, -3.0])
    full = Point(2.0, np.array([1.0, -3.0]), np.array([1.0, -3.0]), np.array([1.0, -3.0]))
    assert sampler.sample(1.3).q[1] == pytest.approx(expected(start, full, 1, 1.3)[0])


def test_integration_from_a_start_without_derivatives():
    """Missing derivatives of the start count as zero."""
    start = Point(0.0, np.ones(2))
    assert np.allclose(Sampler([Point(1.0, None, np.array([1.0, 2.0]))], start,
                               NEVER).sample(1.0).q, [1.5, 2.0])
    assert np.allclose(Sampler([Point(1.0, None, None, np.array([1.0, 2.0]))], start,
                               NEVER).sample(1.0).q, [1.25, 1.5])


# ---- joints that turn without limit -----------------------------------------

@pytest.mark.parametrize('start, goal, shifted', [
    (0.1, 0.2, 0.1), (0.1, 2 * np.pi + 0.2, 2 * np.pi + 0.1), (6.2, 0.1, 6.2 - 2 * np.pi),
    (-3.1, 3.1, -3.1 + 2 * np.pi), (80 * np.pi + 0.1, 0.2, 0.1), (0.0, np.pi, 0.0),
    (np.pi, 0.0, np.pi), (0.0, -np.pi, 0.0)])
def test_continuous_joints_start_from_the_nearest_turn(start, goal, shifted):
    """The start is shifted by whole turns, so that the motion is the short one."""
    wrap = np.array([True, False])
    sampler = Sampler([Point(1.0, np.array([goal, goal]))],
                      Point(0.0, np.array([start, start])), wrap)
    q = sampler.sample(0.0).q
    assert q[0] == pytest.approx(shifted, abs=1e-9)
    assert q[1] == start
    assert sampler.sample(1.0).q.tolist() == [goal, goal]


# ---- sample_segments() and state_at() -------------------------------------------------

def trajectory_of(seed, k=4, n=3):
    """Return a trajectory through random states to rest."""
    rng = np.random.default_rng(seed)
    q, qd, qdd = (rng.uniform(-1.0, 1.0, (k, n)) for _ in range(3))
    qd[-1] = qdd[-1] = 0.0
    start = MotionState(*(rng.uniform(-1.0, 1.0, n) for _ in range(3)))
    return Trajectory(tuple('abc'[:n]), start, np.cumsum(rng.uniform(0.2, 1.0, k)), q, qd, qdd)


@pytest.mark.parametrize('seed', range(5))
@pytest.mark.parametrize('per_segment', [1, 3, 8])
def test_samples_agree_with_state_at_and_with_numpy(seed, per_segment):
    """Both give the quintics that numpy fits through the points."""
    trajectory = trajectory_of(70 + seed)
    times, *values = sample_segments(trajectory, per_segment)
    assert len(times) == 4 * per_segment + 1
    assert times[0] == 0.0 and times[-1] == trajectory.duration
    assert (np.diff(times) > 0.0).all() and set(trajectory.times) <= set(times)
    start = trajectory.start
    points = [Point(0.0, start.q, start.qd, start.qdd),
              *(Point(*each) for each in zip(trajectory.times, trajectory.q, trajectory.qd,
                                             trajectory.qdd))]
    for i, t in enumerate(times):
        state = state_at(trajectory, t)
        assert np.allclose([state.q, state.qd, state.qdd], [v[i] for v in values], atol=1e-8)
        segment = min(int(np.searchsorted(trajectory.times, t, side='right')), 3)
        for k in range(3):
            assert np.allclose([v[i, k] for v in values],
                               expected(points[segment], points[segment + 1], k, t), atol=1e-7)


def test_state_at_outside_the_motion():
    """Before 0 with the acceleration of the start, at rest at the end after the last point."""
    trajectory = trajectory_of(80)
    start = trajectory.start
    before = state_at(trajectory, -0.3)
    assert np.allclose(before.q + 0.3 * before.qd + 0.045 * before.qdd, start.q)
    assert np.allclose(before.qd + 0.3 * before.qdd, start.qd)
    assert np.array_equal(before.qdd, start.qdd) and start.qd.any() and start.qdd.any()
    state = state_at(trajectory, 0.0)
    for got, expected in ((state.q, start.q), (state.qd, start.qd), (state.qdd, start.qdd)):
        assert np.array_equal(got, expected)
    rest = state_at(replace(trajectory, start=MotionState.at_rest(start.q)), -1e9)
    assert np.array_equal(rest.q, start.q) and rest.rests
    for t in (trajectory.duration, trajectory.duration + 10.0):
        state = state_at(trajectory, t)
        assert np.array_equal(state.q, trajectory.end)
        assert not state.qd.any() and not state.qdd.any()


def test_compiled_segments_are_the_segments():
    """To rounding; a trajectory that was changed is read anew."""
    trajectory = trajectory_of(83)
    for _ in range(2):
        for got, expected in zip(compiled_segments(trajectory), segments(trajectory)):
            assert got.shape == expected.shape and got.dtype == expected.dtype
            assert np.allclose(got, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
        trajectory.q[1] += 0.1


def test_states_at_agrees_with_state_at():
    """Before, within and after the motion."""
    trajectory = trajectory_of(82)
    times = np.array([-0.2, 0.0, 0.01, *trajectory.times[:2], trajectory.duration - 1e-6,
                      trajectory.duration, trajectory.duration + 1.0])
    for t, state in zip(times, states_at(trajectory, times)):
        expected = state_at(trajectory, t)
        assert np.allclose(state, [expected.q, expected.qd, expected.qdd], rtol=0.0, atol=1e-12)


def test_the_sampler_agrees_with_state_at():
    """The controller interpolates the points as planned."""
    trajectory = trajectory_of(81, n=2)
    start = trajectory.start
    sampler = Sampler([Point(t + 7.0, *each) for t, *each in zip(
        trajectory.times, trajectory.q, trajectory.qd, trajectory.qdd)],
        Point(7.0, start.q, start.qd, start.qdd), NEVER)
    for t in np.linspace(0.0, trajectory.duration + 0.5, 101):
        a, b = sampler.sample(7.0 + t), state_at(trajectory, t)
        assert np.allclose([a.q, a.qd, a.qdd], [b.q, b.qd, b.qdd], atol=1e-8)


@given(seed=st.integers(0, 1000), share=st.floats(-0.1, 1.1))
@settings(max_examples=60, deadline=None)
def test_the_rest_of_a_trajectory(seed, share):
    """From any time on it is the same motion; after the end there is nothing."""
    trajectory = trajectory_of(seed)
    t = share * trajectory.duration
    begins, lengths, c = segments_from(trajectory, t)
    assert len(begins) == len(lengths) == c.shape[1] and (len(begins) == 0) == (share >= 1.0)
    for k, (begin, length) in enumerate(zip(begins, lengths)):
        assert begin >= t or t < 0.0
        for part in (0.0, 0.4, 1.0 - 1e-9):
            state = state_at(trajectory, begin + part * length)
            assert np.allclose([*evaluate(c[:, k], part * length)],
                               [state.q, state.qd, state.qdd], atol=1e-5)
