# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Motions along tool paths, judged by Pinocchio and by a checker of their own."""

from dataclasses import replace
from functools import lru_cache
from math import inf, nan, pi

from hypothesis import assume, given, settings, strategies as st
from motions import at_rest
from nightly import samples
import numpy as np
import path_checker as checker
import pinocchio as pin
import pytest
import robots

from ik_node.base.errors import ParameterError, PathError, Reason
from ik_node.motion.direct.point_to_point import plan_point_to_point, StartState
from ik_node.motion.tool_path.options import PathOptions
from ik_node.motion.tool_path.path import ToolPath
from ik_node.motion.tool_path.plan import plan_path, warm_up
from ik_node.motion.trajectory.limits import MotionLimits, TipLimits
from ik_node.motion.trajectory.trajectory import MotionState
from ik_node.solver.solver import Solver

ARMS = ('six_axis_arm', 'ur5', 'panda', 'xarm7')
POSTURES = {'six_axis_arm': (0.2, -0.5, 0.9, 0.3, 0.9, -0.2),
            'ur5': (0.3, -1.2, 1.5, -1.0, -1.3, 0.2),
            'panda': (0.1, -0.3, 0.2, -1.9, 0.1, 1.7, 0.5),
            'xarm7': (0.1, -0.3, 0.2, 1.3, 0.1, 1.5, 0.3)}
MILLIMETRE, MILLIRADIAN = 1e-3, 1e-3
WITHIN = np.array([0.1 * MILLIMETRE, 0.1 * MILLIRADIAN])


@lru_cache(maxsize=None)
def solver(name):
    return Solver(robots.chain(name))


def limits_of(name):
    robot = robots.chain(name)
    velocity = np.minimum(np.where(np.isfinite(robot.velocity), robot.velocity, 2.0), 2.0)
    return MotionLimits(robot.lower, robot.upper, velocity, np.full(robot.n, 2.0),
                        np.full(robot.n, 20.0))


def tip(name, q):
    return checker.tip_poses(robots.reference(name), robots.chain(name), [q])[0]


def moved(T, offset=(0.0, 0.0, 0.0), rotation_vector=(0.0, 0.0, 0.0)):
    """Return a pose shifted in the base frame and turned in its own."""
    T = T.copy()
    T[:3, 3] += offset
    T[:3, :3] = T[:3, :3] @ pin.exp3(np.array(rotation_vector, dtype=float))
    return T


def plan(name, path, q=None, limits=None, **options):
    return plan_path(solver(name), at_rest(POSTURES[name] if q is None else q), path,
                     limits or limits_of(name), PathOptions(**options))


def check_line(name, trajectory, T_a, T_b, limits, per_segment=5):
    """Assert limits, straightness between points, and the end; return times and tip poses."""
    times, q, _, _ = checker.check_limits(trajectory, limits, per_segment=per_segment)
    poses = checker.tip_poses(robots.reference(name), robots.chain(name), q)
    assert (checker.off_line(poses, T_a, T_b) < WITHIN).all()
    assert np.linalg.norm(poses[-1][:3, 3] - T_b[:3, 3]) < 1e-6
    return times, poses


@pytest.mark.parametrize('name', ARMS)
@pytest.mark.parametrize('offset, turned', (
    ((0.05, 0.1, -0.1), (0.0, 0.0, 0.0)), ((0.08, -0.05, 0.02), (0.3, -0.2, 0.5)),
    ((0.0, 0.0, 0.0), (0.2, 0.1, -0.6))))
def test_the_tip_moves_straight_between_the_points_too(name, offset, turned):
    T = tip(name, POSTURES[name])
    goal = moved(T, offset, turned)
    result = plan(name, [goal])
    check_line(name, result.trajectory, T, goal, limits_of(name))
    assert result.fraction == 1.0 and result.interruption is None
    # The deviation that is told is what Pinocchio sees, but for how places are compared.
    _, (q, _, _, _) = checker.sampled(result.trajectory, 2)
    seen = checker.off_line(checker.tip_poses(robots.reference(name), robots.chain(name), q),
                            T, goal)
    assert (seen <= 1.5 * np.array(result.deviation) + 1e-7).all()


