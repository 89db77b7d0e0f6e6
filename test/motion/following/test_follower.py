# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Following keeps every limit, whatever the stream does, and follows closely.

The checker (following.py) shares no code with ik_node: finite differences of the
commands, stops by ruckig, poses by Pinocchio.
"""

from dataclasses import replace
from types import SimpleNamespace

from following import (
    check_alone,
    Checker,
    circle,
    distances,
    follower,
    HOMES,
    limits_of,
    quintic_extremes,
    run,
    shifted,
    stop_extremes,
    stream,
    tip,
    wall,
)
from geometry_oracle import model_of
from hypothesis import given, HealthCheck, settings, strategies as st
from motion_checker import begins_on, Bounds, faults
from motions import at_rest
from nightly import samples
import numpy as np
from path_checker import fastest
import pinocchio as pin
import pytest
import robots

from ik_node.base.errors import ParameterError
from ik_node.collision.distances.certificate import Contact
from ik_node.motion.change.active_trajectory import ActiveTrajectory
from ik_node.motion.direct.point_to_point import plan_point_to_point
from ik_node.motion.following.follower import Follower
from ik_node.motion.following.jog import JogCommand
from ik_node.motion.following.options import FollowOptions, Phase
from ik_node.motion.trajectory.interpolation import state_at
from ik_node.motion.trajectory.limits import MotionLimits, TipLimits
from ik_node.motion.trajectory.trajectory import MotionState

PERIOD = 0.01
ARMS = sorted(HOMES)
LEAD = FollowOptions.look_ahead
JOINS = FollowOptions(joins=True)


def bounds_of(limits):
    """Return the limits of the joints by name."""
    return {name: value for name, value in vars(limits).items() if name != 'tip'}


@settings(max_examples=samples(usual=25, nightly=120), deadline=None, derandomize=True,
          suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_every_limit_at_every_cycle(data):
    """Random arms, limits, starts in motion, targets that jump and drift, unsteady periods."""
    name = data.draw(st.sampled_from([*ARMS, 'kinova']))
    random = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    chain = robots.chain(name)
    n = chain.n
    most = 10.0**random.uniform(-0.5, 1.0, n)
    limits = MotionLimits(chain.lower, chain.upper, chain.velocity * random.uniform(0.05, 1.0, n),
                          most, most * 10.0**random.uniform(0.3, 2.0, n))
    push = data.draw(st.sampled_from([0.0, 0.5, 1.2]))
    start = MotionState(
        random.uniform(np.maximum(chain.lower, -3.0), np.minimum(chain.upper, 3.0)),
        push * random.uniform(-1.0, 1.0, n) * limits.velocity,
        min(push, 1.0) * random.uniform(-1.0, 1.0, n) * most)
    lead, joins = data.draw(st.sampled_from([0.005, 0.03, 0.1])), data.draw(st.booleans())
    made = Follower(chain, limits, FollowOptions(
        look_ahead=lead, gain=10.0**random.uniform(0.0, 1.5), bias=(random.uniform(0.0, 3.0),),
        free=data.draw(st.sampled_from([(), ('rz',), ('rx', 'ry', 'rz'), ('x', 'ry')])),
        frame=data.draw(st.sampled_from(['tip', 'base'])), joins=joins))
    made.begin(start, 0.0)
    checker = Checker(start, limits)
    period = 10.0**data.draw(st.floats(-3.0, -1.4))
    noise = data.draw(st.sampled_from([0.0, 1e-3]))
    now = 0.0
    for i in range(200):
        now += period * random.uniform(0.3, 1.7)
        if i % 50 == 0:
            T = tip(name, robots.random_postures(chain, 1, int(random.integers(10**6)))[0])
            way = 0.3 * period * random.standard_normal(3)
        T = shifted(T, *(way + noise * random.standard_normal(3)))
        if i % 100 < 80:
            made.feed(T, now, now)
        checker.see(now + lead, made.step(now).state)
        if i % 20 == 7 and not joins:
            check_alone(made.trajectory(now), now, checker)


def test_trajectories_keep_the_limits_from_their_first_point_on():
    """Joined or not, late in a session, jerk included, as a controller interpolates."""
    name, begin, most = 'six_axis_arm', 28000.123, np.zeros(6)
    limits = limits_of(robots.chain(name), 0.5)
    target = circle(tip(name, HOMES[name]))
    random = np.random.default_rng(0)
    circling = samples(usual=60, nightly=300)
    made = Follower(robots.chain(name), limits, JOINS)
    made.begin(MotionState.at_rest(HOMES[name]), begin)
    on_arrival = Follower(robots.chain(name), limits)
    on_arrival.take_over(made)
    sent, last = None, begin
    for i in range(1, circling + 100):
        now = begin + PERIOD * i + 2e-3 * random.random()
        # a jump, so that switches of the jerk come in all their orders
        goal = target(now - begin) if i < circling else shifted(target(0), 0.0, 0.3, 0.0)
        made.feed(goal, now, now)
        made.step(now)
        before, sent = sent, made.trajectory(now - 2e-3)
        for whole in (sent, on_arrival.trajectory(now)):
            motion = SimpleNamespace(
                joint_names=whole.joint_names, times=whole.times[1:] - whole.times[0],
                q=whole.q[1:], qd=whole.qd[1:], qdd=whole.qdd[1:])
            assert not faults(motion, Bounds(**bounds_of(limits)),
                              (whole.q[0], whole.qd[0], whole.qdd[0])), i
        most = np.maximum(most, np.abs(sent.qdd).max(0))
        if before is not None:
            # until the last hand-over it is the motion of the one before
            _, gaps = begins_on(sent, before, now - last, 1e-8)
            assert (gaps < [1e-9, 1e-8, 1e-6]).all(), i
        last = now
    assert most.max() > 1.9


@pytest.mark.parametrize('lead', [0.02, 0.06, 0.1])
@pytest.mark.parametrize('jerk', [20.0, 100.0])
def test_the_gap_before_the_first_point_keeps_the_acceleration(lead, jerk):
    """A controller that starts on arrival interpolates across it, over switches of the jerk."""
    name, peak = 'six_axis_arm', 0.0
    limits = limits_of(robots.chain(name), jerk=jerk)
    random = np.random.default_rng(0)
    made = follower(name, FollowOptions(look_ahead=lead), limits)
    for i in range(samples(usual=600, nightly=6000)):
        now = PERIOD * (i + 1)
        if i % 20 == 0:
            goal = tip(name, HOMES[name] + random.uniform(-0.5, 0.5, 6))
        made.feed(goal, now)
        made.step(now)
        sent = made.trajectory(now)
        across = SimpleNamespace(times=np.append(0.0, sent.times[:1]), **{
            field: np.array([getattr(sent.start, field), getattr(sent, field)[0]])
            for field in ('q', 'qd', 'qdd')})
        peak = max(peak, quintic_extremes(across)[3].max())
    assert 0.8 < peak / limits.acceleration.max() <= 1.0


def test_a_late_cycle_beyond_the_end_of_the_ramp():
    """The motion ends before the state of the cycle: its end is a point of what is joined."""
    name = 'six_axis_arm'
    limits = limits_of(robots.chain(name), 0.5)
    target = tip(name, HOMES[name] + [0.0, 0.0, 0.0, 0.0, 0.0, 0.1])
    ends = 0
    for late in np.linspace(0.011, 0.045, 18):
        made = Follower(robots.chain(name), limits, JOINS)
        made.begin(MotionState.at_rest(HOMES[name]), 0.0)
        now = 0.0
        for i in range(60):
            # Every third cycle is late while the arm ramps down.
            now += late if i > 10 and i % 3 == 0 else PERIOD
            if i < 10:
                made.feed(target, now)
            elif i == 10:
                made.halt()
            rests = made.step(now).state.rests
            sent = made.trajectory(now - 2e-3)
            motion = SimpleNamespace(
                joint_names=sent.joint_names, times=sent.times[1:] - sent.times[0],
                q=sent.q[1:], qd=sent.qd[1:], qdd=sent.qdd[1:])
            assert not faults(motion, Bounds(**bounds_of(limits)),
                              (sent.q[0], sent.qd[0], sent.qdd[0])), (late, i)
            ends += rests and bool(sent.qdd[0].any())
    assert ends > 5


def test_the_active_trajectory_is_left_without_a_step():
    """The new trajectory repeats it until the splice point."""
    name = 'ur5'
    chain, limits = robots.chain(name), limits_of(robots.chain(name))
    motion = plan_point_to_point(chain.joint_names, at_rest(HOMES[name]), HOMES[name] + 0.8,
                                 limits, 0.02)
    active = ActiveTrajectory(motion, 100.0, limits)
    made = Follower(chain, limits, JOINS)
    handover = state_at(motion, 0.4)
    made.begin(handover, 100.4, active)
    made.feed(tip(name, HOMES[name]), 100.38)
    made.step(100.38)
    sent = made.trajectory(100.36)
    for t, q, qd in zip(sent.times, sent.q, sent.qd):
        if t <= 0.04:
            expected = state_at(motion, 0.36 + t)
            assert np.allclose(q, expected.q, atol=1e-9)
            assert np.allclose(qd, expected.qd, atol=1e-8)
    assert (sent.times <= 0.04).sum() >= 2 and sent.times[0] < 2e-4


@pytest.mark.parametrize('uptime', [10.0, 1e5, 1e7])
def test_lead_points_keep_the_limits_after_months_of_uptime(uptime):
    """Points of it may be 0.1 ms apart, and after months a float has its seconds to 2 ns."""
    name = 'six_axis_arm'
    chain, limits = robots.chain(name), limits_of(robots.chain(name), 0.5)
    motion = plan_point_to_point(chain.joint_names, at_rest(HOMES[name]), HOMES[name] + 0.8,
                                 limits, 0.02)
    active, close = ActiveTrajectory(motion, uptime + 1.0 / 3.0, limits), 0
    for point in motion.times[3:40]:
        for ahead in (1.2e-4, 1.5e-4, 2e-4, 3e-4):  # until that point
            now = active.began + point - 1e-4 - ahead
            made = Follower(chain, limits, JOINS)
            made.begin(state_at(motion, now + 0.04 - active.began), now + 0.04, active)
            made.step(now + 0.02)
            sent = made.trajectory(now)
            close += sent.times[1] - sent.times[0] < 4e-4
            motion_on = SimpleNamespace(
                joint_names=sent.joint_names, times=sent.times[1:] - sent.times[0],
                q=sent.q[1:], qd=sent.qd[1:], qdd=sent.qdd[1:])
            found = faults(motion_on, Bounds(**bounds_of(limits) | {'jerk': None}),
                           (sent.q[0], sent.qd[0], sent.qdd[0]))
            assert not found, (point, ahead)
    assert close > 40


def test_options_may_change_in_motion():
    """A follower that takes over continues target and motion."""
    target = circle(tip('ur5', HOMES['ur5']))
    limits = limits_of(robots.chain('ur5'))
    made = follower('ur5', limits=limits)
    checker = Checker(MotionState.at_rest(HOMES['ur5']), limits)
    for i in range(400):
        now = PERIOD * i
        made.feed(target(now), now, now)
        step = made.step(now)
        checker.see(now + LEAD, step.state)
        if i == 300:
            other = follower('ur5', FollowOptions(gain=10.0), limits)
            other.take_over(made)
            made = other
        if i > 250:
            assert step.phase is Phase.FOLLOWING
            assert distances(tip('ur5', step.state.q), target(now + LEAD))[0] < 1.5e-3


@pytest.mark.parametrize('joins', [False, True])
def test_a_start_that_can_stop_in_time_stays_within_the_limits(joins):
    """A joint that runs at its limit as fast as it can still stop comes to rest inside."""
    name = 'ur5_limited'
    chain = robots.chain(name)
    limits = limits_of(chain)
    q = HOMES['ur5'].copy()
    for speed in (0.3, 1.0, 2.0):
        moving = MotionState(q, np.array([speed, 0, 0, 0, 0, 0]), np.zeros(6))
        reach = stop_extremes(moving, limits)[1][0] - q[0]
        moving = MotionState(np.append(chain.upper[0] - 1e-4 - reach, q[1:]), moving.qd,
                             moving.qdd)
        made = Follower(chain, limits, FollowOptions(joins=joins))
        made.begin(moving, 0.0)
        beyond = tip('ur5_limited', np.append(chain.upper[0] + 0.5, q[1:]))
        highest = 0.0
        for i in range(400):
            made.feed(beyond, PERIOD * i, PERIOD * i)
            highest = max(highest, made.step(PERIOD * i).state.q[0])
        assert chain.upper[0] - 0.01 < highest <= chain.upper[0]


def test_a_joint_outside_its_limits_comes_in_and_stays():
    """From outside only inward motion is commanded."""
    chain = robots.chain('panda')
    q = HOMES['panda'].copy()
    q[5] = chain.upper[5] + 0.05
    made = follower('panda', q=q)
    T = tip('panda', q)
    path = []
    for i in range(300):
        made.feed(T, PERIOD * i, PERIOD * i)
        path.append(made.step(PERIOD * i).state.q[5])
    outside = np.array(path) > chain.upper[5]
    assert outside[0] and not outside[-1]
    assert (np.diff(path)[outside[:-1]] <= 0.0).all() and not outside[np.argmin(outside):].any()
    assert chain.lower[5] < path[-1] <= chain.upper[5]


@pytest.mark.parametrize('jitter, drop', [(0.0, 0.0), (0.008, 0.1)])
@pytest.mark.parametrize('rate', [100.0, 250.0, 500.0])
@pytest.mark.parametrize('name', ['six_axis_arm', 'ur5', 'panda'])
def test_a_circle_is_followed_within_a_millimetre(name, rate, jitter, drop):
    """0.2 m at 0.25 m/s; commands are compared with where the target is at their time."""
    target = circle(tip(name, HOMES[name]))
    end = samples(usual=4.5, nightly=6.0)
    messages = stream(target, rate, end, np.random.default_rng(3), jitter, drop)
    made = follower(name, limits=limits_of(robots.chain(name), 0.5))
    errors = [distances(tip(name, step.state.q), target(now + LEAD))
              for now, step in run(made, messages, end, PERIOD) if now > 3.0]
    position, angle = np.max(errors, axis=0)
    assert position < 1.1e-3 and angle < 1.5e-3


def test_prediction_is_needed_to_follow_closely():
    """The same circle, with a target assumed at rest at each pose, is followed late."""
    target = circle(tip('ur5', HOMES['ur5']))
    messages = stream(target, 100.0, 5.0, np.random.default_rng(3))
    lags = []
    for memory in (FollowOptions.memory, 1.0):  # 1 s: the movement is hardly seen
        made = follower('ur5', FollowOptions(memory=memory))
        lags.append(np.mean([distances(tip('ur5', step.state.q), target(now + LEAD))[0]
                             for now, step in run(made, messages, 5.0, PERIOD) if now > 4.0]))
    assert lags[0] < 0.05 * lags[1]


@pytest.mark.parametrize('name', ARMS)
def test_a_far_first_target_is_approached_not_jumped_to(name):
    """From rest to rest, within limits, to the goal, without passing it by much."""
    chain = robots.chain(name)
    limits = limits_of(chain, 0.5)
    made = follower(name, limits=limits)
    checker = Checker(MotionState.at_rest(HOMES[name]), limits)
    goal = tip(name, HOMES[name] + 0.4 * np.cos(np.arange(chain.n)))
    errors = []
    for i in range(800):
        made.feed(goal, PERIOD * i, PERIOD * i)
        step = made.step(PERIOD * i)
        checker.see(PERIOD * i + LEAD, step.state)
        errors.append(distances(tip(name, step.state.q), goal)[0])
    assert errors[-1] < 1e-4
    arrived = int(np.argmax(np.array(errors) < 2e-3))
    assert max(errors[arrived:]) < 5e-3


def test_a_target_behind_a_singularity_is_caught_up_with():
    """A stream takes over a motion; the wrist has to turn over on the way to its circle."""
    name = 'six_axis_arm'
    chain = robots.chain(name)
    limits = limits_of(chain, 0.5)
    motion = plan_point_to_point(
        chain.joint_names, at_rest(np.array([0.0, 0.3, -0.4, 0.0, 1.0, 0.0])),
        np.array([0.927, 0.577, 0.561, 0.0, 0.432, -2.214]), limits, 0.02)
    target = circle(tip(name, HOMES[name]))
    for handover in (0.4, 0.45, 0.5, 0.55, 0.6):
        made = Follower(chain, limits, FollowOptions())
        made.begin(state_at(motion, handover), 0.0)
        messages = stream(target, 100.0, 6.0, np.random.default_rng(1))
        far = [now for now, step in run(made, messages, 6.0, PERIOD)
               if distances(tip(name, step.state.q), target(now + LEAD))[0] > 2e-3]
        assert far[-1] < 5.0, handover


def test_a_stream_that_stops_ramps_down_and_goes_on_without_a_jump():
    """After the timeout the arm comes to rest; a fresh pose continues from rest or in motion."""
    name = 'ur5'
    target = circle(tip(name, HOMES[name]))
    limits = limits_of(robots.chain(name))
    for pause in (0.13, 1.0):
        made = follower(name, limits=limits)
        checker = Checker(MotionState.at_rest(HOMES[name]), limits)
        phases, speeds, errors = [], [], []
        for i in range(700):
            now = PERIOD * i
            if now < 2.0 or now >= 2.0 + pause:
                made.feed(target(now), now, now)
            step = made.step(now)
            checker.see(now + LEAD, step.state)
            phases.append(step.phase)
            speeds.append(np.abs(step.state.qd).max())
            errors.append(distances(tip(name, step.state.q), target(now + LEAD))[0])
        stale = [PERIOD * i for i, phase in enumerate(phases) if phase is Phase.STALE]
        assert min(stale) == pytest.approx(2.1, abs=0.011)
        assert max(stale) == pytest.approx(2.0 + pause, abs=0.011)
        assert (speeds[int((2.0 + pause) / PERIOD) - 1] == 0.0) == (pause == 1.0)
        assert errors[-1] < 1.1e-3


@pytest.mark.parametrize('name', ['six_axis_arm', 'ur5', 'panda'])
def test_a_stream_that_stops_brakes_on_its_line(name):
    """As a jog does, and hardly later than each joint by itself would."""
    limits = limits_of(robots.chain(name))
    made = follower(name, limits=limits)
    checker = Checker(MotionState.at_rest(HOMES[name]), limits)
    T, ways = tip(name, HOMES[name]), []
    for i in range(300):
        now = PERIOD * i
        if now < 1.0:
            made.feed(shifted(T, y=0.3 * now), now, now)
        state = made.step(now).state
        checker.see(now + LEAD, state)
        ways.append(tip(name, state.q)[:3, 3] - T[:3, 3])
        if not state.rests:
            last = now
    assert np.abs(np.array(ways)[:, [0, 2]]).max() < 5e-4
    assert last < 2.1


def test_changes_do_not_prolong_the_end_of_a_stream():
    """A follower is made anew every 50 ms, as where other joints move beside the arm."""
    chain = robots.chain('ur5')
    limits, random = limits_of(chain, 0.5), np.random.default_rng(5)

    def rests_at(q, way, changes):
        made, T, last = follower('ur5', limits=limits, q=q), tip('ur5', q), 0.0
        for i in range(400):
            now = PERIOD * i
            if now <= 1.0:
                made.feed(shifted(T, *(now * way)), now, now)
            elif changes and i % 5 == 0:
                before, made = made, follower('ur5', limits=limits, q=q)
                made.take_over(before)
            if not made.step(now).state.rests:
                last = now
        return last

    for _ in range(15):
        q, way = random.uniform(-np.pi, np.pi, chain.n), random.standard_normal(3)
        way *= 0.3 / np.linalg.norm(way)
        assert rests_at(q, way, True) < rests_at(q, way, False) + 0.15


def test_the_stop_that_is_sent_with_each_state_is_the_fastest():
    """It ends when ruckig's does."""
    made = follower('panda', JOINS)
    target = circle(tip('panda', HOMES['panda']))
    for i in range(200):
        made.feed(target(PERIOD * i), PERIOD * i, PERIOD * i)
        state = made.step(PERIOD * i).state
    limits = limits_of(made.chain)
    on_arrival = follower('panda')
    on_arrival.take_over(made)
    last = on_arrival.trajectory(PERIOD * 199)
    request = stop_extremes(state, limits)
    low, high, _, _ = quintic_extremes(last)
    assert np.allclose(low, request[0], atol=1e-4) and np.allclose(high, request[1], atol=1e-4)
    made.halt()
    for i in range(200, 400):
        step = made.step(PERIOD * i)
    assert step.phase is Phase.WAITING and step.state.rests
    assert np.allclose(step.state.q, last.end, atol=1e-9)


