# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Motions through waypoints of the joints, judged by the checker of motions."""

from dataclasses import replace

from geometry_oracle import model_of
from hypothesis import assume, given, settings, strategies as st
from motion_checker import Bounds, faults, path_of, states_at
from motions import at_rest, limits_of
import numpy as np
import pytest
import robots

from ik_node.base.errors import IkNodeError, PathError, Reason
from ik_node.collision.scene.scene import Scene
from ik_node.motion.direct.point_to_point import plan_point_to_point, StartState
from ik_node.motion.joint_path import plan as joint_path
from ik_node.motion.joint_path.plan import plan_joint_path
from ik_node.motion.joint_path.waypoints import MAX_WAYPOINTS, Waypoints

NAMES = 'six_axis_arm', 'panda', 'ur5'
CHAIN = robots.chain('six_axis_arm')
Q = np.array([0.2, -0.5, 0.9, 0.3, 0.9, -0.2])
PERIOD, START_TOLERANCE = 0.02, 0.01
SAMPLE_S = 1e-3
POSITION_ROUNDING = 1e-14  # rad or m


def limits(chain=CHAIN, velocity=0.5, acceleration=2.0, jerk=20.0, **tip):
    """Return limits: a share of the velocities, and the same rates for all joints."""
    return limits_of(chain, velocity * chain.velocity, acceleration, jerk, **tip)


LIMITS = limits()


def planned(points, times=None, chain=CHAIN, those=LIMITS, start=Q, model=None):
    """Return the plan through points from rest."""
    way = Waypoints(np.array(points, dtype=float),
                    None if times is None else np.array(times, dtype=float))
    return plan_joint_path(chain, start if isinstance(start, StartState) else at_rest(start), way,
                           those, PERIOD, START_TOLERANCE, model)


def sampled(plan):
    """Return times (N,) and states (N, 3, n) of a plan at 1 kHz."""
    times = np.arange(0.0, plan.trajectory.duration, SAMPLE_S)
    return times, states_at(path_of(plan.trajectory), times)


def assert_good(plan, points, those, jerk=1.0):
    """Check limits between the points, by differences at 1 kHz, and where it passes and ends."""
    bounds = Bounds(those.lower, those.upper, those.velocity, those.acceleration,
                    jerk * those.jerk)
    assert not faults(plan.trajectory, bounds, goal=points[-1])
    times, states = sampled(plan)
    q = states[:, 0]
    for k, limit in ((1, those.velocity), (2, those.acceleration), (3, jerk * those.jerk)):
        most = np.abs(np.diff(q, k, axis=0)).max(axis=0, initial=0.0) / SAMPLE_S**k
        rounding = 2**k * POSITION_ROUNDING / SAMPLE_S**k
        assert (most <= 1.005 * limit + rounding).all(), (k, most, limit)
    assert np.abs(states_at(path_of(plan.trajectory), plan.passed)[:, 0] - points).max() < 1e-6
    assert (np.diff(plan.passed) >= 0.0).all()


def stop_and_go(points, chain, those):
    """Return the duration of one motion after another, s."""
    every = [*points]
    return sum(plan_point_to_point(chain.joint_names, at_rest(a), b, those, PERIOD, chain).duration
               for a, b in zip(every, every[1:]))


def swing(chain, count):
    """Return waypoints as a person may teach them, on a smooth way, (count, n)."""
    u = np.linspace(0.0, 1.0, count)[:, None]
    middle = np.clip(chain.middle, chain.lower + 0.9, chain.upper - 0.9)
    q = middle + 0.5 * np.sin(2.5 * u * np.linspace(0.4, 1.0, chain.n) + np.arange(chain.n))
    return np.clip(q, chain.lower + 0.01, chain.upper - 0.01)


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('count', [5, 12])
def test_through_all_without_a_stop(name, count):
    """Each is passed exactly, in motion, and in much less time than with stops."""
    chain = robots.chain(name)
    points, those = swing(chain, count + 1), limits(chain)
    plan = planned(points[1:], chain=chain, those=those, start=points[0])
    assert_good(plan, points[1:], those)
    assert plan.trajectory.duration < 0.75 * stop_and_go(points, chain, those)
    speeds = np.abs(states_at(path_of(plan.trajectory), plan.passed)[:-1, 1]).max(axis=1)
    assert speeds.min() > 0.05


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(NAMES), st.integers(1, 8), st.floats(-2.0, 0.5), st.integers(0, 2**31),
       st.sampled_from([(0.5, 2.0, 20.0), (1.0, 10.0, 200.0), (0.1, 0.3, 1.0)]))