@given(st.integers(0, 10**6), st.sampled_from(ARMS))
@settings(max_examples=samples(usual=25, nightly=60), deadline=None)
def test_any_short_line_away_from_limits_and_singularities_is_followed(seed, name):
    rng = np.random.default_rng(seed)
    robot = robots.chain(name)
    lower, upper = np.maximum(robot.lower, -3.0), np.minimum(robot.upper, 3.0)
    q = rng.uniform(lower + 0.25 * (upper - lower), upper - 0.25 * (upper - lower))
    J = robots.reference(name).jacobian(robot.base_link, robot.tip_link,
                                        robots.positions(robot, q))
    assume(np.linalg.svd(J, compute_uv=False)[5] > 0.1)
    velocity = rng.uniform(0.3, 2.0, robot.n)
    acceleration = velocity * rng.uniform(1.0, 6.0)
    limits = MotionLimits(robot.lower, robot.upper, velocity, acceleration,
                          acceleration * rng.uniform(5.0, 30.0))
    direction = rng.normal(size=3)
    T = tip(name, q)
    goal = moved(T, 0.03 * direction / np.linalg.norm(direction), rng.uniform(-0.1, 0.1, 3))
    result = plan(name, [goal], q, limits)
    check_line(name, result.trajectory, T, goal, limits, 3)


@given(st.integers(0, 10**6), st.sampled_from(ARMS))
@settings(max_examples=samples(usual=25, nightly=60), deadline=None)
def test_any_line_is_followed_whole_or_refused_with_its_fraction(seed, name):
    rng = np.random.default_rng(seed)
    robot, limits = robots.chain(name), limits_of(name)
    q, q_goal = robots.random_postures(robot, 2, seed)
    T = tip(name, q)
    goal = moved(T, rng.uniform(-0.4, 0.4, 3), rng.uniform(-1.0, 1.0, 3))
    goal = tip(name, q_goal) if seed % 2 else goal
    try:
        result = plan(name, [goal], q)
    except PathError as error:
        assert 0.0 <= error.fraction < 1.0
        assert error.reason in (Reason.PATH_INTERRUPTED, Reason.BEYOND_LIMIT, Reason.OUT_OF_REACH,
                                Reason.INNER_VOID, Reason.ORIENTATION_OUT_OF_REACH,
                                Reason.NO_SOLUTION, Reason.PATH_INVALID)
        return
    check_line(name, result.trajectory, T, goal, limits, 2)


def test_a_path_stops_at_its_corners_and_a_blend_does_not():
    name = 'ur5'
    T = tip(name, POSTURES[name])
    corners = [moved(T, offset) for offset in ((0.1, 0, 0), (0.1, 0.1, 0), (0.1, 0.1, -0.1))]
    stopping = plan(name, corners)
    times, q, qd, _ = checker.check_limits(stopping.trajectory, limits_of(name))
    poses = checker.tip_poses(robots.reference(name), robots.chain(name), q)
    for corner in corners[:-1]:
        k = int(np.linalg.norm(poses[:, :3, 3] - corner[:3, 3], axis=1).argmin())
        assert np.linalg.norm(poses[k, :3, 3] - corner[:3, 3]) < 1e-6
        assert np.abs(qd[k]).max() < 1e-9
    for k, (a, b) in enumerate(zip([T, *corners[:-1]], corners)):
        near = [pose for pose in poses if checker.off_line([pose], a, b)[0] < 1e-4]
        assert len(near) > 10, k

    radius = 0.02
    blended = plan(name, corners, blend_radius=radius)
    times, q, qd, _ = checker.check_limits(blended.trajectory, limits_of(name))
    assert blended.trajectory.duration < 0.96 * stopping.trajectory.duration
    inside = (times > 0.1) & (times < times[-1] - 0.1)
    assert np.abs(qd[inside]).max(axis=1).min() > 1e-2
    poses = checker.tip_poses(robots.reference(name), robots.chain(name), q)
    for pose in poses:
        off = min(checker.off_line([pose], a, b)[0] for a, b in zip([T, *corners[:-1]], corners))
        from_corner = min(np.linalg.norm(pose[:3, 3] - c[:3, 3]) for c in corners[:-1])
        assert off < (WITHIN[0] if from_corner > radius else radius)