@pytest.mark.parametrize('name', ARMS)
def test_a_target_out_of_reach_is_approached_without_chatter(name):
    """At the edge of the reach the arm comes to rest; the tip is as near as a search finds."""
    made = follower(name)
    T = tip(name, HOMES[name])
    outward = T[:3, 3] / np.linalg.norm(T[:3, 3])
    for far in (0.05, 2.0):
        edge = made.chain.reach
        goal = T.copy()
        goal[:3, 3] = outward * (edge + far)
        made.begin(MotionState.at_rest(HOMES[name]), 0.0)
        qdd, qd = [], []
        for i in range(2500):
            made.feed(goal, PERIOD * i, PERIOD * i)
            state = made.step(PERIOD * i).state
            qd.append(state.qd)
            qdd.append(state.qdd)
        # no energy in the accelerations, no signs that go to and fro
        tail = np.array(qdd[2000:])
        assert np.abs(tail).max() < 5e-3
        assert np.abs(qd[2000:]).max() < 0.05
        turns = (np.abs(np.diff(np.sign(np.where(np.abs(qdd) < 1e-3, 0.0, qdd)), axis=0)) > 1)
        assert turns[600:].sum(axis=0).max() <= 8
        assert is_nearest(name, state.q, goal)


def is_nearest(name, q, goal, length=0.3):
    """Return whether no posture around q is nearer by more than a hair, in the weighted error."""
    chain = robots.chain(name)
    random = np.random.default_rng(0)

    def cost(posture):
        position, angle = distances(tip(name, posture), goal)
        return position**2 + (length * angle)**2

    here = cost(q)
    around = np.clip(q + 0.02 * random.standard_normal((200, chain.n)), chain.lower, chain.upper)
    return min(cost(posture) for posture in around) > here * (1.0 - 5e-3)


