# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Every planned motion keeps its limits, judged by a checker that shares no code with it."""

from dataclasses import replace
from math import factorial

from motion_checker import Bounds, dense, faults, path_of
from motions import at_rest, limits_of
from nightly import each_seed, samples
import numpy as np
import pytest
import robots
import ruckig

from ik_node.base.errors import TrajectoryError
from ik_node.motion.direct import point_to_point, ruckig_motion
from ik_node.motion.direct.point_to_point import (
    EXACT_PERIODS,
    MAX_SAMPLED_POINTS,
    plan_point_to_point,
    plan_stop,
    StartState,
)
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import MotionState
from ik_node.motion.trajectory.validate import JERK_SLACK, require_jerk, validate

COUNT = samples(usual=70, nightly=300)
NAMES = ('a', 'b', 'c')
PERIOD = 0.1


@pytest.fixture(autouse=True, params=['ruckig', 'double_s'])
def planner(request, monkeypatch):
    """Plan by ruckig, and as where it is not installed."""
    if request.param == 'double_s':
        monkeypatch.setattr(ruckig_motion, 'RUCKIG_INSTALLED', False)
        monkeypatch.delattr(ruckig_motion, 'ruckig')
    return request.param


def at(state):
    """Begin at once from a state."""
    return StartState.from_state(state)


def sampled(trajectory):
    """Return times and q, qd, qdd between the points too."""
    times, values = dense(path_of(trajectory), 101)
    return times.ravel(), values[:3].reshape(3, times.size, -1)


def check(trajectory, limits, start, goal=None):
    """Check everything that a motion promises."""
    for array in (trajectory.times, trajectory.q, trajectory.qd, trajectory.qdd):
        assert np.isfinite(array).all()
    assert trajectory.joint_names == NAMES[:len(start.q)]
    steps = np.diff(trajectory.times, prepend=0.0)
    assert (steps[trajectory.lead_points:] >= 0.9e-3).all() and (steps >= 0.99e-4).all()
    assert steps.max() <= EXACT_PERIODS * PERIOD + 3e-3
    assert np.array_equal(trajectory.start.q, start.q)
    assert np.array_equal(trajectory.start.qd, start.qd)
    assert np.array_equal(trajectory.start.qdd, start.qdd)
    assert not trajectory.qd[-1].any() and not trajectory.qdd[-1].any()
    if goal is not None:
        assert np.abs(trajectory.q[-1] - goal).max() < 1e-8
    bounds = Bounds(limits.lower, limits.upper, limits.velocity, limits.acceleration, None)
    assert not faults(trajectory, bounds, goal=goal)
    # The motion itself keeps the jerk as well, from the hand-over on.
    k = trajectory.lead_points
    if k:
        trajectory = replace(
            trajectory, start=MotionState(*(array[k - 1] for array in (
                trajectory.q, trajectory.qd, trajectory.qdd))),
            times=trajectory.times[k:] - trajectory.times[k - 1], q=trajectory.q[k:],
            qd=trajectory.qd[k:], qdd=trajectory.qdd[k:])
    assert not faults(trajectory, replace(bounds, jerk=limits.jerk), goal=goal)


def random_limits(rng, n=3):
    """Return limits like those of arms, fast and slow."""
    velocity = rng.uniform(0.2, 3.0, n)
    acceleration = velocity * rng.uniform(1.0, 8.0, n)
    return MotionLimits(rng.uniform(-3.5, -1.0, n), rng.uniform(1.0, 3.5, n), velocity,
                        acceleration, acceleration * rng.uniform(2.0, 10.0, n))


def by_ruckig(start, goal, limits):
    """Return ruckig's own motion, which knows no position limits."""
    request = ruckig.InputParameter(len(goal))
    request.current_position, request.target_position = list(start.q), list(goal)
    request.current_velocity, request.current_acceleration = list(start.qd), list(start.qdd)
    request.max_velocity = list(limits.velocity)
    request.max_acceleration = list(limits.acceleration)
    request.max_jerk = list(limits.jerk)
    motion = ruckig.Trajectory(len(goal))
    ruckig.Ruckig(len(goal)).calculate(request, motion)
    return motion