@pytest.mark.parametrize('name', ('six_axis_arm', 'panda'))
def test_an_arc_is_followed(name):
    T = tip(name, POSTURES[name])
    centre = T[:3, 3] + [0.06, 0.0, 0.0]
    result = plan(name, ToolPath.arc_about(T, centre, [0, 0, 1], 2.0 * pi, turning=False))
    _, q, _, _ = checker.check_limits(result.trajectory, limits_of(name))
    poses = checker.tip_poses(robots.reference(name), robots.chain(name), q)
    off = poses[:, :3, 3] - centre
    assert np.abs(np.linalg.norm(off[:, :2], axis=1) - 0.06).max() < WITHIN[0]
    assert np.abs(off[:, 2]).max() < WITHIN[0]
    assert max(np.linalg.norm(pin.log3(p[:3, :3].T @ T[:3, :3])) for p in poses) < WITHIN[1]


def test_a_path_elsewhere_gets_a_line_to_its_begin():
    name = 'ur5'
    T = tip(name, POSTURES[name])
    a, b = moved(T, (0.05, 0.05, 0.0)), moved(T, (0.05, 0.1, -0.05))
    result = plan(name, ToolPath.lines([a, b]))
    _, q, _, _ = checker.check_limits(result.trajectory, limits_of(name))
    poses = checker.tip_poses(robots.reference(name), robots.chain(name), q)
    assert min(np.linalg.norm(p[:3, 3] - a[:3, 3]) for p in poses) < 1e-6
    assert np.linalg.norm(poses[-1][:3, 3] - b[:3, 3]) < 1e-6


@pytest.mark.fault('goals', 'a line past a wrist singularity', 'slower, never beyond the limits')
@pytest.mark.parametrize('aside', (0.0, 1e-8, 1e-5, 1e-3, 1e-2))
@pytest.mark.parametrize('singular', ((0.3, -0.4, 0.9, 0.0, 0.0, 0.0),
                                      (-0.5, -0.6, 1.0, -0.9, 0.0, 0.3)))
def test_near_a_wrist_singularity_it_slows_down_within_the_limits(aside, singular):
    """A line that passes the stretched wrist by so much (m)."""
    name = 'six_axis_arm'
    robot, limits = robots.chain(name), limits_of(name)
    singular = np.array(singular)
    T = tip(name, singular)
    J = robots.reference(name).jacobian(robot.base_link, robot.tip_link,
                                        robots.positions(robot, singular))
    assert np.linalg.svd(J, compute_uv=False)[-1] < 1e-6
    # Joint 5 bends the wrist; across is what only the lost direction could do.
    along = 0.08 * J[:3, 4] / np.linalg.norm(J[:3, 4])
    across = np.linalg.svd(J)[0][:, -1]
    across = aside * across[:3] / np.linalg.norm(across[:3])
    begin = moved(T, across - along)
    start = solver(name).solve(begin, singular)
    assert start.success
    T_a = tip(name, start.q)
    goal = moved(T, across + along)
    result = plan(name, [goal], start.q)
    check_line(name, result.trajectory, T_a, goal, limits)


@pytest.mark.fault('goals', 'a line with an unreachable middle',
                   'refused as a whole, with the fraction')
