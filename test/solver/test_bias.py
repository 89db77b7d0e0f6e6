# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The null-space bias ends at the best posture that the goal allows, and costs no accuracy."""

from answers import (
    assert_solves,
    BIASED,
    deviation,
    FREE,
    reachable,
    solver,
    task_jacobian,
    tip_jacobian,
    tip_pose,
    UNBIASED,
)
from nightly import samples
import numpy as np
import pytest
import robots
from self_motion import SelfMotion

from ik_node.solver.goal import Goal

TOLERANCES = {
    'pose': (0.0,) * 6,
    'free z': (0.0, 0.0, 0.0, 0.0, 0.0, FREE),
    'free x': (0.0, 0.0, 0.0, FREE, 0.0, 0.0),
    'position': (0.0, 0.0, 0.0, FREE, FREE, FREE),
    'box': (0.01, 0.0, 0.01, 0.1, 0.1, FREE),
}
CURVES = [('panda', 'pose'), ('xarm7', 'pose'), ('pr2', 'pose'), ('baxter', 'pose'),
          ('ur5', 'free z'), ('kinova', 'free z'), ('six_axis_arm', 'free x')]
SURFACES = [('ur5', 'position'), ('z1', 'position'), ('panda', 'position'), ('baxter', 'free z')]
BOXES = [('panda', 'box'), ('ur5', 'box'), ('z1', 'box')]


def tasks(name, kind, count, start=0):
    """Return reachable goals of a kind, each with a random seed."""
    _, poses = reachable(name, start + count)
    seeds = robots.random_postures(robots.chain(name), start + count, 12)
    return [(Goal(T, TOLERANCES[kind]), seed) for T, seed in zip(poses[start:], seeds[start:])]


def pull(chain, q, preferred, gains=1.0):
    """Return the gradient of ``1/2 sum gain ((q - preferred) / range)^2``."""
    width = np.where(chain.continuous, 2.0 * np.pi, chain.upper - chain.lower)
    return gains * chain.difference(q, preferred) / width**2


def distance(chain, q, preferred):
    """Return the normalised distance."""
    width = np.where(chain.continuous, 2.0 * np.pi, chain.upper - chain.lower)
    return float(np.linalg.norm(chain.difference(q, preferred) / width))


# ---- how far it goes --------------------------------------------------------

@pytest.mark.parametrize('name, kind, count', [
    *((*case, samples(usual=4, nightly=10)) for case in CURVES),
    *((*case, samples(usual=2, nightly=4)) for case in SURFACES)])
def test_the_best_posture_of_the_self_motion_is_found(name, kind, count):
    """Within 5 % of the best posture of a sweep over the whole self-motion."""
    misses = []
    for k, (goal, seed) in enumerate(tasks(name, kind, count)):
        result, unbiased = (solver(name, **gains).solve(goal, seed)
                            for gains in (BIASED, UNBIASED))
        assert_solves(name, goal, result)
        motion = SelfMotion(name, goal, solver(name, **BIASED).preferred)
        best = motion.best(unbiased.q)
        if motion.distance(result.q) > 1.05 * best + 1e-4:
            misses.append((k, motion.distance(unbiased.q), motion.distance(result.q), best))
    assert not misses


@pytest.mark.parametrize('name', robots.cases(['panda', 'xarm7', 'pr2', 'baxter']))
def test_no_seed_leads_to_a_much_better_posture(name):
    """Within 5 % of the best that 30 seeds find, for most poses."""
    chain, one = robots.chain(name), solver(name, **BIASED)
    seeds, ratios = robots.random_postures(chain, 30, 15), []
    for goal, seed in tasks(name, 'pose', 60):
        own, *found = (distance(chain, one.solve(goal, start).q, one.preferred) ** 2
                       for start in (seed, *seeds))
        ratios.append(own / min(own, *found))
    assert np.quantile(ratios, 0.85) <= 1.05


@pytest.mark.parametrize('name, kind', [*CURVES, *SURFACES, *BOXES])
def test_the_bias_costs_no_accuracy(name, kind):
    """The distance never rises and mostly falls; the error stays within tolerance."""
    chain = robots.chain(name)
    on, off = solver(name, **BIASED), solver(name, **UNBIASED)
    ratios = []
    for goal, seed in tasks(name, kind, 100):
        with_bias, without = on.solve(goal, seed), off.solve(goal, seed)
        assert_solves(name, goal, with_bias)
        assert_solves(name, goal, without)
        assert without.bias_iterations == 0
        assert with_bias.restarts == without.restarts
        ratios.append(distance(chain, with_bias.q, on.preferred)
                      / distance(chain, without.q, on.preferred))
    assert max(ratios) <= 1.0 + 1e-9
    assert np.median(ratios) < 0.98 and np.quantile(ratios, 0.25) < 0.95


