# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Goals with free axes or a tolerance box: the answers are inside the box."""

from dataclasses import replace
from itertools import product

from answers import (
    assert_inside,
    assert_solves,
    deviation,
    FREE,
    near,
    PATIENT,
    reachable,
    solver,
    tip_jacobian,
    tip_pose,
    UNBIASED,
)
from hypothesis import given, settings, strategies as st
import numpy as np
import pinocchio as pin
import pytest
import robots

from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver

NAMES = ['ur5', 'z1', 'kinova', 'panda', 'pr2']
FRAMES = ['tip', 'base']
MASKS = [mask for mask in product((0.0, FREE), repeat=6) if 0 < mask.count(FREE) < 6]


def goal_around(T, shift, tolerance, frame):
    """Return the goal from which the pose T (4, 4) deviates by `shift` (6,)."""
    R, turn = T[:3, :3], pin.exp3(-np.asarray(shift[3:]))
    T_goal = np.eye(4)
    T_goal[:3, :3] = R @ turn if frame == 'tip' else turn @ R
    axes = T_goal[:3, :3] if frame == 'tip' else np.eye(3)
    T_goal[:3, 3] = T[:3, 3] - axes @ shift[:3]
    return Goal(T_goal, tolerance, frame)


def assert_in_box(name, goal, result):
    """Check that an answer is within the tolerance of each axis."""
    assert_solves(name, goal, result)
    away = np.abs(deviation(goal, tip_pose(name, result.q)))
    least = np.where(np.array(goal.tolerance) > 1e-6, 1e-9, 1e-6)  # a box is met from inside
    assert (away <= np.array(goal.tolerance) + least).all()
    return away


@pytest.mark.parametrize('name', robots.cases())
def test_every_reachable_position_is_solved(name):
    """With the orientation free."""
    _, poses = reachable(name, 200)
    for T, seed in zip(poses, robots.random_postures(robots.chain(name), 200, 13)):
        assert_in_box(name, goal := Goal.position(T[:3, 3]), solver(name).solve(goal, seed))


@pytest.mark.parametrize('name', robots.cases())
def test_every_reachable_orientation_is_solved(name):
    """With the position free."""
    _, poses = reachable(name, 200)
    for T, seed in zip(poses, robots.random_postures(robots.chain(name), 200, 13)):
        assert_in_box(name, goal := Goal.orientation(T[:3, :3]), solver(name).solve(goal, seed))


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('frame', FRAMES)
def test_any_axes_may_be_free(name, frame):
    """All 62 choices; the pose of the goal itself may be out of reach."""
    _, poses = reachable(name, 3 * len(MASKS))
    rng = np.random.default_rng(30)
    used = np.zeros(6)
    for k, mask in enumerate(3 * MASKS):
        shift = rng.uniform(-1.0, 1.0, 6) * np.isinf(mask)
        goal = goal_around(poses[k], shift, mask, frame)
        seed = robots.random_postures(robots.chain(name), 1, k)[0]
        used = np.maximum(used, assert_in_box(name, goal, solver(name).solve(goal, seed)))
    assert (used > 0.3).all()


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('frame', FRAMES)
def test_answers_are_inside_the_box(name, frame):
    """Widths from a micrometre to a metre; the answer may be on the border."""
    _, poses = reachable(name, 150)
    rng = np.random.default_rng(31)
    inside = 0
    for T, seed in zip(poses, robots.random_postures(robots.chain(name), 150, 32)):
        widths = 10.0 ** rng.uniform(-6.0, 0.0, 6) * (rng.random(6) < 0.7)
        if not widths.any():
            continue
        shift = widths * rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], 6)
        goal = goal_around(T, shift, widths, frame)
        away = assert_in_box(name, goal, solver(name).solve(goal, seed))
        inside += (away[widths > 0.0] < 0.9 * widths[widths > 0.0]).any()
    assert inside > 20


