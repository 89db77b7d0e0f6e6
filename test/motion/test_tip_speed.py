# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The limits of the tip's speed, by Pinocchio and the independent checker."""

from dataclasses import replace
from pathlib import Path

from hypothesis import given, HealthCheck, settings, strategies as st
from motion_checker import Bounds, dense, faults, path_of
from motions import at_rest, limits_of
from nightly import samples
import numpy as np
import pinocchio as pin
import pytest
import ruckig

from ik_node.base.errors import ParameterError
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import read_urdf
from ik_node.motion.direct import ruckig_motion
from ik_node.motion.direct.point_to_point import plan_point_to_point, plan_stop, StartState
from ik_node.motion.trajectory.interpolation import segments, state_at
from ik_node.motion.trajectory.limits import MotionLimits, TipLimits
from ik_node.motion.trajectory.sampling import MAX_TIP_POINTS, tip_path, tip_rates
from ik_node.motion.trajectory.tip_speed import tip_peaks
from ik_node.motion.trajectory.trajectory import MotionState

ARM = Path(__file__).parents[2] / 'urdf/six_axis_arm.urdf'
CHAIN = make_chain(read_urdf(ARM))
MODEL = pin.buildModelFromUrdf(str(ARM))
DATA = MODEL.createData()
TIP = MODEL.getFrameId('tool0')
PERIOD = 0.05
LIMITS = limits_of(CHAIN, acceleration=6.0, jerk=60.0)
BOUNDS = Bounds(LIMITS.lower, LIMITS.upper, LIMITS.velocity, LIMITS.acceleration, None)


def rates(Q, Qd):
    """Return speed and turn of the tip by Pinocchio, (k, 2)."""
    found = []
    for q, qd in zip(Q, Qd):
        twist = pin.computeFrameJacobian(MODEL, DATA, q, TIP, pin.LOCAL_WORLD_ALIGNED) @ qd
        found.append([np.linalg.norm(twist[:3]), np.linalg.norm(twist[3:])])
    return np.array(found)


def looked_at(trajectory):
    """Return times, speed and turn between the points too."""
    times, values = dense(path_of(trajectory), 9)
    found = rates(values[0].reshape(-1, 6), values[1].reshape(-1, 6))
    return times.ravel(), found[:, 0], found[:, 1]


def inside(rng, share=0.9):
    middle, half = 0.5 * (CHAIN.upper + CHAIN.lower), 0.5 * share * (CHAIN.upper - CHAIN.lower)
    return rng.uniform(middle - half, middle + half)


@pytest.fixture(params=['ruckig', 'double_s'])
def planner(request, monkeypatch):
    """Plan by ruckig, and as where it is not installed; the same for all examples."""
    if request.param == 'double_s':
        monkeypatch.setattr(ruckig_motion, 'RUCKIG_INSTALLED', False)


def test_rates_are_those_of_the_jacobian():
    """Many postures at once, against Pinocchio."""
    rng = np.random.default_rng(1)
    Q, Qd = np.array([inside(rng) for _ in range(50)]), rng.normal(size=(50, 6))
    assert np.column_stack(tip_rates(CHAIN, Q, Qd)) == pytest.approx(rates(Q, Qd), abs=1e-12)


