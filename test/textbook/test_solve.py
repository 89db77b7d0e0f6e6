# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The textbook methods as the solver's own: same call, same result type."""

from answers import assert_solves, PATIENT, reachable
from nightly import samples
import numpy as np
import pytest
import robots

from ik_node.base.errors import ParameterError, Reason
from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver
from ik_node.textbook import TEXTBOOK_METHODS

NEAR = 0.1


def task(name='six_axis_arm', count=8):
    """Return poses and seeds near their postures."""
    chain = robots.chain(name)
    postures, poses = reachable(name, count)
    rng = np.random.default_rng(91)
    return [(T, np.clip(q + rng.uniform(-NEAR, NEAR, chain.n), chain.lower, chain.upper))
            for q, T in zip(postures, poses)]


@pytest.mark.parametrize('method', [method for method, entry in TEXTBOOK_METHODS.items()
                                    if not entry.arms])
def test_each_method_solves_with_restarts(method):
    """Its solutions are correct by Pinocchio, and it reports its own metrics."""
    solver = Solver(robots.chain('six_axis_arm'), **PATIENT, method=method, max_restarts=5)
    steps = []
    for T, seed in task(count=samples(usual=4, nightly=8)):
        result = solver.solve(T, seed)
        assert_solves('six_axis_arm', T, result)
        steps.append(result.iterations)
    assert min(steps) >= 1


def test_unreachable_goals():
    """No success, the best attempt, and the nearest pose only on request."""
    chain = robots.chain('six_axis_arm')
    T = np.eye(4)
    T[:3, 3] = 0.0, 0.0, 5.0
    solver = Solver(chain, **PATIENT, method='damped_least_squares', max_restarts=2)
    result = solver.solve(T)
    assert result.status is Reason.NO_SOLUTION and not result.success
    assert (result.q >= chain.lower).all() and (result.q <= chain.upper).all()
    assert result.position_error > 3.0
    assert solver.solve(T, nearest=True).status is Reason.NEAREST


def test_select_and_max_jump_apply_to_all_methods():
    """The choice among solutions does not depend on the method that found the first."""
    T, seed = task()[0]
    solver = Solver(robots.chain('six_axis_arm'), **PATIENT, method='pseudo_inverse')
    centred = solver.solve(T, seed, select='centred')
    assert_solves('six_axis_arm', T, centred)
    assert centred.centredness == max(one.centredness for one in solver.solve_all(T, seed))
    assert solver.solve(T, seed, max_jump=1e-3).status is Reason.OTHER_BRANCH


@pytest.mark.parametrize('option', [{'weights': 2.0}, {'manipulability_gain': 1.0},
                                    {'posture_gains': 1.0}, {'posture': (0.0,)}])
def test_options_of_the_damped_method_are_refused(option):
    """No option is silently ignored."""
    name, = option
    with pytest.raises(ParameterError, match=f"{name} works with the method 'damped' only"):
        Solver(robots.chain('ur5'), method='ccd', **option)
    with pytest.raises(ParameterError, match='there is no method'):
        Solver(robots.chain('ur5'), method='cdd')


def test_a_goal_with_a_free_axis():
    """Tolerance boxes belong to the goal, not to the method."""
    T, seed = task()[1]
    solver = Solver(robots.chain('six_axis_arm'), **PATIENT, method='pseudo_inverse')
    result = solver.solve(Goal(T, (0.0, 0.0, 0.0, 0.0, 0.0, np.inf)), seed)
    assert result.success and result.position_error <= 1e-6