@pytest.mark.parametrize('name, kind', [('xarm7', 'pose'), ('kinova', 'free z'),
                                        ('ur5', 'position')])
def test_exploring_finds_better_postures_than_descent(name, kind):
    """Descent from the first solution finds worse minima; exploring is never worse."""
    chain = robots.chain(name)
    both, down = solver(name, **BIASED), solver(name, **BIASED, explore=False)
    ratios = []
    for goal, seed in tasks(name, kind, 100):
        pair = [one.solve(goal, seed) for one in (both, down)]
        assert_solves(name, goal, pair[1])
        ratios.append(np.divide(*(distance(chain, result.q, both.preferred) for result in pair)))
    assert max(ratios) <= 1.0 + 1e-6
    assert np.sum(np.array(ratios) < 0.95) >= 3


# ---- where it ends ----------------------------------------------------------

def stationarity(name, goal, q, gradient):
    """
    Return what is left of a gradient that no constraint holds, as a share of it.

    Constraints: the exact axes, both ways; a joint on its limit and an axis at
    the border of its box, with a multiplier of the one sign that it can have.
    """
    chain = robots.chain(name)
    J, away = task_jacobian(name, goal, q), deviation(goal, tip_pose(name, q))
    columns, least = [], []
    for k, width in enumerate(goal.tolerance):
        if width == 0.0 or abs(away[k]) > width - 5e-6:
            columns.append(J[k] * (1.0 if width == 0.0 else np.sign(away[k])))
            least.append(-np.inf if width == 0.0 else 0.0)
    for k, unit in enumerate(np.eye(chain.n)):
        if q[k] > chain.upper[k] - 1e-6 or q[k] < chain.lower[k] + 1e-6:
            columns.append(unit if q[k] > chain.upper[k] - 1e-6 else -unit)
            least.append(0.0)
    columns = np.array(columns).T
    from scipy.optimize import lsq_linear
    solved = lsq_linear(columns, -gradient, (least, np.full(len(least), np.inf)), 'bvls')
    return np.linalg.norm(columns @ solved.x + gradient) / np.linalg.norm(gradient), sum(
        bound == 0.0 for bound in least)


@pytest.mark.parametrize('name, kind', [*CURVES, *SURFACES, *BOXES])
def test_the_answer_is_a_minimum_of_the_bias(name, kind):
    """No motion that keeps the goal, the limits and the box lowers the bias (first order)."""
    chain = robots.chain(name)
    held, left = 0, []
    for goal, seed in tasks(name, kind, 60):
        result = solver(name, **BIASED).solve(goal, seed)
        gradient = pull(chain, result.q, solver(name, **BIASED).preferred)
        share, constraints = stationarity(name, goal, result.q, gradient)
        left.append(share)
        held += constraints > 0
    if kind == 'box':
        # Inside a box the descent may run out of steps just before the minimum.
        assert np.quantile(left, 0.7) < 1e-4 and held > 30
    else:
        assert np.quantile(left, 0.95) < 1e-4 and max(left) < 0.02


def test_a_preferred_posture_that_solves_the_goal_is_found():
    """If the preferred posture solves the goal, a redundant arm ends there."""
    chain = robots.chain('panda')
    postures, poses = reachable('panda', 60)
    seeds = robots.random_postures(chain, 60, 53)
    found = 0
    for T, q, seed in zip(poses, postures, seeds):
        one = solver('panda', **BIASED, preferred=tuple(q))
        assert np.array_equal(one.preferred, q)
        null = np.linalg.svd(tip_jacobian('panda', q))[2][-1]
        aside = np.clip(q + 0.1 * null, chain.lower, chain.upper)
        assert np.abs(one.solve(T, aside).q - q).max() < 1e-3
        found += np.abs(one.solve(Goal.position(T[:3, 3]), seed).q - q).max() < 1e-3
    assert found > 50


# ---- what it is told --------------------------------------------------------

@pytest.mark.parametrize('name', ['panda', 'ur5'])
def test_gain_zero_is_off(name):
    """The answer is that without bias steps, bit for bit, for any preferred posture."""
    zero = solver(name, **UNBIASED, preferred=(0.0, -0.1, 0.0, -0.2, 0.0, 0.1, 0.0)[:robots.chain(
        name).n])
    none = solver(name, **BIASED, max_bias_iterations=0)
    moved = 0
    for goal, seed in tasks(name, 'position', 30):
        off = zero.solve(goal, seed)
        assert off.q.tobytes() == none.solve(goal, seed).q.tobytes() and off.bias_iterations == 0
        moved += not np.array_equal(off.q, solver(name, **BIASED).solve(goal, seed).q)
    assert moved == 30


