# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The walk along the self-motion of redundant arms."""

from answers import tip_pose
import numpy as np
import pytest
import robots

from ik_node.base.se3 import distance
from ik_node.solver.branches import without_limits
from ik_node.solver.descent.nearest import walk
from ik_node.solver.solver import Solver

STEP = 0.05


def walked(solver, T, q, most=2000, joints=None):
    """Return the postures of a walk, and whether it closed."""
    tables = solver.tables
    found = np.full((most, len(q)), np.nan)
    joints = without_limits(solver.chain, tables.joints) if joints is None else joints
    count, closed = walk(solver.chain.table, joints, tables.settings, T.ravel(), q, STEP, found)
    return found[:count], closed


@pytest.mark.parametrize('name', ['panda', 'xarm7'])
def test_it_goes_round_and_leaves_the_tip_where_it_is(name):
    """By Pinocchio; each step is short, and no posture is left out."""
    chain = robots.chain(name)
    solver, loops = Solver(chain), 0
    for q in robots.random_postures(chain, 10, 4):
        T = tip_pose(name, q)
        curve, closed = walked(solver, T, q)
        assert np.array_equal(curve[0], q)
        assert all(max(distance(tip_pose(name, each), T)) < 1e-5 for each in curve)
        steps = np.linalg.norm(np.diff(curve, axis=0), axis=1)
        assert (steps > 0.0).all() and steps.max() < 2.0 * STEP
        back = (curve[-1] - q + np.pi) % (2.0 * np.pi) - np.pi
        assert not closed or np.linalg.norm(back) < STEP
        loops += closed
    assert loops >= 8


def test_it_ends_where_it_must():
    """With the room that is given; and if no joint is redundant, at the start."""
    chain = robots.chain('panda')
    solver, q = Solver(chain), robots.random_postures(chain, 1, 4)[0]
    T = tip_pose('panda', q)
    assert len(walked(solver, T, q, most=5)[0]) == 5
    joints = solver.tables.joints.copy()
    joints[:2, 6] = q[6]
    curve, closed = walked(solver, T, q, joints=joints)
    assert len(curve) == 1 and not closed
