# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What a refused path or sequence names as its remedy is true: so it can be planned."""

from collections import Counter
from dataclasses import replace
from functools import lru_cache
from time import thread_time

from geometry_oracle import model_of
from motions import at_rest, limits_of
from nightly import samples, usual_first
import numpy as np
from path_checker import check_limits, off_line, tip_poses
import pytest
import robots

from ik_node.base.errors import IkNodeError, PathError, Reason
from ik_node.base.se3 import pose, rotation_about
from ik_node.collision.scene.scene import Scene
from ik_node.motion.direct.point_to_point import plan_point_to_point, StartState
from ik_node.motion.joint_path.motion_sequence import SequencedMotion, SequenceError
from ik_node.motion.motion_remedies import find_motion_remedies, JointMotion, OfPose, OtherStart
from ik_node.motion.requests import (
    ArcPoses,
    MotionRemedyRequest,
    PathRequest,
    Rounds,
    SequenceRequest,
)
from ik_node.motion.tool_path.options import PathOptions
from ik_node.motion.trajectory.interpolation import positions_at
from ik_node.solver.goal import Goal
from ik_node.solver.remedies.remedy import OtherOption, Shift, Turn, WiderLimit
from ik_node.solver.solver import Solver

ARMS = 'six_axis_arm', 'ur5', 'panda', 'xarm7'
NAME = 'six_axis_arm'
Q = np.array([0.2, -0.5, 0.9, 0.3, 0.9, -0.2])
WITHIN = np.array([1e-4, 1e-4])  # m and rad, of a tip from its line
PERIOD_S = 0.02
OPTIONS = PathOptions(period=PERIOD_S)


@lru_cache(maxsize=None)
def solver(name=NAME):
    """Return the solver of an arm."""
    return Solver(robots.chain(name), select='nearest')


def tip(name, q):
    """Return the pose of the tip by Pinocchio."""
    return tip_poses(robots.reference(name), robots.chain(name), [q])[0]


def shifted(T, *offset):
    """Return a pose shifted in the base link, m."""
    T = T.copy()
    T[:3, 3] += offset
    return T


def path_to(name, q, *poses):
    """Return the call for a path from rest."""
    chain = robots.chain(name)
    return PathRequest(at_rest(q), poses, limits_of(chain, velocity=1.0), OPTIONS)


def error_of(call, solve):
    """Return why a motion cannot be planned; None if it can."""
    try:
        call.plan(solve)
    except IkNodeError as error:
        return error
    return None


def remedies_of(call, solve, goes_on=lambda: True, first=1):
    """Return the remedies of a call that is refused."""
    return MotionRemedyRequest(call, first, Rounds(goes_on)).plan(solve)


def changed(T, remedy):
    """Return the pose that somebody sends who reads the numbers of a shift or a turn."""
    told = {key: np.array(value.split(), dtype=float) for key, value in remedy.values.items()
            if key in ('remedy_shift_m', 'remedy_turn_deg', 'remedy_turn_axis')}
    if isinstance(remedy, Shift):
        return shifted(T, *told['remedy_shift_m'])
    axis, angle = told['remedy_turn_axis'], np.radians(told['remedy_turn_deg'][0])
    return T @ pose(rotation_about(axis / np.linalg.norm(axis), angle), np.zeros(3))


def with_limit(chain, remedy):
    """Return a chain with the limit of a remedy."""
    end, k = 'upper' if remedy.upper else 'lower', chain.joint_names.index(remedy.joint)
    values = getattr(chain, end).copy()
    values[k] = remedy.value
    return replace(chain, **{end: values})


def told_start(remedy):
    """Return the joint positions that somebody sends who reads the numbers of a remedy."""
    return np.array(remedy.values['remedy_start'].split(), dtype=float)