def test_an_unreachable_middle_refuses_the_path_with_its_fraction():
    """A line straight out: the end is where two links are stretched, by their lengths."""
    name = 'six_axis_arm'
    T = tip(name, POSTURES[name])
    out = T[:3, 3] / np.linalg.norm(T[:3, 3])
    far = moved(T, 1.5 * out)
    with pytest.raises(PathError, match='% of its length') as caught:
        plan(name, [far])
    fraction = caught.value.fraction
    assert 0.05 < fraction < 0.9
    # Just before it there is a solution, from there on there is none.
    robot = robots.chain(name)
    search = Solver(robot, max_restarts=300)
    reached = moved(T, (fraction - 0.002) * 1.5 * out)
    assert search.solve(reached, np.array(POSTURES[name])).success
    beyond = moved(T, (fraction + 0.01) * 1.5 * out)
    assert not search.solve(beyond, np.array(POSTURES[name])).success

    part = plan(name, [far], partial=True)
    assert part.interruption is not None and part.interruption.reason is caught.value.reason
    assert fraction - 0.01 < part.fraction <= fraction
    times, poses = check_line(name, part.trajectory, T,
                              moved(T, part.fraction * 1.5 * out), limits_of(name))
    assert np.allclose(poses[-1][:3, 3], T[:3, 3] + part.fraction * 1.5 * out, atol=1e-4)


@pytest.mark.fault('goals', 'a line that passes a joint limit', 'refused with the joint')
def test_a_joint_limit_on_the_path_is_named():
    name = 'six_axis_arm'
    robot, q = robots.chain(name), np.array(POSTURES[name])
    limits = replace(limits_of(name), lower=np.where(np.arange(6) == 0, q - 0.05, robot.lower),
                     upper=np.where(np.arange(6) == 0, q + 0.05, robot.upper))
    T = tip(name, q)
    swing = np.array([-T[1, 3], T[0, 3], 0.0])
    for sign in (1.0, -1.0):
        with pytest.raises(PathError, match=robot.joint_names[0]) as caught:
            plan(name, [moved(T, 0.5 * sign * swing)], q, limits)
        assert caught.value.reason is Reason.BEYOND_LIMIT
        assert caught.value.fraction == pytest.approx(np.tan(0.05) / 0.5, rel=0.2)


def test_tool_limits_hold():
    name = 'ur5'
    T = tip(name, POSTURES[name])
    goal = moved(T, (0.1, 0.15, -0.1), (0.0, 0.4, 0.0))
    free = plan(name, [goal]).trajectory
    for options in ({'speed': 0.1}, {'angular_speed': 0.15},
                    {'acceleration': 0.2}, {'angular_acceleration': 0.3},
                    {'speed': 0.08, 'acceleration': 0.15, 'blend_radius': 0.05}):
        options = {'blend_radius': 0.0, **options}
        path = [goal, moved(goal, (0.0, -0.1, 0.0))] if options['blend_radius'] else [goal]
        radius = options.pop('blend_radius')
        trajectory = plan(name, path, limits=replace(limits_of(name), tip=TipLimits(**options)),
                          blend_radius=radius).trajectory
        times, (q, _, _, _) = checker.sampled(trajectory, 4)
        poses = checker.tip_poses(robots.reference(name), robots.chain(name), q)
        speed, turning = checker.tool_speeds(times, poses)
        assert speed.max() <= 1.001 * options.get('speed', inf)
        assert turning.max() <= 1.001 * options.get('angular_speed', inf)
        keep = np.append(True, np.diff(times) > 1e-9)
        p, t = poses[keep, :3, 3], times[keep]
        v, middle = np.diff(p, axis=0) / np.diff(t)[:, None], 0.5 * (t[1:] + t[:-1])
        a = np.linalg.norm(np.diff(v, axis=0), axis=1) / np.diff(middle)
        assert a.max() <= 1.01 * options.get('acceleration', inf)
        if 'angular_acceleration' in options:
            assert np.abs(np.diff(turning) / np.diff(middle)).max() <= 1.01 * 0.3
        assert trajectory.duration > 1.05 * free.duration
    # The limit is used, not only kept.
    limited = plan(name, [goal], limits=replace(limits_of(name), tip=TipLimits(0.1)))
    assert 0.95 * 0.1 < checker.tool_speeds(*seen(name, limited))[0].max()


