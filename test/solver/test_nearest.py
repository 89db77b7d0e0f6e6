# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The nearest posture of a redundant arm: no small motion along the solutions leads nearer."""

import warnings

from answers import assert_solves, near, reachable, solver, tip_jacobian, tip_pose
import numpy as np
import pytest
import robots

from ik_node.kinematics.arm import forward_kinematics
from ik_node.kinematics.kernels import compiled
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.solver.arm_geometry import seven_axes_form
from ik_node.solver.closed_form import seven_axes
from ik_node.solver.solver import Solver

SEVEN_AXES = [name for name, arm in robots.ARMS.items() if arm.n == 7]
GOALS = 25
IN_CLOSED_FORM = [name for name in SEVEN_AXES if len(seven_axes_form(robots.chain(name)))]
STARTS = 40        # from which a posture is sought that is nearer than an answer
AT_LIMIT = 1e-9    # rad
SLOPE = 5e-3       # rad, of the distance along the self-motion, per rad
FARTHER = 1e-3     # share: answers within tolerance of the goal differ by less
SAME = 1e-6        # rad or m
NEAR_END = 0.1     # rad, from where small steps end to the nearest posture of the curve
# Seeds, and solutions near them on pieces of self-motions that are a few degrees long: beside
# where a branch of the closed form ends, or cut by limits.
SHORT_PIECES = (
    ('panda', (2.441, -1.635, 2.738, -0.192, 2.03, 2.604, -0.95),
     (0.696, -0.984, 2.897, -0.652, 2.893, 0.273, -1.155)),
    ('panda', (1.98, -0.503, 2.348, -0.674, 0.633, 2.486, 2.039),
     (2.82, -0.47, 2.897, -0.146, 1.098, 0.319, 0.079)),
    ('panda', (-2.118, 1.536, -2.667, -2.1, -2.71, 0.188, -2.056),
     (-2.875, 0.115, -2.897, -1.41, -2.759, 2.604, -1.539)),
    ('panda', (-2.095, 1.245, -2.23, -0.88, 1.315, 1.624, -1.567),
     (-0.812, -0.27, -2.678, -0.499, -0.116, 0.966, 0.318)),
    ('baxter', (-1.201, -0.795, -1.6, 1.06, 2.531, -0.548, 1.51),
     (-0.514, -0.613, -2.719, 0.077, 1.666, 1.281, 0.415)),
    ('baxter', (0.323, 1.026, 2.714, 1.442, -1.312, 1.703, -2.452),
     (0.362, 0.849, 3.054, 0.198, -0.063, 1.653, 1.407)),
    ('baxter', (-0.357, -1.106, -1.462, 1.393, -2.42, -0.273, -0.265),
     (-0.757, -1.089, -0.323, 0.198, -2.097, 1.457, 0.97)),
    ('baxter', (-1.668, -1.659, -2.762, 2.116, 0.079, -0.139, 0.638),
     (-0.407, -0.089, -2.385, 0.195, 0.45, 0.52, -0.633)),
)
# Chains made of Denavit and Hartenberg's standard parameters, alpha, a and d of each joint, and
# limits: of an iiwa, a Gen3, an arm with parallel axes 2 and 3 that stands on a turntable,
# and one with parallel axes 2, 3 and 4, which has no closed form.
QUARTER, TURN = np.pi / 2.0, 2.0 * np.pi
MADE = {
    'iiwa': ([(-QUARTER, 0.0, 0.36), (QUARTER, 0.0, 0.0), (QUARTER, 0.0, 0.42),
              (-QUARTER, 0.0, 0.0), (-QUARTER, 0.0, 0.4), (QUARTER, 0.0, 0.0),
              (0.0, 0.0, 0.126)], (2.967, 2.094, 2.967, 2.094, 2.967, 2.094, 3.054)),
    'gen3': ([(QUARTER, 0.0, -0.2848), (QUARTER, 0.0, -0.0118), (QUARTER, 0.0, -0.4208),
              (QUARTER, 0.0, -0.0128), (QUARTER, 0.0, -0.3143), (QUARTER, 0.0, 0.0),
              (np.pi, 0.0, -0.1674)], (np.inf, 2.24, np.inf, 2.57, np.inf, 2.09, np.inf)),
    'turntable': ([(0.0, 0.5, 0.1), (-QUARTER, 0.1, 0.4), (0.0, 0.6, 0.0), (-QUARTER, 0.1, 0.0),
                   (QUARTER, 0.0, 0.6), (-QUARTER, 0.0, 0.0), (0.0, 0.0, 0.1)],
                  (TURN, TURN, 2.3, 2.6, TURN, 2.2, TURN)),
    'three parallel': ([(-QUARTER, 0.05, 0.3), (0.0, 0.3, 0.0), (0.0, 0.3, 0.0),
                        (QUARTER, 0.1, 0.0), (-QUARTER, 0.0, 0.25), (QUARTER, 0.0, 0.0),
                        (0.0, 0.0, 0.1)], [3.0] * 7)}
