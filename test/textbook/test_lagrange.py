# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The best posture by Lagrange multipliers, against scipy's constrained minimiser."""

from nightly import samples
import numpy as np
import pytest
import robots

from ik_node.solver.goal import Goal
from ik_node.textbook.attempt import descend, Ending
from ik_node.textbook.lagrange import curvature, multipliers
from ik_node.textbook.options import ClassicOptions, Limits
from ik_node.textbook.problem import Problem
from ik_node.textbook.task import Task

COUNT = samples(usual=6, nightly=40)
NEARBY = 0.5  # rad; scipy may step over to another minimum


def criterion(chain, q):
    """Return the normalised distance to the middle of the limits, as the method has it."""
    return 0.5 * float((((q - chain.middle) / (chain.upper - chain.lower)) ** 2).sum())


def best_by_scipy(name, goal, q, farthest=np.inf):
    """Return the least criterion that scipy finds at a position from q, no joint farther away."""
    chain, reference = robots.chain(name), robots.reference(name)

    def position(x):
        return reference.pose(chain.base_link, chain.tip_link, robots.positions(chain, x))[:3, 3]

    from scipy.optimize import minimize
    found = minimize(lambda x: criterion(chain, x), q, method='SLSQP',
                     bounds=list(zip(chain.lower, chain.upper)),
                     constraints={'type': 'eq', 'fun': lambda x: position(x)
                                  - goal.T_base_tip[:3, 3]},
                     options={'ftol': 1e-14, 'maxiter': 300})
    near = np.abs(chain.difference(found.x, q)).max() <= farthest
    return criterion(chain, found.x) if found.success and near else np.inf


@pytest.mark.parametrize('name', ['panda', 'six_axis_arm'])
def test_no_posture_nearby_is_better(name):
    """From the answer scipy finds none; from the seed none that is much better in the median."""
    chain, gaps = robots.chain(name), []
    for q, seed in zip(robots.random_postures(chain, COUNT, 3),
                       robots.random_postures(chain, COUNT, 4)):
        seed = q + 0.15 * (seed - q)
        goal = Goal.position(robots.tip_pose(name, q)[:3, 3])
        attempt = descend('lagrange', chain, goal, seed)
        assert attempt.ending in (Ending.CONVERGED, Ending.RESTING)
        if not attempt.converged:
            continue
        mine = criterion(chain, attempt.q)
        assert mine < best_by_scipy(name, goal, attempt.q, NEARBY) + 1e-6
        gaps.append(mine - best_by_scipy(name, goal, seed))
    assert len(gaps) >= 0.8 * COUNT and np.median(gaps) < 1e-3


def test_the_conditions_of_lagrange_hold():
    """At a minimum off all limits the gradient is a combination of the rows of J."""
    chain, seen = robots.chain('panda'), 0
    for q in robots.random_postures(chain, COUNT, 5):
        goal = Goal.position(robots.tip_pose('panda', q)[:3, 3])
        attempt = descend('lagrange', chain, goal, q)
        if (attempt.q <= chain.lower).any() or (attempt.q >= chain.upper).any():
            continue
        problem = Problem(Task(chain, goal, 0.3), Limits.CLAMP, ClassicOptions())
        J = robots.reference('panda').jacobian(
            chain.base_link, chain.tip_link, robots.positions(chain, attempt.q))[:3]
        gradient = problem.posture_gradient(attempt.q)
        mu = np.linalg.lstsq(J.T, -gradient, rcond=None)[0]
        assert np.abs(gradient + J.T @ mu).max() < 1e-6
        near = problem.at(attempt.q + 1e-4)
        assert multipliers(problem, near) == pytest.approx(mu, abs=5e-3)
        seen += 1
    assert seen > 0.5 * COUNT


@pytest.mark.parametrize('frame', ['base', 'tip'])
@pytest.mark.parametrize('name', ['panda', 'skew'])
def test_the_curvature_of_the_deviations(name, frame):
    """By central differences of the exact Jacobian, at the goal; also of a slide and mimics."""
    chain = robots.skew_chain() if name == 'skew' else robots.chain(name)
    rng = np.random.default_rng(4)
    for q in robots.random_postures(chain, 3, 9):
        task = Task(chain, Goal(np.eye(4), frame=frame), 0.3)
        R, p = np.split(task.frames(q)[-1], [9])
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = R.reshape(3, 3), p
        tolerance = (0.0, np.inf, 0.0, 0.0, 0.0, np.inf)
        problem = Problem(Task(chain, Goal(T, tolerance, frame), 0.3), Limits.CLAMP,
                          ClassicOptions())
        mu = rng.normal(size=4)
        step = 1e-5 * np.eye(chain.n)
        expected = [(problem.at(q + d).J.T @ mu - problem.at(q - d).J.T @ mu) / 2e-5 for d in step]
        assert curvature(problem, problem.at(q), mu) == pytest.approx(np.array(expected), abs=1e-8)


def test_few_steps():
    """With the curvature of the goal the steps converge fast, and a lost problem is left soon."""
    chain = robots.chain('panda')
    steps = []
    for q, seed in zip(robots.random_postures(chain, 20, 3), robots.random_postures(chain, 20, 4)):
        T = robots.tip_pose('panda', q)
        steps.append(descend('lagrange', chain, Goal.position(T[:3, 3]),
                             q + 0.1 * (seed - q)).iterations)
    assert np.median(steps) < 30 and np.mean(steps) < 120
    # Without spare joints there are no smaller problems.
    ur5 = robots.chain('ur5')
    far = descend('lagrange', ur5, Goal(np.eye(4) + 5.0 * np.eye(4, k=3)), np.zeros(6))
    assert not far.converged and far.iterations < 60


def test_a_limit_becomes_a_smaller_problem():
    """A joint whose best value is beyond its limit rests at it, the others at their best."""
    chain = robots.chain('panda')
    q = robots.random_postures(chain, 1, 8)[0]
    goal = Goal.position(robots.tip_pose('panda', q)[:3, 3])
    free = descend('lagrange', chain, goal, q)
    k = 2
    upper = chain.upper.copy()
    upper[k] = free.q[k] - 0.2
    narrow = chain.with_limits(upper=upper)
    options = ClassicOptions(preferred=tuple(chain.middle))
    held = descend('lagrange', narrow, goal, np.minimum(q, upper), options)
    assert held.converged and held.q[k] == pytest.approx(upper[k], abs=1e-9)
    assert criterion(chain, held.q) > criterion(chain, free.q)