@pytest.mark.parametrize('options', [{'speed': 1e-7}, {'acceleration': 1e-13}, {'speed': 1e-300},
                                     {'angular_acceleration': 1e-200}])
def test_a_path_that_would_take_days_is_refused(options):
    """Before there are points for it, which would fill the memory."""
    goal = moved(tip('ur5', POSTURES['ur5']), (0.1, 0.15, -0.1), (0.0, 0.4, 0.0))
    with pytest.raises(PathError, match='the path would take .* s are planned at once'):
        plan('ur5', [goal], limits=replace(limits_of('ur5'), tip=TipLimits(**options)))


@pytest.mark.parametrize('joint', range(6))
def test_an_acceleration_out_of_reach_does_not_slow_the_motion(joint):
    """As where one joint has no acceleration limit of its own, and somebody wrote 1e12."""
    limits = limits_of('ur5')
    reachable = np.sqrt(2.0 * limits.velocity * limits.jerk)
    goal = moved(tip('ur5', POSTURES['ur5']), (0.1, 0.15, -0.1), (0.0, 0.4, 0.0))
    high, highest = limits.acceleration.copy(), limits.acceleration.copy()
    high[joint], highest[joint] = reachable[joint], 1e12
    durations = [plan('ur5', [goal], limits=replace(limits, acceleration=each)).trajectory.duration
                 for each in (high, highest)]
    assert durations[0] == durations[1]


def test_limits_whose_jerk_takes_days_are_refused():
    """A joint that gains speed without end for its jerk."""
    limits = limits_of('ur5')
    goal = moved(tip('ur5', POSTURES['ur5']), (0.1, 0.15, -0.1), (0.0, 0.4, 0.0))
    with pytest.raises(PathError, match='the path would take .* s are planned at once'):
        plan('ur5', [goal], limits=replace(limits, velocity=np.full(6, 1e12),
                                           acceleration=np.full(6, 1e12)))


def seen(name, result):
    """Return times and tip poses of a plan."""
    times, (q, _, _, _) = checker.sampled(result.trajectory, 4)
    return times, checker.tip_poses(robots.reference(name), robots.chain(name), q)


def test_scales_slow_the_motion():
    name = 'ur5'
    goal = [moved(tip(name, POSTURES[name]), (0.1, 0.3, -0.1))]
    limits = limits_of(name)
    whole = plan(name, goal).trajectory
    slow = plan(name, goal, limits=limits.scaled(velocity=0.2)).trajectory
    soft = plan(name, goal, limits=limits.scaled(acceleration=0.25)).trajectory
    assert slow.duration > 1.5 * whole.duration and soft.duration > 1.2 * whole.duration
    checker.check_limits(slow, replace(limits, velocity=0.2 * limits.velocity))
    checker.check_limits(soft, replace(limits, acceleration=0.25 * limits.acceleration))


def test_a_moving_arm_is_brought_to_rest_first():
    name = 'ur5'
    limits, q = limits_of(name), np.array(POSTURES[name])
    names = robots.chain(name).joint_names
    motion = plan_point_to_point(names, at_rest(q), q + 0.5, limits, 0.02)
    start_state = StartState.from_motion(motion, 0.5, 0.05, 0.01)
    now = start_state.initial
    assert np.abs(now.qd).max() > 0.1
    goal = moved(tip(name, q + 0.3), (0.0, 0.05, -0.05))
    result = plan_path(solver(name), start_state, [goal], limits)
    trajectory = result.trajectory
    assert np.array_equal(trajectory.start.q, now.q)
    assert trajectory.lead_points == len(start_state.times)
    checker.check_limits(trajectory, limits, jerk_slack=1.0)
    rest = np.flatnonzero(np.abs(trajectory.qd).max(axis=1) < 1e-9)[0]
    assert 0 < rest < len(trajectory.times) - 1
    T = tip(name, trajectory.q[rest])
    after = replace(trajectory, start=MotionState.at_rest(trajectory.q[rest]), lead_points=0,
                    times=trajectory.times[rest + 1:] - trajectory.times[rest],
                    q=trajectory.q[rest + 1:], qd=trajectory.qd[rest + 1:],
                    qdd=trajectory.qdd[rest + 1:])
    check_line(name, after, T, goal, limits)


