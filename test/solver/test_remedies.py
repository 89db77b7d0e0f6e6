# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What a refusal names as its remedy is true, and about the least that there is."""

from dataclasses import replace
from time import thread_time

from answers import assert_solves, errors_of, PATIENT, reachable, solver, tip_pose
from closed_form import closed_form
from geometry_oracle import model_of
from nightly import samples, usual_first
import numpy as np
import pytest
from remedy_oracle import least_shift, least_turn
import robots

from ik_node.base.errors import Reason
from ik_node.base.se3 import pose, rotation_about
from ik_node.collision.bodies.ground import ground_body
from ik_node.collision.scene.scene import Scene
from ik_node.solver.goal import Goal
from ik_node.solver.remedies.remedy import (
    OtherOption,
    remedy_values,
    Shift,
    Turn,
    WiderLimit,
    with_best,
)
from ik_node.solver.remedies.remedy_search import remedies_of
from ik_node.solver.solver import Solver

SIX_AND_SEVEN = 'six_axis_arm', 'parallel_axes_arm', 'ur5', 'panda', 'xarm7'
FEW_AXES = 'so101', 'four_axes'
SHIFT_MARGIN_M, TURN_MARGIN_RAD = 1e-3, np.radians(0.5)
FULL_TURNS = 2.0 * np.pi * np.arange(-3, 4)[:, None]
ROUNDED_M, ROUNDED_RAD = 1e-4, np.radians(0.1)


@pytest.fixture(scope='module', autouse=True)
def few_axes(tmp_path_factory):
    """Add arms of five and four axes for these tests."""
    palletizer = tmp_path_factory.mktemp('urdf') / 'four_axes.urdf'
    palletizer.write_text(robots.FOUR_AXES)
    robots.ARMS |= {
        'so101': robots.Arm(robots.REAL / 'so_arm_description/urdf/so101.urdf', n=5),
        'four_axes': robots.Arm(palletizer, 'foot', 'grip', n=4)}
    yield
    for name in FEW_AXES:
        del robots.ARMS[name]


def refused(name, count, seed=7, solve=None):
    """
    Return the results of `count` goals that are refused.

    Their orientations are out of reach, or their positions, or a joint would be beyond its limit.
    """
    chain, rng, found = robots.chain(name), np.random.default_rng(seed), []
    solve = solve or solver(name)
    Q = robots.random_postures(chain, 50 * count, seed)
    width = np.where(np.isfinite(chain.upper - chain.lower), chain.upper - chain.lower, 0.0)
    for k, q in enumerate(Q[:-1].copy()):
        if k % 3 == 0:
            joint = rng.integers(chain.n)
            q[joint] += rng.choice([-0.5, 0.5]) * (0.4 + width[joint])
        T = tip_pose(name, q)
        if k % 3 == 1:
            T[:3, :3] = tip_pose(name, Q[-1 - k])[:3, :3]
        elif k % 3 == 2:
            away = rng.normal(size=3)
            T[:3, 3] += chain.reach * rng.uniform(0.1, 0.9) * away / np.linalg.norm(away)
        result = solve.solve(T, Q[k + 1])
        if not result.success:
            found.append(result)
        if len(found) == count:
            return found
    raise AssertionError(f'{name} reaches all but {len(found)} goals')


def as_told(remedy, goal):
    """Return the goal that somebody sends who reads the numbers of a remedy."""
    told = {key: np.array(value.split(), dtype=float) for key, value in remedy.values.items()}
    T = goal.T_base_tip.copy()
    if isinstance(remedy, Shift):
        T[:3, 3] += told['remedy_shift_m']
    else:
        axis, angle = told['remedy_turn_axis'], np.radians(told['remedy_turn_deg'][0])
        T[:3, :3] = T[:3, :3] @ rotation_about(axis / np.linalg.norm(axis), angle)
    return Goal(T, goal.tolerance, goal.frame)


def with_limit(chain, remedy):
    """Return a chain with the limit of a remedy."""
    k, end = chain.joint_names.index(remedy.joint), 'upper' if remedy.upper else 'lower'
    limits = getattr(chain, end).copy()
    assert (remedy.value > limits[k]) == remedy.upper
    limits[k] = remedy.value
    return replace(chain, **{end: limits})


# ---- they are true ----------------------------------------------------------