def test_any_waypoints(name, count, size, seed, rates):
    """Near and far, and at limits: good, and not longer than with stops at each."""
    chain = robots.chain(name)
    those, rng = limits(chain, *rates), np.random.default_rng(seed)
    start = robots.random_postures(chain, 1, seed)[0]
    points = np.clip(start + np.cumsum(rng.normal(size=(count, chain.n)) * 10.0**size, axis=0),
                     chain.lower, chain.upper)
    points[rng.random(count) < 0.2] = start  # some are the same
    assume(np.abs(points - start).max() > 1e-5)
    plan = planned(points, chain=chain, those=those, start=start)
    turned = points + np.round((states_at(path_of(plan.trajectory), plan.passed)[:, 0] - points)
                               / (2.0 * np.pi)) * (2.0 * np.pi * chain.continuous)
    assert_good(plan, turned, those)
    assert plan.trajectory.duration <= stop_and_go([start, *turned], chain, those) + 1e-6


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(NAMES), st.integers(1, 12), st.floats(0.02, 3.0), st.integers(0, 2**31),
       st.sampled_from([(0.5, 2.0, 20.0), (1.0, 10.0, 200.0)]))
def test_any_times(name, count, step, seed, rates):
    """No waypoint is passed before its time; those that are too near in time are passed late."""
    chain = robots.chain(name)
    those, rng = limits(chain, *rates), np.random.default_rng(seed)
    start = robots.random_postures(chain, 1, seed)[0]
    points = np.clip(start + np.cumsum(rng.normal(size=(count, chain.n)) * 0.2, axis=0),
                     chain.lower + 0.01, chain.upper - 0.01)
    times = np.cumsum(step * rng.uniform(0.2, 1.0, count))
    plan = planned(points, times, chain, those, start)
    assert_good(plan, points, those)
    assert (plan.passed - times > -1e-3 * times).all()


def test_the_pace_is_kept_where_the_limits_allow_it():
    """A slow motion has its times, but for its start; so does a pause in it."""
    points = np.vstack([swing(CHAIN, 8), swing(CHAIN, 8)[-1:], [Q]])
    times = np.concatenate([2.0 * np.arange(8), [18.0, 24.0]])
    plan = planned(points, times, start=points[0])
    assert_good(plan, points, LIMITS)
    late = plan.passed - times
    assert late.min() > -1e-3 and late.max() < 0.3
    moments, states = sampled(plan)
    in_pause = (moments > plan.passed[7] + 0.2) & (moments < plan.passed[8] - 0.2)
    assert np.abs(states[in_pause, 1]).max() < 1e-6 and in_pause.sum() > 3000


def test_too_fast_a_pace_is_slowed_down():
    """Ten times as fast as the limits allow: it takes as long as they say, and keeps the way."""
    points = swing(CHAIN, 8)
    plan = planned(points, 0.05 * np.arange(8.0), start=points[0])
    assert_good(plan, points, LIMITS)
    fastest = planned(points[1:], start=points[0])
    assert fastest.trajectory.duration * 0.9 < plan.trajectory.duration \
        < fastest.trajectory.duration * 2.0


def test_speed_limits_of_the_tip():
    """They are kept, and bind."""
    those = limits(speed=0.1)
    points = swing(CHAIN, 5)
    for times in (None, 0.1 * np.arange(5.0)):
        plan = planned(points if times is not None else points[1:], times, those=those,
                       start=points[0])
        _, states = sampled(plan)
        reference = robots.reference('six_axis_arm')
        J = [reference.jacobian(CHAIN.base_link, CHAIN.tip_link, robots.positions(CHAIN, q))
             for q in states[::20, 0]]
        speeds = [np.linalg.norm(rows[:3] @ qd) for rows, qd in zip(J, states[::20, 1])]
        assert 0.09 < max(speeds) < 0.1 * (1.0 + 1e-3)