def test_peaks_are_those_between_the_points():
    """Of motions with long and with short steps, against Pinocchio at 2000 instants."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        limits = replace(LIMITS, jerk=LIMITS.jerk * 10.0**rng.uniform(-1.0, 1.0))
        trajectory = plan_point_to_point(CHAIN.joint_names, at_rest(inside(rng)), inside(rng),
                                         limits, 0.2)
        _, lengths, c = segments(trajectory)
        _, values = dense(path_of(trajectory), max(9, 2000 // len(lengths)))
        found = rates(values[0].reshape(-1, 6), values[1].reshape(-1, 6)).max(axis=0)
        assert tip_peaks(CHAIN, lengths, c) == pytest.approx(found, rel=2e-4)


@settings(max_examples=samples(usual=25, nightly=60), deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6), st.floats(0.02, 2.0), st.floats(0.05, 5.0))
def test_from_rest_the_tip_keeps_its_limits(planner, seed, speed, turn):
    """Between the points too; and hardly slower than the same motion stretched as a whole."""
    rng = np.random.default_rng(seed)
    start = MotionState.at_rest(inside(rng))
    goal = start.q + rng.uniform(0.01, 1.0) * (inside(rng) - start.q)
    at = StartState.from_state(start)
    free = plan_point_to_point(CHAIN.joint_names, at, goal, LIMITS, PERIOD)
    held = plan_point_to_point(CHAIN.joint_names, at, goal, tip_limited(speed, turn), PERIOD,
                               CHAIN)
    assert not faults(held, BOUNDS, goal=goal)
    _, v, w = looked_at(held)
    assert v.max() <= speed and w.max() <= turn
    _, v_free, w_free = looked_at(free)
    stretch = max(v_free.max() / speed, w_free.max() / turn)
    # Joints that cruise for longer do so where the tip is faster, too.
    assert held.duration <= 1.2 * max(1.0, stretch) * free.duration
    if stretch < 0.99:
        assert np.array_equal(held.q, free.q)
    else:
        assert max(v.max() / speed, w.max() / turn) > 0.95


@settings(max_examples=samples(usual=25, nightly=60), deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6), st.floats(0.0, 1.0), st.floats(0.02, 1.0))
def test_in_motion_the_tip_is_slowed_without_a_step(planner, seed, phase, speed):
    """From any phase of a faster motion: under the limit as soon as the arm can be at rest."""
    rng = np.random.default_rng(seed)
    start = MotionState.at_rest(inside(rng, 0.5))
    first = plan_point_to_point(CHAIN.joint_names, StartState.from_state(start),
                                inside(rng, 0.5), LIMITS, PERIOD)
    start_state = StartState.from_motion(first, phase * first.duration, 0.1, 0.01)
    goal = inside(rng, 0.5)
    held = plan_point_to_point(CHAIN.joint_names, start_state, goal, tip_limited(speed), PERIOD,
                               CHAIN)
    assert not faults(held, BOUNDS, goal=goal)
    stop = plan_stop(CHAIN.joint_names, start_state, LIMITS, PERIOD)
    times, v, _ = looked_at(held)
    assert v[times > stop.duration + 1e-6].max(initial=0.0) <= speed
    # Before that no faster than on the way to rest, but for how the lead is interpolated.
    assert v.max() <= 1.01 * max(speed, looked_at(stop)[1].max())


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.floats(1.0, 2000.0), st.booleans())
def test_within_one_percent_of_the_optimum(seed, steepness, moving):
    """Of ruckig's own, for jerk limits from soft to hard, from rest and in motion."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    velocity = rng.uniform(0.2, 3.0, n)
    acceleration = velocity * rng.uniform(1.0, 8.0, n)
    limits = MotionLimits(np.full(n, -99.0), np.full(n, 99.0), velocity, acceleration,
                          steepness * acceleration)
    qd = rng.uniform(-0.9, 0.9, n) * velocity * moving
    start = MotionState(np.zeros(n), qd, np.zeros(n))
    goal = rng.uniform(-3.0, 3.0, n)
    names = tuple('abcdefg'[:n])
    planned = plan_point_to_point(names, StartState.from_state(start), goal, limits, PERIOD)
    request = ruckig.InputParameter(n)
    request.current_position, request.target_position = [0.0] * n, list(goal)
    request.current_velocity = list(qd)
    request.max_velocity, request.max_acceleration = list(velocity), list(acceleration)
    request.max_jerk = list(limits.jerk)
    best = ruckig.Trajectory(n)
    ruckig.Ruckig(n).calculate(request, best)
    assert best.duration - 1e-6 <= planned.duration <= 1.01 * best.duration + 2e-3
    assert not faults(planned, Bounds(limits.lower, limits.upper, velocity, acceleration, None),
                      goal=goal)


def tip_limited(*speeds):
    """Return the limits with speeds of the tip (m/s, rad/s)."""
    return replace(LIMITS, tip=TipLimits(*speeds))


@pytest.mark.parametrize('values', [
    dict(speed=0.0), dict(angular_speed=-1.0), dict(acceleration=0.0),
    dict(angular_acceleration=-1.0), dict(speed=np.nan)])
def test_limits_must_be_positive(values):
    """A limit that is not positive is refused."""
    with pytest.raises(ParameterError, match='must be positive'):
        TipLimits(**values)


@pytest.mark.parametrize('period, far', [(0.002, 0.02), (0.05, 1.0), (1.0, -1.2)])
def test_the_tip_path_is_evenly_spaced_in_time(period, far):
    """From the start to the end, by Pinocchio; with no more points than allowed or needed."""
    start = np.array([0.1, 0.3, -0.4, 0.2, 1.0, 0.0])
    trajectory = plan_point_to_point(
        CHAIN.joint_names, at_rest(start), start + far,
        LIMITS, period)
    points = tip_path(CHAIN, trajectory)
    assert 2 <= len(points) <= min(MAX_TIP_POINTS, 2 + trajectory.duration / 0.01)
    for point, t in zip(points, np.linspace(0.0, trajectory.duration, len(points))):
        pin.framesForwardKinematics(MODEL, DATA, state_at(trajectory, t).q)
        assert np.allclose(point, DATA.oMf[TIP].translation, atol=1e-9)
