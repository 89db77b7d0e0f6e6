# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""All solutions of a goal, against closed forms and brute force, and the choice among them."""

from answers import (
    assert_inside,
    assert_solves,
    BIASED,
    errors_of,
    FREE,
    near,
    PATIENT,
    reachable,
    solver,
    tip_jacobian,
    tip_pose,
)
from closed_form import apart, closed_form, every_turn
from nightly import samples
import numpy as np
import pinocchio as pin
import pytest
import robots

from ik_node.base.errors import Reason
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver

SIX_AXES = [name for name, arm in robots.ARMS.items() if arm.n == 6]
POSES = 100  # per arm: 1,100 in all
BRUTE_POSES = samples(usual=3, nightly=8)  # per wrist
SAME = 1e-3  # rad

# Wrists whose axes do not meet, which the closed forms refuse: after the shapes of a FANUC CRX
# and of a UFACTORY xArm 6.
OFFSET_WRISTS = {
    'straight': ((('0 0 0.25', '0 0 1', 3.1), ('0 0 0', '0 1 0', 3.1), ('0 0 0.7', '0 -1 0', 3.1),
                  ('0 0 0', '-1 0 0', 3.1), ('0.54 0.15 0', '0 -1 0', 3.1),
                  ('0 0 0', '-1 0 0', 3.1)), '0.16 0 0'),
    'cranked': ((('0 0 0.27', '0 0 1', 6.2), ('0 0 0', '0 1 0', 2.1),
                 ('0.05 0 0.28', '0 1 0', 3.9), ('0.08 0 -0.34', '0 0 -1', 6.2),
                 ('0 0 0', '0 1 0', 2.4), ('0.08 0 -0.1', '0 0 -1', 6.2)), '0 0 -0.05'),
}


def urdf(joints, tip):
    """Return a URDF of six joints (origin, axis, limit) and the position of the tip."""
    links = ''.join(f'<link name="l{k}"/>' for k in range(8))
    body = ''.join(
        f'<joint name="j{k}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/>'
        f'<origin xyz="{origin}"/><axis xyz="{axis}"/>'
        f'<limit lower="-{limit}" upper="{limit}" effort="1" velocity="1"/></joint>'
        for k, (origin, axis, limit) in enumerate(joints))
    return (f'<robot name="offset">{links}{body}<joint name="t" type="fixed"><parent link="l6"/>'
            f'<child link="l7"/><origin xyz="{tip}"/></joint></robot>')


# ---- the whole set ----------------------------------------------------------

@pytest.mark.parametrize('name', robots.cases(SIX_AXES))
def test_the_solutions_are_those_of_the_closed_form(name):
    """Exactly the solutions of EAIK that some turn puts inside the limits."""
    chain, solve = robots.chain(name), closed_form(name)
    _, poses = reachable(name, POSES)
    known = missed = 0
    for T in poses:
        found = solver(name).solve_all(T)
        for posture in found:
            assert_inside(name, posture.q)
            assert max(errors_of(name, T, posture.q)) <= 1e-6
        for k, posture in enumerate(found):
            assert all(apart(posture.q, other.q) > 1e-4 for other in found[:k])
        for q in solve(T):
            if len(every_turn(chain, q)):
                known += 1
                missed += all(apart(q, posture.q) > SAME for posture in found)
    assert known > 1.2 * POSES
    assert missed == 0


@pytest.mark.parametrize('wrist', OFFSET_WRISTS)
def test_the_solutions_are_those_of_brute_force(wrist):
    """For arms without a closed form: single attempts from 400 seeds per pose."""
    text = urdf(*OFFSET_WRISTS[wrist])
    chain, reference = make_chain(parse_urdf(text), 'l0', 'l7'), robots.Reference(text)
    alone, every = Solver(chain, **PATIENT, max_restarts=0), Solver(chain, **PATIENT)
    rng = np.random.default_rng(60)
    known = missed = 0
    for q in rng.uniform(chain.lower, chain.upper, (BRUTE_POSES, 6)):
        T = reference.pose('l0', 'l7', robots.positions(chain, q))
        answers = [alone.solve(T, seed) for seed in rng.uniform(chain.lower, chain.upper,
                                                                (400, 6))]
        brute = []
        for answer in answers:
            if answer.success and all(apart(answer.q, other) > SAME for other in brute):
                brute.append(answer.q)
        found = every.solve_all(T)
        for posture in found:
            T_found = reference.pose('l0', 'l7', robots.positions(chain, posture.q))
            assert np.abs(T_found - T).max() < 2e-6
        known += len(brute)
        missed += sum(all(apart(q, posture.q) > SAME for posture in found) for q in brute)
    assert known > 3 * BRUTE_POSES and missed == 0


