# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A motion that was paused goes on along its path."""

from dataclasses import replace

from answers import tip_jacobian
from motion_checker import Bounds, faults
from motions import at_rest, limits_of
from nightly import samples, usual_first
import numpy as np
import pytest
import robots

from ik_node.base.errors import TrajectoryError
from ik_node.motion.change.path_pace import plan_path_resume, plan_path_stop
from ik_node.motion.direct.point_to_point import plan_point_to_point, StartState
from ik_node.motion.requests import MIN_REST_OF_MOTION_S
from ik_node.motion.trajectory.limits import TipLimits
from ik_node.motion.trajectory.sampling import states_at

MOTIONS = samples(usual=15, nightly=200)
PERIOD = 0.02


def motion(name, rng):
    """Return a chain, and a motion from rest between two random postures."""
    chain = robots.chain(name)
    q, q_goal = robots.random_postures(chain, 2, int(rng.integers(1 << 30)))
    return chain, plan_point_to_point(chain.joint_names, at_rest(q), q_goal,
                                      limits_of(chain, 1.2), 0.1)


def dense(trajectory):
    """Return positions (m, n) all along a motion."""
    return states_at(trajectory, np.linspace(0.0, trajectory.duration, 4000))[:, 0]


@pytest.mark.parametrize('name', usual_first(1, ['panda', 'six_axis_arm']))
def test_it_goes_on_along_the_path_within_the_limits(name):
    """After a ramp to rest at any moment; twice, as a motion may be paused again."""
    rng = np.random.default_rng(5)
    for _ in range(MOTIONS):
        chain, active = motion(name, rng)
        path, end, limits = dense(active), active.end, limits_of(chain, 1.2)
        # Between the points of the motion before a hundredth more is seen.
        bounds = Bounds(limits.lower, limits.upper, limits.velocity, limits.acceleration,
                        1.01 * limits.jerk)
        for _ in range(2):
            elapsed = rng.uniform(0.05, 0.8) * active.duration
            start = StartState.from_motion(active, elapsed, 0.05)
            ramp, place = plan_path_stop(active, start, limits, PERIOD, smooth=True)
            found = [fault for fault in faults(ramp, bounds) if 'jerk' in fault]
            assert not found
            if place > active.duration - MIN_REST_OF_MOTION_S:
                continue
            rest = plan_path_resume(chain, active, place, at_rest(ramp.end), limits, PERIOD)
            assert not faults(rest, bounds)
            assert np.array_equal(rest.end, end)
            left = active.duration - place
            assert left - 1e-6 < rest.duration < left + 3.0
            off = np.array([np.abs(path - q).max(axis=1).min() for q in dense(rest)[::40]])
            assert off.max() < 2e-3
            active = rest


def test_under_lower_limits_it_is_slower():
    """With half the velocity and acceleration it takes about twice as long."""
    rng = np.random.default_rng(6)
    chain, active = motion('six_axis_arm', rng)
    place = 0.3 * active.duration
    here = states_at(active, np.array([place]))[0, 0]
    full, half = (plan_path_resume(chain, active, place, at_rest(here), limits, PERIOD)
                  for limits in (limits_of(chain, 1.2), limits_of(chain, 0.6, 1.0)))
    bounds = limits_of(chain, 0.6, 1.0)
    assert not faults(half, Bounds(bounds.lower, bounds.upper, bounds.velocity,
                                   bounds.acceleration, bounds.jerk))
    assert 1.5 * full.duration < half.duration < 3.5 * full.duration


def test_the_tip_keeps_a_speed_that_was_lowered_meanwhile():
    """By Pinocchio's Jacobian, all along the rest of the motion."""
    chain, active = motion('six_axis_arm', np.random.default_rng(9))
    place = 0.3 * active.duration
    here = states_at(active, np.array([place]))[0, 0]
    limits = replace(limits_of(chain, 1.2), tip=TipLimits(speed=0.1))
    rest = plan_path_resume(chain, active, place, at_rest(here), limits, PERIOD)
    states = states_at(rest, np.linspace(0.0, rest.duration, 300))
    speeds = [np.linalg.norm((tip_jacobian('six_axis_arm', q) @ qd)[:3]) for q, qd, _ in states]
    assert 0.08 < max(speeds) < 0.1 + 1e-3


def test_from_elsewhere_there_is_none():
    """An arm that was moved, or a motion that is over."""
    chain, active = motion('six_axis_arm', np.random.default_rng(7))
    here = states_at(active, np.array([1.0]))[0, 0]
    with pytest.raises(TrajectoryError, match='no longer where the motion was paused'):
        plan_path_resume(chain, active, 1.0, at_rest(here + 0.01), limits_of(chain, 1.2), PERIOD)
    with pytest.raises(TrajectoryError, match='at its end'):
        plan_path_resume(chain, active, active.duration, at_rest(active.end),
                         limits_of(chain, 1.2), PERIOD)
    nothing = limits_of(chain, 1e-4, acceleration=1e-4)
    with pytest.raises(TrajectoryError, match='cannot keep the limits'):
        plan_path_resume(chain, active, 1.0, at_rest(here), nothing, PERIOD)