MADE_IN_CLOSED_FORM = [name for name in MADE if name != 'three parallel']


def made(name):
    """Return the chain of made axes, and Pinocchio's model of it."""
    (text, end), place = ('', 0), '0 0 0" rpy="0 0 0'
    for k, ((alpha, a, d), limit) in enumerate(zip(*MADE[name])):
        kind = 'revolute' if limit < np.inf else 'continuous'
        limits = f'lower="{-limit}" upper="{limit}" ' if limit < np.inf else ''
        text += (f'<link name="l{k}"/><joint name="j{k}" type="{kind}"><parent link="l{k}"/>'
                 f'<child link="l{k + 1}"/><origin xyz="{place}"/><axis xyz="0 0 1"/>'
                 f'<limit {limits}effort="1" velocity="1"/></joint>')
        place, end = f'{a} 0 {d}" rpy="{alpha} 0 0', k + 1
    text = (f'<robot name="made">{text}<link name="l{end}"/><joint name="tip" type="fixed">'
            f'<parent link="l{end}"/><child link="tip"/><origin xyz="{place}"/></joint>'
            '<link name="tip"/></robot>')
    return make_chain(parse_urdf(text), 'l0', 'tip'), robots.Reference(text)


def pose_of(chain, reference, q):
    """Return the pose (4, 4) of the tip, by Pinocchio."""
    return reference.pose('l0', 'tip', robots.positions(chain, q))


@compiled
def branches_at(form, T, joints, position, samples, q):
    """Write samples (8, 2, 1) and branches (8, 6) of six joints, the seventh at a position."""
    rows = np.empty(seven_axes.ROWS_SIZE)
    seven_axes.write_rows(form, T, rows)
    seven_axes.take_all(form, rows, (position, 0.0, position), joints, samples)
    for branch in range(seven_axes.BRANCHES):
        seven_axes.write_branch(form, rows, joints, position, branch, q[branch])


def slope(name, q, seed):
    """Return the part of seed - q that is along the self-motion of the joints off their limits."""
    chain = robots.chain(name)
    free = (q > chain.lower + AT_LIMIT) & (q < chain.upper - AT_LIMIT)
    J, d = tip_jacobian(name, q)[:, free], (seed - q)[free]
    return float(np.linalg.norm(d - np.linalg.pinv(J) @ (J @ d)))


@pytest.mark.parametrize('name', robots.cases(SEVEN_AXES))
def test_nothing_nearer_lies_beside_it(name):
    """The way to the seed is perpendicular to the self-motion, inside the limits."""
    postures, poses = reachable(name, GOALS)
    chain, still = robots.chain(name), 0
    for T, seed in zip(poses, near(name, postures, 0.1)):
        result = solver(name, select='nearest').solve(T, seed)
        assert_solves(name, T, result)
        limits = np.minimum(result.q - chain.lower, chain.upper - result.q).min() < AT_LIMIT
        still += limits or slope(name, result.q, seed) < SLOPE
    assert still >= GOALS - 1  # at a singular posture the self-motion has a corner


