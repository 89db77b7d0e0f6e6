# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The nearest posture of a redundant arm: no small motion along the solutions leads nearer."""

from answers import assert_solves, near, reachable, solver, tip_jacobian, tip_pose
import numpy as np
import pytest
import robots

SEVEN_AXES = [name for name, arm in robots.ARMS.items() if arm.n == 7]
GOALS = 25
AT_LIMIT = 1e-9    # rad
SLOPE = 5e-3       # rad, of the distance along the self-motion, per rad
FARTHER = 1e-3     # share: answers within tolerance of the goal differ by less


def slope(name, q, seed):
    """Return the part of seed - q that is along the self-motion of the joints off their limits."""
    chain = robots.chain(name)
    free = (q > chain.lower + AT_LIMIT) & (q < chain.upper - AT_LIMIT)
    J, d = tip_jacobian(name, q)[:, free], (seed - q)[free]
    return float(np.linalg.norm(d - np.linalg.pinv(J) @ (J @ d)))


@pytest.mark.parametrize('name', robots.cases(SEVEN_AXES))
def test_nothing_nearer_lies_beside_it(name):
    """The way to the seed is perpendicular to the self-motion, inside the limits."""
    postures, poses = reachable(name, GOALS)
    chain, still = robots.chain(name), 0
    for T, seed in zip(poses, near(name, postures, 0.1)):
        result = solver(name, select='nearest').solve(T, seed)
        assert_solves(name, T, result)
        limits = np.minimum(result.q - chain.lower, chain.upper - result.q).min() < AT_LIMIT
        still += limits or slope(name, result.q, seed) < SLOPE
    assert still >= GOALS - 1  # at a singular posture the self-motion has a corner


@pytest.mark.parametrize('name', robots.cases(SEVEN_AXES))
@pytest.mark.parametrize('size', [0.1, 1.0])
def test_it_is_not_farther_than_known_solutions(name, size):
    """Not than the posture the pose is from, if that is near, nor than the first solution."""
    postures, poses = reachable(name, GOALS)
    for q, T, seed in zip(postures, poses, near(name, postures, size, 15)):
        found = solver(name, select='nearest').solve(T, seed)
        distance = np.linalg.norm(found.q - seed)
        first = solver(name).solve(T, seed)
        assert distance <= (1.0 + FARTHER) * np.linalg.norm(first.q - seed)
        if size < 0.5:
            assert distance <= (1.0 + FARTHER) * np.linalg.norm(q - seed)


@pytest.mark.parametrize('name', robots.cases(SEVEN_AXES))
def test_the_limits_hold_beside_a_limit(name):
    """A seed beside limits gives an answer inside them."""
    upper = robots.chain(name).upper
    for q in reachable(name, GOALS)[0]:
        mixed = np.where((np.arange(7) % 2 == 0) & np.isfinite(upper), upper, q)
        T = tip_pose(name, mixed)
        assert_solves(name, T, solver(name, select='nearest').solve(T, mixed + 0.05))
