# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The last look refuses everything that must not leave."""

from dataclasses import replace

import numpy as np
import pytest

from ik_node.base.errors import Reason, TrajectoryError
from ik_node.kinematics.kernels import compiled
from ik_node.motion.trajectory.interpolation import sample_segments
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.sampling import states_at
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.motion.trajectory.validate import control_points_inside, validate

NAMES = ('shoulder', 'elbow')
LIMITS = MotionLimits(np.array([-1.0, -2.0]), np.array([1.0, np.inf]), np.array([2.0, 3.0]),
                      np.array([8.0, 9.0]), np.array([100.0, 100.0]))


def rest_to_rest(end=(0.5, -0.5), start=(0.0, 0.0), duration=1.0):
    """Return one quintic from rest to rest."""
    zero = np.zeros((1, 2))
    return Trajectory(NAMES, MotionState.at_rest(np.array(start)), np.array([duration]),
                      np.array([end]), zero, zero.copy())


def two_points(q, qd, qdd=(0.0, 0.0)):
    """Return a motion over a point at 0.5 s with the given state, back to rest at 1 s."""
    return Trajectory(NAMES, MotionState.at_rest(np.zeros(2)), np.array([0.5, 1.0]),
                      np.array([q, [0.0, 0.0]]), np.array([qd, [0.0, 0.0]]),
                      np.array([qdd, [0.0, 0.0]]))


def refused(trajectory, *words, limits=LIMITS):
    """Check that a trajectory is refused with these words."""
    with pytest.raises(TrajectoryError) as caught:
        validate(trajectory, limits)
    assert caught.value.reason is Reason.TRAJECTORY_INVALID
    for word in words:
        assert word in str(caught.value)


def test_good_trajectories_pass():
    """Within all limits, continuous and at rest at the end."""
    validate(rest_to_rest(), LIMITS)
    validate(two_points([0.2, 0.3], [0.1, 0.0], [0.5, 0.0]), LIMITS)
    validate(rest_to_rest((1.0, -2.0), (1.0, -2.0)), LIMITS)  # exactly on the limits
    validate(rest_to_rest((0.0, 1000.0), (0.0, 1000.0)), LIMITS)  # no upper limit


@pytest.mark.parametrize('field', ['q', 'qd', 'qdd'])
@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize('index', [(0, 0), (1, 1)])
def test_numbers_that_are_not_finite(field, value, index):
    """Not a number, anywhere, is refused by field."""
    trajectory = two_points([0.2, 0.3], [0.1, 0.0])
    getattr(trajectory, field)[index] = value
    refused(trajectory, f'{field} is not finite')


@pytest.mark.parametrize('field', ['q', 'qd', 'qdd'])
def test_shapes_that_do_not_match(field):
    """Arrays of another shape are refused by field."""
    refused(replace(rest_to_rest(), **{field: np.zeros((1, 3))}), field, 'shape')
    refused(replace(rest_to_rest(), **{field: np.zeros((2, 2))}), field, 'shape')


def test_no_points():
    """A trajectory without points is refused."""
    empty = np.empty((0, 2))
    refused(Trajectory(NAMES, MotionState.at_rest(np.zeros(2)), np.empty(0), empty, empty, empty),
            'no points')


@pytest.mark.parametrize('times', [(0.5, 0.5), (1.0, 0.5), (0.0, 1.0), (-0.5, 1.0),
                                   (0.5, 0.5 + 1e-7), (np.nan, 1.0), (0.5, np.nan),
                                   (0.5, np.inf)])
def test_times_that_do_not_increase(times):
    """Times begin after 0, increase, and are finite."""
    refused(replace(two_points([0.0, 0.0], [0.0, 0.0]), times=np.array(times)),
            'times do not increase')


@pytest.mark.parametrize('field', ['qd', 'qdd'])
def test_a_moving_end(field):
    """The last point is at rest."""
    trajectory = rest_to_rest()
    getattr(trajectory, field)[-1, 1] = 1e-6
    refused(trajectory, 'does not end at rest')


def test_position_at_a_point():
    """A point beyond a position limit is refused with joint, value, bound and time."""
    refused(two_points([0.3, -2.001], [0.0, 0.0]), 'position', "'elbow'", '-2', 's is outside',
            limits=replace(LIMITS, velocity=np.full(2, 50.0), acceleration=np.full(2, 500.0)))


WIDE = replace(LIMITS, velocity=np.full(2, 50.0), acceleration=np.full(2, 500.0))


def test_position_between_points_only():
    """A swing over a limit between two points inside it is refused."""
    swing = two_points([0.95, 0.0], [2.0, 0.0])
    assert (np.abs(swing.q) < 1.0).all()
    refused(swing, 'position', "'shoulder'", '1]', limits=WIDE)
    validate(two_points([0.95, 0.0], [0.0, 0.0]), WIDE)


def test_rest_just_inside_a_limit():
    """Where the speed comes to zero at the end, rounding is no turn beyond the limit."""
    random = np.random.default_rng(1)
    for jerk, time in zip(random.uniform(5.0, 30.0, 200), random.uniform(0.05, 0.2, 200)):
        end = 1.0 - 1e-7
        begin = np.array([end - jerk * time**3 / 6.0, 0.0])
        speed, braking = np.array([[0.5 * jerk * time**2, 0.0], [-jerk * time, 0.0]])
        validate(Trajectory(NAMES, MotionState(begin, speed, braking), np.array([time]),
                            np.array([[end, 0.0]]), np.zeros((1, 2)), np.zeros((1, 2))), LIMITS)


