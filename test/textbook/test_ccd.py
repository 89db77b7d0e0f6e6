# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Cyclic coordinate descent against brute force over one joint at a time."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pinocchio as pin
import pytest
import robots
from robots import random_pose, skew_chain

from ik_node.solver.goal import Goal
from ik_node.textbook.ccd import best_position, ccd, nearest_allowed
from ik_node.textbook.options import ClassicOptions, Limits
from ik_node.textbook.problem import Problem
from ik_node.textbook.task import Task

INF = np.inf
LENGTH = 0.3
POSE = (0.0,) * 6
POSITION = (0.0, 0.0, 0.0, INF, INF, INF)
ORIENTATION = (INF, INF, INF, 0.0, 0.0, 0.0)


def geared_chain():
    """Return a Panda whose joints turn by -0.5, 0.7 or 0 times their coordinate, and more."""
    chain = robots.chain('panda')
    factors = np.column_stack([[-0.5, 0.7, 0.0, 1.0, -1.0, 0.3, 2.0], np.full(7, 0.1)])
    return replace(chain, factors=factors)


def geared_skew_chain():
    """Return the skew arm whose sliding joint moves by half its coordinate, backwards."""
    chain = skew_chain()
    factors = chain.factors.copy()
    factors[chain.joints[:, 1] == 1] = -0.5, 0.1
    return replace(chain, factors=factors)


def problem_of(chain, goal):
    return Problem(Task(chain, goal, LENGTH), Limits.CLAMP, ClassicOptions())


def nearness(problem, q):
    """Return the cost that CCD lowers, for goals with whole positions or orientations."""
    row = problem.task.frames(q)[-1]
    goal, tolerance = problem.task.goal.T_base_tip, problem.task.goal.tolerance
    cost = 0.0
    if tolerance[0] == 0.0:
        cost += ((goal[:3, 3] - row[9:]) ** 2).sum()
    if tolerance[3] == 0.0:
        cost += 0.5 * LENGTH**2 * ((goal[:3, :3] - row[:9].reshape(3, 3)) ** 2).sum()
    return cost


@pytest.mark.parametrize('tolerance', [POSE, POSITION, ORIENTATION])
@pytest.mark.parametrize('name', ['ur5', 'panda', 'skew', 'geared', 'geared skew'])
def test_each_joint_moves_to_its_best_position(name, tolerance):
    """No other position within the limits brings the tip nearer."""
    made = {'skew': skew_chain, 'geared': geared_chain, 'geared skew': geared_skew_chain}
    chain = made[name]() if name in made else robots.chain(name)
    rng = np.random.default_rng(3)
    on_limit = 0
    for q in robots.random_postures(chain, 15, 4):
        problem = problem_of(chain, Goal(random_pose(rng), tolerance))
        for i in range(chain.n):
            joints = np.flatnonzero(chain.joints[:, 1] == i)
            if len(joints) > 1:
                continue
            moved = q.copy()
            moved[i] = best_position(problem, q, i, joints[0])
            lower, upper = max(chain.lower[i], -np.pi), min(chain.upper[i], np.pi)
            assert chain.lower[i] <= moved[i] <= chain.upper[i]
            on_limit += moved[i] in (chain.lower[i], chain.upper[i])
            best = nearness(problem, moved)
            for value in np.linspace(lower, upper, 60):
                other = q.copy()
                other[i] = value
                assert best <= nearness(problem, other) + 1e-12
    assert on_limit > 0 or name == 'ur5'


def test_a_joint_without_influence_does_not_move():
    """A prismatic joint cannot rotate the tip; the last axis passes through the tip."""
    chain = skew_chain()
    q = robots.random_postures(chain, 1, 1)[0]
    goal = Goal(random_pose(np.random.default_rng(1)), ORIENTATION)
    assert best_position(problem_of(chain, goal), q, 1, 1) == q[1]
    chain = robots.chain('ur5')
    q = robots.random_postures(chain, 1, 1)[0]
    row = Task(chain, goal, LENGTH).frames(q)
    along = row[5, 9:] + 0.1 * row[5, [2, 5, 8]]
    straight = Goal.position(along)
    problem = problem_of(chain, straight)
    # ur5's tool0 is in line with its last axis.
    assert np.linalg.norm(np.cross(row[6, 9:] - row[5, 9:], row[5, [2, 5, 8]])) < 1e-9
    assert best_position(problem, q, 5, 5) == q[5]


