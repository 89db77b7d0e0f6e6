# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The nearest posture of a redundant arm: no small motion along the solutions leads nearer."""

from answers import assert_solves, near, reachable, solver, tip_jacobian, tip_pose
import numpy as np
import pytest
import robots

from ik_node.solver.arm_geometry import seven_axes_form

SEVEN_AXES = [name for name, arm in robots.ARMS.items() if arm.n == 7]
GOALS = 25
IN_CLOSED_FORM = [name for name in SEVEN_AXES if len(seven_axes_form(robots.chain(name)))]
STARTS = 40        # from which a posture is sought that is nearer than an answer
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


def along_the_solutions(name, q, seed):
    """Return where q comes towards the seed by small steps along the solutions, inside limits."""
    chain, T = robots.chain(name), tip_pose(name, q)
    for _ in range(60):
        free = np.ones(7, dtype=bool)
        for _ in range(7):  # joints at a limit stay if they would pass it
            J = tip_jacobian(name, q)[:, free]
            step = np.zeros(7)
            step[free] = (seed - q)[free] - np.linalg.pinv(J) @ (J @ (seed - q)[free])
            held = free & ((q <= chain.lower) & (step < 0) | (q >= chain.upper) & (step > 0))
            if not held.any():
                break
            free &= ~held
        trial = np.clip(q + min(0.5, 0.1 / max(np.linalg.norm(step), 1e-9)) * step,
                        chain.lower, chain.upper)
        result = solver(name, max_restarts=0).solve(T, trial)
        if not result.success or np.linalg.norm(result.q - seed) \
                > np.linalg.norm(q - seed) - 1e-6:
            break
        q = result.q
    return q


@pytest.mark.parametrize('name', robots.cases(IN_CLOSED_FORM))
def test_no_self_motion_leads_nearer(name):
    """From anywhere: among solutions from many starts, moved towards the seed, is none nearer."""
    chain, missed = robots.chain(name), 0
    lower, upper = np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi)
    random = np.random.default_rng(3)
    for T in reachable(name, GOALS)[1]:
        seed = random.uniform(lower, upper)
        result = solver(name, select='nearest').solve(T, seed)
        assert_solves(name, T, result)
        starts = (solver(name).solve(T, start) for start in random.uniform(
            lower, upper, (STARTS, 7)))
        found = sorted((start.q for start in starts if start.success),
                       key=lambda q: np.linalg.norm(q - seed))
        least = min(np.linalg.norm(along_the_solutions(name, q, seed) - seed) for q in found[:5])
        missed += np.linalg.norm(result.q - seed) > 1.01 * least
    assert missed <= 1


@pytest.mark.parametrize('name', robots.cases(SEVEN_AXES))
def test_the_limits_hold_beside_a_limit(name):
    """A seed beside limits gives an answer inside them."""
    upper = robots.chain(name).upper
    for q in reachable(name, GOALS)[0]:
        mixed = np.where((np.arange(7) % 2 == 0) & np.isfinite(upper), upper, q)
        T = tip_pose(name, mixed)
        assert_solves(name, T, solver(name, select='nearest').solve(T, mixed + 0.05))