def test_a_moving_arm_is_brought_to_rest_first():
    """Then the motion begins there."""
    points = swing(CHAIN, 4)
    active = plan_point_to_point(CHAIN.joint_names, at_rest(Q), points[0], LIMITS, PERIOD)
    start = StartState.from_motion(active, 0.4 * active.duration, 0.05)
    plan = planned(points, start=start)
    assert_good(plan, points, LIMITS, jerk=1.5)
    assert np.array_equal(plan.trajectory.start.qd, start.initial.qd) and start.initial.qd.any()


def test_repeated_waypoints():
    """Those that are where the arm is already take no time."""
    points = [Q, Q, Q + 0.1, Q + 0.1, Q + 1e-7, Q]
    plan = planned(points)
    assert plan.passed[0] == plan.passed[1] == 0.0 < plan.passed[2] == plan.passed[3]
    assert plan.passed[4] == plan.passed[5] == plan.trajectory.duration
    with pytest.raises(PathError) as found:
        planned([Q, Q])
    assert found.value.reason is Reason.ALREADY_THERE


def test_continuous_joints_go_the_short_way():
    """From one waypoint to the next, over several turns if that is what they say."""
    chain = robots.chain('kinova')
    k = int(np.flatnonzero(chain.continuous)[0])
    start = np.clip(chain.middle, chain.lower, chain.upper)
    points = np.tile(start, (6, 1))
    points[:, k] = (np.arange(1, 7) * 2.0 + np.pi) % (2.0 * np.pi) - np.pi
    plan = planned(points, chain=chain, those=limits(chain), start=start)
    assert plan.trajectory.end[k] == pytest.approx(start[k] + 12.0, abs=1.0)


@pytest.mark.parametrize('points, times, words, reason', [
    (np.empty((0, 6)), None, 'has 0 waypoints', Reason.PATH_INVALID),
    (np.tile(Q, (MAX_WAYPOINTS + 1, 1)), None, '1 to 2000 are taken', Reason.PATH_INVALID),
    ([Q, Q * np.nan], None, "waypoint 2 of 2: 'joint_1' is nan", Reason.GOAL_NOT_FINITE),
    ([Q, Q + 0.1, Q + 9.0], None, "waypoint 3 of 3: 'joint_1' is 9.2, outside",
     Reason.BEYOND_LIMIT),
    ([Q, Q + 0.1], [0.0, 0.0], 'waypoint 2 of 2 has the time 0 s; times must increase',
     Reason.PATH_INVALID),
    ([Q, Q + 0.1], [-1.0, 0.0], 'waypoint 1 of 2 has the time -1 s', Reason.PATH_INVALID),
    ([Q, Q + 0.1], [0.0, np.nan], 'waypoint 2 of 2 has the time nan s', Reason.PATH_INVALID),
    ([Q, Q + 0.1], [0.0, 1e9], 'at most 300 s are planned at once', Reason.PATH_INVALID),
    ([Q + 0.005], [0.0], 'waypoint 1 of 1 has the time 0; give it a time',
     Reason.PATH_INVALID),
    ([Q + 0.1, Q], [0.0, 1.0], "waypoint 1 of 2 has the time 0, but 'joint_1' is 0.1 away",
     Reason.PATH_INVALID)])
@pytest.mark.fault('goals', 'waypoints that cannot be passed',
                   'refused with the number of the waypoint')
def test_which_way_point_is_wrong(points, times, words, reason):
    """Its number is told."""
    with pytest.raises(IkNodeError) as found:
        planned(points, times)
    assert words in str(found.value) and found.value.reason is reason


