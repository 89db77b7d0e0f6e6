# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What an answer of the solver is worth, by Pinocchio's kinematics."""

from functools import lru_cache

import numpy as np
import pinocchio as pin
import pytest
import robots
from robots import tip_pose

from ik_node.base.errors import Reason
from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver

PATIENT = {'deadline': 60.0}  # so that no answer depends on the machine's load
BIASED, UNBIASED = {'gains': (1.0,)}, {'gains': (0.0,)}
ROUNDING = 1e-9  # m and rad, between two computations of the same pose
FREE = float('inf')


@lru_cache(maxsize=None)
def solver(name, **options):
    """Return a patient solver of an arm."""
    return Solver(robots.chain(name), **PATIENT, **options)


def tip_jacobian(name, q):
    """Return the Jacobian (6, n) of the tip in the axes of the base."""
    chain = robots.chain(name)
    return robots.reference(name).jacobian(chain.base_link, chain.tip_link,
                                           robots.positions(chain, q))


@lru_cache(maxsize=None)
def reachable(name, count, seed=11):
    """Return postures (count, n) inside the limits and the poses (count, 4, 4) of the tip."""
    postures = robots.random_postures(robots.chain(name), count, seed)
    poses = np.array([tip_pose(name, q) for q in postures])
    postures.setflags(write=False)
    poses.setflags(write=False)
    return postures, poses


def near(name, postures, size, seed=14):
    """Return postures, each joint moved at random by up to `size`, inside the limits."""
    chain = robots.chain(name)
    noise = np.random.default_rng(seed).uniform(-size, size, postures.shape)
    return np.clip(postures + noise, chain.lower, chain.upper)


def deviation(goal, T):
    """Return the deviation (6,) of a pose from a goal, in the goal's frame, m and rad."""
    R, p = T[:3, :3], T[:3, 3]
    R_goal, p_goal = goal.T_base_tip[:3, :3], goal.T_base_tip[:3, 3]
    if goal.frame == 'tip':
        return np.concatenate([R_goal.T @ (p - p_goal), pin.log3(R_goal.T @ R)])
    return np.concatenate([p - p_goal, pin.log3(R @ R_goal.T)])


def task_jacobian(name, goal, q):
    """Return the derivative (6, n) of :func:`deviation` by the joints."""
    T, J = tip_pose(name, q), tip_jacobian(name, q)
    R, R_goal = T[:3, :3], goal.T_base_tip[:3, :3]
    # Pinocchio's Jlog3(R) takes an angular velocity in the axes of R.
    if goal.frame == 'tip':
        return np.vstack([R_goal.T @ J[:3], pin.Jlog3(R_goal.T @ R) @ R.T @ J[3:]])
    return np.vstack([J[:3], pin.Jlog3(R @ R_goal.T) @ (R @ R_goal.T).T @ J[3:]])


def as_goal(goal):
    """Return a goal from a goal or a pose (4, 4)."""
    return goal if isinstance(goal, Goal) else Goal(goal)


def errors_of(name, goal, q):
    """Return how far (m, rad) the tip at `q` is outside the tolerances of a goal."""
    goal = as_goal(goal)
    away = np.abs(deviation(goal, tip_pose(name, q)))
    over = np.maximum(away - np.array(goal.tolerance), 0.0)
    return float(np.linalg.norm(over[:3])), float(np.linalg.norm(over[3:]))


def assert_inside(name, q):
    """Check the limits, which are hard."""
    chain = robots.chain(name)
    assert (q >= chain.lower).all() and (q <= chain.upper).all()


def assert_solves(name, goal, result, tolerance=1e-6):
    """Check an answer that is called solved, and its figures."""
    assert result.success and result.status is Reason.SOLVED, result.message
    assert_inside(name, result.q)
    position, orientation = errors_of(name, goal, result.q)
    assert position <= tolerance + ROUNDING and orientation <= tolerance + ROUNDING
    assert result.position_error <= tolerance and result.orientation_error <= tolerance
    if not np.any(as_goal(goal).tolerance):  # a box is aimed at a little inside
        assert result.position_error == pytest.approx(position, abs=ROUNDING)
        assert result.orientation_error == pytest.approx(orientation, abs=ROUNDING)


def assert_honest(name, goal, result):
    """Check that a failure reports its best attempt with the true distance."""
    assert not result.success
    assert np.isfinite(result.q).all()
    assert_inside(name, result.q)
    position, orientation = errors_of(name, goal, result.q)
    assert max(position, orientation) > 1e-6
    assert result.position_error == pytest.approx(position, rel=1e-6, abs=3e-6)
    assert result.orientation_error == pytest.approx(orientation, rel=1e-6, abs=3e-6)
