# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Hostile numbers to the solver: an answer inside the limits, or one sentence."""

from fuzz.hostile import run
from nightly import samples
import numpy as np
import pytest
import robots

from ik_node.base.errors import IkNodeError, Reason
from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver

CALLS = samples(usual=8_000, nightly=20_000)
TINY = 2.2e-308, 5e-324


def test_hostile_numbers():
    """Thousands of calls; ``make fuzz`` makes a million."""
    counts, _ = run(CALLS)
    assert sum(counts.values()) >= CALLS
    for outcome in ('answered, SOLVED', 'answered, OUT_OF_REACH', 'answered, OTHER_BRANCH',
                    'refused, GoalError GOAL_NOT_FINITE',
                    'refused, ParameterError PARAMETER_INVALID'):
        assert counts[outcome] > 100, counts


# ---- what it has found ------------------------------------------------------

@pytest.mark.parametrize('options', [
    {'manipulability_gain': tiny} for tiny in TINY] + [{'gains': (tiny,)} for tiny in TINY])
def test_gains_whose_products_vanish(options):
    """The bias ends; its step had looked for ever for a shift that makes a matrix positive."""
    chain = robots.chain('panda')
    result = Solver(chain, **options).solve(Solver(chain).solve(np.eye(4)).T_base_tip)
    assert result.success


@pytest.mark.parametrize('options, words', [
    ({'metres_per_radian': 1e308}, 'from 1e-06 to'),  # q was zeros, outside the limits
    ({'nearest': np.zeros((0, 6))}, 'true or false'),
    ({'explore': 'no'}, 'true or false'),
    ({'method': np.zeros((4, 4, 4))}, 'no method'),
    ({'select': [1]}, 'select is'),
    ({'gains': np.array(10**400)}, 'finite numbers'),
    ({'gains': np.eye(6)}, 'finite numbers'),
    ({'locked': 1j}, 'names of joints'),
    ({'deadline': 10**400}, 'must be a number')])
def test_options_that_are_none(options, words):
    """One sentence in one line."""
    with pytest.raises(IkNodeError, match=words) as caught:
        Solver(robots.chain('six_axis_arm'), **options)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize('make', [
    lambda: Goal(np.eye(4), np.eye(4, dtype=complex)),
    lambda: Goal(np.eye(4), frame=np.zeros(3)),
    lambda: Goal(np.full((4, 4), 10**400, dtype=object)),
    lambda: Solver(robots.chain('ur5')).solve(np.eye(4), 10**400)])
def test_goals_and_seeds_that_are_none(make):
    """One sentence in one line."""
    with pytest.raises(IkNodeError) as caught:
        make()
    assert str(caught.value).isprintable()


def test_a_seed_farther_outside_the_limits_than_a_joint_may_jump():
    """What is solved is not within max_jump of it: another branch."""
    chain = robots.chain('panda')
    seed = chain.middle.copy()
    T = Solver(chain).solve(np.eye(4)).T_base_tip
    seed[3] = 1000.0
    assert Solver(chain, max_jump=60.0).solve(Goal.orientation(T[:3, :3]), seed).status \
        is Reason.OTHER_BRANCH