@pytest.mark.parametrize('name', (*SIX_AND_SEVEN, *FEW_AXES))
def test_each_is_true(name):
    """By the numbers that are told, the same solver reaches the changed goal; so Pinocchio."""
    chain, count = robots.chain(name), {Shift: 0, Turn: 0, WiderLimit: 0}
    results = refused(name, samples(usual=16, nightly=150))
    for result in results:
        for remedy in remedies_of(solver(name), result):
            count[type(remedy)] += 1
            if isinstance(remedy, WiderLimit):
                wide = Solver(with_limit(chain, remedy), **PATIENT).solve(result.goal, result.seed)
                assert wide.status is Reason.SOLVED
                assert max(errors_of(name, result.goal, wide.q)) < 2e-6
                k, value = chain.joint_names.index(remedy.joint), 'rad' if remedy.revolute else 'm'
                assert not chain.lower[k] <= wide.q[k] <= chain.upper[k]
                assert f"limit of '{remedy.joint}' at " in remedy.sentence
                assert f' {value}' in remedy.sentence
                continue
            goal = as_told(remedy, result.goal)
            assert_solves(name, goal, solver(name).solve(goal, result.seed))
            moved, turned = result.goal.error(goal.T_base_tip)
            if isinstance(remedy, Shift):
                assert turned < 1e-9 and moved == pytest.approx(remedy.size, abs=1e-9)
            else:
                assert moved < 1e-9 and turned == pytest.approx(remedy.angle, abs=1e-9)
    if name in SIX_AND_SEVEN:  # of the others, few orientations can be had at all
        assert count[Shift] >= 0.9 * len(results)
    assert count[Turn] >= 3


def test_the_best_is_told():
    """The smallest of shift and turn, in words, and the numbers of all."""
    for result in refused('six_axis_arm', 9):
        remedies = remedies_of(solver('six_axis_arm'), result)
        sizes = [remedy.size for remedy in remedies if isinstance(remedy, (Shift, Turn))]
        assert sizes == sorted(sizes)
        told, values = with_best(result.message, remedies), remedy_values(remedies)
        assert told == f'{result.message}; {remedies[0].sentence}'
        assert 'it can be reached' in told and remedies[0].values.items() <= values.items()
        if isinstance(remedies[0], Shift):
            assert f"in the axes of 'base_link', {remedies[0].size:.3g} m in all" in told
    assert with_best('no', ()) == 'no' and remedy_values(()) == {}


def test_they_are_the_same_every_time():
    """Bit for bit, and from a solver that was made anew."""
    results = refused('panda', 6)
    told = [[(remedy.sentence, remedy.values) for remedy in remedies_of(each, result)]
            for each in (solver('panda'), Solver(robots.chain('panda'), **PATIENT))
            for result in results]
    assert told[:len(results)] == told[len(results):] and any(told)


def test_nothing_is_said_of_other_outcomes_and_without_time():
    """Not of what is solved; not if there was no time to find or to try it."""
    T = reachable('ur5', 1)[1][0]
    assert remedies_of(solver('ur5'), solver('ur5').solve(T)) == ()
    [result] = refused('ur5', 1)
    rounds = 0
    assert remedies_of(solver('ur5'), result)
    for least in range(20):
        left = iter([True] * least)
        if found := remedies_of(solver('ur5'), result, lambda left=left: next(left, False)):
            assert as_told(found[0], result.goal)
            rounds = least
            break
    assert 1 < rounds < 20


# ---- they are about the least -----------------------------------------------

@pytest.mark.parametrize('name', usual_first(2, (*SIX_AND_SEVEN, *FEW_AXES)))
def test_about_the_least(name):
    """SLSQP from many starts finds none that is smaller by more than a tenth, but for few."""
    chain, close, total, times = robots.chain(name), 0, 0, []
    Q = robots.random_postures(chain, 300, 99)
    X = np.array([tip_pose(name, q) for q in Q])
    for result in refused(name, samples(usual=5, nightly=100)):
        began, T = thread_time(), result.goal.T_base_tip
        found = {type(remedy): remedy for remedy in remedies_of(solver(name), result)}
        times.append(thread_time() - began)
        chord = ((X[:, :3, :3] - T[:3, :3])**2).sum(axis=(1, 2))
        apart = ((X[:, :3, 3] - T[:3, 3])**2).sum(axis=1)
        for kind, oracle, weight in ((Shift, least_shift, 1.0), (Turn, least_turn, 0.01)):
            starts = [result.q, *Q[np.argsort(apart + 0.5 * weight * chord)[:5]]]
            least = oracle(name, T, starts)
            remedy = found.get(kind)
            if np.isfinite(least) or remedy is not None:
                ours = np.inf if remedy is None else remedy.size if kind is Shift else remedy.angle
                margin = SHIFT_MARGIN_M + ROUNDED_M if kind is Shift \
                    else TURN_MARGIN_RAD + ROUNDED_RAD
                total += 1
                close += ours <= 1.1 * least + margin
    print(f'{name}: {close} of {total} within a tenth of the least; '
          f'{1e3 * np.median(times):.1f} ms, at most {1e3 * max(times):.1f} ms')
    assert total >= 5 and close >= 0.95 * total - 2


