# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The textbook methods as the solver's own: same call, same result type."""

from answers import assert_solves, PATIENT, reachable
import numpy as np
import pytest
import robots

from ik_node.errors import ParameterError, Reason
from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver
from ik_node.textbook import METHODS

NEAR = 0.1


def task(name='six_axis_arm', count=8):
    """Return poses and seeds near their postures."""
    chain = robots.chain(name)
    postures, poses = reachable(name, count)
    rng = np.random.default_rng(91)
    return [(T, np.clip(q + rng.uniform(-NEAR, NEAR, chain.n), chain.lower, chain.upper))
            for q, T in zip(postures, poses)]


@pytest.mark.parametrize('method', METHODS)
def test_each_method_solves_with_restarts(method):
    """What it calls solved is right by Pinocchio; the figures are its own."""
    solver = Solver(robots.chain('six_axis_arm'), **PATIENT, method=method, max_restarts=5)
    steps = []
    for T, seed in task():
        result = solver.solve(T, seed)
        assert_solves('six_axis_arm', T, result)
        steps.append(result.iterations)
    assert min(steps) >= 1


def test_a_method_gives_up_honestly():
    """Out of reach: no success, the best attempt, and the nearest only if asked for."""
    chain = robots.chain('six_axis_arm')
    T = np.eye(4)
    T[:3, 3] = 0.0, 0.0, 5.0
    solver = Solver(chain, **PATIENT, method='damped_least_squares', max_restarts=2)
    result = solver.solve(T)
    assert result.status is Reason.NO_SOLUTION and not result.success
    assert (result.q >= chain.lower).all() and (result.q <= chain.upper).all()
    assert result.position_error > 3.0
    assert solver.solve(T, nearest=True).status is Reason.NEAREST


def test_select_and_the_bound_on_jumps_hold_for_methods_too():
    """The choice among the solutions does not depend on who found the first."""
    T, seed = task()[0]
    solver = Solver(robots.chain('six_axis_arm'), **PATIENT, method='pseudo_inverse')
    centred = solver.solve(T, seed, select='centred')
    assert_solves('six_axis_arm', T, centred)
    assert centred.centredness == max(one.centredness for one in solver.solve_all(T, seed))
    assert solver.solve(T, seed, max_jump=1e-3).status is Reason.OTHER_BRANCH


@pytest.mark.parametrize('option', [{'weights': 2.0}, {'manipulability_gain': 1.0},
                                    {'posture_gains': 1.0}, {'posture': (0.0,)}])
def test_options_that_only_the_damped_method_knows_are_refused(option):
    """Nothing is ignored in silence."""
    name, = option
    with pytest.raises(ParameterError, match=f"{name} works with the method 'damped' only"):
        Solver(robots.chain('ur5'), method='ccd', **option)
    with pytest.raises(ParameterError, match='there is no method'):
        Solver(robots.chain('ur5'), method='cdd')


def test_a_goal_with_a_free_axis():
    """Boxes are the goal's, not the method's."""
    T, seed = task()[1]
    solver = Solver(robots.chain('six_axis_arm'), **PATIENT, method='pseudo_inverse')
    result = solver.solve(Goal(T, (0.0, 0.0, 0.0, 0.0, 0.0, np.inf)), seed)
    assert result.success and result.position_error <= 1e-6