def test_a_full_pose_on_six_axes_has_no_bias():
    """Six axes and a full pose leave no null space."""
    for goal, seed in tasks('ur5', 'pose', 20):
        result = solver('ur5', **BIASED).solve(goal, seed)
        assert result.bias_iterations == 0
        assert np.array_equal(result.q, solver('ur5', **UNBIASED).solve(goal, seed).q)


@pytest.mark.parametrize('name, kind', [('panda', 'pose'), ('ur5', 'position')])
def test_a_higher_gain_holds_a_joint_nearer(name, kind):
    """Nearer to its preferred position: at the lowest sum a heavier term is not larger."""
    chain = robots.chain(name)
    even = solver(name, **BIASED)
    for joint in range(chain.n):
        gains = np.ones(chain.n)
        gains[joint] = 100.0
        strong = solver(name, gains=tuple(gains))
        ways = []
        for goal, seed in tasks(name, kind, 60):
            pair = [one.solve(goal, seed) for one in (even, strong)]
            assert_solves(name, goal, pair[1])
            ways.append([abs(chain.difference(result.q, even.preferred)[joint])
                         for result in pair])
        before, after = np.transpose(ways)
        assert after.sum() < 0.95 * before.sum()
        assert np.mean(after <= before + 1e-3) > 0.93


def test_a_gain_on_one_joint_alone():
    """That joint is at its preferred position if the goal allows it."""
    chain = robots.chain('panda')
    one, off = solver('panda', gains=tuple(np.eye(7)[2])), solver('panda', **UNBIASED)
    away = np.array([[abs(each.solve(goal, chain.middle).q[2]) for each in (one, off)]
                     for goal, _ in tasks('panda', 'pose', 100)])
    assert np.mean(away[:, 0] < 1e-3) > 0.4
    assert np.median(away[:, 1]) > 0.1


def test_two_postures_pull_together():
    """Both biases add up: the same as one bias to the weighted mean of both postures."""
    chain = robots.chain('panda')
    rng = np.random.default_rng(54)
    a, b = chain.middle + 0.2 * rng.normal(size=7), chain.middle + 0.2 * rng.normal(size=7)
    both = solver('panda', gains=(1.0,), preferred=tuple(a), posture=tuple(b),
                  posture_gains=(3.0,))
    mean = solver('panda', gains=(4.0,), preferred=tuple(0.25 * a + 0.75 * b))
    alone = solver('panda', gains=(0.0,), posture=tuple(b), posture_gains=(1.0,))
    second = solver('panda', gains=(1.0,), preferred=tuple(b))
    for goal, seed in tasks('panda', 'pose', 30):
        for one, other in ((both, mean), (alone, second)):
            pair = [each.solve(goal, seed) for each in (one, other)]
            assert_solves('panda', goal, pair[0])
            assert np.abs(pair[0].q - pair[1].q).max() < 1e-5


def log_measure(name, q):
    """Return the logarithm of Yoshikawa's measure."""
    J = tip_jacobian(name, q)
    return 0.5 * np.linalg.slogdet(J @ J.T)[1]


@pytest.mark.parametrize('name, kind', [('panda', 'pose'), ('ur5', 'position')])
@pytest.mark.parametrize('gain', [0.0, 1.0])
def test_manipulability(name, kind, gain):
    """At the answer its gradient, by finite differences, is balanced; alone and combined."""
    chain = robots.chain(name)
    on = solver(name, gains=(gain,), manipulability_gain=0.1)
    raised, left = [], []
    for goal, seed in tasks(name, kind, 40):
        result, before = on.solve(goal, seed), solver(name, gains=(gain,)).solve(goal, seed)
        assert_solves(name, goal, result)
        raised.append(result.manipulability / before.manipulability)
        gradient = pull(chain, result.q, on.preferred, gain) - 0.1 * np.array([
            (log_measure(name, result.q + d) - log_measure(name, result.q - d)) / 2e-5
            for d in 1e-5 * np.eye(chain.n)])
        left.append(stationarity(name, goal, result.q, gradient)[0])
    assert np.median(raised) > 1.02
    if gain == 0.0:
        assert min(raised) > 1.0 - 1e-6
    assert np.quantile(left, 0.9) < 0.01