def smallest_singular_value(name, q):
    """Return it with the angular rows in 0.3 m per radian, by Pinocchio and NumPy."""
    chain = robots.chain(name)
    J = robots.reference(name).jacobian(chain.base_link, chain.tip_link,
                                        robots.positions(chain, q))
    J[3:] *= 0.3
    return np.linalg.svd(J, compute_uv=False)[-1]


def singular_posture(name):
    """Return a singular posture of a seven-axis arm, found by descent from its home."""
    q, random, step = HOMES[name].copy(), np.random.default_rng(4), 0.2
    lower, upper = robots.chain(name).lower + 0.4, robots.chain(name).upper - 0.4
    least = smallest_singular_value(name, q)
    for _ in range(1500):
        trial = np.clip(q + step * random.standard_normal(7), lower, upper)
        value = smallest_singular_value(name, trial)
        if value < least:
            q, least = trial, value
        else:
            step = max(0.99 * step, 1e-4)
    return q


@pytest.mark.parametrize('name, joint', [('ur5', 4), ('ur5', 2), ('six_axis_arm', 4),
                                         ('panda', None), ('xarm7', None)])
def test_singular_postures_are_passed(name, joint):
    """A target that moves through a singularity is followed through it and beyond."""
    limits = limits_of(robots.chain(name))
    if joint is None:
        middle = singular_posture(name)
        ends = middle + [[0.3], [-0.3]] * np.cos(np.arange(7))
    else:
        # the wrist (elbow) goes from bent to bent the other way, straight in the middle
        ends = np.array([HOMES[name], HOMES[name]])
        ends[:, joint] = 0.5, -0.5

    def posture(t):
        s = np.clip(t / 4.0, 0.0, 1.0)
        return ends[0] + (ends[1] - ends[0]) * (10 * s**3 - 15 * s**4 + 6 * s**5)

    made = follower(name, q=ends[0], limits=limits)
    checker = Checker(MotionState.at_rest(ends[0]), limits)
    smallest, errors = np.inf, []
    for i in range(900):
        now = PERIOD * i
        made.feed(tip(name, posture(now)), now, now)
        step = made.step(now)
        checker.see(now + LEAD, step.state)
        smallest = min(smallest, smallest_singular_value(name, step.state.q))
        errors.append(distances(tip(name, step.state.q), tip(name, posture(now + LEAD))))
    assert smallest < 0.02
    assert np.max(errors, axis=0)[0] < 0.03 and np.max(errors, axis=0)[1] < 0.12
    assert errors[-1][0] < 3e-3 and errors[-1][1] < 3e-3