@pytest.mark.parametrize('name', ('panda', 'xarm7'))
def test_a_seventh_joint_moves_no_more_than_needed(name):
    """Out and back: it comes back to where it was, and the joints go evenly."""
    q = np.array(POSTURES[name])
    T = tip(name, q)
    there = moved(T, (0.08, 0.1, -0.08))
    trajectory = plan(name, [there, T]).trajectory
    assert np.abs(trajectory.q[-1] - q).max() < 0.01
    steps = np.abs(np.diff(trajectory.q, axis=0)).max()
    assert steps < 0.05
    # No joint motion leaves the tip where it is: the motion is in the rows of J.
    robot = robots.chain(name)
    for k in range(5, len(trajectory.times) // 2 - 5, 7):
        J = robots.reference(name).jacobian(robot.base_link, robot.tip_link,
                                            robots.positions(robot, trajectory.q[k]))
        null = np.linalg.svd(J)[2][-1]
        qd = trajectory.qd[k]
        assert abs(null @ qd) < 0.1 * np.linalg.norm(qd) + 1e-3


def test_a_start_outside_the_limits_may_move_inward_only():
    name = 'ur5'
    q, limits = np.array(POSTURES[name]), limits_of(name)
    lower = limits.lower.copy()
    lower[0] = q[0] + 0.005
    limits = replace(limits, lower=lower)
    T = tip(name, q)
    swing = np.array([-T[1, 3], T[0, 3], 0.0])
    trajectory = plan(name, [moved(T, 0.2 * swing)], q, limits).trajectory
    assert trajectory.q[:, 0].min() >= q[0] - 1e-6 and trajectory.q[-1, 0] > lower[0]
    with pytest.raises(PathError):
        plan(name, [moved(T, -0.2 * swing)], q, limits)


def toppra_duration(name, T_a, T_b, limits):
    """Return what toppra needs for the line with the same velocity and acceleration limits."""
    ta = pytest.importorskip('toppra')
    from toppra import algorithm, constraint
    robot = robots.chain(name)
    w = pin.log3(T_b[:3, :3] @ T_a[:3, :3].T)
    q, seed = [], np.array(POSTURES[name])
    for share in np.linspace(0.0, 1.0, 101):
        T = T_a.copy()
        T[:3, 3] += share * (T_b[:3, 3] - T_a[:3, 3])
        T[:3, :3] = pin.exp3(share * w) @ T_a[:3, :3]
        seed = Solver(robot, position_tolerance=1e-10, orientation_tolerance=1e-10).solve(
            T, seed).q.copy()
        q.append(seed)
    path = ta.SplineInterpolator(np.linspace(0.0, 1.0, 101), np.array(q))
    both = [np.array([-x, x]).T for x in (limits.velocity, limits.acceleration)]
    instance = algorithm.TOPPRA(
        [constraint.JointVelocityConstraint(both[0]),
         constraint.JointAccelerationConstraint(
             both[1], discretization_scheme=constraint.DiscretizationType.Interpolation)],
        path, gridpoints=np.linspace(0.0, 1.0, 401), parametrizer='ParametrizeConstAccel')
    return instance.compute_trajectory(0.0, 0.0).duration


@pytest.mark.parametrize('name', ('six_axis_arm', 'ur5'))
def test_duration_is_toppras_plus_the_ramps(name):
    """Without much of a jerk limit it is toppra's optimum, and never faster."""
    T = tip(name, POSTURES[name])
    goal = moved(T, (0.05, 0.2, -0.1), (0.2, 0.0, 0.3))
    limits = limits_of(name)
    optimum = toppra_duration(name, T, goal, limits)
    stiff = plan(name, [goal], limits=replace(limits, jerk=np.full(6, 2000.0))).trajectory
    assert 0.999 * optimum <= stiff.duration <= 1.01 * optimum + 0.04
    soft = plan(name, [goal]).trajectory
    ramp = (limits.acceleration / limits.jerk).max()
    assert optimum + 0.5 * ramp < soft.duration < 1.05 * optimum + 1.5 * ramp


GOOD = PathOptions()


@pytest.mark.parametrize('name, value', (
    *((name, value) for name in ('position_deviation', 'orientation_deviation', 'period',
                                 'max_joint_step') for value in (0.0, -1.0, nan, inf)),
    ('blend_radius', -0.1), ('blend_radius', nan), ('blend_radius', inf)))
def test_options_out_of_range_are_refused_by_name(name, value):
    with pytest.raises(ParameterError, match=name):
        replace(GOOD, **{name: value})


@pytest.mark.parametrize('name', ('velocity', 'acceleration', 'jerk'))
@pytest.mark.parametrize('value', (0.0, -1.0, nan, inf))
def test_invalid_limits_are_refused_by_name(name, value):
    limits = replace(limits_of('ur5'), **{name: np.array([1.0, 1.0, value, 1.0, 1.0, 1.0])})
    with pytest.raises(ParameterError, match=name):
        plan('ur5', [moved(tip('ur5', POSTURES['ur5']), (0.1, 0, 0))], limits=limits)


def test_bad_paths_are_refused_with_one_sentence():
    T = tip('ur5', POSTURES['ur5'])
    for path, reason in (
            ([], Reason.PATH_INVALID), ([T], Reason.ALREADY_THERE),
            ([T, T], Reason.ALREADY_THERE), ([moved(T, (nan, 0, 0))], Reason.GOAL_NOT_FINITE),
            ([moved(T, (0.1, 0, 0), (0, pi, 0))], Reason.PATH_INVALID)):
        with pytest.raises(PathError) as caught:
            plan('ur5', path)
        assert caught.value.reason is reason and '\n' not in str(caught.value)


def test_one_pose_and_doubled_poses_are_one_line():
    T = tip('ur5', POSTURES['ur5'])
    goal = moved(T, (0.1, 0.0, -0.1))
    one, doubled = plan('ur5', [goal]), plan('ur5', [T, goal, goal])
    assert np.array_equal(one.trajectory.q, doubled.trajectory.q)
    assert np.array_equal(one.trajectory.times, doubled.trajectory.times)


@pytest.mark.parametrize('name', ['velocity', 'acceleration'])
@pytest.mark.parametrize('value', [0.0, -0.5, 1.0001, nan, inf])
def test_scales_out_of_range_are_refused_by_name(name, value):
    with pytest.raises(ParameterError, match=name):
        limits_of('ur5').scaled(**{name: value})


@pytest.mark.parametrize('name', robots.cases())
def test_warming_up_serves_every_arm(name):
    """It compiles for a path that the arm can follow, or at least raises nothing."""
    warm_up(Solver(robots.chain(name)))
    from ik_node.motion.tool_path import pacing, splines, tracing
    for kernel in (tracing.trace, tracing.largest_deviation, splines.sample,
                   pacing.lower_where_exceeded, pacing.peak_shares):
        assert len(kernel.signatures) == 1


@pytest.mark.parametrize('far', [1e5, 9e9])
def test_a_path_that_is_too_long(far):
    """One sentence, before there are arrays for its cells, which would fill the memory."""
    T = tip('six_axis_arm', POSTURES['six_axis_arm'])
    with pytest.raises(PathError, match='too long to be planned at once') as error:
        plan('six_axis_arm', [moved(T, (far, 0.0, 0.0))])
    assert error.value.reason is Reason.PATH_INVALID
