# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The methods that minimise |e|^2 / 2, and the ways to keep limits."""

from itertools import combinations, islice
import sys

import numpy as np
import pytest
import robots
from robots import random_pose

from ik_node.base.errors import ParameterError
from ik_node.solver.goal import Goal
from ik_node.textbook import iterations as minimisers
from ik_node.textbook.attempt import descend
from ik_node.textbook.methods import TEXTBOOK_METHODS
from ik_node.textbook.options import ClassicOptions, Limits
from ik_node.textbook.problem import Problem, START_MARGIN
from ik_node.textbook.task import Task


def problem_of(chain, goal, limits, **options):
    return Problem(Task(chain, goal, 0.3), limits, ClassicOptions(**options))


def beyond_reach(count):
    """Return problems on a Panda whose goals cannot be met: only a minimum is there."""
    chain = robots.chain('panda')
    rng = np.random.default_rng(4)
    for q in robots.random_postures(chain, count, 5):
        T = random_pose(rng)
        T[:3, 3] = 2.0 * T[:3, 3] / np.linalg.norm(T[:3, 3])
        yield problem_of(chain, Goal(T), Limits.PENALTY), q


# ---- Levenberg-Marquardt ----------------------------------------------------------

def test_levenberg_marquardt_takes_the_damped_step():
    """The first step, with mu = 1e-3 max diag(J^T J), as a least-squares problem."""
    taken = 0
    for problem, q in beyond_reach(10):
        point = problem.at(q)
        after = next(minimisers.levenberg_marquardt(problem, point, ClassicOptions()))
        mu = 1e-3 * np.diag(point.J.T @ point.J).max()
        expected = np.linalg.lstsq(np.vstack([point.J, np.sqrt(mu) * np.eye(7)]),
                                   np.concatenate([point.e, np.zeros(7)]), rcond=None)[0]
        if after is not point:
            assert after.x - q == pytest.approx(expected)
            assert after.cost < point.cost
            taken += 1
    assert 0 < taken < 10  # some are refused


def test_levenberg_marquardt_ends_in_a_minimum():
    """The cost never increases, and scipy's trust-region method finds no lower one nearby."""
    from scipy.optimize import least_squares
    for problem, q in beyond_reach(5):
        point = problem.at(q)
        points = list(islice(minimisers.levenberg_marquardt(problem, point, ClassicOptions()),
                             300))
        assert (np.diff([point.cost, *(p.cost for p in points)]) <= 0.0).all()
        best = least_squares(padded_residual, points[-1].x, args=(problem,), xtol=1e-14,
                             ftol=1e-14, gtol=1e-14)
        assert points[-1].cost == pytest.approx(best.cost, rel=1e-4)


def test_levenberg_marquardt_ends_where_no_step_helps():
    for problem, q in beyond_reach(3):
        with np.errstate(all='raise'):
            points = list(islice(minimisers.levenberg_marquardt(problem, problem.at(q),
                                                                ClassicOptions()), 5000))
        assert len(points) < 5000


def padded_residual(x, problem):
    """Return e with as many rows at every x, however many limits are passed."""
    e = problem.at(x).e
    return np.concatenate([e, np.zeros(13 - len(e))])


# ---- scipy --------------------------------------------------------------------------

@pytest.mark.parametrize('limits', ['variables', 'penalty'])
@pytest.mark.parametrize('name, method', [('BFGS', 'bfgs'), ('CG', 'conjugate_gradient')])
def test_scipy_gets_the_exact_gradient(name, method, limits):
    """The iterates are those of scipy with finite differences of the same cost."""
    from scipy.optimize import minimize
    chain = robots.chain('panda')
    q = robots.random_postures(chain, 1, 3)[0]
    T = Task(chain, Goal(np.eye(4)), 0.3).frames(np.clip(q + 0.1, chain.lower, chain.upper))[-1]
    goal = Goal.position(T[9:])
    problem = problem_of(chain, goal, Limits(limits))
    theirs = []
    minimize(lambda x: problem.at(x).cost, problem.unknowns(q), method=name, jac='3-point',
             callback=lambda x: theirs.append(problem.task.at(problem.at(x).task.q).q),
             options={'maxiter': 4, 'gtol': 0.0})
    record = []
    descend(method, chain, goal, q, ClassicOptions(max_iterations=4, limits=limits), record)
    assert len(record) == 5
    assert np.array(record[1:]) == pytest.approx(np.array(theirs), abs=1e-5)


def test_scipy_gets_the_limits_when_they_are_clamped():
    """The iterates are those of scipy's bounded method, on an arm with narrow limits."""
    from scipy.optimize import minimize
    chain = robots.chain('ur5_limited')
    q = 0.97 * chain.upper
    goal = Goal(random_pose(np.random.default_rng(9)))
    problem = problem_of(chain, goal, Limits.CLAMP)
    theirs = []
    minimize(lambda x: problem.at(x).cost, q, method='L-BFGS-B', jac='3-point',
             bounds=list(zip(chain.lower, chain.upper)), callback=lambda x: theirs.append(x),
             options={'maxiter': 6, 'gtol': 0.0, 'ftol': 0.0})
    record = []
    descend('bfgs', chain, goal, q, ClassicOptions(max_iterations=6, limits='clamp'), record)
    assert np.array(record[1:]) == pytest.approx(np.array(theirs), abs=1e-5)
    assert ((record[-1] == chain.lower) | (record[-1] == chain.upper)).any()


