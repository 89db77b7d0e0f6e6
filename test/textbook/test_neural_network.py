# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The network trained on the spot, judged by Pinocchio and the law of cosines."""

import sys

import numpy as np
import pinocchio as pin
import pytest
import robots
from two_links import closed_form_distance, PLANAR, tip_position

from ik_node.base.errors import ParameterError
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.solver.goal import Goal
from ik_node.textbook.attempt import descend
from ik_node.textbook.by_example.key_postures import arm_key
from ik_node.textbook.by_example.neural_network import Network, trained
from ik_node.textbook.options import ClassicOptions
from ik_node.tools.compare.compare_runs import compare, Runner

ALONE = ClassicOptions(max_iterations=1)


def test_two_links():
    """Within a few degrees of the law of cosines, and the same each time it is trained."""
    chain = make_chain(parse_urdf(PLANAR.encode()), 'base', 'tip')
    rng, gaps, misses = np.random.default_rng(2), [], []
    again = Network(arm_key(chain))
    for _ in range(40):
        q = rng.uniform([-2.0, 0.4], [2.0, 2.2])
        goal = Goal(tip_position(chain, q))
        attempt = descend('neural_network', chain, goal, np.zeros(2), ALONE)
        T = goal.T_base_tip
        row = np.concatenate([T[:3, :3].ravel(), T[:3, 3]])
        assert attempt.q == pytest.approx(np.clip(again.posture(row), chain.lower, chain.upper),
                                          abs=1e-6)
        gaps.append(closed_form_distance(goal.T_base_tip[:2, 3], attempt.q))
        misses.append(np.linalg.norm((tip_position(chain, attempt.q) - goal.T_base_tip)[:3, 3]))
    assert np.median(gaps) < 0.05 and 1e-5 < np.median(misses) < 0.02
    assert trained(arm_key(chain)) is trained(arm_key(chain))


def test_its_errors_are_told_as_they_are():
    """On six axes it is decimetres off, by Pinocchio; with steps after it, goals are met."""
    chain = robots.chain('ur5')
    reference = robots.reference('ur5')

    def tip(q):
        return reference.pose(chain.base_link, chain.tip_link, robots.positions(chain, q))

    goals = [Goal(tip(q)) for q in robots.random_postures(chain, 30, 12)]
    seeds = robots.random_postures(chain, 30, 13)
    (alone, steps, local), runs = compare(
        Runner(chain), ['neural_network, alone', 'neural_network', 'damped_least_squares'],
        goals, seeds)
    errors = []
    for goal, run in zip(goals, runs['neural_network, alone']):
        T, T_goal = tip(run.path[-1]), goal.T_base_tip
        errors.append((np.linalg.norm(T[:3, 3] - T_goal[:3, 3]),
                       np.linalg.norm(pin.log3(T[:3, :3] @ T_goal[:3, :3].T))))
        assert run.steps == 1
    assert alone.met == 0
    assert (alone.median_position_error, alone.median_orientation_error) \
        == pytest.approx(tuple(np.median(errors, axis=0)), abs=1e-9)
    assert 0.02 < alone.median_position_error < 0.4
    assert steps.met > 1.5 * local.met and steps.median_position_error < 1e-6


def test_without_scikit_learn(monkeypatch):
    """One sentence; in the comparison a note, and the other methods go on."""
    for name in [*(each for each in sys.modules if each.startswith('sklearn')), 'sklearn',
                 'sklearn.neural_network']:
        monkeypatch.setitem(sys.modules, name, None)
    chain = robots.chain('ur5').with_limits(upper=robots.chain('ur5').upper - 0.1)
    sentence = 'neural_network needs scikit-learn; install it with "pip install scikit-learn"'
    with pytest.raises(ParameterError, match=sentence):
        descend('neural_network', chain, Goal(np.eye(4)), np.zeros(6))
    metrics, _ = compare(Runner(chain), ['neural_network', 'pseudo_inverse'], [Goal(np.eye(4))],
                         np.zeros((1, 6)))
    assert sentence in metrics[0].note and not metrics[1].note