@pytest.mark.parametrize('name', robots.cases(SEVEN_AXES))
@pytest.mark.parametrize('size', [0.1, 1.0])
def test_it_is_not_farther_than_known_solutions(name, size):
    """Not than the posture the pose is from, if that is near, nor than the first solution."""
    postures, poses = reachable(name, GOALS)
    for q, T, seed in zip(postures, poses, near(name, postures, size, 15)):
        found = solver(name, select='nearest').solve(T, seed)
        distance = np.linalg.norm(found.q - seed)
        first = solver(name).solve(T, seed)
        assert distance <= (1.0 + FARTHER) * np.linalg.norm(first.q - seed)
        if size < 0.5:
            assert distance <= (1.0 + FARTHER) * np.linalg.norm(q - seed)


def along_the_solutions(name, q, seed):
    """Return where q comes towards the seed by small steps along the solutions, inside limits."""
    chain, T = robots.chain(name), tip_pose(name, q)
    for _ in range(60):
        free = np.ones(7, dtype=bool)
        for _ in range(7):  # joints at a limit stay if they would pass it
            J = tip_jacobian(name, q)[:, free]
            step = np.zeros(7)
            step[free] = (seed - q)[free] - np.linalg.pinv(J) @ (J @ (seed - q)[free])
            held = free & ((q <= chain.lower) & (step < 0) | (q >= chain.upper) & (step > 0))
            if not held.any():
                break
            free &= ~held
        trial = np.clip(q + min(0.5, 0.1 / max(np.linalg.norm(step), 1e-9)) * step,
                        chain.lower, chain.upper)
        result = solver(name, max_restarts=0).solve(T, trial)
        if not result.success or np.linalg.norm(result.q - seed) \
                > np.linalg.norm(q - seed) - 1e-6:
            break
        q = result.q
    return q


@pytest.mark.parametrize('name', robots.cases(IN_CLOSED_FORM))
def test_no_self_motion_leads_nearer(name):
    """From anywhere: among solutions from many starts, moved towards the seed, is none nearer."""
    chain, missed = robots.chain(name), 0
    lower, upper = np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi)
    random = np.random.default_rng(3)
    for T in reachable(name, GOALS)[1]:
        seed = random.uniform(lower, upper)
        result = solver(name, select='nearest').solve(T, seed)
        assert_solves(name, T, result)
        starts = (solver(name).solve(T, start) for start in random.uniform(
            lower, upper, (STARTS, 7)))
        found = sorted((start.q for start in starts if start.success),
                       key=lambda q: np.linalg.norm(q - seed))
        least = min(np.linalg.norm(along_the_solutions(name, q, seed) - seed) for q in found[:5])
        missed += np.linalg.norm(result.q - seed) > 1.01 * least
    assert missed <= 1


@pytest.mark.parametrize('name', robots.cases(IN_CLOSED_FORM))
def test_all_solutions_have_the_nearest_of_each_curve(name):
    """Where a solution from any start comes along its self-motion, towards the seed, is one."""
    chain, missed, looked = robots.chain(name), 0, 0
    for q, seed in zip(*(robots.random_postures(chain, 4 * GOALS, number)
                         for number in (13, 14))):
        end = along_the_solutions(name, q, seed)
        if (np.abs(end - seed) > np.pi)[chain.upper - chain.lower > TURN].any():
            continue  # nearer by a whole turn
        looked += 1
        found = np.array([each.q for each in solver(name).solve_all(tip_pose(name, q), seed)])
        assert (np.diff(np.linalg.norm(found - seed, axis=1)) >= 0.0).all()
        missed += np.linalg.norm(found - end, axis=1).min() > NEAR_END
    assert missed <= 2 and looked >= 5


@pytest.mark.parametrize('name, seed, known', [
    pytest.param(*case, marks=() if case[0] in robots.DAILY else pytest.mark.nightly)
    for case in SHORT_PIECES])