@pytest.mark.parametrize('name', ['ur5', 'kinova', 'six_axis_arm', 'pr2'])
def test_turns(name):
    """All whole turns of a solution inside the limits, the nearest to the seed first."""
    chain = robots.chain(name)
    for T, seed in zip(reachable(name, 20)[1], robots.random_postures(chain, 20, 61)):
        for posture in solver(name).solve_all(T, seed):
            turns = posture.turns
            assert np.array_equal(turns[0], posture.q)
            ways = np.abs(turns - seed).max(axis=1)
            assert (np.diff(ways) >= 0.0).all() and posture.distance == ways[0]
            limited = ~chain.continuous
            expected = np.unique(np.round(every_turn(chain, posture.q)[:, limited], 6), axis=0)
            assert len(turns) == len(expected)
            found = np.unique(np.round(turns[:, limited], 6), axis=0)
            assert np.abs(found - expected).max() < 1e-5
            assert (turns[:, ~limited] == posture.q[~limited]).all()


@pytest.mark.parametrize('name, tolerance', [
    ('panda', (0.0,) * 6), ('baxter', (0.0,) * 6), ('ur5', (0.0, 0.0, 0.0, 0.0, 0.0, FREE)),
    ('z1', (0.0, 0.0, 0.0, FREE, FREE, FREE))])
@pytest.mark.parametrize('gain', [0.0, 1.0])
def test_samples_of_a_continuum(name, tolerance, gain):
    """If the goal leaves the arm free: several solutions, all valid and distinct."""
    counts = []
    for T in reachable(name, 20)[1]:
        goal = Goal(T, tolerance)
        found = solver(name, gains=(gain,)).solve_all(goal)
        for k, posture in enumerate(found):
            assert_inside(name, posture.q)
            assert max(errors_of(name, goal, posture.q)) <= 1e-6
            assert all(np.abs(posture.q - other.q).max() > 1e-4 for other in found[:k])
        counts.append(len(found))
    assert min(counts) >= 1
    assert np.median(counts) >= (4 if gain == 0.0 else 1)


def test_solutions_with_a_locked_joint():
    """Only those with the joint at its position in the seed."""
    chain = robots.chain('ur5')
    postures, poses = reachable('ur5', 30)
    for q, T in zip(postures, poses):
        found = solver('ur5', locked=('shoulder_pan_joint',)).solve_all(T, q)
        every = [p for p in solver('ur5').solve_all(T, q) if abs(p.q[0] - q[0]) < 1e-6]
        assert 1 <= len(found) and all(posture.q[0] == q[0] for posture in found)
        assert all(any(apart(one.q, other.q) < SAME for other in found) for one in every)
    assert chain.joint_names[0] == 'shoulder_pan_joint'


def test_no_solutions():
    """An empty tuple."""
    T = np.eye(4)
    T[0, 3] = 5.0
    assert solver('ur5').solve_all(T) == ()


# ---- the choice -------------------------------------------------------------

@pytest.mark.parametrize('name', ['ur5', 'kinova', 'six_axis_arm'])
@pytest.mark.parametrize('select, worth', [
    ('nearest', lambda p: np.linalg.norm(p.q - p.seed)), ('centred', lambda p: -p.centredness),
    ('manipulable', lambda p: -p.manipulability), (lambda p: p.q[1], lambda p: p.q[1])],
    ids=['nearest', 'centred', 'manipulable', 'callable'])