def test_the_shorter_rotation_is_taken():
    chain = robots.chain('ur5')
    assert chain.upper[0] > 6.0
    rng = np.random.default_rng(7)
    for q in robots.random_postures(chain, 50, 2):
        problem = problem_of(chain, Goal(random_pose(rng), POSITION))
        value = best_position(problem, q, 0, 0)
        for other in (value - 2.0 * np.pi, value + 2.0 * np.pi):
            if chain.lower[0] <= other <= chain.upper[0]:
                assert abs(value - q[0]) <= abs(other - q[0]) + 1e-9


@pytest.mark.parametrize('frame', ['tip', 'base'])
def test_the_nearest_allowed_pose(frame):
    """Its deviation from the goal is that of the tip, clipped to the box."""
    chain = robots.chain('ur5')
    rng = np.random.default_rng(5)
    tolerance = np.array([0.0, 0.1, INF, 0.2, INF, 0.0])
    for q in robots.random_postures(chain, 10, 6):
        goal = Goal(random_pose(rng), tuple(tolerance), frame)
        task = Task(chain, goal, LENGTH)
        row = task.frames(q)[-1]
        T, position, orientation = nearest_allowed(task, task.frames(q))
        assert position == 1.0 and orientation == pytest.approx(LENGTH**2)
        R_goal, p_goal = goal.T_base_tip[:3, :3], goal.T_base_tip[:3, 3]
        A = R_goal.T if frame == 'tip' else np.eye(3)
        for R, p, cut in ((row[:9].reshape(3, 3), row[9:], True), (T[:3, :3], T[:3, 3], False)):
            d = np.concatenate([A @ (p - p_goal), A @ pin.log3(R @ R_goal.T)])
            if cut:
                expected = np.clip(d, -tolerance, tolerance)
            else:
                assert d == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize('tolerance', [POSE, POSITION, ORIENTATION])
def test_sweeps_never_increase_the_cost(tolerance):
    """The coordinate with mimic joints lowers |e| instead, which is the same near the goal."""
    rng = np.random.default_rng(3)
    for name in ('ur5', 'panda'):
        chain = robots.chain(name)
        for q in robots.random_postures(chain, 5, 4):
            problem = problem_of(chain, Goal(random_pose(rng), tolerance))
            costs = [nearness(problem, q)]
            for _, point in zip(range(10), ccd(problem, problem.at(q), ClassicOptions())):
                costs.append(nearness(problem, point.x))
            assert (np.diff(costs) <= 1e-12).all() and costs[-1] < costs[0]


def test_a_sweep_goes_from_the_tip_to_the_base():
    """A goal that the last joint alone can reach is reached by it."""
    chain = robots.chain('ur5')
    q = robots.random_postures(chain, 1, 1)[0]
    turned = q.copy()
    turned[5] += 0.7
    T = robots.tip_pose('ur5', turned)
    problem = problem_of(chain, Goal(T))
    assert next(ccd(problem, problem.at(q), ClassicOptions())).x == pytest.approx(turned)


def test_joints_that_move_nothing_do_not_move():
    chain = geared_chain()
    q = robots.random_postures(chain, 1, 4)[0]
    problem = problem_of(chain, Goal(random_pose(np.random.default_rng(3))))
    assert best_position(problem, q, 2, 2) == q[2]
    chain = skew_chain()
    still = replace(chain, factors=np.where(chain.joints[:, [1]] == 2, 0.0, chain.factors))
    q = robots.random_postures(chain, 1, 4)[0]
    problem = problem_of(still, Goal(random_pose(np.random.default_rng(3))))
    with np.errstate(all='raise'):
        after = next(ccd(problem, problem.at(q), ClassicOptions()))
    assert after.x[2] == q[2] and after.x[0] != q[0]


def test_joints_that_move_together():
    """A coordinate with a mimic joint and a prismatic mimic of it decreases the cost."""
    chain = skew_chain()
    assert (chain.joints[:, 1] == 2).sum() == 3
    moved = 0
    for q in robots.random_postures(chain, 5, 4):
        near = np.clip(q + (0.0, 0.0, 0.2, 0.0), chain.lower, chain.upper)
        row = Task(chain, Goal(np.eye(4)), LENGTH).frames(near)[-1]
        goal = Goal(np.vstack([np.column_stack([row[:9].reshape(3, 3), row[9:]]),
                               [0.0, 0.0, 0.0, 1.0]]))
        problem = problem_of(chain, goal)
        point = problem.at(q)
        *_, after = islice(ccd(problem, point, ClassicOptions()), 50)
        assert after.cost < 0.5 * point.cost
        moved += after.x[2] != q[2]
    assert moved == 5
