# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Joint limits are hard: every answer is inside, also if a solution is at a limit."""

from answers import assert_honest, assert_inside, assert_solves, solver, tip_pose
import numpy as np
import pytest
import robots

from ik_node.base.errors import Reason

LIMITED = ['six_axis_arm', 'panda', 'z1', 'baxter']


@pytest.mark.parametrize('name', LIMITED)
def test_goals_beyond_the_limits_are_solved_inside_them_or_not_at_all(name):
    """The margins are true, and the message names the joints at their limits."""
    chain = robots.chain(name)
    rng = np.random.default_rng(17)
    outcomes, named = set(), 0
    for _ in range(150):
        q = rng.uniform(chain.lower, chain.upper)
        beyond = rng.integers(chain.n)
        q[beyond] = rng.choice([chain.lower[beyond] - 0.3, chain.upper[beyond] + 0.3])
        T = tip_pose(name, q)
        seed = q + rng.normal(scale=3.0, size=chain.n)  # outside the limits as well
        result = solver(name, max_restarts=5).solve(T, seed)
        assert_inside(name, result.q)
        outcomes.add(result.status)
        margin = np.minimum(result.q - chain.lower, chain.upper - result.q)
        assert result.limit_margin == margin.min() >= 0.0
        assert result.limiting_joints == tuple(
            joint for joint, room in zip(chain.joint_names, margin) if room < 1e-6)
        if result.success:
            assert_solves(name, T, result)
            continue
        assert_honest(name, T, result)
        for joint in result.limiting_joints:
            assert f"'{joint}'" in result.message and 'at the limit' in result.message
            named += 1
    assert {Reason.SOLVED, Reason.BEYOND_LIMIT} <= outcomes
    assert named > 10


@pytest.mark.parametrize('name', LIMITED)
def test_postures_at_the_limits_are_found(name):
    """A goal at a posture with joints exactly at their limits is solved from near and far."""
    chain = robots.chain(name)
    rng = np.random.default_rng(18)
    close = 0
    for _ in range(100):
        q = rng.uniform(chain.lower, chain.upper)
        for k in rng.choice(chain.n, 2, replace=False):
            q[k] = rng.choice([chain.lower[k], chain.upper[k]])
        T = tip_pose(name, q)
        assert_solves(name, T, solver(name).solve(T, chain.middle))
        seed = np.clip(q + rng.uniform(-0.05, 0.05, chain.n), chain.lower, chain.upper)
        result = solver(name).solve(T, seed)
        assert_solves(name, T, result)
        close += result.restarts == 0
    assert close == 100