def test_points_are_few_where_the_quintic_is_exact():
    """Farther apart than the period, but for the first, which is near the start."""
    gaps = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        limits = random_limits(rng)
        start = MotionState.at_rest(rng.uniform(limits.lower, limits.upper))
        goal = rng.uniform(limits.lower, limits.upper)
        motion = plan_point_to_point(NAMES, at(start), goal, limits, 0.02)
        period = max(0.02, motion.duration / MAX_SAMPLED_POINTS)
        assert motion.times[0] <= period + limits.min_spacing + 1e-9
        gaps.append(np.diff(motion.times).max())
    assert np.median(gaps) > 0.05


@each_seed(COUNT)
def test_from_rest_and_in_motion(seed):
    """From rest, then to another goal from any instant of the motion, then to a stop."""
    rng = np.random.default_rng(1000 + seed)
    limits = random_limits(rng)
    start = MotionState.at_rest(rng.uniform(limits.lower, limits.upper))
    goals = rng.uniform(limits.lower, limits.upper, (2, 3))
    first = plan_point_to_point(NAMES, at(start), goals[0], limits, PERIOD)
    check(first, limits, start, goals[0])
    fastest = by_ruckig(start, goals[0], limits).duration
    assert fastest - 1e-6 <= first.duration <= 1.01 * fastest

    elapsed, lead = rng.uniform(0.0, 1.05 * first.duration), rng.uniform(0.005, PERIOD)
    start_state = StartState.from_motion(first, elapsed, lead, rng.uniform(0.001, 0.02))
    assert abs(start_state.times[-1] - lead) <= 1e-3
    lead = start_state.times[-1]
    now = start_state.initial
    second = plan_point_to_point(NAMES, start_state, goals[1], limits, PERIOD)
    check(second, limits, now, goals[1])
    # It begins where the first motion is, and leaves it at the end of the lead.
    t_first, values = sampled(first)
    t_second = second.times
    k = int(np.abs(t_second - lead).argmin())
    assert abs(t_second[k] - lead) < 1e-9
    for t, ours in ((0.0, now), (lead, MotionState(second.q[k], second.qd[k], second.qdd[k]))):
        for before, after, tolerance in zip(values, (ours.q, ours.qd, ours.qdd),
                                            (1e-5, 1e-3, 0.2)):
            expected = [np.interp(elapsed + t, t_first, column) for column in before.T]
            assert np.allclose(expected, after, atol=tolerance)

    stop = plan_stop(NAMES, start_state, limits, PERIOD)
    check(stop, limits, now, None)
    # Nothing is faster than braking with all that is allowed.
    assert stop.duration <= lead + np.max(
        limits.velocity / limits.acceleration + 2.0 * limits.acceleration / limits.jerk) + 0.1


def jerk_shares(trajectory, limits):
    """Return the largest jerk between the points after the splice by its limit, (n,)."""
    k = trajectory.lead_points
    states = np.array([np.vstack([getattr(trajectory.start, name)[None],
                                  getattr(trajectory, name)])[k:] for name in ('q', 'qd', 'qdd')])
    h = np.diff(np.append(0.0, trajectory.times)[k:])[:, None]
    # In the time by the step, from 0 to 1: values, first and second derivatives at both ends.
    powers = np.arange(6)
    at_ends = np.array([np.where(powers >= d, [factorial(p) / factorial(max(p - d, 0))
                                               for p in powers], 0.0) * float(t)**abs(powers - d)
                        for t in (0, 1) for d in range(3)])
    ends = np.stack([states[d, side:len(h) + side] * h**d for side in (0, 1) for d in range(3)])
    ends[[0, 3]] -= states[0, :-1]  # fewer digits are lost
    c = np.linalg.solve(at_ends, ends.reshape(6, -1)).reshape(ends.shape)
    with np.errstate(divide='ignore', invalid='ignore'):
        peak = np.clip(np.nan_to_num(-c[4] / (5.0 * c[5])), 0.0, 1.0)
    jerk = [np.abs(6.0 * c[3] + 24.0 * c[4] * t + 60.0 * c[5] * t**2) for t in (0.0, peak, 1.0)]
    return (np.array(jerk) / h**3).max(axis=(0, 1)) / limits.jerk