def assert_helps(name, call, remedy):
    """A line is planned with its remedy; the tip is on the line by Pinocchio, within limits."""
    chain, [T] = robots.chain(name), call.path
    solve, changed_call = solver(name), call
    if isinstance(remedy, (Shift, Turn)):
        changed_call = replace(call, path=(changed(T, remedy),))
    elif isinstance(remedy, WiderLimit):
        solve = Solver(with_limit(chain, remedy), select='nearest')
        changed_call = replace(call, limits=limits_of(solve.chain, velocity=1.0))
    elif isinstance(remedy, OtherStart):
        q = told_start(remedy)
        assert max(off_line(tip_poses(robots.reference(name), chain, [q]),
                            tip(name, call.start.splice.q), T)) < 1e-3
        plan_point_to_point(chain.joint_names, call.start, chain.nearest_turns(
            q, call.start.splice.q), call.limits, PERIOD_S, chain)
        changed_call = replace(call, start=at_rest(q))
    else:
        assert isinstance(remedy, JointMotion)
        result = solve.solve(T, call.start.splice.q)
        trajectory = plan_point_to_point(chain.joint_names, call.start, result.q, call.limits,
                                         PERIOD_S, chain)
        assert np.abs(tip(name, trajectory.end) - T).max() < 1e-5
        return
    planned = changed_call.plan(solve)
    assert planned.fraction == 1.0
    q = check_limits(planned.trajectory, changed_call.limits)[1]
    poses = tip_poses(robots.reference(name), chain, q)
    begin, end = tip(name, changed_call.start.splice.q), changed_call.path[0]
    assert (off_line(poses, begin, end) < WITHIN).all()
    assert np.abs(poses[-1] - end).max() < 1e-5


def refused_lines(name, count):
    """Return calls for lines that are refused, long and short ones, half of them turning."""
    chain, rng, found = robots.chain(name), np.random.default_rng(5), []
    Q = robots.random_postures(chain, 20 * count, 1)
    for k, q in enumerate(Q[:-1]):
        T, away = tip(name, q).copy(), rng.normal(size=3)
        T[:3, 3] += chain.reach * rng.uniform(0.1, 0.8) * away / np.linalg.norm(away)
        if k % 2:
            axis = rng.normal(size=3)
            T = T @ pose(rotation_about(axis / np.linalg.norm(axis), rng.uniform(0.1, 0.8)),
                         np.zeros(3))
        call = path_to(name, q, T)
        if error_of(call, solver(name)) is not None:
            found.append(call)
        if len(found) == count:
            return found
    raise AssertionError(f'{name}: only {len(found)} lines are refused')


# ---- lines ------------------------------------------------------------------

@pytest.mark.parametrize('name', usual_first(2, ARMS))
def test_lines(name):
    """Most refused lines have a remedy, whether their end or their way is refused; all help."""
    shares, kinds, times = {True: [], False: []}, Counter(), []
    for call in refused_lines(name, samples(usual=24, nightly=400)):
        reachable = solver(name).solve(call.path[0], call.start.splice.q).success
        began = thread_time()
        remedies = remedies_of(call, solver(name))
        times.append(1e3 * (thread_time() - began))
        shares[reachable].append(bool(remedies))
        for remedy in remedies:
            kinds[type(remedy).__name__] += 1
            assert isinstance(remedy, (OtherStart, JointMotion)) == reachable
            assert_helps(name, call, remedy)
    print(f'{name}: {sum(shares[False])} of {len(shares[False])} lines whose end is out of reach '
          f'have a remedy, {sum(shares[True])} of {len(shares[True])} others; {dict(kinds)}; '
          f'{np.percentile(times, 50):.1f} ms in the middle, {np.percentile(times, 99):.1f} ms '
          'for 99 of 100')
    assert np.mean(shares[False]) > 0.7 and np.mean(shares[True]) > 0.7


