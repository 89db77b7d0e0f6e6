# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled parts of the null-space bias, each against an independent computation."""

from answers import tip_jacobian
from cached_kernels import compiled
import numpy as np
import pytest
import robots

from ik_node.kinematics.kernels import joint_frames
from ik_node.solver.descent import nullspace
from ik_node.solver.descent.layout import workspace


# The inner functions have no wrapper for Python.
@compiled
def run_null_basis(columns, active, V):
    return nullspace.null_basis(columns, active, V)


@compiled
def run_manipulability(table, q, gradient):
    work = workspace(q.shape[0], table.shape[0] - 1)
    joint_frames(table, q, work.frames)
    return nullspace.manipulability_gradient(table, gradient, work)


@compiled
def run_curvature(table, q, f, B):
    frames = np.empty((table.shape[0], 12))
    joint_frames(table, q, frames)
    nullspace.add_curvature(table, frames, f, B)


@pytest.mark.parametrize('n', [5, 6, 7, 9])
@pytest.mark.parametrize('rank', [0, 2, 5, 6])
def test_null_basis(n, rank):
    """Orthonormal, of the right size, and in the exact null space of the active joints."""
    rng = np.random.default_rng(42)
    rank = min(rank, n)
    for _ in range(30):
        J = rng.normal(size=(6, rank)) @ rng.normal(size=(rank, n))
        active = rng.random(n) < 0.8
        J_active = np.where(active, J, 0.0)
        V = np.full((6 + n, n), np.nan)
        row, end = run_null_basis(np.ascontiguousarray(J.T), active, V)
        assert row == (np.linalg.matrix_rank(J_active) if rank else 0)
        assert end == max(active.sum(), row)
        both = V[:end]
        assert np.abs(both @ both.T - np.eye(end)).max() < 1e-12
        assert np.abs(J_active @ V[row:end].T).max(initial=0.0) < 1e-12
        assert not both[:, ~active].any()


@pytest.mark.parametrize('name', ['ur5', 'panda', 'kinova', 'pr2'])
def test_the_gradient_of_the_manipulability(name):
    """Against finite differences of Yoshikawa's determinant over Pinocchio's Jacobian."""
    def log_measure(q):
        J = tip_jacobian(name, q)
        return 0.5 * np.linalg.slogdet(J @ J.T)[1]
    chain = robots.chain(name)
    h = 1e-5
    for q in robots.random_postures(chain, 20, 50):
        gradient = np.empty(chain.n)
        value = run_manipulability(chain.table, q, gradient)
        assert value == pytest.approx(log_measure(q), abs=1e-6)
        slope = [(log_measure(q + d) - log_measure(q - d)) / (2.0 * h)
                 for d in h * np.eye(chain.n)]
        assert np.abs(gradient - slope).max() < 1e-4 * max(1.0, np.abs(slope).max())


@pytest.mark.parametrize('name', ['ur5', 'panda'])
def test_the_curvature_of_the_pose(name):
    """Second derivatives of the position and of the rotation vector, by finite differences."""
    chain = robots.chain(name)
    h = 1e-5
    rng = np.random.default_rng(51)
    for q in robots.random_postures(chain, 10, 52):
        f, B = rng.normal(size=6), np.zeros((chain.n, chain.n))
        run_curvature(chain.table, q, f, B)
        slope = np.array([(tip_jacobian(name, q + d) - tip_jacobian(name, q - d)).T @ f / (2 * h)
                          for d in h * np.eye(chain.n)])
        # The antisymmetric part of the derivative of the angular Jacobian (the commutator) is not
        # part of the second derivative of a rotation vector.
        expected = 0.5 * (slope + slope.T)
        assert np.abs(B + expected).max() < 1e-6