@each_seed(COUNT)
def test_the_jerk_keeps_its_limits_between_the_points(seed):
    """However near each other the joints' switches are; from rest, in motion and to a stop."""
    rng = np.random.default_rng(2000 + seed)
    names, acceleration = NAMES + ('d', 'e', 'f'), rng.uniform(1.0, 10.0, 6)
    limits = MotionLimits(np.full(6, -3.0), np.full(6, 3.0), rng.uniform(0.5, 3.0, 6),
                          acceleration, acceleration * rng.uniform(2.0, 100.0, 6))
    start = rng.uniform(-2.5, 2.5, 6)
    goals = start + rng.choice([1.0, 0.1, 1e-2, 1e-3]) * rng.uniform(-0.4, 0.4, (2, 6))
    first = plan_point_to_point(names, at(MotionState.at_rest(start)), goals[0], limits, PERIOD)
    under_way = StartState.from_motion(first, 0.0, rng.uniform(0.05, 0.9) * first.duration)
    for motion in (first, plan_point_to_point(names, under_way, goals[1], limits, PERIOD),
                   plan_stop(names, under_way, limits, PERIOD)):
        # Positions have 16 digits, of which steps of 1 ms leave few.
        assert jerk_shares(motion, limits).max() <= 1.0 + JERK_SLACK + 1e-4


@each_seed(COUNT)
def test_stop_from_any_moving_state(seed):
    """From any state within the limits: to rest, within them, without turning back."""
    rng = np.random.default_rng(2000 + seed)
    limits = random_limits(rng)
    v, a = limits.velocity, limits.acceleration
    qd = rng.uniform(-0.9, 0.9, 3) * v
    # An acceleration that can be taken back before the velocity limit is passed.
    room = np.sqrt(2.0 * limits.jerk * 0.99 * (v - np.abs(qd)))
    qdd = rng.uniform(-1.0, 1.0, 3) * np.minimum(0.98 * a, 0.95 * room)
    middle = 0.1 * (limits.lower + limits.upper)
    wide = replace(limits, lower=middle - 50.0, upper=middle + 50.0)
    start = MotionState(middle, qd, qdd)
    stop = plan_stop(NAMES, at(start), wide, PERIOD)
    check(stop, wide, start)
    away = plan_point_to_point(NAMES, at(start), middle + 1.0, wide, PERIOD)
    check(away, wide, start, middle + 1.0)


def test_a_jerk_switch_next_to_a_point_keeps_the_limits():
    """A ramp whose jerk switches within a millisecond of a point keeps the acceleration."""
    far = np.full(3, 50.0)
    limits = MotionLimits(
        -far, far, np.array([0.4050623012737849, 2.285327980231262, 2.765638686873763]),
        np.array([1.6032177138735142, 14.150535968310475, 8.31784658499939]),
        np.array([12.86336979082858, 34.17905179844261, 57.10033680937597]))
    start = MotionState(
        np.zeros(3), np.array([-0.3270404401732439, 1.1730603286292824, 2.176809761575275]),
        np.array([-0.9867773592630251, 3.7718978743125193, 1.6347842259006091]))
    check(plan_stop(NAMES, at(start), limits, 0.1), limits, start)