@pytest.mark.parametrize('name', ARMS)
def test_along_the_edge_of_the_reach(name):
    """A target that goes out of reach, along the edge and back is caught up, without chatter."""
    limits = limits_of(robots.chain(name), 0.5)
    made = follower(name, limits=limits)
    checker = Checker(MotionState.at_rest(HOMES[name]), limits)
    T = tip(name, HOMES[name])
    out = 1.2 * made.chain.reach * T[:3, 3] / np.linalg.norm(T[:3, 3]) - T[:3, 3]

    def target(t):
        s = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.clip(t / 10.0, 0.0, 1.0))
        return shifted(T, *(s * out + [0.0, 0.3 * np.sin(2.0 * np.pi * t / 10.0) * s, 0.0]))

    qdd = []
    for i in range(2000):
        now = PERIOD * i
        made.feed(target(now), now, now)
        step = made.step(now)
        checker.see(now + LEAD, step.state)
        qdd.append(step.state.qdd)
    assert distances(tip(name, step.state.q), T)[0] < 2e-3
    turns = (np.abs(np.diff(np.sign(np.where(np.abs(qdd) < 0.05, 0.0, qdd)), axis=0)) > 1).sum(0)
    assert turns.max() < 40  # chatter would be one per cycle or two


def along_self_motion(name, q, way):
    """Return a posture that is `way` (rad) along the self-motion from q, by Pinocchio and SVD."""
    chain = robots.chain(name)
    goal, before = tip(name, q), np.zeros(7)
    for _ in range(int(way / 0.005)):
        J = robots.reference(name).jacobian(chain.base_link, chain.tip_link,
                                            robots.positions(chain, q))
        null = np.linalg.svd(J)[2][-1]
        before = null if null @ before >= 0.0 else -null
        q = q + 0.005 * before
        T = tip(name, q)
        error = np.append(goal[:3, 3] - T[:3, 3], pin.log3(goal[:3, :3] @ T[:3, :3].T))
        q = q + np.linalg.pinv(J) @ error
    return q