def widening(chain, remedy):
    """Return by how much a limit has to be wider, rad."""
    k = chain.joint_names.index(remedy.joint)
    return remedy.value - chain.upper[k] if remedy.upper else chain.lower[k] - remedy.value


@pytest.mark.parametrize('name', ['six_axis_arm', 'z1'])
def test_the_least_limit(name):
    """Of all branches in closed form, the one with a single joint beyond, by the least."""
    chain, found = robots.chain(name), 0
    closed = closed_form(name)
    for result in refused(name, 24):
        ways = [q + FULL_TURNS for q in closed(result.goal.T_base_tip)]
        every = [np.maximum(np.maximum(chain.lower - each, each - chain.upper), 0.0).min(axis=0)
                 for each in ways]
        single = [each.max() for each in every if np.count_nonzero(each > 1e-6) == 1]
        limits = [remedy for remedy in remedies_of(solver(name), result)
                  if isinstance(remedy, WiderLimit)]
        assert bool(limits) == bool(single)
        for remedy in limits:
            assert 0.0 < widening(chain, remedy) - min(single) < np.radians(0.5) + 1.1e-3
            found += 1
    assert found > 5


def test_a_limit_of_a_redundant_arm():
    """The joint that was put beyond its limit needs no more than that, or another one less."""
    chain, rng, found = robots.chain('panda'), np.random.default_rng(3), 0
    for q in robots.random_postures(chain, 30, 5):
        k = rng.choice([3, 5])  # round the others, a redundant arm finds another way
        q[k] = rng.choice([chain.upper[k] + 0.3, chain.lower[k] - 0.3])
        result = solver('panda').solve(tip_pose('panda', q))
        for remedy in remedies_of(solver('panda'), result):
            if isinstance(remedy, WiderLimit):
                assert 0.0 < widening(chain, remedy) < 0.3 + np.radians(0.6)
                found += 1
    assert found > 2


# ---- options, tolerances, obstacles -----------------------------------------

@pytest.mark.parametrize('name', ['ur5', 'panda'])
def test_a_larger_jump(name):
    """The value that is named is enough, and a little less is not."""
    tight, told = Solver(robots.chain(name), max_jump=0.6, select='nearest', **PATIENT), 0
    postures, poses = reachable(name, 40)
    for T, q in zip(poses, postures):
        result = tight.solve(T, np.clip(q + 1.0, robots.chain(name).lower,
                                        robots.chain(name).upper))
        if result.status is not Reason.OTHER_BRANCH:
            continue
        [best, *others] = remedies_of(tight, result)
        assert isinstance(best, OtherOption) and best.option == 'max_jump'
        enough = tight.changed(max_jump=best.value).solve(T, result.seed)
        assert_solves(name, T, enough)
        assert np.abs(enough.q - result.seed).max() <= best.value
        assert not tight.changed(max_jump=best.value - 0.05).solve(T, result.seed).success
        assert f'max_jump at {best.value:.2f} it' in best.sentence
        for remedy in others:  # within the jump that is allowed
            assert_solves(name, as_told(remedy, result.goal),
                          tight.solve(as_told(remedy, result.goal), result.seed))
        told += 1
    assert told > 10


@pytest.mark.parametrize('tolerance, frame', [
    ((0.0, 0.0, 0.0, 0.0, 0.0, np.inf), 'tip'), ((0.01, 0.02, 0.0, 0.1, 0.0, 0.2), 'base'),
    ((0.0, 0.0, 0.0, np.inf, np.inf, np.inf), 'tip'),
    ((np.inf, np.inf, np.inf, 0.0, 0.0, 0.0), 'tip')])
def test_goals_with_tolerances(tolerance, frame):
    """The changed goal keeps its tolerances; what is free is not changed."""
    found = set()
    for exact in refused('z1', 30):
        goal = Goal(exact.goal.T_base_tip, tolerance, frame)
        result = solver('z1').solve(goal, exact.seed)
        for remedy in () if result.success else remedies_of(solver('z1'), result):
            if isinstance(remedy, (Shift, Turn)):
                changed = as_told(remedy, goal)
                assert_solves('z1', changed, solver('z1').solve(changed, result.seed))
                found.add(type(remedy))
    assert (Turn in found) == (tolerance[4] == 0.0 and np.isfinite(tolerance[0]))
    assert (Shift in found) == np.isfinite(tolerance[0])


