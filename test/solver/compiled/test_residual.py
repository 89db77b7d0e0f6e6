# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled error of a pose and its Jacobian, against Pinocchio and finite differences."""

from answers import FREE, reachable
from cached_kernels import compiled
import numpy as np
import pinocchio as pin
import pytest

from ik_node.solver.descent.layout import (
    BASE_AXES,
    EXACT_POSE,
    GOAL_SIZE,
    TIP_AXES,
    TOLERANCE_AXES,
)
from ik_node.solver.descent.residual import fill_goal, residual, task_columns


# The inner functions have no wrapper for Python.
@compiled
def run_residual(T, box, tip, length, e, D, columns):
    goal = np.empty(GOAL_SIZE)
    fill_goal(T, box, goal)
    position, angle = residual(goal, tip, length, e, D)
    if goal[TOLERANCE_AXES] != EXACT_POSE:
        task_columns(D, columns)
    return position, angle


def row(T):
    return np.concatenate([T[:3, :3].ravel(), T[:3, 3]])


def evaluate(T_goal, T, box, length=0.3):
    """Return errors, e (6,), and the residual's columns for unit twists of the tip (6, 6)."""
    e, D, columns = np.empty(6), np.full((6, 3), np.nan), np.eye(6)
    errors = run_residual(np.ravel(T_goal), np.asarray(box, dtype=float), row(T),
                          length, e, D, columns)
    return errors, e, columns.T


def turned(T, twist):
    """Return the pose T moved by a twist (6,) in the base frame."""
    R, p = pin.exp3(twist[3:]) @ T[:3, :3], T[:3, 3] + twist[:3]
    return np.block([[R, p[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])


@pytest.mark.parametrize('axes', [TIP_AXES, BASE_AXES])
def test_the_residual_and_its_derivative(axes):
    """Outside a box, against Pinocchio's logarithm and finite differences of it."""
    _, poses = reachable('ur5', 60)
    rng = np.random.default_rng(47)
    h = 1e-6
    for T_goal, T in zip(poses[:30], poses[30:]):
        box = np.zeros(7)
        box[:6] = rng.choice([0.0, 0.1, FREE], 6)
        box[6] = axes

        def outside(T, T_goal=T_goal, box=box):
            R_goal = T_goal[:3, :3]
            A = R_goal.T if axes == TIP_AXES else np.eye(3)
            d = np.concatenate([A @ (T[:3, 3] - T_goal[:3, 3]),
                                A @ pin.log3(T[:3, :3] @ R_goal.T)])
            return np.sign(d) * np.maximum(np.abs(d) - box[:6], 0.0)
        errors, e, D = evaluate(T_goal, T, box)
        over = outside(T)
        weight = np.repeat([1.0, 0.3], 3)
        assert np.abs(e + weight * over).max() < 1e-9
        assert errors == pytest.approx((np.linalg.norm(over[:3]), np.linalg.norm(over[3:])))
        slope = np.array([(outside(turned(T, h * unit)) - outside(turned(T, -h * unit)))
                          / (2.0 * h) for unit in np.eye(6)]).T
        assert np.abs(D - slope).max() < 1e-5


def test_the_residual_of_a_whole_pose():
    """Without a box: the error twist in the base frame, the angles weighted."""
    _, poses = reachable('ur5', 40)
    for T_goal, T in zip(poses[:20], poses[20:]):
        errors, e, _ = evaluate(T_goal, T, [0.0] * 6 + [EXACT_POSE], 0.7)
        twist = np.concatenate([T_goal[:3, 3] - T[:3, 3], pin.log3(T_goal[:3, :3] @ T[:3, :3].T)])
        assert np.abs(e - np.repeat([1.0, 0.7], 3) * twist).max() < 1e-9
        assert errors == pytest.approx((np.linalg.norm(twist[:3]), np.linalg.norm(twist[3:])))
