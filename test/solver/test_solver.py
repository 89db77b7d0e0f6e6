# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The guarantees of the solver, checked by Pinocchio's kinematics."""

import pickle

from answers import (
    assert_inside,
    assert_solves,
    errors_of,
    near,
    PATIENT,
    reachable,
    solver,
    tip_pose,
    UNBIASED,
)
import numpy as np
import pytest
import robots

from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver

COUNT = 1000
MANY = 3000
# Arms, and whether they are solved in closed form if they have one.
WAYS = [*robots.cases(robots.ARMS, True),
        *robots.cases([name for name, arm in robots.ARMS.items() if arm.n == 6], False)]
JUMP = 0.5  # rad or m


@pytest.mark.parametrize('name, closed', WAYS)
def test_every_reachable_pose_is_solved(name, closed):
    """From a random seed: solved, inside the limits, within tolerance, with true errors."""
    _, poses = reachable(name, COUNT)
    for T, seed in zip(poses, robots.random_postures(robots.chain(name), COUNT, 12)):
        result = solver(name, closed_form=closed).solve(T, seed)
        assert_solves(name, T, result)
        assert np.array_equal(result.seed, seed) and np.array_equal(result.goal.T_base_tip, T)


@pytest.mark.parametrize('name', robots.cases())
def test_every_reachable_pose_is_solved_without_a_seed(name):
    """The search starts at the middle of the limits."""
    chain = robots.chain(name)
    _, poses = reachable(name, COUNT)
    middle = np.clip(chain.middle, chain.lower, chain.upper)
    for T in poses[:200]:
        result = solver(name).solve(T)
        assert_solves(name, T, result)
        assert np.array_equal(result.seed, middle)
        assert result.q.tobytes() == solver(name).solve(T, middle).q.tobytes()


@pytest.mark.parametrize('name, closed', WAYS)
def test_near_seeds_stay_near(name, closed):
    """From a seed within 0.1 rad of a solution, the answer is on the same branch."""
    postures, poses = reachable(name, MANY, 21)
    seeds = near(name, postures, 0.1)
    # The bias may move redundant arms away from the seed.
    unbiased = solver(name, **UNBIASED, closed_form=closed)
    results = [unbiased.solve(T, seed) for T, seed in zip(poses, seeds)]
    assert all(result.success for result in results)
    moved = np.array([np.abs(result.q - seed).max() for result, seed in zip(results, seeds)])
    assert moved.max() <= JUMP
    if len(seeds[0]) == 6:  # this solution, not another one nearby
        assert np.quantile(moved, 0.98) <= 0.1 + 1e-3


@pytest.mark.parametrize('name', robots.cases())
def test_restarts_are_needed(name):
    """Without restarts far fewer poses are solved from far seeds, and never wrongly."""
    alone = solver(name, max_restarts=0)
    _, poses = reachable(name, COUNT)
    solved = 0
    for T, seed in zip(poses[:300], robots.random_postures(robots.chain(name), 300, 12)):
        result = alone.solve(T, seed)
        assert result.restarts == 0
        assert_inside(name, result.q)
        assert result.success == (max(errors_of(name, T, result.q)) <= 1e-6)
        solved += result.success
    assert 30 < solved < 290


def test_pickled_arrays_take_the_short_way(monkeypatch):
    """They have a dtype of their own; the closed form takes them as it takes others."""
    nearest = solver('ur5', select='nearest')
    q, T = (each[0] for each in reachable('ur5', 1))
    expected = nearest.solve(T, q)
    T, seed = pickle.loads(pickle.dumps((np.array(T), np.array(q))))
    assert T.dtype is not expected.q.dtype
    monkeypatch.setattr(Solver, '_pack', None)
    assert nearest.solve(T, seed).q.tobytes() == expected.q.tobytes()
    assert len(nearest.solve_all(T, seed)) > 1


@pytest.mark.parametrize('name', ['ur5', 'panda', 'z1'])
def test_a_pickled_solver_is_the_same(name):
    """It calls the same machine code; what another process loads for it has another address."""
    given, T = solver(name, select='nearest'), reachable(name, 1)[1][0]
    restored = pickle.loads(pickle.dumps(given))
    assert restored.solve(T).q.tobytes() == given.solve(T).q.tobytes()