def test_the_same_every_time_and_nothing_without_time():
    """Bit for bit; nothing is said if there was no time to try it."""
    call = path_to(NAME, Q, shifted(tip(NAME, Q), 0.9, 0.0, 0.0))
    assert error_of(call, solver()) is not None
    told = [[(remedy.sentence, remedy.values) for remedy in remedies_of(call, each)]
            for each in (solver(), Solver(robots.chain(NAME), select='nearest'))]
    assert told[0] == told[1] and told[0]
    for rounds in range(2):
        left = iter([True] * rounds)
        assert not remedies_of(call, solver(), lambda left=left: next(left, False))
    assert not remedies_of(path_to(NAME, Q, shifted(tip(NAME, Q), 0.05, 0.0, 0.0)), solver())


def test_options_that_do_not_bind_lines():
    """A line goes on where `max_jump` and `nearest` would refuse or change a goal of its own."""
    call = path_to(NAME, Q, shifted(tip(NAME, Q), 0.9, 0.0, 0.0))
    for options in ({'max_jump': 0.01}, {'nearest': True}):
        bound = Solver(robots.chain(NAME), select='nearest', **options)
        [remedy, *_] = remedies_of(call, bound)
        assert isinstance(remedy, Shift)
        assert_helps(NAME, call, remedy)


def test_partial_paths_and_a_moving_arm():
    """The whole path is wanted, though a part could be had; it begins where the arm rests."""
    chain, T = robots.chain(NAME), shifted(tip(NAME, Q), 0.9, 0.0, 0.0)
    motion = plan_point_to_point(chain.joint_names, at_rest(Q), Q + 0.3,
                                 limits_of(chain, velocity=1.0), PERIOD_S, chain)
    start = StartState.from_motion(motion, 0.4, 0.05)
    assert not start.splice.rests
    call = replace(path_to(NAME, Q, T), start=start, options=replace(OPTIONS, partial=True))
    remedies = remedies_of(call, solver())
    assert remedies
    for remedy in remedies:
        assert isinstance(remedy, (Shift, Turn))
        assert replace(call, path=(changed(T, remedy),)).plan(solver()).fraction == 1.0


# ---- paths of poses and arcs ------------------------------------------------

def test_one_pose_of_a_path():
    """It is named; the path can be followed to it, or all the way if the others are in reach."""
    T = tip(NAME, Q)
    near, far, last = (shifted(T, *offset) for offset in
                       ((0.0, 0.05, 0.0), (0.7, 0.05, 0.0), (0.0, 0.1, 0.0)))
    call = path_to(NAME, Q, near, far, last)
    remedies = remedies_of(call, solver())
    assert remedies
    for remedy in remedies:
        assert isinstance(remedy, OfPose) and remedy.name == 'pose 2 of 3'
        assert remedy.sentence.startswith('pose 2 of 3: ') and 'can be reached' in remedy.sentence
        assert remedy.values['remedy_of'] == 'pose 2 of 3'
        nearer = changed(far, remedy.remedy)
        assert replace(call, path=(near, nearer)).plan(solver()).fraction == 1.0
        assert replace(call, path=(near, nearer, last)).plan(solver()).fraction == 1.0


@pytest.mark.parametrize('far, name', [
    (0, 'the start of the arc'), (1, 'the pose on the way'), (2, 'the end of the arc')])
def test_arcs(far, name):
    """Its begin, its end or the pose between them is named."""
    T = tip(NAME, Q)
    poses = [T, shifted(T, -0.05, 0.05, 0.0), shifted(T, 0.0, 0.1, 0.0)]
    poses[far] = shifted(poses[far], 0.0, 0.0, 0.7)
    call = replace(path_to(NAME, Q), path=ArcPoses(*poses))
    error, remedies = error_of(call, solver()), remedies_of(call, solver())
    assert error.reason is not Reason.PATH_INVALID and all(each.name == name for each in remedies)
    for remedy in remedies:
        better = list(poses)
        better[far] = changed(poses[far], remedy.remedy)
        assert replace(call, path=ArcPoses(*better)).plan(solver()).fraction == 1.0
    assert remedies or far == 1  # the whole arc through a pose far away may stay out of reach


# ---- the way between --------------------------------------------------------