def test_measured_at_a_limit():
    """Noise beyond a limit is no fault of what was taught; more is."""
    top = CHAIN.upper[0]
    points = np.tile(Q, (4, 1))
    points[:, 0] = Q[0], top + 2e-4, top - 1e-4, Q[0]
    plan = planned(points, [0.0, 3.0, 4.0, 8.0])
    assert not faults(plan.trajectory, Bounds(LIMITS.lower, LIMITS.upper, LIMITS.velocity,
                                              LIMITS.acceleration, LIMITS.jerk))
    assert np.abs(plan.trajectory.q[:, 0] - top).min() < 3e-3
    assert planned(points).trajectory.q[:, 0].max() == pytest.approx(top)
    points[1, 0] = top + 2e-3
    with pytest.raises(PathError, match='waypoint 2 of 4'):
        planned(points)


def wall(offset):
    """Return the model with a box where the tip is at some joint positions."""
    scene, T = Scene('base_link'), np.eye(4)
    T[:3, 3] = robots.reference('six_axis_arm').pose(
        'base_link', 'tool0', robots.positions(CHAIN, Q + offset))[:3, 3]
    scene.add_box('wall', (0.02, 0.02, 0.02), T)
    return model_of('six_axis_arm', margin=0.005).with_objects(scene.bodies)


def test_nothing_collides():
    """At a waypoint, or on the way: refused, with its number and the share that is free."""
    away = np.array([1.6, 0.0, 0.0, 0.0, 0.0, 0.0])
    points = [Q + 0.3 * away, Q + 0.6 * away, Q + away]
    for times in (None, [2.0, 4.0, 6.0]):
        with pytest.raises(PathError, match="waypoint 2 of 3: .*'wall'") as found:
            planned(points, times, model=wall(0.6 * away))
        assert found.value.reason is Reason.COLLISION
        with pytest.raises(PathError, match='% of its duration: then, on the way to waypoint 3 '
                           "of 3, .*'wall'") as found:
            planned(points, times, model=wall(0.8 * away))
        assert found.value.reason is Reason.COLLISION and 0.5 < found.value.fraction < 0.9
        plan = planned(points, times, model=wall(2.0 * away))
        _, states = sampled(plan)
        assert wall(2.0 * away).check_many(states[::5, 0]).all()


def test_if_the_curve_collides_it_stops_at_each(monkeypatch):
    """Where the curve swings wide, the motions from one waypoint to the next may be free."""
    points = [Q + [1.2, 0.0, 0.0, 0.0, 0.0, 0.0], Q + [1.2, 0.0, -0.8, 0.0, 0.0, 0.0],
              Q + [0.0, 0.0, -0.8, 0.0, 0.0, 0.0]]
    free = planned(points)
    _, states = sampled(free)
    # Joint 1 swings beyond the first waypoint, and nothing is there else.
    model = wall(states[states[:, 0, 0].argmax(), 0] - Q)
    found = planned(points, model=model)
    at_rest = states_at(path_of(found.trajectory), found.passed)[:, 1]
    assert np.abs(at_rest).max() < 1e-9 < np.abs(
        states_at(path_of(free.trajectory), free.passed)[:-1, 1]).max()
    _, states = sampled(found)
    assert model.check_many(states[::5, 0]).all()
    monkeypatch.setattr(joint_path, '_at_rest_at_each', joint_path._on_a_curve)
    with pytest.raises(PathError, match="'wall'"):
        planned(points, model=model)


def test_many_waypoints():
    """As many as are taken, in a motion of which each point is near the last."""
    u = np.linspace(0.0, 1.0, MAX_WAYPOINTS + 1)[:, None]
    points = Q + 0.6 * np.sin(3.0 * u + np.arange(6)) - 0.6 * np.sin(np.arange(6))
    plan = planned(points[1:])
    assert_good(plan, points[1:], LIMITS)
    few = planned(points[::200][1:])
    assert plan.trajectory.duration == pytest.approx(few.trajectory.duration, rel=0.2)


def test_limits_that_are_none():
    """They are refused."""
    with pytest.raises(IkNodeError, match='must be positive'):
        planned([Q + 0.1], those=replace(LIMITS, jerk=0.0 * LIMITS.jerk))