def test_short_pieces_of_self_motions(name, seed, known):
    """A solution on one of them is not nearer than the answer."""
    seed, known = np.array(seed), np.array(known)
    T = tip_pose(name, known)
    result = solver(name, select='nearest').solve(T, seed)
    assert_solves(name, T, result)
    assert np.linalg.norm(result.q - seed) <= (1.0 + FARTHER) * np.linalg.norm(known - seed)


@pytest.mark.parametrize('name', MADE_IN_CLOSED_FORM)
def test_the_branches_of_six_joints(name):
    """With the seventh fixed, the posture of a pose is one of them, and all have that pose."""
    chain, reference = made(name)
    form = seven_axes_form(chain)
    seventh, six = (6, slice(5, None, -1)) if form[seven_axes.FROM_TIP] else (0, slice(1, 7))
    samples, found = np.empty((8, 2, 1)), np.empty((8, 6))
    for q, seed in zip(*(robots.random_postures(chain, 100, number) for number in (5, 6))):
        T = pose_of(chain, reference, q)
        joints = np.array([seed, chain.lower, chain.upper])[:, six].copy()
        branches_at(form, T.ravel(), joints, q[seventh], samples, found)
        turns = (found - q[six]) / TURN
        assert np.abs(turns - np.round(turns)).max(axis=1).min() < SAME
        inside = samples[:, 1, 0] == 0.0
        assert inside.any()
        for branch, square in zip(found[inside], samples[inside, 0, 0]):
            posture = q.copy()
            posture[six] = branch
            assert np.abs(pose_of(chain, reference, posture) - T).max() < SAME
            assert abs(((branch - seed[six])**2).sum() - square) < SAME
            endless = ~np.isfinite(chain.upper[six])
            assert (np.abs(branch - seed[six]) <= np.pi + SAME)[endless].all()


@pytest.mark.parametrize('name', MADE_IN_CLOSED_FORM)
def test_made_arms_come_nearest(name):
    """Hardly ever farther than a known solution, or than those from many starts."""
    chain, reference = made(name)
    nearest, first = Solver(chain, select='nearest'), Solver(chain)
    starts, missed = robots.random_postures(chain, STARTS, 8), 0
    for q, seed in zip(*(robots.random_postures(chain, 100, number) for number in (5, 7))):
        T = pose_of(chain, reference, q)
        result = nearest.solve(T, seed)
        assert result.success and np.abs(pose_of(chain, reference, result.q) - T).max() < 1e-4
        assert (result.q >= chain.lower).all() and (result.q <= chain.upper).all()
        results = [first.solve(T, start) for start in starts]
        known = [q, *(other.q for other in results if other.success)]
        least = min(np.linalg.norm(other - seed) for other in known)
        missed += np.linalg.norm(result.q - seed) > (1.0 + FARTHER) * least
    assert missed <= 2


@pytest.mark.parametrize('name', robots.cases(SEVEN_AXES))
def test_it_is_never_farther_than_the_first(name):
    """Also where the posture of a descent is on a self-motion that the search does not meet."""
    chain = robots.chain(name)
    nearest, first = solver(name, select='nearest'), solver(name)
    for q, seed in zip(*(robots.random_postures(chain, 1000, number) for number in (11, 12))):
        T = forward_kinematics(chain, q)
        one, other = nearest.solve(T, seed), first.solve(T, seed)
        assert np.linalg.norm(one.q - seed) < np.linalg.norm(other.q - seed) + 1e-3


def test_three_parallel_axes_after_the_first_of_seven():
    """The last six have no closed form: the first of them moves the arm in the same plane."""
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert not len(seven_axes_form(made('three parallel')[0]))


@pytest.mark.parametrize('name', robots.cases(SEVEN_AXES))
def test_the_limits_hold_beside_a_limit(name):
    """A seed beside limits gives an answer inside them."""
    upper = robots.chain(name).upper
    for q in reachable(name, GOALS)[0]:
        mixed = np.where((np.arange(7) % 2 == 0) & np.isfinite(upper), upper, q)
        T = tip_pose(name, mixed)
        assert_solves(name, T, solver(name, select='nearest').solve(T, mixed + 0.05))
