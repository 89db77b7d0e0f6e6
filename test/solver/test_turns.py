# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Angles are returned at the turn nearest to the seed that is inside the limits."""

from answers import assert_solves, reachable, solver, tip_pose, UNBIASED
import numpy as np
import pytest
import robots


@pytest.mark.parametrize('name', robots.cases(['ur5', 'ur5_limited', 'panda', 'kinova', 'pr2']))
def test_no_other_turn_inside_the_limits_is_nearer(name):
    """For joints with limits, and for continuous joints up to 40 turns away."""
    chain = robots.chain(name)
    _, poses = reachable(name, 300)
    seeds = robots.random_postures(chain, 300, 15)
    seeds[:, chain.continuous] += 2.0 * np.pi * np.random.default_rng(16).integers(
        -40, 40, (300, int(chain.continuous.sum())))
    moved = 0
    for T, seed in zip(poses, seeds):
        # The bias acts after the turns are chosen.
        result = solver(name, **UNBIASED).solve(T, seed)
        assert_solves(name, T, result)
        for k, angle in enumerate(result.q):
            turns = angle + 2.0 * np.pi * np.arange(-90, 91)
            inside = turns[(turns >= chain.lower[k]) & (turns <= chain.upper[k])]
            assert abs(angle - seed[k]) <= np.abs(inside - seed[k]).min() + 1e-9
            moved += abs(angle) > np.pi
    if name in ('ur5', 'kinova', 'pr2'):
        assert moved > 20


def test_a_whole_turn_is_taken_towards_the_seed():
    """A UR5 (range of two turns) solves the pose one turn further if the seed is there."""
    q = np.array([0.5, -1.0, 1.2, 0.4, 0.9, 0.3])
    T = tip_pose('ur5', q)
    for turns in (np.array([0, 0, 0, 0, 0, -1]), np.array([-1, 1, 0, -1, -1, 0])):
        seed = q + 2.0 * np.pi * turns
        assert np.abs(solver('ur5').solve(T, seed + 0.01).q - seed).max() < 1e-5


@pytest.mark.parametrize('turns', [2, 1000, -(10 ** 5)])
def test_a_seed_beyond_the_limits_gives_the_last_turn_inside(turns):
    """However far away the seed is, and as fast."""
    q = np.array([0.5, -1.0, 1.2, 0.4, 0.9, 0.3])
    T = tip_pose('ur5', q)
    result = solver('ur5').solve(T, q + 2.0 * np.pi * turns * np.eye(6)[0])
    assert_solves('ur5', T, result)
    assert result.time < 0.1
    inside = result.q[0] + 2.0 * np.pi * np.arange(-3, 4)
    inside = inside[np.abs(inside) <= 2.0 * np.pi]
    assert result.q[0] == (inside.max() if turns > 0 else inside.min())


def test_continuous_joints_have_no_false_limits():
    """A continuous joint 40 turns away is solved there."""
    chain = robots.chain('kinova')
    assert chain.continuous.sum() == 3
    postures, poses = reachable('kinova', 100)
    far = 2.0 * np.pi * 40.0 * chain.continuous
    for T, q in zip(poses, postures):
        result = solver('kinova').solve(T, q + far + 0.01 * ~chain.continuous * (q < chain.middle))
        assert_solves('kinova', T, result)
        assert np.abs(result.q - q - far)[chain.continuous].max() < np.pi + 1e-6
        assert np.isfinite(result.limit_margin)