@pytest.mark.parametrize('name', ['panda', 'xarm7'])
def test_the_bias_moves_the_arm_not_the_tip(name):
    """On seven axes it goes to the preferred posture; the tip stays as exactly as without."""
    q = HOMES[name] + 0.2 * np.sin(np.arange(7))
    preferred = along_self_motion(name, q, 0.6)
    goal = tip(name, q)
    assert distances(tip(name, preferred), goal)[0] < 1e-6
    for bias in (0.0, 1.0):
        made = follower(name, FollowOptions(bias=(bias,), preferred=tuple(preferred)), q=q)
        worst = np.zeros(2)
        for i in range(1000):
            made.feed(goal, PERIOD * i, PERIOD * i)
            state = made.step(PERIOD * i).state
            worst = np.maximum(worst, distances(tip(name, state.q), goal))
        moved = np.linalg.norm(preferred - state.q) / np.linalg.norm(preferred - q)
        assert moved < 0.01 if bias else moved > 0.99
        assert worst.max() < (1e-3 if bias else 1e-9)               # while it moves
        assert max(distances(tip(name, state.q), goal)) < 1e-6      # and at the end


@pytest.mark.parametrize('name', ['panda', 'xarm7'])
def test_a_bias_that_cannot_be_satisfied_costs_no_accuracy(name):
    """It goes on pulling at rest, where the target does not allow the preferred posture."""
    q = HOMES[name] + 0.3 * np.sin(np.arange(7))
    made = follower(name, FollowOptions(bias=(1.0,), preferred=tuple(HOMES[name])), q=q)
    goal = tip(name, q)
    for i in range(1000):
        made.feed(goal, PERIOD * i, PERIOD * i)
        state = made.step(PERIOD * i).state
    assert np.abs(state.q - q).max() > 0.05 and np.abs(state.q - HOMES[name]).max() > 0.05
    assert max(distances(tip(name, state.q), goal)) < 1e-6