@pytest.mark.parametrize('name', NAMES)
def test_the_two_frames_differ(name):
    """A slot along the z axis of the tool differs from one along that of the base."""
    _, poses = reachable(name, 50)
    seeds = robots.random_postures(robots.chain(name), 50, 33)
    slot = (0.0, 0.0, 0.05, FREE, FREE, FREE)
    differ = 0
    for T, seed in zip(poses, seeds):
        goals = [Goal(T, slot, frame) for frame in FRAMES]
        answers = [solver(name).solve(goal, seed) for goal in goals]
        for goal, result in zip(goals, answers):
            assert_in_box(name, goal, result)
        differ += np.abs(deviation(goals[0], tip_pose(name, answers[1].q)))[:2].max() > 1e-5
    assert differ > 30


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('frame', FRAMES)
def test_an_infinite_box_is_a_free_axis(name, frame):
    """A box of width 0 is an exact goal: the same answers if no restart is needed."""
    postures, poses = reachable(name, 60)
    compared = 0
    for T, seed in zip(poses, near(name, postures, 0.1)):
        for free in ((2,), (5,), (3, 4, 5), (0, 1, 2)):
            tolerance = np.zeros(6)
            tolerance[list(free)] = FREE
            wide = np.where(np.isinf(tolerance), 100.0, 0.0)
            open_, wide_open = (solver(name).solve(Goal(T, box, frame), seed)
                                for box in (tolerance, wide))
            assert_in_box(name, Goal(T, tolerance, frame), wide_open)
            if open_.restarts == wide_open.restarts == 0:
                assert np.array_equal(open_.q, wide_open.q)
                compared += 1
        exact = solver(name, **UNBIASED).solve(T, seed)
        box = solver(name, **UNBIASED).solve(Goal(T, [0.0] * 6, frame), seed)
        assert_solves(name, T, exact)
        assert_solves(name, T, box)
        assert np.abs(tip_pose(name, exact.q) - tip_pose(name, box.q)).max() < 4e-6
        if len(seed) == 6 and exact.smallest_singular_value > 0.02:
            assert np.abs(exact.q - box.q).max() < 1e-3
    assert compared > 150


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('frame', FRAMES)
@pytest.mark.parametrize('angle', [3.0, np.pi - 1e-3, np.pi - 1e-7, np.pi])
def test_deviations_near_half_a_turn(name, frame, angle):
    """A free axis stays free where the rotation vector changes its sign."""
    postures, poses = reachable(name, 40)
    for k, (T, seed) in enumerate(zip(poses, near(name, postures, 0.02))):
        axis = 3 + k % 3
        tolerance, shift = np.zeros(6), np.zeros(6)
        tolerance[axis], shift[axis] = FREE, angle
        goal = goal_around(T, shift, tolerance, frame)
        away = assert_in_box(name, goal, solver(name, **UNBIASED).solve(goal, seed))
        if len(seed) == 6:
            assert away[axis] > 2.0  # the near solution, not the one at angle 0


@pytest.mark.parametrize('name', NAMES)
def test_locked_joints_keep_the_position_of_the_seed(name):
    """Exactly, also at a limit; the other joints solve the goal."""
    chain = robots.chain(name)
    postures, poses = reachable(name, 60)
    tolerance = (0.0, 0.0, 0.0, 0.0, 0.0, FREE) if chain.n == 6 else (0.0,) * 6
    moved = 0
    for k, (T, q) in enumerate(zip(poses, postures)):
        joint = k % (chain.n - (chain.n == 6))  # on some arms the last joint moves the free axis
        seed = robots.random_postures(chain, 1, 100 + k)[0]
        seed[joint] = q[joint]
        goal = Goal(T, tolerance)
        result = solver(name).solve(goal, seed, locked=(chain.joint_names[joint],))
        assert_in_box(name, goal, result)
        assert result.q[joint] == seed[joint]
        moved += solver(name).solve(goal, seed).q[joint] != seed[joint]
    assert moved > 50


@pytest.mark.parametrize('side', [-1.0, 1.0])
def test_a_locked_joint_outside_its_limits_is_put_on_them(side):
    """The limits are hard for locked joints as well."""
    chain = robots.chain('panda')
    limit = chain.upper if side > 0.0 else chain.lower
    for k, name in enumerate(chain.joint_names):
        for q in robots.random_postures(chain, 5, k):
            q[k] = limit[k]
            T = tip_pose('panda', q)
            seed = q.copy()
            seed[k] += side
            result = solver('panda', locked=(name,)).solve(T, seed)
            assert_solves('panda', T, result)
            assert result.q[k] == limit[k]


