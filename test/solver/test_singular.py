# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Goals exactly at singularities: solved to the same tolerance, inside the limits."""

from answers import assert_solves, errors_of, reachable, solver, tip_jacobian, tip_pose
from brute_force import stretched
from nightly import usual_first
import numpy as np
import pytest
import robots

from ik_node.solver.goal import Goal

# Joints (index: value) that put the arm at a singularity whatever the others are.
WRIST = [('ur5', {4: 0.0}), ('ur5', {4: np.pi}), ('ur10_limited', {4: 0.0}), ('z1', {4: 0.0}),
         ('six_axis_arm', {4: 0.0}), ('parallel_axes_arm', {4: 0.0}), ('kinova', {4: np.pi})]
ELBOW = [('ur5', {2: 0.0}), ('ur3', {2: 0.0}), ('ur5', {2: 0.0, 4: 0.0}), ('kinova', {2: np.pi}),
         ('parallel_axes_arm', {2: 0.0})]
SEVEN = [('panda', {1: 0.0, 5: 0.0}), ('xarm7', {1: 0.0, 5: 0.0}), ('pr2', {3: -0.15}),
         ('xarm7', {1: 0.0, 2: 0.0, 3: 0.0, 4: 0.0, 5: 0.0}), ('baxter', {3: 0.0, 5: 0.0})]


def assert_solved_from_anywhere(name, postures):
    """Check goals at postures, solved from far, from near, and from the posture itself."""
    chain = robots.chain(name)
    rng = np.random.default_rng(24)
    for q, seed in zip(postures, robots.random_postures(chain, len(postures), 24)):
        T = tip_pose(name, q)
        near = np.clip(q + rng.uniform(-0.05, 0.05, chain.n), chain.lower, chain.upper)
        for start in (seed, near, q):
            assert_solves(name, T, solver(name).solve(T, start))


@pytest.mark.fault('goals', 'at a singularity of wrist or elbow', 'solved')
@pytest.mark.parametrize('name, joints', WRIST + ELBOW + SEVEN, ids=str)
def test_at_a_singularity(name, joints):
    """Wrist and elbow singularities, and those of seven-axis arms."""
    postures = robots.random_postures(robots.chain(name), 40, 23)
    for k, value in joints.items():
        postures[:, k] = value
    postures = np.clip(postures, robots.chain(name).lower, robots.chain(name).upper)
    if (name, joints) in (('ur5', {4: 0.0}), ('six_axis_arm', {4: 0.0}), ('kinova', {2: np.pi})):
        smallest = [np.linalg.svd(tip_jacobian(name, q))[1][-1] for q in postures]
        assert max(smallest) < 1e-9
    assert_solved_from_anywhere(name, postures)


@pytest.mark.parametrize('name', robots.cases(
    ['ur3', 'ur5', 'six_axis_arm', 'kinova', 'parallel_axes_arm']))
def test_at_a_shoulder_singularity(name):
    """
    The wrist above the first axis.

    The first joint does not matter; the second is turned until the determinant
    of Pinocchio's Jacobian is zero where neither wrist nor elbow are straight.
    """
    from scipy.optimize import brentq
    chain, postures = robots.chain(name), []
    for q in robots.random_postures(chain, 400, 90):
        if min(abs(np.sin(q[4])), abs(np.sin(q[2]))) < 0.3:
            continue

        def determinant(angle, q=q):
            return np.linalg.det(tip_jacobian(name, np.array([*q[:1], angle, *q[2:]])))
        angles = np.linspace(max(chain.lower[1], -2.0), min(chain.upper[1], 5.0), 30)
        values = [determinant(angle) for angle in angles]
        for a, b, at_a, at_b in zip(angles, angles[1:], values, values[1:]):
            if at_a * at_b < 0.0:
                q[1] = brentq(determinant, a, b, xtol=1e-15)
                postures.append(q)
                break
        if len(postures) == 30:
            break
    assert len(postures) == 30
    assert max(np.linalg.svd(tip_jacobian(name, q))[1][-1] for q in postures) < 1e-6
    assert_solved_from_anywhere(name, postures)


@pytest.mark.fault('goals', 'at the edge of the reach, the arm stretched', 'solved')
@pytest.mark.parametrize('name', usual_first(
    3, ['ur5', 'panda', 'kinova', 'ur10', 'z1', 'six_axis_arm']))
def test_at_full_stretch(name):
    """At the farthest point that the arm reaches."""
    goal = Goal.position(stretched(name) * (1.0 - 1e-9))
    for seed in robots.random_postures(robots.chain(name), 20, 91):
        result = solver(name).solve(goal, seed)
        assert max(errors_of(name, goal, result.q)) < 2e-6
        assert_solves(name, goal, result)


@pytest.mark.parametrize('name', ['ur5', 'z1', 'panda'])
def test_paths_through_a_singularity_are_solved(name):
    """Small steps across a straight wrist or arm, each seeded by the one before."""
    chain = robots.chain(name)
    joint = {'ur5': 4, 'z1': 4, 'panda': 5}[name]
    q = reachable(name, 1, 92)[0][0].copy()
    at = q.copy()
    for angle in np.linspace(0.3, -0.3, 61):
        q[joint] = np.clip(angle, chain.lower[joint], chain.upper[joint])
        T = tip_pose(name, q)
        result = solver(name).solve(T, at)
        assert_solves(name, T, result)
        at = result.q
