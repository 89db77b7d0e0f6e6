# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The fixed table of postures from which attempts start."""

from answers import tip_pose
import numpy as np
import pytest
import robots

from ik_node.solver.options import SolverOptions
from ik_node.solver.tables import low_discrepancy, posture_table, Tables


@pytest.mark.parametrize('n', [1, 6, 7])
def test_the_sequence_fills_the_cube_evenly(n):
    """Inside the cube, repeatable, a prefix of a longer one, without empty regions."""
    points = low_discrepancy(100, n)
    assert points.shape == (100, n)
    assert (points >= 0.0).all() and (points < 1.0).all()
    assert np.array_equal(points, low_discrepancy(100, n))
    assert np.array_equal(points[:10], low_discrepancy(10, n))
    assert low_discrepancy(0, n).shape == (0, n)
    for column in points.T:
        counts = np.histogram(column, 10, (0.0, 1.0))[0]
        assert counts.min() >= 6 and counts.max() <= 15
    distances = np.linalg.norm(points[:, None] - points[None], axis=2) + np.eye(100)
    assert distances.min() > 0.5 / 100


@pytest.mark.parametrize('name', ['ur5', 'panda', 'kinova'])
def test_the_table_spans_the_limits(name):
    """One turn for continuous joints; with the pose of the tip at each posture."""
    chain = robots.chain(name)
    table = posture_table(chain, 400)
    Q = table[:chain.n].T
    lower = np.where(chain.continuous, -np.pi, chain.lower)
    upper = np.where(chain.continuous, np.pi, chain.upper)
    assert (Q >= lower).all() and (Q <= upper).all()
    assert ((Q.max(axis=0) - Q.min(axis=0)) > 0.95 * (upper - lower)).all()
    for q, pose in zip(Q[:20], table[chain.n:].T):
        T = tip_pose(name, q)
        assert np.abs(pose[:9] - T[:3, :3].ravel()).max() < 1e-12
        assert np.abs(pose[9:] - T[:3, 3]).max() < 1e-12


def test_there_are_as_many_postures_as_restarts():
    """Each restart has its own posture."""
    chain = robots.chain('ur5')
    assert Tables(chain, SolverOptions(max_restarts=5000)).postures.shape[1] >= 5000
    assert Tables(chain, SolverOptions(max_restarts=1)).postures.shape[1] >= 250