def test_peaks_between_points_are_exact():
    """Extrema between two points are found to a nanometre, in position and in velocity."""
    swing = two_points([0.95, 0.0], [2.0, 0.0])
    fine = states_at(swing, np.linspace(0.0, 1.0, 200001))
    for name, row in (('upper', 0), ('velocity', 1)):
        peak = np.abs(fine[:, row, 0]).max()
        for room, taken in ((1e-8, True), (-1e-8, False)):
            limits = replace(WIDE, upper=np.full(2, 50.0))
            limits = replace(limits, **{name: np.array([peak + room, 50.0])})
            if taken:
                validate(swing, limits)
            else:
                refused(swing, "'shoulder'", limits=limits)


def test_velocity_between_points_only():
    """Too fast between two points at rest is refused (peak of a quintic: 15/8 of the mean)."""
    refused(rest_to_rest((0.9, 0.0), duration=0.8), 'velocity', "'shoulder'", '[-2, 2]',
            limits=replace(LIMITS, acceleration=np.full(2, 100.0)))
    validate(rest_to_rest((0.9, 0.0), duration=0.9),
             replace(LIMITS, acceleration=np.full(2, 100.0)))
    refused(rest_to_rest((0.0, -1.7), duration=1.0), 'velocity', "'elbow'",
            limits=replace(LIMITS, acceleration=np.full(2, 100.0)))


def test_acceleration_between_points_only():
    """Too hard between two points without acceleration is refused (peak 5.77 D / T^2)."""
    assert 10.0 / np.sqrt(3.0) * 0.9 / 0.78**2 > 8.0 > 10.0 / np.sqrt(3.0) * 0.9 / 0.82**2
    refused(rest_to_rest((0.9, 0.0), duration=0.78), 'acceleration', "'shoulder'", '8]',
            limits=replace(LIMITS, velocity=np.full(2, 50.0)))
    validate(rest_to_rest((0.9, 0.0), duration=0.82), replace(LIMITS, velocity=np.full(2, 50.0)))


@pytest.mark.parametrize('field, bound, quantity', [
    ('qd', 'velocity', 'velocity'), ('qdd', 'acceleration', 'acceleration')])
@pytest.mark.parametrize('sign', [-1.0, 1.0])
def test_velocity_and_acceleration_at_points(field, bound, quantity, sign):
    """A point over a limit is refused in both directions."""
    trajectory = two_points([0.0, 0.0], [0.0, 0.0])
    getattr(trajectory, field)[0, 1] = sign * 1.001 * getattr(LIMITS, bound)[1]
    wide = replace(LIMITS, lower=np.full(2, -9.0), **{
        other: np.full(2, 1e4) for other in ('velocity', 'acceleration') if other != bound})
    refused(trajectory, quantity, "'elbow'", limits=wide)


def test_a_start_beyond_a_limit_may_come_back():
    """A joint pushed past its limit may move inward but no farther out."""
    validate(rest_to_rest((0.9, 0.0), (1.05, 0.0)), LIMITS)
    refused(rest_to_rest((1.06, 0.0), (1.05, 0.0)), 'position', "'shoulder'")
    refused(rest_to_rest((-1.01, 0.0), (1.0, 0.0), 3.0), 'position', "'shoulder'")


def test_a_start_that_is_too_fast_may_slow_down():
    """Limits lowered in motion apply from the speed of the start on."""
    slow = replace(LIMITS, velocity=np.array([0.5, 0.5]), acceleration=np.array([3.0, 3.0]))
    start = MotionState(np.zeros(2), np.array([1.0, 0.0]), np.zeros(2))
    zero = np.zeros((1, 2))
    validate(Trajectory(NAMES, start, np.array([1.0]), np.array([[0.5, 0.0]]), zero, zero), slow)
    refused(Trajectory(NAMES, start, np.array([1.0]), np.array([[0.95, 0.0]]), zero, zero),
            'velocity', limits=replace(slow, acceleration=np.full(2, 50.0)))


@compiled
def inside_at_once(times, states, i, low, high):
    return control_points_inside(states, times, 0, 0, i, low, high)


@pytest.mark.parametrize('i', range(3))
def test_control_points_inside_mean_the_curve_is_inside(i):
    """Against the sampled quintic of random ends, which swings more than those of motions."""
    rng = np.random.default_rng(i)
    decided = 0
    for _ in range(3000):
        length = rng.uniform(0.01, 2.0)
        states = rng.normal(size=(3, 2, 1)) * np.array([1.0, 1.0 / length, 1.0 / length**2])[
            :, None, None]
        trajectory = Trajectory(('joint',), MotionState(*states[:, 0]), np.array([length]),
                                *states[:, 1:])
        curve = sample_segments(trajectory, 200)[1 + i]
        low, high = curve.min(), curve.max()
        room = rng.uniform(-0.2, 1.0) * (high - low)
        found = inside_at_once(np.array([0.0, length]), states, i, low - room, high + room)
        if room < -1e-6 * (high - low):
            assert not found
        decided += found
    assert decided > 50
