# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Trajectories that were planned before, joined to where the arm is."""

from dataclasses import replace

from motions import at_rest, limits_of
import numpy as np
import pytest
import robots

from ik_node.base.errors import TrajectoryError
from ik_node.motion.change.active_trajectory import joined_to, require_tip_speed
from ik_node.motion.direct.point_to_point import plan_point_to_point, StartState
from ik_node.motion.trajectory.interpolation import segments
from ik_node.motion.trajectory.limits import TipLimits
from ik_node.motion.trajectory.trajectory import MotionState
from ik_node.motion.trajectory.validate import validate

CHAIN = robots.chain('six_axis_arm')
LIMITS = limits_of(CHAIN, acceleration=5.0, jerk=50.0)
HERE, THERE = np.array([0.0, 0.3, -0.4, 0.0, 1.0, 0.0]), np.array([0.5, 0.1, 0.3, 0.4, 0.7, -0.6])
TOLERANCE = 0.02


@pytest.fixture(scope='module')
def planned():
    """Return a motion that was planned at half the limits."""
    return plan_point_to_point(CHAIN.joint_names, at_rest(HERE),
                               THERE, LIMITS.scaled(0.5, 0.5), 0.02, CHAIN)


def test_it_starts_where_the_arm_is_and_ends_where_it_ended(planned):
    """Smoothly: the controller interpolates what was checked, also between the points."""
    q = HERE + np.array([0.01, -0.015, 0.0, 0.004, 0.0, -0.019])
    joined = joined_to(planned, at_rest(q), TOLERANCE)
    validate(joined, LIMITS)
    assert np.array_equal(joined.start.q, q) and joined.start.rests
    assert np.array_equal(joined.end, planned.end) and not joined.qd[-1].any()
    # Between the points the difference is the same quintic as at them.
    u = np.linspace(0.0, 1.0, 7)[:, None]
    fade = 1.0 - u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
    for share, rest in zip(u[:, 0], fade[:, 0]):
        t = share * planned.duration
        before, after = (_at(trajectory, t) for trajectory in (planned, joined))
        assert after - before == pytest.approx(rest * (q - HERE), abs=1e-9)
    unchanged = joined_to(planned, at_rest(HERE), TOLERANCE)
    assert np.array_equal(unchanged.q, planned.q)


def test_it_ends_at_rest_whatever_its_duration(planned):
    """Exactly, though the quintic of the difference is rounded."""
    for factor in np.random.default_rng(0).uniform(1.0, 3.0, 20):
        slower = replace(planned, times=factor * planned.times, qd=planned.qd / factor,
                         qdd=planned.qdd / factor**2)
        joined = joined_to(slower, at_rest(HERE + 0.01), TOLERANCE)
        validate(joined, LIMITS)
        assert np.array_equal(joined.end, planned.end)


def _at(trajectory, t):
    """Return the position at a time (s), as the controller interpolates."""
    begins, _, coefficients = segments(trajectory)
    k = int(np.searchsorted(begins, t, side='right')) - 1
    return np.polynomial.polynomial.polyval(t - begins[k], coefficients[:, k])


def test_it_is_refused_from_elsewhere_and_in_motion(planned):
    """With the joint, and both positions."""
    with pytest.raises(TrajectoryError, match="starts with 'joint_2' at 0.3, but the arm has it "
                                              'at 0.33; plan again'):
        joined_to(planned, at_rest(HERE + [0.0, 0.03, 0.0, 0.0, 0.0, 0.0]), TOLERANCE)
    moving = replace(planned, start=MotionState(HERE, np.full(6, 0.1), np.zeros(6)))
    with pytest.raises(TrajectoryError, match='starts in motion'):
        joined_to(moving, at_rest(HERE), TOLERANCE)
    # The splice point alone may be at rest: the motion before would be cut off.
    ending = StartState.from_motion(planned, planned.duration - 0.05, 0.2)
    assert ending.splice.rests and not ending.initial.rests
    with pytest.raises(TrajectoryError, match='the arm moves'):
        joined_to(replace(planned, start=ending.splice), ending, TOLERANCE)


@pytest.mark.parametrize('tip', [{'speed': 0.1}, {'angular_speed': 0.2}])
def test_the_tip_keeps_its_speeds(planned, tip):
    """A motion that was planned without such a limit is refused."""
    require_tip_speed(CHAIN, TipLimits(), planned)
    with pytest.raises(TrajectoryError, match='times the speed'):
        require_tip_speed(CHAIN, TipLimits(**tip), planned)
    slow = replace(LIMITS.scaled(0.5, 0.5), tip=TipLimits(**tip))
    require_tip_speed(CHAIN, slow.tip, plan_point_to_point(
        CHAIN.joint_names, at_rest(HERE), THERE, slow, 0.02, CHAIN))
