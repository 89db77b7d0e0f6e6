# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Answers are chosen among the postures that a check finds free."""

from threading import Lock

from answers import assert_inside, assert_solves, FREE, PATIENT, reachable
from nightly import samples
import numpy as np
import pytest
import robots

from ik_node.base.errors import Reason
from ik_node.base.se3 import distance
from ik_node.solver import branches
from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver

GOALS = samples(usual=30, nightly=60)
PINOCCHIO = Lock()  # its data are one for all threads of a batch
LINKS = {'ur5': ('forearm_link', 'wrist_1_link'), 'z1': ('link03', 'link04'),
         'panda': ('panda_link4', 'panda_link6'), 'kinova': ('j2s6s200_link_3', 'j2s6s200_link_4')}


class Floor:
    """Free are the postures with some links above a height (m), by Pinocchio."""

    def __init__(self, name, height):
        self.name, self.height = name, height

    def lowest(self, q):
        """Return the height (m) of the lowest of the links."""
        chain = robots.chain(self.name)
        with PINOCCHIO:
            return min(robots.reference(self.name).pose(
                chain.base_link, link, robots.positions(chain, q))[2, 3]
                for link in LINKS[self.name])

    def check_many(self, Q):
        """Return which postures are free."""
        return np.array([self.lowest(q) > self.height for q in Q], dtype=bool)

    def describe(self, q):
        """Return the depth in words."""
        return f'a link and the floor, {1e3 * (self.height - self.lowest(q)):.0f} mm deep'


def floor_and_goals(name):
    """Return a floor, and poses of postures above it and below it, with their seeds."""
    postures, poses = reachable(name, 3 * GOALS)
    heights = np.array([Floor(name, 0.0).lowest(q) for q in postures])
    floor = Floor(name, float(np.median(heights)))
    free = heights > floor.height
    return floor, postures, poses, free


@pytest.mark.parametrize('select', ['first', 'nearest', 'centred', 'manipulable'])
@pytest.mark.parametrize('name', LINKS)
def test_a_free_posture_is_found_where_there_is_one(name, select):
    """From any seed; it is a solution as good as without the check."""
    floor, postures, poses, free = floor_and_goals(name)
    solver = Solver(robots.chain(name), floor, select=select, **PATIENT)
    seeds = postures[~free]
    for T, seed in zip(poses[free][:GOALS], seeds):
        result = solver.solve(T, seed)
        assert result.status is Reason.SOLVED, result.message
        assert floor.check_many(result.q[None]).all()
        assert_solves(name, T, result)


@pytest.mark.parametrize('name', ['ur5', 'z1', 'kinova'])
def test_all_solutions_are_those_that_are_free(name):
    """No other is left out, the nearest of them is the answer, and a refusal is true."""
    floor, postures, poses, _ = floor_and_goals(name)
    chain = robots.chain(name)
    every = Solver(chain, select='nearest', **PATIENT)
    checked = Solver(chain, floor, select='nearest', **PATIENT)
    refused = 0
    for T, seed in zip(poses[:GOALS], postures[1:]):
        known = [p.q for p in every.solve_all(T, seed)]
        free = [q for q in known if floor.check_many(q[None])[0]]
        found = [p.q for p in checked.solve_all(T, seed)]
        np.testing.assert_allclose(found, free, atol=1e-9)
        result = checked.solve(T, seed)
        if free:
            best = min(np.linalg.norm(q - seed) for q in free)
            assert np.linalg.norm(result.q - seed) < best + 1e-6
        else:
            refused += 1
            assert result.status is Reason.COLLISION and not result.success
            assert 'mm deep' in result.message
            assert_inside(name, result.q)
    assert refused > 0


@pytest.mark.parametrize('name', ['ur5', 'panda'])
def test_a_batch_is_checked_too(name):
    """Each of its answers is that of a single call."""
    floor, postures, poses, _ = floor_and_goals(name)
    solver = Solver(robots.chain(name), floor, **PATIENT)
    batch = solver.solve_batch(poses[:GOALS], postures[1:GOALS + 1])
    for k in range(GOALS):
        alone = solver.solve(poses[k], postures[k + 1])
        assert batch.status[k] is alone.status
        np.testing.assert_array_equal(batch.q[k], alone.q)


