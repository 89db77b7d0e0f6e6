# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Answers interpolated between solved postures, judged by Pinocchio's kinematics."""

from dataclasses import replace
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
from ik_node.solver.solver import Solver
from ik_node.textbook.attempt import descend
from ik_node.textbook.by_example.key_postures import (
    arm_key,
    key_postures,
    pose_differences,
    SOLVED_POSE_COUNT,
    solved_poses,
)
from ik_node.textbook.methods import TEXTBOOK_METHODS
from ik_node.textbook.options import ClassicOptions
from ik_node.textbook.task import Task

ALONE = ClassicOptions(max_iterations=1)


def matrix(row):
    """Return a row of 12 as a matrix (4, 4)."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = row[:9].reshape(3, 3), row[9:]
    return T


def error(T, goal):
    """Return position (m) and orientation error (rad) between poses."""
    return (np.linalg.norm(T[:3, 3] - goal[:3, 3]),
            np.linalg.norm(pin.log3(T[:3, :3] @ goal[:3, :3].T)))


@pytest.mark.parametrize('name', ['ur5', 'panda'])
def test_the_solved_poses_are_solved(name):
    """Each posture is inside the limits, and its tip is at its pose."""
    chain = robots.chain(name)
    known = solved_poses(arm_key(chain))
    assert 0.95 * SOLVED_POSE_COUNT < len(known.poses) <= SOLVED_POSE_COUNT
    assert (known.postures >= chain.lower).all() and (known.postures <= chain.upper).all()
    for row, q in list(zip(known.poses, known.postures))[::60]:
        assert max(error(robots.tip_pose(name, q), matrix(row))) < 2e-6
    assert solved_poses(arm_key(robots.chain(name))) is known
    narrow = chain.with_limits(upper=chain.upper - 0.1)
    assert arm_key(narrow) != arm_key(chain)


def test_differences_of_poses():
    """By Pinocchio's logarithm, and 0 for the goal itself."""
    Q = robots.random_postures(robots.chain('ur5'), 20, 3)
    T = [robots.tip_pose('ur5', q) for q in Q]
    rows = np.array([np.concatenate([each[:3, :3].ravel(), each[:3, 3]]) for each in T])
    away = pose_differences(rows, rows[4], 0.3)
    for each, difference in zip(T, away):
        expected = np.concatenate([each[:3, 3] - T[4][:3, 3],
                                   0.3 * pin.log3(each[:3, :3] @ T[4][:3, :3].T)])
        assert difference == pytest.approx(expected, abs=1e-9)
    assert (away[4] == 0.0).all()


@pytest.mark.parametrize('name', ['ur5', 'panda'])
def test_between_the_keys(name):
    """At a key it is the key; elsewhere half as wrong as the nearest key, but still wrong."""
    chain = robots.chain(name)
    known = solved_poses(arm_key(chain))
    for k in (5, 700, 1900):
        q = key_postures(Task(chain, Goal(matrix(known.poses[k])), 0.3), chain.middle)
        assert q == pytest.approx(known.postures[k], abs=1e-6)
    mine, nearest = [], []
    for q in robots.random_postures(chain, 40, 11):
        T = robots.tip_pose(name, q)
        attempt = descend('key_postures', chain, Goal(T), chain.middle, ALONE)
        mine.append(error(robots.tip_pose(name, attempt.q), T))
        assert attempt.trace[-1] == pytest.approx(mine[-1], abs=1e-9)
        row = np.concatenate([T[:3, :3].ravel(), T[:3, 3]])
        first = np.linalg.norm(pose_differences(known.poses, row, 0.3), axis=1).argmin()
        nearest.append(error(matrix(known.poses[first]), T))
    mine, nearest = np.median(mine, axis=0), np.median(nearest, axis=0)
    assert (mine < 0.75 * nearest).all() and 0.01 < mine[0] < 0.15
    # More goals are met from there than from anywhere.
    assert count_met('key_postures', name) > 1.5 * count_met('damped_least_squares', name)


def count_met(method, name):
    """Return how many goals are met from seeds anywhere."""
    chain = robots.chain(name)
    return sum(descend(method, chain, Goal(robots.tip_pose(name, q)), seed).converged
               for q, seed in zip(robots.random_postures(chain, 30, 12),
                                  robots.random_postures(chain, 30, 13)))


def test_two_links_have_small_errors():
    """Where poses have two dimensions, the keys are near, and the law of cosines agrees."""
    chain = make_chain(parse_urdf(PLANAR.encode()), 'base', 'tip')
    rng, gaps, misses = np.random.default_rng(2), [], []
    for _ in range(40):
        q = rng.uniform([-2.0, 0.4], [2.0, 2.2])
        goal = Goal(tip_position(chain, q))
        attempt = descend('key_postures', chain, goal, np.zeros(2), ALONE)
        gaps.append(closed_form_distance(goal.T_base_tip[:2, 3], attempt.q))
        misses.append(np.linalg.norm((tip_position(chain, attempt.q) - goal.T_base_tip)[:3, 3]))
    assert np.median(gaps) < 1e-3 and np.median(misses) < 1e-3


def test_free_axes_are_those_of_the_seed():
    """A position is answered with the orientation that the tip has in the seed."""
    chain = robots.chain('ur5')
    q, seed = robots.random_postures(chain, 2, 14)
    T, T_seed = robots.tip_pose('ur5', q), robots.tip_pose('ur5', seed)
    position = descend('key_postures', chain, Goal.position(T[:3, 3]), seed, ALONE)
    T[:3, :3] = T_seed[:3, :3]
    pose = descend('key_postures', chain, Goal(T), seed, ALONE)
    assert position.q == pytest.approx(pose.q, abs=1e-6)


def test_few_neighbours(monkeypatch):
    """The answer is then the nearest key posture."""
    chain = robots.chain('ur5')
    known = solved_poses(arm_key(chain))
    monkeypatch.setattr(sys.modules[key_postures.__module__], 'MAX_BRANCH_DISTANCE', 0.0)
    q = key_postures(Task(chain, Goal(robots.tip_pose('ur5', np.full(6, 0.3))), 0.3), np.zeros(6))
    assert (q == known.postures).all(axis=1).any()


@pytest.mark.parametrize('method', ['key_postures', 'neural_network'])
def test_restarts_do_not_ask_again(method, monkeypatch):
    """What was learned is the same from each start: restarts descend by themselves."""
    asked = []
    monkeypatch.setitem(TEXTBOOK_METHODS, method, replace(
        TEXTBOOK_METHODS[method], guess=lambda task, q: asked.append(q) or q))
    solver = Solver(robots.chain('ur5'), method=method, max_restarts=4, deadline=60.0)
    T = np.eye(4)
    T[2, 3] = 5.0
    assert not solver.solve(T, np.zeros(6)).success
    assert len(asked) == 1


def test_without_scipy(monkeypatch):
    for name in [*(each for each in sys.modules if each.startswith('scipy.interpolate')),
                 'scipy.interpolate']:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ParameterError, match='key_postures needs scipy; .*pip install scipy'):
        descend('key_postures', robots.chain('ur5'), Goal(np.eye(4)), np.zeros(6))