def among_obstacles(name):
    """Return a solver of an arm between a post, a ball and the ground."""
    chain, scene = robots.chain(name), Scene(robots.chain(name).base_link, robots.tree(name).links)
    scene.add_box('post', (0.15, 0.15, 0.6), pose(np.eye(3), (0.45, 0.1, 0.3)))
    scene.add_sphere('ball', 0.15, pose(np.eye(3), (-0.3, 0.3, 0.5)))
    model = model_of(name).with_objects((*scene.bodies, ground_body(-0.1)), 0.005,
                                        scene.snapshot.touch_links)
    return Solver(chain, model, select='nearest', **PATIENT)


@pytest.mark.parametrize('name', usual_first(1, ['six_axis_arm', 'panda']))
def test_among_obstacles(name):
    """What is named is free; and in few directions is there anything that is much nearer."""
    among, Q = among_obstacles(name), robots.random_postures(
        robots.chain(name), samples(usual=90, nightly=400), 3)
    rng, told, nearer, times = np.random.default_rng(4), {Shift: 0, Turn: 0}, 0, []
    for q, seed in zip(Q, Q[1:]):
        result = among.solve(tip_pose(name, q), seed)
        if result.status is not Reason.COLLISION:
            continue
        began = thread_time()
        remedies = remedies_of(among, result)
        times.append(thread_time() - began)
        for remedy in remedies:
            goal = as_told(remedy, result.goal)
            changed = among.solve(goal, seed)
            assert_solves(name, goal, changed)
            assert among.collisions.check_many(changed.q[None])[0]
            told[type(remedy)] += 1
            if isinstance(remedy, Shift) and told[Shift] <= samples(usual=8, nightly=40):
                goals = np.repeat(result.goal.T_base_tip[None], 20, axis=0)
                away = rng.normal(size=(20, 3))
                goals[:, :3, 3] += 0.8 * remedy.size * away / np.linalg.norm(
                    away, axis=1, keepdims=True)
                nearer += any(len(among.solve_all(T, seed)) for T in goals)
        assert not result.message.endswith('free')
    print(f'{name}: {told} of {len(times)}, {nearer} of the first shifts much nearer in '
          'one of 20 directions; '
          f'{1e3 * np.median(times):.1f} ms, at most {1e3 * max(times):.1f} ms')
    assert told[Shift] >= 0.8 * len(times) and told[Turn] > 0.25 * len(times)
    assert nearer <= samples(usual=4, nightly=20)


def test_the_reach_among_obstacles():
    """Of a goal out of reach behind the ground, what is named is free as well."""
    among, found = among_obstacles('six_axis_arm'), 0
    for result in refused('six_axis_arm', 25, solve=among):
        for remedy in remedies_of(among, result):
            if isinstance(remedy, (Shift, Turn)):
                goal = as_told(remedy, result.goal)
                changed = among.solve(goal, result.seed)
                assert_solves('six_axis_arm', goal, changed)
                assert among.collisions.check_many(changed.q[None])[0]
                found += result.status is not Reason.COLLISION
    assert found > 10


def test_any_goal_of_any_arm():
    """Nothing is raised, and nothing untrue is said, of arms and options of all kinds."""
    rng, told = np.random.default_rng(9), 0
    skew = robots.skew_chain()
    chains = [skew, *(robots.chain(name) for name in ('kinova', 'pr2', 'so101', 'z1'))]
    for k in range(samples(usual=60, nightly=3000)):
        chain = chains[k % len(chains)]
        options = [{}, {'max_jump': 0.3}, {'locked': chain.joint_names[1:3]}, {'nearest': True},
                   {'max_restarts': 0}, {'gains': 1.0}, {'select': 'centred'}][k % 7]
        T = pose(rotation_about(np.array([0.6, 0.0, 0.8]), rng.uniform(-3.0, 3.0)),
                 rng.normal(size=3) * 10.0 ** rng.uniform(-2.0, 5.0))
        tolerance = np.where(rng.random(6) < 0.3, rng.choice([np.inf, 0.1, 1e-9], 6), 0.0)
        goal = Goal(T, tuple(tolerance), rng.choice(['tip', 'base'])) if k % 3 else Goal(T)
        solve = Solver(chain, **PATIENT, **options)
        result = solve.solve(goal, rng.normal(size=(1 + k % 2, chain.n)))
        for remedy in remedies_of(solve, result):
            if isinstance(remedy, (Shift, Turn)):
                assert solve.solve(as_told(remedy, goal), result.seeds).status is Reason.SOLVED
            told += 1
    assert told > 10