def test_a_way_that_is_blocked_by_a_limit():
    """From another posture the same line is free of the limit; or the joints go there."""
    chain = robots.chain(NAME)
    q = np.array([1.0, -0.8, -2.1, 1.9, 0.7, 0.2])
    call = path_to(NAME, q, shifted(tip(NAME, q), 0.0, 0.25, 0.0))
    error = error_of(call, solver())
    assert error.reason is Reason.BEYOND_LIMIT and "'joint_3' is at its limit" in str(error)
    [start, direct] = remedies_of(call, solver())
    assert isinstance(start, OtherStart) and isinstance(direct, JointMotion)
    assert start.values['remedy_start_joints'].split() == list(chain.joint_names)
    values = start.values['remedy_start'].replace(' ', ', ')
    assert f'started from the joint positions [{values}]' in start.sentence
    assert direct.values == {'remedy_way': 'joints'}
    for remedy in (start, direct):
        assert_helps(NAME, call, remedy)
    end = call.path[0]
    several = replace(call, path=(end, shifted(end, 0.0, 0.0, 0.02)))
    for remedy in remedies_of(several, solver()):
        assert isinstance(remedy, OtherStart)
        assert replace(several, start=at_rest(told_start(remedy))).plan(solver()).fraction == 1.0


def test_among_obstacles():
    """With what is told, the arm keeps clear of what is there, on the line and before it."""
    chain, scene = robots.chain(NAME), Scene('base_link', robots.tree(NAME).links)
    scene.add_box('post', (0.1, 0.1, 0.5), pose(np.eye(3), (0.5, 0.0, 0.25)))
    model = model_of(NAME).with_objects(scene.bodies, 0.005, scene.snapshot.touch_links)
    among, helped, blocked = Solver(chain, model, select='nearest'), Counter(), 0

    def assert_free(trajectory):
        times = np.linspace(0.0, trajectory.duration, 300)
        assert model.check_many(np.ascontiguousarray(positions_at(trajectory, times))).all()

    Q = robots.random_postures(chain, samples(usual=250, nightly=1500), 2)
    for q, other in zip(Q, Q[1:]):
        if not model.check_many(np.array([q]))[0]:
            continue
        T = tip(NAME, q).copy()
        T[:3, 3] = 0.7 * (tip(NAME, other)[:3, 3] - T[:3, 3]) + T[:3, 3]
        call = path_to(NAME, q, T)
        if error_of(call, among) is None:
            continue
        blocked += 1
        for remedy in remedies_of(call, among):
            helped[type(remedy).__name__] += 1
            if isinstance(remedy, (Shift, Turn)):
                assert_free(replace(call, path=(changed(T, remedy),)).plan(among).trajectory)
            elif isinstance(remedy, (OtherStart, JointMotion)):
                there = told_start(remedy) if isinstance(remedy, OtherStart) \
                    else among.solve(T, q).q
                assert_free(plan_point_to_point(chain.joint_names, call.start, there, call.limits,
                                                PERIOD_S, chain))
                if isinstance(remedy, OtherStart):
                    assert_free(replace(call, start=at_rest(there)).plan(among).trajectory)
    print(f'{blocked} lines are blocked; {dict(helped)}')
    assert min(helped[name] for name in ('Shift', 'OtherStart', 'JointMotion')) >= 10


# ---- sequences --------------------------------------------------------------

def sequence_of(*motions):
    """Return the call for motions from rest."""
    return SequenceRequest(at_rest(Q), motions, PERIOD_S, OPTIONS)


def refused(call, solve):
    """Return the error of a sequence, and the part of it that is refused, as the node does."""
    error = error_of(call, solve)
    assert isinstance(error, SequenceError)
    return error, replace(call, motions=error.motions, start=at_rest(error.q))


def moved_to(call, number, remedy):
    """Return a sequence whose motion, counted from 1, has its end changed by a remedy."""
    motions = list(call.motions)
    goal = motions[number - 1].goal
    motions[number - 1] = replace(motions[number - 1],
                                  goal=Goal(changed(goal.T_base_tip, remedy), goal.tolerance))
    return replace(call, motions=tuple(motions))