def test_seeds_are_tried_in_their_order():
    """Before any posture of the table; the turns are those nearest to the first seed."""
    postures, poses = reachable('ur5', 200)
    alone = solver('ur5', max_restarts=0)
    tried = 0
    seeds = robots.random_postures(robots.chain('ur5'), 200, 12)
    for T, q, seed in zip(poses, postures, seeds):
        if alone.solve(T, seed).success:
            continue
        result = alone.solve(T, np.array([seed, q]))
        assert_solves('ur5', T, result)
        assert result.restarts == 1
        assert np.array_equal(result.seed, seed)
        # The second seed solves the goal, up to whole turns towards the first.
        turns = (result.q - q) / (2.0 * np.pi)
        assert np.abs(turns - np.round(turns)).max() < 1e-9
        assert np.abs(result.q - seed).max() <= np.abs(q - seed).max() + 1e-9
        third = alone.solve(T, np.array([seed, seed, q]))
        assert third.restarts == 2 and np.array_equal(third.q, result.q)
        tried += 1
    assert tried > 5


def test_the_first_solution_in_closed_form_is_the_nearest():
    """From one seed; without restarts it is found by descent, as without a closed form."""
    _, poses = reachable('ur5', 50)
    seeds, others = robots.random_postures(robots.chain('ur5'), 50, 12), 0
    for T, seed in zip(poses, seeds):
        first, nearest, alone, numerical = (
            solver('ur5', **options).solve(T, seed) for options in (
                {}, {'select': 'nearest'}, {'max_restarts': 0},
                {'max_restarts': 0, 'closed_form': False}))
        assert first.q.tobytes() == nearest.q.tobytes()
        assert alone.q.tobytes() == numerical.q.tobytes()
        others += bool(np.abs(first.q - alone.q).max() > 1e-3)
    assert others > 10


@pytest.mark.parametrize('select', ['first', 'nearest'])
def test_several_seeds_take_the_short_way(select, monkeypatch):
    """As one seed does; a second seed does not change which solution is the nearest."""
    one = solver('six_axis_arm', select=select)
    postures, poses = reachable('six_axis_arm', 100)
    seeds = near('six_axis_arm', postures, 0.5)
    monkeypatch.setattr(Solver, '_solve_further', None)
    for T, q, seed in zip(poses, postures, seeds):
        T, seed = np.array(T), np.array(seed)  # not read-only
        result = one.solve(T, np.array([seed, q]))
        assert_solves('six_axis_arm', T, result)
        assert np.array_equal(result.seed, seed)
        if select == 'nearest':
            assert result.q.tobytes() == one.solve(T, seed).q.tobytes()


def test_seeds_may_be_outside_the_limits():
    """A joint of the seed outside its limits starts at the limit."""
    chain = robots.chain('panda')
    _, poses = reachable('panda', 100)
    rng = np.random.default_rng(17)
    for T in poses:
        assert_solves('panda', T, solver('panda').solve(T, rng.normal(scale=20.0, size=chain.n)))


def test_a_seed_that_solves_the_goal_takes_no_step():
    """The seed itself is the answer when it meets the goal; in closed form, but for rounding."""
    postures, poses = reachable('ur5', 20)
    for q, T in zip(postures, poses):
        assert np.abs(solver('ur5').solve(T, q).q - q).max() < 1e-9
        result = solver('ur5', closed_form=False).solve(T, q)
        assert result.success and result.iterations == 0 and result.restarts == 0
        assert np.array_equal(result.q, q)


def test_an_arm_with_mimic_skew_and_prismatic_joints_is_solved():
    """Fewer than six joints, prismatic and mimic joints: reachable poses are solved."""
    chain = robots.skew_chain()
    reference = robots.Reference(robots.SKEW)
    skew = Solver(chain, **PATIENT)
    seeds = robots.random_postures(chain, 200, 26)
    for q, seed in zip(robots.random_postures(chain, 200, 27), seeds):
        goal = Goal(reference.pose('base', 'tip', robots.skew_positions(q)))
        result = skew.solve(goal, seed)
        assert result.success
        assert (result.q >= chain.lower).all() and (result.q <= chain.upper).all()
        T = reference.pose('base', 'tip', robots.skew_positions(result.q))
        assert np.abs(T - goal.T_base_tip).max() < 2e-6


@pytest.mark.fault('goals', 'an orientation half a turn away', 'solved, always the same way')
@pytest.mark.parametrize('name', ['ur3', 'ur5', 'ur10'])
@pytest.mark.parametrize('axis', [0, 1, 2])
def test_an_orientation_half_a_turn_away_is_solved(name, axis):
    """Rotated by exactly pi about an axis of the tip: solved, always with the same answer."""
    turn = np.diag([1.0 if k == axis else -1.0 for k in range(3)])
    base = np.array([0.4, -1.2, 1.6, 0.3, 1.1, 0.2])
    for q in base + np.random.default_rng(25).uniform(-0.1, 0.1, (20, 6)):
        T = tip_pose(name, q)
        T[:3, :3] = T[:3, :3] @ turn
        result = solver(name).solve(T, q)
        assert_solves(name, T, result)
        assert result.q.tobytes() == solver(name).solve(T, q).q.tobytes()