def test_scipy_is_stopped_when_the_goal_is_reached():
    chain = robots.chain('ur5')
    q = robots.random_postures(chain, 1, 3)[0]
    row = Task(chain, Goal(np.eye(4)), 0.3).frames(q + 0.05)[-1]
    problem = problem_of(chain, Goal.position(row[9:]), Limits.VARIABLES)
    points = list(minimisers.by_scipy('BFGS')(problem, problem.at(problem.unknowns(q)),
                                              ClassicOptions()))
    met = [point.task.position_error <= 1e-6 for point in points]
    assert met[-1] and not any(met[:-1])


def test_without_scipy_the_others_still_work(monkeypatch):
    chain = robots.chain('ur5')
    q = np.full(6, 0.3)
    monkeypatch.setitem(sys.modules, 'scipy.optimize', None)
    with pytest.raises(ParameterError, match='pip install scipy'):
        descend('bfgs', chain, Goal(np.eye(4)), q)
    descend('pseudo_inverse', chain, Goal(np.eye(4)), q)


# ---- limits -------------------------------------------------------------------------

def test_the_change_of_variables():
    """It is q = middle + half sin(u): round trip, end points, slope by differences."""
    chain = robots.skew_chain()  # has a continuous joint
    problem = problem_of(chain, Goal(np.eye(4)), Limits.VARIABLES)
    for q in robots.random_postures(chain, 10, 1):
        x = problem.unknowns(q)
        assert x[0] == q[0] and problem.at(x).task.q == pytest.approx(q)
        for k in range(1, 4):
            assert q[k] == pytest.approx(
                0.5 * (chain.lower[k] + chain.upper[k])
                + 0.5 * (chain.upper[k] - chain.lower[k]) * np.sin(x[k]))
    rng = np.random.default_rng(0)
    for _ in range(10):
        x = rng.uniform(-10.0, 10.0, 4)
        point = problem.at(x)
        assert (point.task.q >= chain.lower).all() and (point.task.q <= chain.upper).all()
        slope = np.array([(problem.at(x + d).task.q - problem.at(x - d).task.q)[k] / 2e-6
                          for k, d in enumerate(1e-6 * np.eye(4))])
        assert point.J == pytest.approx(point.task.J * slope, abs=1e-6)


def test_the_start_is_moved_off_the_limits():
    chain = robots.chain('panda')
    for limits in (Limits.CLAMP, Limits.PENALTY):
        problem = problem_of(chain, Goal(np.eye(4)), limits)
        assert np.array_equal(problem.unknowns(chain.upper + 1.0), chain.upper)
        assert np.array_equal(problem.unknowns(chain.middle), chain.middle)


def test_the_change_of_variables_starts_off_the_limits():
    """On a limit the slope is 0 and the joint would never leave it."""
    chain = robots.chain('panda')
    problem = problem_of(chain, Goal(np.eye(4)), Limits.VARIABLES)
    for end in (chain.lower, chain.upper + 5.0):
        q = problem.at(problem.unknowns(end)).task.q
        room = np.minimum(q - chain.lower, chain.upper - q)
        assert room == pytest.approx(START_MARGIN * problem.half, rel=1e-6)
        assert (problem.slope(problem.unknowns(end)) > 0.0).all()


def test_the_penalty():
    """sqrt(penalty) times the excess over the limit, angles weighted in metres."""
    chain = robots.chain('panda')
    problem = problem_of(chain, Goal(np.eye(4)), Limits.PENALTY, penalty=4.0)
    x = chain.middle.copy()
    assert problem.at(x).J.shape == (6, 7)
    x[0] = chain.upper[0] + 0.2
    x[3] = chain.lower[3] - 0.5
    point = problem.at(x)
    assert point.task.q is x  # the iterate itself is beyond
    assert point.e[6:] == pytest.approx([-2.0 * 0.3 * 0.2, 2.0 * 0.3 * 0.5])
    expected = np.zeros((2, 7))
    expected[0, 0] = expected[1, 3] = 2.0 * 0.3
    assert point.J[6:] == pytest.approx(expected)


@pytest.mark.parametrize('method', ['pseudo_inverse', 'damped_least_squares', 'transpose',
                                    'alternative_jacobian', 'levenberg_marquardt', 'bfgs'])
def test_limits_are_kept(method):
    """Towards goals that wider limits would allow, on an arm with narrow limits."""
    chain = robots.chain('ur5_limited')
    rng = np.random.default_rng(9)
    ways = {limits: [] for limits in TEXTBOOK_METHODS[method].limits}
    for q in robots.random_postures(chain, 5, 2):
        goal = Goal(random_pose(rng))
        for limits in ways:
            record = []
            attempt = descend(method, chain, goal, q,
                              ClassicOptions(limits=limits, max_iterations=20), record)
            ways[limits].append(attempt.q)
            for q_k in record:
                assert (q_k >= chain.lower).all() and (q_k <= chain.upper).all()
    for a, b in combinations(ways, 2):
        assert np.abs(np.array(ways[a]) - np.array(ways[b])).max() > 0.01