def test_free_axes_are_left_to_the_bias():
    """With the tool free to turn about its axis, a six-axis arm has a null space too."""
    name = 'ur5'
    made = follower(name, FollowOptions(free=('rz',), bias=(1.0,),
                                        preferred=tuple(HOMES[name] + [0, 0, 0, 0, 0, 1.0])))
    goal = tip(name, HOMES[name])
    for i in range(1500):
        made.feed(goal, PERIOD * i, PERIOD * i)
        state = made.step(PERIOD * i).state
    T = tip(name, state.q)
    assert distances(T, goal)[0] < 1e-5
    assert goal[:3, 2] @ T[:3, 2] > 1.0 - 1e-9
    assert state.q[5] > HOMES[name][5] + 0.8


@pytest.mark.parametrize('acceleration, jerk', [(2.0, 20.0), (8.0, 200.0)])
@pytest.mark.parametrize('name', HOMES)
def test_the_tip_keeps_its_speed_limit(name, acceleration, jerk):
    """To a far target, on jogs of the tip and of joints, and on all stops sent with them."""
    limits = replace(limits_of(robots.chain(name), acceleration=acceleration, jerk=jerk),
                     tip=TipLimits(0.05))
    made = follower(name, JOINS, limits)
    rates = np.where(np.arange(len(HOMES[name])) % 2, -0.5, 0.5)
    goal, fast = shifted(tip(name, HOMES[name]), 0.0, 0.3, 0.0), []
    for i in range(400):
        now = PERIOD * i
        if i < 150:
            made.feed(goal, now, now)
        elif i < 250:
            made.jog(JogCommand(np.array([0.1, -0.2, 0.0, 0.0, 0.0, 1.0])), now)
        elif i < 300:
            made.jog(JogCommand(rates=rates), now)
        made.step(now)
        fast.append(fastest(name, made.trajectory(now), 4)[0])
    assert 0.049 < max(fast) < 0.05 * 1.001
    assert fast[-1] < 1e-9