@each_seed(COUNT)
def test_velocity_limit_below_the_speed_in_motion(seed):
    """Lowered below the present, still rising speed: accepted, and not exceeded further."""
    rng = np.random.default_rng(4000 + seed)
    limits = random_limits(rng)
    start = MotionState.at_rest(0.3 * rng.uniform(limits.lower, limits.upper))
    goals = 0.3 * rng.uniform(limits.lower, limits.upper, (2, 3))
    first = plan_point_to_point(NAMES, at(start), goals[0], limits, PERIOD)
    lowered = replace(limits, velocity=0.3 * limits.velocity)
    start_state = StartState.from_motion(first, rng.uniform(0.0, first.duration), 0.05, 0.01)
    for motion in (plan_point_to_point(NAMES, start_state, goals[1], lowered, PERIOD),
                   plan_stop(NAMES, start_state, lowered, PERIOD)):
        check(motion, limits, start_state.initial, None)


@each_seed(100)
def test_limits_lowered_in_motion(seed):
    """With lower limits from now on, a motion slows down to what braking allows."""
    rng = np.random.default_rng(3000 + seed)
    limits = random_limits(rng)
    start = MotionState.at_rest(rng.uniform(0.5 * limits.lower, 0.5 * limits.upper))
    goals = rng.uniform(0.5 * limits.lower, 0.5 * limits.upper, (2, 3))
    first = plan_point_to_point(NAMES, at(start), goals[0], limits, PERIOD)
    lowered = replace(limits, velocity=0.5 * limits.velocity)
    _, (q, qd, qdd) = sampled(first)
    k = len(q) // 2
    state = MotionState(q[k], qd[k], qdd[k])
    start_state = at(state)
    # The velocity still rises while the acceleration that there is, is taken back.
    grace = replace(lowered, velocity=np.maximum(
        lowered.velocity, np.abs(qd[k]) + qdd[k]**2 / (2.0 * limits.jerk) * 1.05))
    check(plan_stop(NAMES, start_state, grace, PERIOD), grace, state)
    check(plan_point_to_point(NAMES, start_state, goals[1], grace, PERIOD), grace, state, goals[1])


@pytest.mark.parametrize('beyond', [1e-9, 1e-4, 0.05])
@pytest.mark.parametrize('side', [-1.0, 1.0])
def test_a_start_outside_a_limit_moves_inward(beyond, side):
    """A joint slightly beyond its limit comes back without going farther."""
    limits = random_limits(np.random.default_rng(5))
    q = np.array([0.0, limits.upper[1] + beyond if side > 0 else limits.lower[1] - beyond, 0.0])
    goal = np.array([0.3, 0.0, -0.3])
    start = MotionState.at_rest(q)
    trajectory = plan_point_to_point(NAMES, at(start), goal, limits, PERIOD)
    check(trajectory, limits, start, goal)
    _, (path, _, _) = sampled(trajectory)
    assert (np.diff(path[:, 1]) * side <= 1e-9).all()


@pytest.mark.parametrize('velocity, acceleration, jerk, goal', [
    ([0.0034, 1.76], [0.53, 1419.73], [191.0, 886342.7], [1.13, -0.28]),
    ([0.0021, 2.0], [0.24, 1988.34], [26.6, 1713540.0], [0.87, -1.67])])
def test_long_motions_with_short_ramps(velocity, acceleration, jerk, goal):
    """Ruckig alone finds none."""
    limits = MotionLimits(np.full(2, -3.0), np.full(2, 3.0), *map(np.array, (
        velocity, acceleration, jerk)))
    start, goal = MotionState.at_rest(np.zeros(2)), np.array(goal)
    trajectory = plan_point_to_point(NAMES[:2], at(start), goal, limits, PERIOD)
    bounds = Bounds(limits.lower, limits.upper, limits.velocity, limits.acceleration, None)
    assert not faults(trajectory, bounds, goal=goal)