def test_several_joints_may_be_locked():
    """Three joints of a seven-axis arm are enough for a position."""
    chain = robots.chain('panda')
    names = (chain.joint_names[0], *chain.joint_names[4:])
    postures, poses = reachable('panda', 100)
    for q, T in zip(postures, poses):
        seed = chain.middle.copy()
        seed[[0, 4, 5, 6]] = q[[0, 4, 5, 6]]
        goal = Goal.position(T[:3, 3])
        result = solver('panda', locked=names).solve(goal, seed)
        assert_in_box('panda', goal, result)
        assert np.array_equal(result.q[[0, 4, 5, 6]], seed[[0, 4, 5, 6]])


@pytest.mark.parametrize('name', robots.cases(['panda', 'xarm7', 'pr2', 'baxter']))
def test_a_heavy_joint_moves_less(name):
    """On a redundant arm, from a near seed; the higher the weight, the less."""
    chain = robots.chain(name)
    postures, poses = reachable(name, 150)
    seeds = near(name, postures, 0.1)
    for joint in range(chain.n):
        heavy = np.ones(chain.n)
        heavy[joint] = 100.0
        even, uneven = (solver(name, **UNBIASED, weights=tuple(w))
                        for w in (np.ones(chain.n), heavy))
        ways = []
        for T, seed in zip(poses, seeds):
            pair = [one.solve(T, seed) for one in (even, uneven)]
            assert all(result.success for result in pair)
            ways.append([abs(result.q[joint] - seed[joint]) for result in pair])
        before, after = np.sum(ways, axis=0)
        assert after < 0.98 * before  # 0.95 for one joint of the PR2, the others below 0.8


def test_a_small_step_is_the_weighted_least_one():
    """Near the seed ``sum weight dq^2`` is least, by the closed form."""
    chain = robots.chain('panda')
    weights = np.array([1.0, 5.0, 20.0, 1.0, 3.0, 1.0, 0.5])
    for q in robots.random_postures(chain, 40, 35):
        q = np.clip(q, chain.lower + 0.1, chain.upper - 0.1)
        J = tip_jacobian('panda', q)
        if np.linalg.svd(J, compute_uv=False)[-1] < 0.05:
            continue
        dq = 1e-3 * np.random.default_rng(36).normal(size=7)
        T = tip_pose('panda', q + dq)
        V = np.diag(1.0 / weights)
        expected = V @ J.T @ np.linalg.solve(J @ V @ J.T, J @ dq)
        found = solver('panda', **UNBIASED, weights=tuple(weights)).solve(T, q).q - q
        assert np.abs(found - expected).max() < 0.03 * np.abs(expected).max()


@settings(max_examples=150, deadline=None, derandomize=True)
@given(name=st.sampled_from(NAMES), frame=st.sampled_from(FRAMES),
       widths=st.lists(st.sampled_from([0.0, 1e-7, 1e-6, 1e-4, 0.01, 0.5, 3.0, FREE]),
                       min_size=6, max_size=6).filter(lambda w: w.count(FREE) < 6),
       shares=st.lists(st.floats(-1.0, 1.0), min_size=6, max_size=6),
       number=st.integers(0, 10 ** 6), room=st.lists(st.floats(0.0, 3.0), min_size=14,
                                                     max_size=14),
       aside=st.sampled_from([0.0, 0.01, 1.0, 10.0]))
def test_any_box_any_limits_any_seed(name, frame, widths, shares, number, room, aside):
    """Never a wrong status; from a near seed always a solution."""
    chain = robots.chain(name)
    q = robots.random_postures(chain, 1, number)[0]
    low, high = np.array(room[:chain.n]), np.array(room[7:7 + chain.n])
    narrow = replace(chain, lower=np.maximum(chain.lower, q - low),
                     upper=np.minimum(chain.upper, q + high),
                     continuous=np.zeros(chain.n, dtype=bool))
    # Not in the corners: the solver keeps its own tolerance from the border.
    shift = 0.98 * np.array(shares) * np.minimum(widths, 0.5) * (np.array(widths) > 1e-5)
    goal = goal_around(tip_pose(name, q), shift, widths, frame)
    rng = np.random.default_rng(number)
    result = Solver(narrow, **PATIENT).solve(goal, q + aside * rng.uniform(-1.0, 1.0, chain.n))
    assert (result.q >= narrow.lower).all() and (result.q <= narrow.upper).all()
    assert_inside(name, result.q)
    if result.success:
        assert_in_box(name, goal, result)
    else:
        assert aside > 0.05
        assert (np.abs(deviation(goal, tip_pose(name, result.q))) > np.array(widths)).any()
