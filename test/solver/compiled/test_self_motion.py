# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Steps along the self-motion of redundant arms."""

from answers import tip_jacobian
import numpy as np
import pytest
import robots

from ik_node.solver.compiled.self_motion import add_distinct, self_motions


@pytest.mark.parametrize('name', ['panda', 'xarm7'])
def test_directions_leave_the_tip_where_it_is(name):
    """By Pinocchio's Jacobian; the length is 1, also where the arm is stretched."""
    chain = robots.chain(name)
    random = np.random.default_rng(0)
    Q = np.vstack([np.zeros(chain.n), random.uniform(-2.0, 2.0, (50, chain.n))])
    D = np.full(Q.shape, np.nan)
    self_motions(chain.table, Q, np.ones(chain.n, dtype=bool), D)
    for q, direction in zip(Q, D):
        assert np.abs(tip_jacobian(name, q) @ direction).max() < 1e-12
        assert np.linalg.norm(direction) == pytest.approx(1.0)


def test_joints_that_do_not_move():
    """Six are left, of which none is redundant: there is no direction."""
    Q, D = np.full((1, 7), 0.3), np.full((1, 7), np.nan)
    self_motions(robots.chain('panda').table, Q, np.arange(7) < 6, D)
    assert not D.any()


def test_distinct_postures():
    """Those that are near to a known one, or to one before, are left out; so are too many."""
    known = np.zeros((3, 2))
    count = add_distinct(known, 1, np.array([[0.1, 0.0], [1.0, 0.0], [1.0, 0.1], [2.0, 0.0],
                                             [3.0, 0.0]]), 0.2)
    assert count == 3 and known[:, 0].tolist() == [0.0, 1.0, 2.0]
