# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The goals that the demonstration makes for any arm, judged by Pinocchio and by the planner."""

from geometry_oracle import model_of
import numpy as np
import pinocchio as pin
import pytest
import robots

from ik_node.collision.ground import ground_body
from ik_node.collision.model import CollisionModel
from ik_node.commands.demo_goals import goals_for
from ik_node.model.chain import make_chain
from ik_node.model.urdf import parse_urdf

MARGIN_M = 0.01
NAMES = ('six_axis_arm', 'panda', 'xarm7', 'z1', 'kinova')


def arm(name):
    """Return the collision model of an arm on the ground, and Pinocchio's model of the arm."""
    if name != 'four_axes':
        return model_of(name).with_objects([ground_body(0.0)], MARGIN_M), robots.reference(name)
    tree = parse_urdf(robots.FOUR_AXES.encode())
    chain = make_chain(tree, 'foot', 'grip')
    return CollisionModel(chain, tree, ()), robots.Reference(robots.FOUR_AXES)


def nearest_error(reference, chain, T_goal, tries=60):
    """Return how near (m and rad, the larger) damped steps by the Jacobians of Pinocchio get."""
    random, best = np.random.default_rng(1), np.inf
    lower, upper = (np.where(np.isfinite(bound), bound, default) for bound, default in (
        (chain.lower, -np.pi), (chain.upper, np.pi)))
    for _ in range(tries):
        q = random.uniform(lower, upper)
        for _ in range(100):
            positions = dict(zip(chain.joint_names, q))
            T = reference.pose(chain.base_link, chain.tip_link, positions)
            error = np.concatenate([T_goal[:3, 3] - T[:3, 3],
                                    pin.log3(T_goal[:3, :3] @ T[:3, :3].T)])
            best = min(best, np.abs(error).max())
            if best < 1e-6:
                return best
            J = reference.jacobian(chain.base_link, chain.tip_link, positions)
            q = np.clip(q + J.T @ np.linalg.solve(J @ J.T + 1e-6 * np.eye(6), error),
                        lower, upper)
    return best


@pytest.mark.parametrize('name', [*NAMES, 'four_axes'])
def test_goals_suit_the_arm(name):
    """Poses in its own base can be reached, by Pinocchio; the frames are its own."""
    model, reference = arm(name)
    chain, goals = model.chain, goals_for(model)
    assert goals == goals_for(model)
    expected = [goal['expect'] for goal in goals]
    assert expected.count('REACHED') >= 6
    assert {'ALREADY_THERE', 'OUT_OF_REACH', 'FRAME_UNKNOWN'} <= set(expected)
    assert {goal['frame'] for goal in goals} >= {chain.base_link, chain.tip_link}
    for goal in goals:
        T = pin.XYZQUATToSE3(np.array(goal['xyz'] + goal['quat'])).homogeneous
        if goal['expect'] == 'REACHED' and goal['frame'] == chain.base_link:
            assert nearest_error(reference, chain, T) < 2e-6, goal
        elif goal['expect'] == 'OUT_OF_REACH':
            assert np.linalg.norm(goal['xyz']) > 2.0 * chain.reach


@pytest.mark.parametrize('name', [*NAMES, 'four_axes'])
def test_lines_and_arcs(name):
    """Each arm gets one of each; their lengths suit its size, and the arc is a half circle."""
    model, _ = arm(name)
    chain, goals = model.chain, goals_for(model)
    k = next(k for k, goal in enumerate(goals) if goal.get('line'))
    length = np.linalg.norm(np.subtract(goals[k]['xyz'], goals[k - 1]['xyz']))
    assert 0.04 * chain.reach < length < 0.2 * chain.reach
    assert goals[k]['quat'] == pytest.approx(goals[k - 1]['quat'], abs=1e-5)
    k = next(k for k, goal in enumerate(goals) if 'through' in goal)
    start, through, end = map(np.array, (goals[k - 1]['xyz'], goals[k]['through'],
                                         goals[k]['xyz']))
    centre = 0.5 * (start + end)
    assert np.linalg.norm(through - centre) == pytest.approx(np.linalg.norm(start - centre),
                                                             rel=1e-3)
    assert (through - centre) @ (end - start) == pytest.approx(0.0, abs=1e-5)