def test_a_lower_limit_of_the_tip_is_soon_kept():
    """It comes down at once, as fast as the joints can, and the tip stays on its line."""
    name, start = 'ur5', HOMES['ur5']
    limits = [replace(limits_of(robots.chain(name)), tip=TipLimits(v)) for v in (0.4, 0.1)]
    made, other = (follower(name, JOINS, each) for each in limits)
    speeds, path = [], []
    for i in range(160):
        made.jog(JogCommand(np.array([0.0, 0.5, 0.0, 0.0, 0.0, 0.0])), PERIOD * i)
        state = made.step(PERIOD * i).state
        J = robots.reference(name).jacobian(made.chain.base_link, made.chain.tip_link,
                                            robots.positions(made.chain, state.q))
        speeds.append(np.linalg.norm((J @ state.qd)[:3]))
        path.append(tip(name, state.q)[:3, 3])
        if i == 60:
            other.take_over(made)
            made = other
    assert speeds[60] > 0.3 and max(speeds[110:]) < 0.1 * 1.001 and np.mean(speeds[110:]) > 0.095
    assert max(np.diff(speeds[63:])) < 1e-3
    aside = np.array(path) - tip(name, start)[:3, 3]
    assert np.abs(aside[:, [0, 2]]).max() < 1e-3