def test_a_bound_on_the_joint_motion_holds():
    """A free posture beyond it is reported as one of another branch."""
    floor, postures, poses, free = floor_and_goals('ur5')
    solver = Solver(robots.chain('ur5'), floor, select='nearest', max_jump=1.5, **PATIENT)
    seen = set()
    for T, seed in zip(poses[free][:GOALS], postures[~free]):
        result = solver.solve(T, seed)
        seen.add(result.status)
        assert floor.check_many(result.q[None]).all()
        assert result.success == (np.abs(result.q - seed).max() <= 1.5)
    assert Reason.OTHER_BRANCH in seen


@pytest.mark.parametrize('tolerance', [(0.0,) * 5 + (FREE,), (0.0,) * 3 + (FREE,) * 3])
def test_free_axes_are_used(tolerance):
    """A goal that leaves the orientation free is reached by a free posture."""
    floor, postures, poses, free = floor_and_goals('ur5')
    solver = Solver(robots.chain('ur5'), floor, select='nearest', **PATIENT)
    for T, seed in zip(poses[free][:GOALS], postures[~free]):
        goal = Goal(T, tolerance=tolerance)
        result = solver.solve(goal, seed)
        assert result.status is Reason.SOLVED, result.message
        assert floor.check_many(result.q[None]).all()


class Narrow:
    """Free are the postures with one joint near a position (rad)."""

    def __init__(self, joint, position, room):
        self.joint, self.position, self.room = joint, position, room

    def check_many(self, Q):
        """Return which postures are free."""
        return np.abs(np.asarray(Q)[:, self.joint] - self.position) < self.room

    def describe(self, q):
        """Return that it is not."""
        return 'the joint is elsewhere'


def test_a_short_part_of_the_self_motion_is_found(monkeypatch):
    """Though no sample is in it; and a search may end all over what is free."""
    postures, poses = reachable('panda', 30)
    refused = found = more = 0
    for q, T, seed in zip(postures, poses, postures[1:]):
        solver = Solver(robots.chain('panda'), Narrow(2, q[2], 0.02), **PATIENT)
        result = solver.solve(T, seed)
        found += result.success
        if result.success:
            assert_solves('panda', T, result)
        with monkeypatch.context() as only_samples:
            only_samples.setattr(branches, 'MAX_SELF_MOTIONS', 0)
            only_samples.setattr(branches, 'SCATTERED_STARTS', 0)
            refused += not solver.solve(T, seed).success
        wide = Solver(robots.chain('panda'), Narrow(2, q[2], 0.5), **PATIENT)
        every = wide.free_postures(T, seed)
        assert wide.collisions.check_many(np.array([posture.q for posture in every])).all()
        assert all(max(distance(posture.T_base_tip, T)) < 1e-5 for posture in every)
        more += len(every) - len(wide.solve_all(T, seed))
    assert found >= 28 and refused > 10 and more > 100


class Around:
    """Free are the postures near one of them, whole turns left out."""

    def __init__(self, q, room):
        self.q, self.room = q, room

    def check_many(self, Q):
        """Return which postures are free."""
        apart = (np.asarray(Q) - self.q + np.pi) % (2.0 * np.pi) - np.pi
        return np.abs(apart).max(axis=1) < self.room

    def describe(self, q):
        """Return that it is not."""
        return 'it is elsewhere'


@pytest.mark.parametrize('name', ['panda', 'xarm7', 'baxter'])
def test_all_self_motions_are_looked_at(name):
    """A free posture anywhere on them is found from any seed, also where all others are not."""
    postures, poses = reachable(name, samples(usual=60, nightly=400))
    for q, T, seed in zip(postures, poses, postures[1:]):
        solver = Solver(robots.chain(name), Around(q, 0.1), select='nearest', **PATIENT)
        result = solver.solve(T, seed)
        assert result.status is Reason.SOLVED, result.message
        assert solver.collisions.check_many(result.q[None]).all()
        assert_solves(name, T, result)
