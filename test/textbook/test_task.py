# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The error that a goal leaves and its Jacobian, by Pinocchio and finite differences."""

import numpy as np
import pinocchio as pin
import pytest
import robots
from robots import random_pose, skew_chain

from ik_node.solver.goal import Goal
from ik_node.textbook.task import left_jacobian_inverse, Task

INF = np.inf
LENGTH = 0.37  # metres per radian


def tip_of(task, q):
    row = task.frames(q)[-1]
    return row[:9].reshape(3, 3), row[9:]


def deviation(goal, R, p):
    """Return the definition of the deviation (6,), with Pinocchio's logarithm."""
    R_goal, p_goal = goal.T_base_tip[:3, :3], goal.T_base_tip[:3, 3]
    if goal.frame == 'tip':
        return np.concatenate([R_goal.T @ (p - p_goal), pin.log3(R_goal.T @ R)])
    return np.concatenate([p - p_goal, pin.log3(R @ R_goal.T)])


@pytest.mark.parametrize('angle', [0.0, 1e-9, 9e-4, 1.1e-3, 0.4, 2.0, 3.1, np.pi])
def test_the_rate_of_the_rotation_vector(angle):
    """Pinocchio uses axes that move with R, which gives the transpose."""
    axis = np.array([2.0, -3.0, 6.0]) / 7.0
    expected = pin.Jlog3(pin.exp3(min(angle, np.pi - 1e-9) * axis)).T
    rounding = 1e-8 if angle > 3.0 else 1e-9  # Pinocchio's
    assert left_jacobian_inverse(angle * axis) == pytest.approx(expected, abs=rounding)


@pytest.mark.parametrize('frame', ['tip', 'base'])
@pytest.mark.parametrize('name', ['ur5', 'panda', 'skew'])
def test_the_residual_is_the_definition(name, frame):
    chain = skew_chain() if name == 'skew' else robots.chain(name)
    rng = np.random.default_rng(1)
    tolerance = (0.0, 0.3, INF, 1.0, 0.0, INF)
    seen = set()
    for q in robots.random_postures(chain, 50, 2):
        task = Task(chain, Goal(random_pose(rng, 0.5), tolerance, frame), LENGTH)
        point = task.at(q)
        d = deviation(task.goal, *tip_of(task, q))
        back = np.array([-d[0], 0.0, 0.0, 0.0, -d[4], 0.0])
        for i in (1, 3):
            back[i] = -np.sign(d[i]) * max(0.0, abs(d[i]) - tolerance[i])
        rows = [True, back[1] != 0.0, False, back[3] != 0.0, True, False]
        assert point.rows.tolist() == rows
        weighted = back * np.repeat([1.0, LENGTH], 3)
        assert point.e == pytest.approx(weighted[rows], abs=1e-9)
        assert point.position_error == pytest.approx(np.linalg.norm(back[:3]), abs=1e-9)
        assert point.orientation_error == pytest.approx(np.linalg.norm(back[3:]), abs=1e-9)
        seen.add(tuple(rows))
    assert len(seen) == 4  # every combination of inside and outside


@pytest.mark.parametrize('frame', ['tip', 'base'])
@pytest.mark.parametrize('name', ['ur5', 'panda', 'skew'])
def test_the_jacobian_is_exact_far_from_the_goal(name, frame):
    """By central differences of the definition; the error is up to pi long."""
    chain = skew_chain() if name == 'skew' else robots.chain(name)
    rng = np.random.default_rng(3)
    step = 1e-6
    for q in robots.random_postures(chain, 20, 4):
        goal = Goal(random_pose(rng, 0.5), (0.0,) * 6, frame)
        task = Task(chain, goal, LENGTH)
        point = task.at(q)
        if point.orientation_error > 3.0:
            continue  # a difference across pi is no derivative
        assert point.rows.all()
        for k in range(chain.n):
            there, back = q.copy(), q.copy()
            there[k] += step
            back[k] -= step
            slope = (deviation(goal, *tip_of(task, there))
                     - deviation(goal, *tip_of(task, back))) / (2.0 * step)
            slope[3:] *= LENGTH
            assert point.J[:, k] == pytest.approx(slope, abs=1e-7)


def test_a_reached_goal_has_only_the_exact_rows():
    chain = robots.chain('ur5')
    q = robots.random_postures(chain, 1, 5)[0]
    T = robots.tip_pose('ur5', q)
    point = Task(chain, Goal(T, (0.01, 0.0, 0.0, INF, INF, INF)), LENGTH).at(q)
    assert point.rows.tolist() == [False, True, True, False, False, False]
    assert point.e == pytest.approx(0.0, abs=1e-12) and point.J.shape == (2, 6)
    assert point.position_error < 1e-12 and point.orientation_error == 0.0