def line(T, radius=0.0):
    """Return a line to a pose."""
    return SequencedMotion(Goal(T), limits_of(robots.chain(NAME)), True, blend_radius=radius)


def joints_to(goal, radius=0.0):
    """Return a motion of the joints."""
    return SequencedMotion(goal, limits_of(robots.chain(NAME)), blend_radius=radius)


T_AWAY = tip(NAME, Q + 0.1)


@pytest.mark.parametrize('motions, number, name', [
    ([joints_to(Q + 0.1), joints_to(Goal(shifted(T_AWAY, 0.7, 0.0, 0.0)))], 2, ''),
    ([joints_to(Goal(shifted(T_AWAY, 0.7, 0.0, 0.0))), joints_to(Q)], 1, ''),
    ([joints_to(Q + 0.1, 0.1), joints_to(Goal(shifted(T_AWAY, 0.7, 0.0, 0.0))), joints_to(Q)], 2,
     'motion 2'),
    ([joints_to(Q + 0.1), line(shifted(T_AWAY, 0.7, 0.0, 0.0))], 2, ''),
    ([joints_to(Q + 0.1), line(shifted(T_AWAY, 0.0, 0.05, 0.0), 0.02),
      line(shifted(T_AWAY, 0.7, 0.0, 0.0))], 3, 'motion 3')])
def test_sequences(motions, number, name):
    """The motion is named where several are blended; with its pose changed, all is planned."""
    call = sequence_of(*motions)
    error, part = refused(call, solver())
    remedies = remedies_of(part, solver(), first=error.first)
    assert remedies and str(error).startswith('motion')
    for remedy in remedies:
        if name:
            assert isinstance(remedy, OfPose) and remedy.name == name
            remedy = remedy.remedy
        assert len(moved_to(call, number, remedy).plan(solver()).ends) == len(motions)


def test_arcs_in_a_sequence():
    """Which pose of the arc it is, is named."""
    T, limits = tip(NAME, Q), limits_of(robots.chain(NAME))
    arc = SequencedMotion(Goal(shifted(T, 0.6, 0.2, 0.0)), limits, True,
                          shifted(T, 0.05, 0.1, 0.0))
    error, part = refused(sequence_of(joints_to(Q), arc), solver())
    remedies = remedies_of(part, solver(), first=error.first)
    assert remedies and {remedy.name for remedy in remedies} == {'the end of the arc'}
    for remedy in remedies:
        assert error_of(moved_to(sequence_of(arc), 1, remedy.remedy), solver()) is None


def test_a_jump_in_a_sequence():
    """A motion of the joints that `max_jump` refuses is planned with the value that is told."""
    chain = robots.chain(NAME)
    tight = Solver(chain, max_jump=0.3, select='nearest')
    call = sequence_of(joints_to(Goal(tip(NAME, Q + [0.6, 0.1, -0.2, 0.0, 0.0, 0.0]))))
    error, part = refused(call, tight)
    assert error.reason is Reason.OTHER_BRANCH
    [best, *_] = remedies_of(part, tight)
    assert isinstance(best, OtherOption)
    assert error_of(call, tight.changed(max_jump=best.value)) is None


def test_errors_tell_where_the_arm_is():
    """The posture of a path's error is on the path, as far as it can be followed."""
    T = shifted(tip(NAME, Q), 0.9, 0.0, 0.0)
    error = error_of(path_to(NAME, Q, T), solver())
    assert isinstance(error, PathError)
    reached = tip(NAME, error.q)
    assert reached[:3, 3] - tip(NAME, Q)[:3, 3] == pytest.approx(
        [0.9 * error.fraction, 0.0, 0.0], abs=1e-6)
    assert find_motion_remedies(solver(), path_to(NAME, Q, T).refused(robots.chain(NAME), 1))
