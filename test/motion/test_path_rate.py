# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A motion under way becomes slower or faster on its path."""

from dataclasses import replace

from answers import tip_jacobian
from motion_checker import Bounds, faults
from motions import at_rest, limits_of
from nightly import samples
import numpy as np
import pytest
import robots

from ik_node.base.errors import TrajectoryError
from ik_node.motion.change.path_pace import plan_path_rate
from ik_node.motion.direct.point_to_point import plan_point_to_point, StartState
from ik_node.motion.trajectory.limits import TipLimits
from ik_node.motion.trajectory.sampling import states_at

MOTIONS = samples(usual=15, nightly=200)
PERIOD = 0.02
LOOK_AHEAD_S = 0.05


def motion(name, rng):
    """Return a chain, and a motion from rest between two random postures."""
    chain = robots.chain(name)
    q, q_goal = robots.random_postures(chain, 2, int(rng.integers(1 << 30)))
    return chain, plan_point_to_point(
        chain.joint_names, at_rest(q), q_goal,
        limits_of(chain, velocity=1.2).scaled(0.5), 0.1)


def dense(trajectory):
    """Return states (m, 3, n) all along a motion."""
    return states_at(trajectory, np.linspace(0.0, trajectory.duration, 4000))


def sound(trajectory, limits):
    """Return whether a checker that shares no code finds nothing, in the jerk as well."""
    # Between the points of the motion before a hundredth more is seen.
    return not faults(trajectory, Bounds(limits.lower, limits.upper, limits.velocity,
                                         limits.acceleration, 1.02 * limits.jerk))


@pytest.mark.parametrize('name', ['six_axis_arm', 'panda'])
def test_slower_and_as_fast_again(name):
    """On the path, within the limits, to the same end; as long as the ratios say."""
    rng, regained = np.random.default_rng(5), 0
    for _ in range(MOTIONS):
        chain, active = motion(name, rng)
        limits, path = limits_of(chain, velocity=1.2), dense(active)[:, 0]
        start = StartState.from_motion(active, 0.2 * active.duration, LOOK_AHEAD_S)
        slow, ratio = plan_path_rate(chain, active, start, 0.4, limits, PERIOD)
        assert ratio == 0.4 and sound(slow, limits)
        left = active.duration - start.elapsed
        assert left < slow.duration < left / 0.4
        rest = dense(slow)
        half = rest[len(rest) // 2:]
        assert np.array_equal(slow.end, active.end)
        assert np.abs(half[:, 1]).max() < 0.42 * np.abs(dense(active)[:, 1]).max()
        off = [np.abs(path - q).max(axis=1).min() for q in rest[::80, 0]]
        assert max(off) < 2e-3
        start = StartState.from_motion(slow, 0.3 * slow.duration, LOOK_AHEAD_S)
        try:
            fast, ratio = plan_path_rate(chain, slow, start, 2.5, limits, PERIOD)
        except TrajectoryError:  # its acceleration is that of the motion before, or it is over
            continue
        regained += 1
        assert sound(fast, limits) and 1.0 < ratio <= 2.5
        assert fast.duration < 0.95 * (slow.duration - start.elapsed)
        assert max(np.abs(path - q).max(axis=1).min() for q in dense(fast)[::80, 0]) < 2e-3
    assert regained > 0.6 * MOTIONS


def test_no_faster_than_the_limits():
    """A motion that takes all of the acceleration cannot be faster on its path."""
    chain, active = motion('six_axis_arm', np.random.default_rng(6))
    start = StartState.from_motion(active, 0.2 * active.duration, LOOK_AHEAD_S)
    with pytest.raises(TrajectoryError, match='cannot be changed within the limits'):
        plan_path_rate(chain, active, start, 2.0, limits_of(chain, velocity=1.2), PERIOD)


@pytest.mark.parametrize('name', ['six_axis_arm', 'panda'])
def test_motions_at_the_limits_become_slower(name):
    """Where a joint is at its largest jerk there is no change, but soon after there is."""
    rng, changed = np.random.default_rng(8), 0
    for _ in range(MOTIONS):
        chain, active = motion(name, rng)
        limits = limits_of(chain, velocity=1.2)
        fastest = plan_point_to_point(
            chain.joint_names, at_rest(active.start.q),
            active.end, limits, 0.1)
        start = StartState.from_motion(fastest, rng.uniform(0.05, 0.6) * fastest.duration,
                                       LOOK_AHEAD_S)
        try:
            slow, ratio = plan_path_rate(chain, fastest, start, 0.5, limits, PERIOD)
        except TrajectoryError as error:
            assert any(word in str(error) for word in ('jerk', 'acceleration', 'over before'))
            continue
        changed += 1
        assert ratio < 0.7 and sound(slow, limits)
    assert changed >= 0.9 * MOTIONS


@pytest.mark.parametrize('ratio', [2.4, 2.6, 8.0])
def test_as_fast_as_it_can_be(ratio):
    """More than the limits allow is asked for: it becomes nearly as fast as they do."""
    chain = robots.chain('six_axis_arm')
    limits = limits_of(chain, acceleration=15.0, jerk=300.0)
    q, q_goal = robots.random_postures(chain, 2, 3)
    active = plan_point_to_point(chain.joint_names, at_rest(q), q_goal, limits.slowed(0.4), 0.1)
    start = StartState.from_motion(active, 0.15 * active.duration, LOOK_AHEAD_S)
    fast, reached = plan_path_rate(chain, active, start, ratio, limits, PERIOD)
    assert 1.5 < reached <= ratio and sound(fast, limits)
    assert fast.duration < 0.8 * (active.duration - start.elapsed)


def test_the_tip_keeps_its_speed():
    """By Pinocchio's Jacobian: as fast as the tip may be, not as fast as is wanted."""
    chain, active = motion('six_axis_arm', np.random.default_rng(9))
    start = StartState.from_motion(active, 0.1 * active.duration, LOOK_AHEAD_S)
    slow, _ = plan_path_rate(chain, active, start, 0.2, limits_of(chain, velocity=1.2), PERIOD)

    def fastest(trajectory):
        return max(np.linalg.norm((tip_jacobian('six_axis_arm', q) @ qd)[:3])
                   for q, qd, _ in dense(trajectory)[::20])

    start = StartState.from_motion(slow, 0.4 * slow.duration, LOOK_AHEAD_S)
    rest = states_at(slow, np.linspace(start.elapsed, slow.duration, 200))
    speed = 1.5 * max(np.linalg.norm((tip_jacobian('six_axis_arm', q) @ qd)[:3])
                      for q, qd, _ in rest)
    limits = replace(limits_of(chain, velocity=1.2), tip=TipLimits(speed=speed))
    fast, ratio = plan_path_rate(chain, slow, start, 3.0, limits, PERIOD)
    assert 1.1 < ratio < 1.6 and fastest(fast) < speed * (1.0 + 1e-3)


def test_when_there_is_nothing_to_change():
    """A motion at its end, one that is not followed, and a change that is too small."""
    chain, active = motion('six_axis_arm', np.random.default_rng(7))
    limits = limits_of(chain, velocity=1.2)
    late = StartState.from_motion(active, active.duration - 0.1, LOOK_AHEAD_S)
    with pytest.raises(TrajectoryError, match='over before'):
        plan_path_rate(chain, active, late, 0.5, limits, PERIOD)
    rest = at_rest(active.end)
    with pytest.raises(TrajectoryError, match='not known'):
        plan_path_rate(chain, active, rest, 0.5, limits, PERIOD)
