# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Ramps that stay on the path of the motion that they end."""

from dataclasses import replace

from geometry_oracle import model_of
from motion_checker import Bounds, faults
from motions import at_rest, limits_of
from nightly import samples
import numpy as np
import pytest
import robots

from ik_node.collision.distances.certificate import certify
from ik_node.collision.scene.scene import Scene
from ik_node.motion.change import path_pace
from ik_node.motion.change.path_pace import plan_free_stop, plan_path_stop, StopWishes
from ik_node.motion.direct.point_to_point import plan_point_to_point, plan_stop, StartState
from ik_node.motion.trajectory.interpolation import segments
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.sampling import states_at

MOTIONS = samples(usual=15, nightly=200)
PERIOD = 0.02
JERK_SHARE = 1.5  # of the limit, which quintics have where the jerk switches between points


def motion(name, rng):
    """Return a chain, limits, and a motion from rest between two random postures."""
    chain = robots.chain(name)
    limits = limits_of(chain, 1.2)
    q, q_goal = robots.random_postures(chain, 2, int(rng.integers(1 << 30)))
    return limits, plan_point_to_point(chain.joint_names, at_rest(q), q_goal, limits, 0.1)


def positions(trajectory, begin=0.0):
    """Return dense positions (m, n) from a time (s) on."""
    return states_at(trajectory, np.linspace(begin, trajectory.duration, 3000))[:, 0]


@pytest.mark.parametrize('name', ['six_axis_arm', 'ur5', 'panda'])
def test_it_stays_on_the_path_within_the_limits(name):
    """From any moment, on to rest before the motion would have ended, or with it."""
    rng = np.random.default_rng(8)
    sooner = 0
    for _ in range(MOTIONS):
        limits, active = motion(name, rng)
        elapsed = rng.uniform(0.02, 0.9) * active.duration
        left = active.duration - elapsed
        start = StartState.from_motion(active, elapsed, min(0.05, 0.3 * left))
        ramp, place = plan_path_stop(active, start, limits, PERIOD)
        assert np.abs(states_at(active, np.array([place]))[0, 0] - ramp.end).max() < 1e-9
        assert ramp.duration < left + 1e-6
        sooner += ramp.duration < left - 0.1
        assert not faults(ramp, Bounds(limits.lower, limits.upper, limits.velocity,
                                       limits.acceleration, JERK_SHARE * limits.jerk))
        on_path, found = positions(active, elapsed), positions(ramp)
        off = np.array([np.abs(on_path - q).max(axis=1).min() for q in found[::20]])
        assert off.max() < 2e-3
    assert sooner > MOTIONS / 8


def test_in_the_midst_of_a_long_motion_it_is_nearly_as_fast_as_any():
    """While nothing accelerates, the ramp begins at once; the path is left by the other one."""
    limits = MotionLimits(*(np.full(2, value) for value in (-90.0, 90.0, 1.0, 2.0, 20.0)))
    active = plan_point_to_point(('a', 'b'), at_rest([0.0, 0.0]), np.array([20.0, 5.0]), limits,
                                 0.1)
    start = StartState.from_motion(active, 10.0, 0.05)
    ramp, fastest = (plan_path_stop(active, start, limits, PERIOD).trajectory,
                     plan_stop(('a', 'b'), start, limits, PERIOD))
    assert fastest.duration < ramp.duration < 2.0 * fastest.duration
    path = positions(active)

    def off(trajectory):
        """Return how far the second joint is from where it was to be with the first."""
        q = positions(trajectory)
        return np.abs(np.interp(q[:, 0], *path.T) - q[:, 1]).max()

    assert off(ramp) < 1e-5 < 1e-3 < off(fastest)


def test_a_stop_is_not_lost_where_both_ramps_collide(monkeypatch):
    """Or where the one on the path breaks a limit: the fastest is sent."""
    limits, active = motion('six_axis_arm', np.random.default_rng(3))
    chain, model = robots.chain('six_axis_arm'), model_of('six_axis_arm', margin=0.005)
    start = StartState.from_motion(active, 0.4 * active.duration, 0.05)
    fastest = plan_stop(chain.joint_names, start, limits, PERIOD)
    wide = model_of('six_axis_arm', margin=0.5)  # everything is too near
    assert np.array_equal(plan_free_stop(wide, chain.joint_names, active, start, limits,
                                         PERIOD).q, fastest.q)
    monkeypatch.setattr(path_pace, 'certify', lambda *_: 'a contact')
    broken = replace(active, qdd=active.qdd + 100.0)
    assert np.array_equal(plan_free_stop(model, chain.joint_names, broken, start, limits,
                                         PERIOD).q, fastest.q)


def test_a_stop_that_meets_no_other_arm_comes_first():
    """The fastest does not, or the one on the path; if each meets one, the fastest."""
    limits, active = motion('six_axis_arm', np.random.default_rng(3))
    names = robots.chain('six_axis_arm').joint_names
    start = StartState.from_motion(active, 0.4 * active.duration, 0.05)
    fastest = plan_stop(names, start, limits, PERIOD)
    for meets, taken in ((lambda ramp: np.array_equal(ramp.q, fastest.q), 'path'),
                         (lambda _: True, 'fastest'), (lambda _: False, 'fastest')):
        stop = plan_free_stop(None, names, active, start, limits, PERIOD, StopWishes(
            apart=lambda ramp, meets=meets: not meets(ramp)))
        assert np.array_equal(stop.q, fastest.q) == (taken == 'fastest')


@pytest.mark.nightly
def test_a_stop_does_not_collide():
    """
    Where the fastest ramp would leave a free path for an obstacle, it stays on the path.

    But for a path that touches the margin.
    """
    rng, found, tight = np.random.default_rng(1), 0, 0
    chain = robots.chain('six_axis_arm')
    while found < samples(usual=2, nightly=20):
        scene = Scene(chain.base_link, robots.tree('six_axis_arm').links)
        for k in range(6):
            T = np.eye(4)
            T[:3, 3] = rng.uniform(-0.8, 0.8, 3) + [0.0, 0.0, 0.6]
            scene.add_box(f'box_{k}', tuple(rng.uniform(0.05, 0.25, 3)), T)
        model = model_of('six_axis_arm', margin=0.005).with_objects(scene.bodies)
        for _ in range(20):
            limits, active = motion('six_axis_arm', rng)
            if certify(model, *segments(active)) is not None:
                continue
            for elapsed in rng.uniform(0.05, 0.9, 5) * active.duration:
                start = StartState.from_motion(active, elapsed, 0.05)
                fastest, chosen = (plan_free_stop(each, chain.joint_names, active, start, limits,
                                                  PERIOD) for each in (None, model))
                collides = certify(model, *segments(fastest)) is not None
                assert collides or np.array_equal(fastest.q, chosen.q)
                if certify(model, *segments(chosen)) is not None:
                    # Near the margin, where the path between its points is not proved free.
                    on_path = plan_path_stop(active, start, limits, PERIOD).trajectory
                    assert certify(model, *segments(on_path)) is not None
                    tight += 1
                found += collides
    assert tight <= 0.2 * found