def test_a_goal_equal_to_the_start():
    """The motion to where the arm is, is a short hold."""
    limits = random_limits(np.random.default_rng(6))
    start = MotionState.at_rest(np.array([0.1, 0.2, -0.3]))
    trajectory = plan_point_to_point(NAMES, at(start), start.q, limits, PERIOD)
    check(trajectory, limits, start, start.q)
    assert trajectory.duration < 0.01
    assert np.array_equal(trajectory.q, np.broadcast_to(start.q, trajectory.q.shape))


@pytest.mark.parametrize('distance', [1e-12, 1e-9, 1e-6, 1e-4, 1e-3])
def test_tiny_motions(distance):
    """Motions far shorter than a period keep the limits as well."""
    limits = random_limits(np.random.default_rng(7))
    start = MotionState.at_rest(np.zeros(3))
    goal = np.array([distance, -distance, 0.0])
    check(plan_point_to_point(NAMES, at(start), goal, limits, PERIOD), limits, start, goal)


def short_motion(seed):
    """Return names, limits, where a joint rests, and a goal that is 1e-6 to 1e-2 from there."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    velocity = 10.0 ** rng.uniform(-1.0, 0.7, n)
    acceleration = velocity * 10.0 ** rng.uniform(0.0, 1.5, n)
    limits = MotionLimits(np.full(n, -9.0), np.full(n, 9.0), velocity, acceleration,
                          acceleration * 10.0 ** rng.uniform(0.0, 3.0))
    q = rng.uniform(-1.0, 1.0, n)
    return ('abcdefg'[:n], limits, q, q + 10.0 ** rng.uniform(-6.0, -2.0)
            * rng.uniform(-1.0, 1.0, n) * (rng.random(n) < 0.8), rng)


@each_seed(COUNT)
def test_short_motions_keep_their_jerk(seed):
    """From rest, and from any instant of such a motion to another goal and to rest."""
    names, limits, q, goal, rng = short_motion(seed)
    bounds = Bounds(limits.lower, limits.upper, limits.velocity, limits.acceleration, limits.jerk)
    first = plan_point_to_point(names, at(MotionState.at_rest(q)), goal, limits, 0.02)
    assert not faults(first, bounds, goal=goal)
    elapsed = rng.uniform(0.0, first.duration)
    start = StartState.from_motion(first, elapsed,
                                   min(0.02, 0.3 * (first.duration - elapsed) + 1e-3))
    other = goal + 10.0 ** rng.uniform(-6.0, -2.0) * rng.uniform(-1.0, 1.0, len(names))
    for motion in (plan_point_to_point(names, start, other, limits, 0.02),
                   plan_stop(names, start, limits, 0.02)):
        require_jerk(motion, limits)
        assert not faults(motion, replace(bounds, jerk=None))


@pytest.mark.parametrize('planner', ['ruckig'], indirect=True)
def test_a_jerk_that_is_too_large_in_all_tries(planner, monkeypatch):
    """A goal is refused with how large it would be; a stop is not."""
    monkeypatch.setattr(point_to_point, 'MAX_PLANS', 1)
    refused = 0
    for seed in range(60):
        names, limits, q, goal, _ = short_motion(seed)
        try:
            plan_point_to_point(names, at(MotionState.at_rest(q)), goal, limits, 0.02)
        except TrajectoryError as error:
            assert str(error).startswith('no motion was found that keeps the jerk limits; it wou')
            refused += 1
        plan_stop(names, at(MotionState(q, 1e-3 * limits.velocity, 0.0 * q)), limits, 0.02)
    assert 0 < refused < 60


ONE = MotionLimits(np.array([-1.0]), np.array([1.0]), np.array([1.0]), np.array([4.0]),
                   np.array([30.0]))


def test_a_joint_that_moves_fast_towards_its_limit_is_braked():
    """If immediate braking just keeps the limits, every goal is reached within them."""
    checked, count = 0, samples(usual=60, nightly=200)
    for seed in range(count):
        rng = np.random.default_rng(4000 + seed)
        limits = random_limits(rng)
        qd = rng.choice([-1.0, 1.0], 3) * rng.uniform(0.3, 0.95, 3) * limits.velocity
        qdd = -np.sign(qd) * rng.uniform(0.0, 0.9, 3) * limits.acceleration
        wide = replace(limits, lower=np.full(3, -50.0), upper=np.full(3, 50.0))
        braking = at(MotionState(np.zeros(3), qd, qdd))
        _, (path, _, _) = sampled(plan_stop(NAMES, braking, wide, PERIOD))
        q = np.where(qd > 0.0, limits.upper - path.max(axis=0) - 1e-4,
                     limits.lower - path.min(axis=0) + 1e-4)
        if not ((q + path > limits.lower) & (q + path < limits.upper)).all():
            continue
        start = MotionState(q, qd, qdd)
        goal = rng.uniform(limits.lower, limits.upper)
        check(plan_stop(NAMES, at(start), limits, PERIOD), limits, start)
        check(plan_point_to_point(NAMES, at(start), goal, limits, PERIOD), limits, start, goal)
        checked += 1
    assert checked > 0.5 * count


@pytest.mark.parametrize('planner', ['ruckig'], indirect=True)
def test_if_the_direct_motion_is_invalid_the_arm_stops_first(planner, monkeypatch):
    """To rest, and from there to the goal; from rest there is no alternative."""
    def rests_on_its_way(trajectory):
        return (np.abs(trajectory.qd[:-1]).max(axis=1) < 1e-9).any()

    def refuse_the_direct_motion(trajectory, limits):
        if not rests_on_its_way(trajectory):
            raise TrajectoryError('over the limit')

    limits = random_limits(np.random.default_rng(8))
    start = MotionState(np.zeros(3), 0.9 * limits.velocity, np.zeros(3))
    goal = np.array([0.5, -0.5, 0.9])
    direct = plan_point_to_point(NAMES, at(start), goal, limits, PERIOD)
    assert not rests_on_its_way(direct)
    monkeypatch.setattr(point_to_point, 'validate', refuse_the_direct_motion)
    trajectory = plan_point_to_point(NAMES, at(start), goal, limits, PERIOD)
    check(trajectory, limits, start, goal)
    assert rests_on_its_way(trajectory) and trajectory.duration > direct.duration
    with pytest.raises(TrajectoryError, match='over the limit'):
        plan_point_to_point(NAMES, at(MotionState.at_rest(np.zeros(3))), goal, limits, PERIOD)


def test_a_limit_that_cannot_be_kept_is_refused():
    """Too fast to stop before the limit: no plan rather than a bad one."""
    start = MotionState(np.array([0.95]), np.array([0.9]), np.array([0.0]))
    for goal in (np.array([0.0]), np.array([0.99])):
        with pytest.raises(TrajectoryError, match="position .* of joint 'a'"):
            plan_point_to_point(NAMES[:1], at(start), goal, ONE, PERIOD)
    with pytest.raises(TrajectoryError, match="position .* of joint 'a'"):
        plan_stop(NAMES[:1], at(start), ONE, PERIOD)


@pytest.mark.parametrize('goal', [1.01, -1.01])
def test_a_goal_outside_the_limits_is_refused(goal):
    """A goal beyond a limit is not planned."""
    start = MotionState.at_rest(np.zeros(1))
    with pytest.raises(TrajectoryError, match="position .* of joint 'a'"):
        plan_point_to_point(NAMES[:1], at(start), np.array([goal]), ONE, PERIOD)


@pytest.mark.parametrize('bad', [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(bad):
    """A goal or a state that is not a number is refused as a TrajectoryError."""
    start = MotionState.at_rest(np.zeros(1))
    with pytest.raises(TrajectoryError):
        plan_point_to_point(NAMES[:1], at(start), np.array([bad]), ONE, PERIOD)
    with pytest.raises(TrajectoryError):
        plan_point_to_point(NAMES[:1], at(MotionState.at_rest(np.array([bad]))),
                            np.zeros(1), ONE, PERIOD)
    with pytest.raises(TrajectoryError):
        plan_stop(NAMES[:1], at(
            MotionState(np.zeros(1), np.array([bad]), np.zeros(1))), ONE, PERIOD)


def test_all_joints_arrive_together():
    """The joints are synchronised: no joint rests long before the last one."""
    limits = MotionLimits(np.full(3, -9.0), np.full(3, 9.0), np.full(3, 1.0), np.full(3, 4.0),
                          np.full(3, 30.0))
    start = MotionState.at_rest(np.zeros(3))
    trajectory = plan_point_to_point(NAMES, at(start), np.array([3.0, 1.0, 0.3]), limits, PERIOD)
    times, (q, _, _) = sampled(trajectory)
    late = times > 0.95 * trajectory.duration
    assert (q[late][0] < trajectory.end - 1e-6).all()


def test_a_continuous_joint_may_turn_several_times():
    """Without limits a joint may turn many times."""
    limits = MotionLimits(np.array([-np.inf]), np.array([np.inf]), np.array([3.0]),
                          np.array([9.0]), np.array([60.0]))
    start = MotionState.at_rest(np.array([80.0]))
    goal = np.array([80.0 - 6.0 * np.pi])
    trajectory = plan_point_to_point(NAMES[:1], at(start), goal, limits, PERIOD)
    check(trajectory, limits, start, goal)


def test_velocity_limits_that_change_all_the_time():
    """Raised and lowered to just about the present speed, goal after goal: none is refused."""
    rng = np.random.default_rng(1)
    chain = robots.chain('six_axis_arm')
    away = np.array([1.8, 0.1, -0.6, 0.3, 1.2, 0.5])
    limits = limits_of(chain, acceleration=10.0, jerk=200.0)
    names, motion = chain.joint_names, None
    for _ in range(samples(usual=800, nightly=20_000)):
        if motion is None or motion.duration < 0.2:
            start = MotionState.at_rest(0.1 * away if motion is None else motion.end)
            motion = plan_point_to_point(names, at(start), rng.uniform(0.1, 0.9) * away,
                                         limits.scaled(velocity=0.5), PERIOD)
            elapsed = rng.uniform(0.0, 0.5) * motion.duration
        else:
            elapsed = rng.uniform(0.03, 0.12)
        start_state = StartState.from_motion(motion, elapsed, rng.uniform(0.03, 0.08))
        now = np.abs(start_state.splice.qd / chain.velocity).max()
        now *= 1.0 + rng.uniform(-0.03, 0.03)
        scale = rng.choice([0.3, 0.5, np.clip(now, 0.05, 0.5)])
        motion = plan_point_to_point(names, start_state, rng.uniform(0.1, 0.9) * away,
                                     limits.scaled(velocity=float(scale)), PERIOD)


def test_a_slow_motion_from_a_faster_begin():
    """What is spread over a long motion takes no velocity beyond its limit."""
    chain, ones, rng = robots.chain('six_axis_arm'), np.ones(6), np.random.default_rng(0)
    fast = limits_of(chain, 0.1 * chain.velocity, acceleration=10.0, jerk=200.0)
    slow = replace(fast, velocity=0.01 * ones)
    for seed in range(30):
        q = robots.random_postures(chain, 3, seed)
        motion = plan_point_to_point(chain.joint_names, at_rest(q[0]), q[1], fast, 0.1)
        start = StartState.from_motion(motion, rng.uniform(0.1, 0.9) * motion.duration, 0.1)
        validate(plan_point_to_point(chain.joint_names, start, q[2], slow, 0.1), slow)