@pytest.mark.parametrize('wall_at', [None, 0.1])
def test_locked_joints_stay(wall_at):
    """Of a seven-axis arm the others follow, stream and jog, also beside something near."""
    name, lock = 'panda', 2
    chain = robots.chain(name)
    model = None if wall_at is None else model_of(name, margin=0.01).with_objects(
        wall(name, wall_at).bodies)
    made = Follower(chain, limits_of(chain), FollowOptions(
        locked=(chain.joint_names[lock],), bias=(2.0,)), model)
    made.begin(MotionState.at_rest(HOMES[name]), 0.0)
    T = tip(name, HOMES[name])
    moved, off = np.zeros(chain.n), []
    for i in range(1, 401):
        now = 0.01 * i
        if i < 250:
            target = shifted(T, x=0.15 * min(now, 1.0), y=0.1 * np.sin(now))
            made.feed(target, now, now)
        else:
            made.jog(JogCommand(rates=np.full(chain.n, 0.2)), now)
        out = made.step(now)
        moved = np.maximum(moved, np.abs(out.state.q - HOMES[name]))
        if 150 < i < 250 and model is None:
            off.append(distances(tip(name, out.state.q), target)[0])
    assert moved[lock] < 1e-12 and (np.delete(moved, lock) > 0.01).all()
    assert model is not None or np.median(off) < 0.02
    with pytest.raises(ParameterError, match="locked joint 'elbow'.* 'panda_joint1'"):
        Follower(chain, limits_of(chain), FollowOptions(locked=('elbow',)))


def test_a_decision_that_is_taken_back_leaves_no_trace():
    """The arm does what was decided before, to rest; a stream that is silent stays so."""
    name = 'ur5'
    T, contact = tip(name, HOMES[name]), Contact(0.0, ('one', 'other'), 0.0)
    made = follower(name)
    for i in range(1, 21):
        made.feed(shifted(T, y=0.2 * 0.01 * i), 0.01 * i, 0.01 * i)
        made.step(0.01 * i)
    before = made.trajectory(0.2)
    for i in range(21, 120):
        now = 0.01 * i
        if i < 40:
            made.feed(shifted(T, y=0.2 * now), now, now)
        made.step(now)
        held = made.take_back(contact)
        silent = now > 0.39 + made.options.timeout
        assert held.phase is (Phase.STALE if silent else Phase.FOLLOWING)
        assert held.contact is (None if silent else contact)
        there = state_at(before, now + made.options.look_ahead - 0.2)
        assert np.abs(held.state.q - there.q).max() < 1e-9
        assert np.abs(held.state.qd - there.qd).max() < 1e-7
    assert held.state.rests