def test_the_chosen_solution_is_the_best_of_all(name, select, worth):
    """By the measure of the caller; often it is not the first one."""
    chain, other = robots.chain(name), 0
    for T, seed in zip(reachable(name, 40)[1], robots.random_postures(chain, 40, 62)):
        result = solver(name, select=select).solve(T, seed)
        assert_solves(name, T, result)
        every = solver(name).solve_all(T, seed)
        assert worth(result) <= min(map(worth, every)) + 1e-4
        first = solver(name, closed_form=False).solve(T, seed)
        assert np.abs(solver(name).solve(T, seed, select=select).q - result.q).max() == 0.0
        other += apart(result.q, first.q) > SAME
    assert other > 8


def test_the_measures_of_a_solution():
    """Limit margin, centredness, manipulability and distance, from their definitions."""
    chain = robots.chain('six_axis_arm')
    for T, seed in zip(reachable('six_axis_arm', 10)[1],
                       robots.random_postures(chain, 10, 63)):
        every = solver('six_axis_arm').solve_all(T, seed)
        norms = [np.linalg.norm(posture.q - seed) for posture in every]
        assert norms == sorted(norms)
        for posture in every:
            q = posture.q
            margins = np.minimum(q - chain.lower, chain.upper - q)
            assert posture.limit_margin == margins.min()
            share = 1.0 - np.abs(q - chain.middle) / (0.5 * (chain.upper - chain.lower))
            assert posture.centredness == pytest.approx(share.min(), abs=1e-12)
            assert posture.distance == np.abs(q - seed).max()
            assert posture.manipulability == pytest.approx(
                abs(np.linalg.det(tip_jacobian('six_axis_arm', q))), rel=1e-9)
            assert np.abs(posture.T_base_tip - tip_pose('six_axis_arm', q)).max() < 1e-12


# ---- the jump bound ---------------------------------------------------------

@pytest.mark.parametrize('name', ['ur5', 'z1', 'kinova'])
@pytest.mark.parametrize('select', ['first', 'nearest', 'centred'])
def test_max_jump(name, select):
    """Kept if any solution keeps it; otherwise OTHER_BRANCH, with a solution."""
    chain = robots.chain(name)
    one, outcomes = solver(name, max_jump=1.5, select=select), set()
    for T, seed in zip(reachable(name, 100)[1], robots.random_postures(chain, 100, 64)):
        result = one.solve(T, seed)
        outcomes.add(result.status)
        close = [posture for posture in solver(name).solve_all(T, seed) if posture.distance <= 1.5]
        assert_inside(name, result.q)
        assert max(errors_of(name, T, result.q)) <= 1e-6
        assert result.success == bool(close) == (result.distance <= 1.5)
        if not close:
            assert result.status is Reason.OTHER_BRANCH
            assert 'max_jump' in result.message and f'{result.distance:.3g}' in result.message
    assert outcomes == {Reason.SOLVED, Reason.OTHER_BRANCH}


@pytest.mark.parametrize('name', robots.cases(['ur5', 'panda', 'xarm7', 'pr2', 'baxter']))
@pytest.mark.parametrize('gain', [0.0, 1.0])
def test_from_a_near_seed_the_bound_is_kept(name, gain):
    """Also if the bias would move a redundant arm farther."""
    postures, poses = reachable(name, 100)
    one, beyond = solver(name, gains=(gain,), max_jump=0.5), 0
    for T, seed in zip(poses, near(name, postures, 0.1)):
        result = one.solve(T, seed)
        assert_solves(name, T, result)
        assert np.abs(result.q - seed).max() <= 0.5 + 1e-12
        beyond += solver(name, **BIASED).solve(T, seed).distance > 0.5
    assert beyond > 20 or name == 'ur5'


def test_a_goal_rotated_by_pi():
    """Solutions of a goal whose rotation has an angle of exactly pi."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = pin.exp3(np.array([0.0, np.pi, 0.0])), (0.4, 0.2, 0.3)
    found = solver('ur5').solve_all(T)
    assert len(found) == 8
    assert all(max(errors_of('ur5', T, posture.q)) <= 1e-6 for posture in found)
