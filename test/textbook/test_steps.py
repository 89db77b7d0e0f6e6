# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Each textbook step against numpy's or scipy's answer or one worked out by hand."""

from dataclasses import replace
from math import cos, sin

import numpy as np
import pinocchio as pin
import pytest
import robots
from robots import random_pose

from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.solver.goal import Goal
from ik_node.textbook import iterations, steps, steps as extended_jacobian
from ik_node.textbook.options import ClassicOptions, Limits
from ik_node.textbook.problem import Problem
from ik_node.textbook.task import Task

INF = np.inf
PLANAR = (0.0, 0.0, INF, INF, INF, INF)


def planar(lengths, lower=-3.0, upper=3.0):
    """Return a chain of links in the x-y plane whose joints turn about z."""
    parts = ['<robot name="planar"><link name="l0"/>']
    for k, _ in enumerate(lengths):
        x = lengths[k - 1] if k else 0.0
        parts.append(
            f'<link name="l{k + 1}"/><joint name="j{k}" type="revolute"><parent link="l{k}"/>'
            f'<child link="l{k + 1}"/><origin xyz="{x} 0 0"/><axis xyz="0 0 1"/>'
            f'<limit lower="{lower}" upper="{upper}" effort="1" velocity="1"/></joint>')
    parts.append(f'<link name="tip"/><joint name="end" type="fixed"><parent link="l{k + 1}"/>'
                 f'<child link="tip"/><origin xyz="{lengths[-1]} 0 0"/></joint></robot>')
    return make_chain(parse_urdf(''.join(parts).encode()), 'l0', 'tip')


def plane_goal(x, y):
    T = np.eye(4)
    T[:2, 3] = x, y
    return Goal(T, PLANAR, 'base')


def problem_of(chain, goal, options=ClassicOptions(), limits=Limits.CLAMP):
    return Problem(Task(chain, goal, options.metres_per_radian), limits, options)


def points_of(name, count=10, tolerance=(0.0,) * 6, **options):
    """Return random postures of an arm with random goals, as problems and points."""
    chain = robots.chain(name)
    rng = np.random.default_rng(8)
    for q in robots.random_postures(chain, count, 9):
        problem = problem_of(chain, Goal(random_pose(rng), tolerance), ClassicOptions(**options))
        yield problem, problem.at(q)


# ---- inverses -----------------------------------------------------------------

@pytest.mark.parametrize('step', [steps.pseudo_inverse, steps.right_pseudo_inverse,
                                  steps.pseudo_inverse_lu])
@pytest.mark.parametrize('name', ['ur5', 'panda'])
def test_inverses_for_at_least_as_many_joints_as_rows(step, name):
    for problem, point in points_of(name):
        expected = np.linalg.pinv(point.J) @ point.e
        assert step(problem, point, ClassicOptions()) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize('step', [steps.pseudo_inverse, steps.left_pseudo_inverse])
def test_inverses_for_more_rows_than_joints(step):
    chain = robots.skew_chain()
    rng = np.random.default_rng(8)
    for q in robots.random_postures(chain, 10, 9):
        problem = problem_of(chain, Goal(random_pose(rng)))
        point = problem.at(q)
        expected = np.linalg.lstsq(point.J, point.e, rcond=None)[0]
        assert step(problem, point, ClassicOptions()) == pytest.approx(expected, rel=1e-6)


def test_a_singular_posture():
    """Stretched, the arm cannot move along x: SVD leaves that out, the formulas fail."""
    chain = planar((1.0, 0.5))
    problem = problem_of(chain, plane_goal(1.4, 0.3))
    point = problem.at(np.zeros(2))
    # J = [[0, 0], [1.5, 0.5]], e = [-0.1, 0.3]: dq = (1.5, 0.5) * 0.3 / 2.5
    assert steps.pseudo_inverse(problem, point, ClassicOptions()) == pytest.approx([0.18, 0.06])
    for step in (steps.right_pseudo_inverse, steps.left_pseudo_inverse,
                 steps.pseudo_inverse_lu):
        with pytest.raises(np.linalg.LinAlgError):
            step(problem, point, ClassicOptions())


def test_the_cutoff_leaves_small_singular_values_out():
    chain = planar((1.0, 0.5))
    problem = problem_of(chain, plane_goal(1.4, 0.3))
    point = problem.at(np.array([0.0, 1e-4]))
    long = steps.pseudo_inverse(problem, point, ClassicOptions())
    short = steps.pseudo_inverse(problem, point, ClassicOptions(cutoff=1e-3))
    assert np.abs(long).max() > 100.0
    assert short == pytest.approx([0.18, 0.06], abs=1e-3)


def test_damped_least_squares():
    """The minimum of |e - J dx|^2 + lambda^2 |dx|^2, lambda by the formula."""
    options = ClassicOptions(damping=0.03, singular_value=0.1, singular_damping=2.0)
    near_and_far = set()
    for problem, point in points_of('ur5', 30):
        smallest = np.sqrt(np.linalg.eigvalsh(point.J @ point.J.T)[0])
        near = max(0.0, 1.0 - smallest**2 / 0.01)
        damping = np.sqrt((point.e @ point.e) * (0.03 + 2.0 * near))
        expected = np.linalg.lstsq(np.vstack([point.J, damping * np.eye(6)]),
                                   np.concatenate([point.e, np.zeros(6)]), rcond=None)[0]
        dx = steps.damped_least_squares(problem, point, options)
        assert dx == pytest.approx(expected, rel=1e-6, abs=1e-9)
        near_and_far.add(near > 0.0)
    assert near_and_far == {True, False}


@pytest.mark.parametrize('tolerance', [(0.0,) * 6, (0.0, 0.0, INF, 0.0, INF, 0.0)])
def test_the_adjusted_adjoint_step(tolerance):
    """The minimum of |e - J dx|^2 + lambda |dx|^2 with the exact J, lambda constant."""
    for problem, point in points_of('panda', 10, tolerance):
        damping = np.sqrt(steps.ROBUST_DAMPING_M2)
        expected = np.linalg.lstsq(np.vstack([point.J, damping * np.eye(7)]),
                                   np.concatenate([point.e, np.zeros(7)]), rcond=None)[0]
        assert steps.adjusted_adjoint(problem, point, ClassicOptions()) \
            == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_the_alternative_jacobian_by_hand():
    """
    Two links of 1 m bent by a right angle, tip at (1, 1), goal at (0.5, 1.5).

    From the joints (0, 0) and (1, 0) to the goal: columns z x (0.5, 1.5) = (-1.5, 0.5)
    and z x (-0.5, 1.5) = (-1.5, -0.5); their sum and difference give e = (-0.5, 0.5)
    by dq = (2/3, -1/3).
    """
    problem = problem_of(planar((1.0, 1.0)), plane_goal(0.5, 1.5))
    point = problem.at(np.array([0.0, np.pi / 2.0]))
    assert steps.alternative_jacobian(problem, point, ClassicOptions()) \
        == pytest.approx([2.0 / 3.0, -1.0 / 3.0])
    assert steps.pseudo_inverse(problem, point, ClassicOptions()) == pytest.approx([0.5, 0.0])


@pytest.mark.parametrize('tolerance', [(0.0,) * 6, (INF, INF, INF, 0.0, 0.0, 0.0),
                                       (0.0, 0.0, 0.0, INF, INF, INF),
                                       (0.0, INF, 0.0, 0.0, INF, INF)])
@pytest.mark.parametrize('name', ['ur5', 'panda'])
def test_the_alternative_jacobian_moves_the_goal_with_the_joints(name, tolerance):
    """By central differences: the goal is rotated about each joint axis, by Pinocchio."""
    chain = robots.chain(name)
    rng = np.random.default_rng(2)
    for q in robots.random_postures(chain, 10, 3):
        goal = random_pose(rng)
        problem = problem_of(chain, Goal(goal, tolerance, 'base'))
        point = problem.at(q)
        frames, columns = point.task.frames, []
        for k in range(chain.n):
            ends = []
            for angle in (1e-6, -1e-6):
                turn = pin.exp3(-angle * frames[k, [2, 5, 8]])
                R = turn @ goal[:3, :3]
                p = frames[k, 9:] + turn @ (goal[:3, 3] - frames[k, 9:])
                ends.append(np.concatenate([
                    p - frames[-1, 9:],
                    0.3 * pin.log3(R @ frames[-1, :9].reshape(3, 3).T)]))
            columns.append((ends[1] - ends[0]) / 2e-6)
        J = np.array(columns).T[point.task.rows]
        expected = np.linalg.pinv(J) @ point.e
        dx = steps.alternative_jacobian(problem, point, ClassicOptions())
        assert dx == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_near_the_goal_the_alternative_jacobian_is_the_jacobian():
    """With the change of variables as well."""
    chain = robots.chain('panda')
    for q in robots.random_postures(chain, 3, 3):
        T = robots.tip_pose('panda', q)
        T[:3, 3] += 1e-7
        problem = problem_of(chain, Goal(T), limits=Limits.VARIABLES)
        point = problem.at(problem.unknowns(q))
        assert steps.alternative_jacobian(problem, point, ClassicOptions()) == pytest.approx(
            np.linalg.pinv(point.J) @ point.e, rel=1e-4, abs=1e-10)


def test_damping_at_a_singular_goal():
    """There e and lambda are 0; the step is 0 and finite."""
    problem = problem_of(planar((1.0, 0.5)), plane_goal(1.5, 0.0))
    point = problem.at(np.zeros(2))
    assert steps.damped_least_squares(problem, point, ClassicOptions()).tolist() == [0.0, 0.0]


# ---- length of a step ------------------------------------------------------------

def first(method, problem, point, options):
    """Return the first dx of an iteration by steps."""
    return next(iterations.by_steps(method)(problem, point, options)).x - point.x


def test_a_fraction_of_the_error():
    problem = problem_of(planar((1.0, 0.5)), plane_goal(1.0, 0.5))
    point = problem.at(np.array([0.1, 0.8]))
    part = first(steps.pseudo_inverse, problem, point, ClassicOptions(step_fraction=0.25))
    assert part == pytest.approx(0.25 * (np.linalg.inv(point.J) @ point.e))


def test_an_error_step_of_fixed_length():
    options = ClassicOptions(error_step=0.02)
    problem = problem_of(planar((1.0, 0.5)), plane_goal(1.0, 0.5))
    point = problem.at(np.array([0.1, 0.8]))
    short = np.linalg.inv(point.J) @ point.e * 0.02 / np.linalg.norm(point.e)
    assert np.linalg.norm(point.e) > 0.1
    assert first(steps.pseudo_inverse, problem, point, options) == pytest.approx(short)
    # A shorter error is taken back whole.
    near = plane_goal(*(point.task.frames[-1, 9:11] + (0.009, -0.012)))
    problem = problem_of(problem.task.chain, near)
    near = problem.at(point.x)
    assert np.linalg.norm(near.e) == pytest.approx(0.015)
    assert first(steps.pseudo_inverse, problem, near, options) \
        == pytest.approx(np.linalg.inv(near.J) @ near.e)


def test_clamping_clips_each_iterate_to_the_limits():
    chain = planar((1.0, 0.5), -0.1, 0.1)
    for limits, kept in ((Limits.CLAMP, True), (Limits.PENALTY, False)):
        problem = problem_of(chain, plane_goal(0.5, 1.0), limits=limits)
        x = next(iterations.by_steps(steps.pseudo_inverse)(
            problem, problem.at(np.array([0.05, 0.05])), ClassicOptions())).x
        assert (np.abs(x).max() == 0.1) == kept and (np.abs(x).max() > 0.5) != kept


def test_a_bound_on_the_joint_step():
    chain = planar((1.0, 0.5))
    problem = problem_of(chain, plane_goal(1.4, 0.3))
    point = problem.at(np.array([0.0, 1e-4]))
    direction = steps.pseudo_inverse(problem, point, ClassicOptions())
    dx = first(steps.pseudo_inverse, problem, point, ClassicOptions(max_joint_step=0.2))
    assert np.abs(dx).max() == pytest.approx(0.2)
    assert dx == pytest.approx(direction * 0.2 / np.abs(direction).max())


# ---- transpose ---------------------------------------------------------------------

def test_the_transpose_step_minimises_the_linear_model():
    """One link of 1 m at 0, goal at angle 0.2: J = (0, 1), alpha = 1, dq = e_y = sin 0.2."""
    problem = problem_of(planar((1.0,)), plane_goal(cos(0.2), sin(0.2)))
    point = problem.at(np.zeros(1))
    after = next(iterations.transpose(problem, point, ClassicOptions()))
    assert after.x == pytest.approx([sin(0.2)])


def test_the_transpose_step_follows_the_gradient_and_is_halved():
    chain = planar((1.0, 1.0), -10.0, 10.0)
    halved = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        problem = problem_of(chain, plane_goal(*rng.uniform(-1.2, 1.2, 2)))
        point = problem.at(rng.uniform(-3.0, 3.0, 2))
        options = ClassicOptions(max_joint_step=INF)
        after = next(iterations.transpose(problem, point, options))
        g = point.J.T @ point.e
        alpha = (after.x - point.x) @ g / (g @ g)
        assert after.x - point.x == pytest.approx(alpha * g)
        assert after.cost < point.cost
        full = (g @ g) / ((point.J @ g) @ (point.J @ g))
        power = np.log2(full / alpha)
        assert power == pytest.approx(round(power), abs=1e-6) and power > -1e-6
        if power > 0.5:  # twice as far gained too little
            farther = problem.at(point.x + 2.0 * alpha * g)
            assert farther.cost >= point.cost - 0.1 * 2.0 * alpha * (g @ g)
            halved += 1
    assert halved > 3


def test_the_transpose_stops_where_the_gradient_vanishes():
    """Stretched towards a goal beyond its reach the arm does not move."""
    problem = problem_of(planar((1.0, 0.5)), plane_goal(2.0, 0.0))
    point = problem.at(np.zeros(2))
    with np.errstate(all='raise'):
        assert list(iterations.transpose(problem, point, ClassicOptions())) == []


# ---- null space ----------------------------------------------------------------------

def criterion(problem, q, gains, preferred):
    chain = problem.task.chain
    return 0.5 * sum(g * ((a - b) / (u - v)) ** 2 for g, a, b, u, v in
                     zip(gains, q, preferred, chain.upper, chain.lower))


def test_the_posture_gradient():
    gains, preferred = (1.0, 2.0, 0.0, 4.0, 5.0, 6.0, 7.0), (0.1, 0.2, 0.0, -1.0, 0.3, 1.0, 0.5)
    for problem, point in points_of('panda', 3, gains=gains, preferred=preferred):
        slope = [(criterion(problem, point.x + d, gains, preferred)
                  - criterion(problem, point.x - d, gains, preferred)) / 2e-4
                 for d in 1e-4 * np.eye(7)]
        assert problem.posture_gradient(point.x) == pytest.approx(slope, abs=1e-9)


def test_the_control_expression_does_not_move_the_tip():
    chain = robots.chain('panda')
    for q in robots.random_postures(chain, 10, 3):
        q = chain.middle + 0.5 * (q - chain.middle)  # so that no limit is met
        T = robots.tip_pose('panda', q)
        T[:3, 3] += 0.001
        problem = problem_of(chain, Goal(T))
        point = problem.at(q)
        bare, nothing = iterations._null_space_step(problem, point, ClassicOptions(), 0.0)
        step, drift = iterations._null_space_step(problem, point, ClassicOptions(), 1.0)
        assert bare == pytest.approx(np.linalg.pinv(point.J) @ point.e)
        assert not nothing.any()
        assert step - bare == pytest.approx(drift, abs=1e-12)
        assert point.J @ drift == pytest.approx(0.0, abs=1e-12)
        assert problem.posture_gradient(point.x) @ drift < 0.0
        # (J+ J - I) z with kappa that makes g least along it, or the bound
        gradient = problem.posture_gradient(point.x)
        z = (np.linalg.pinv(point.J) @ point.J - np.eye(7)) @ gradient
        kappa = (z @ z) / (z @ (problem.weight * z))
        kappa = min(kappa, iterations.MAX_BIAS_STEP / np.abs(z).max())
        assert drift == pytest.approx(kappa * z, abs=1e-9)


def test_a_joint_on_its_limit_is_left_out_of_the_control_expression():
    """The other joints still do not move the tip."""
    chain = robots.chain('panda')
    held = 0
    for q in robots.random_postures(chain, 30, 1):
        q[1] = chain.lower[1]
        T = robots.tip_pose('panda', q)
        preferred = tuple(np.where(np.arange(7) == 3, -0.2, 0.5))
        options = ClassicOptions(gains=(0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0), preferred=preferred)
        problem = problem_of(chain, Goal(T, (0.0, 0.0, 0.0, INF, INF, INF)), options)
        point = problem.at(q)
        step, drift = iterations._null_space_step(problem, point, options, 1.0)
        assert point.J @ step == pytest.approx(0.0, abs=1e-9)
        assert step[1] >= 0.0 and (step[1] > 0.0 or drift[1] == 0.0)
        held += step[1] == 0.0
    assert 0 < held < 30


def test_a_joint_that_would_pass_its_limit_stops_there():
    """The other joints remove the rest of the error."""
    chain = robots.chain('panda')
    passed = 0
    rng = np.random.default_rng(1)
    for q in robots.random_postures(chain, 30, 1):
        q[1], q[5] = chain.lower[1] + 1e-3, chain.lower[5] + 1e-3
        T = robots.tip_pose('panda', q)
        problem = problem_of(chain, Goal.position(T[:3, 3] + rng.uniform(-0.01, 0.01, 3)))
        point = problem.at(q)
        step, _ = iterations._null_space_step(problem, point, ClassicOptions(), 0.0)
        end = q + step
        assert (end >= chain.lower - 1e-12).all() and (end <= chain.upper + 1e-12).all()
        assert point.J @ step == pytest.approx(point.e, abs=1e-9)
        passed += abs(end[1] - chain.lower[1]) < 1e-12 or abs(end[5] - chain.lower[5]) < 1e-12
    assert 3 < passed < 30


# ---- extended Jacobians ------------------------------------------------------------------

def null_criterion(problem, q, basis):
    """Return N^T grad g at q, N the null-space basis nearest to `basis`."""
    J = problem.task.at(q).J
    N = np.linalg.svd(J)[2][len(J):].T
    N = N @ np.linalg.inv(basis.T @ N)
    return N.T @ problem.posture_gradient(q)


@pytest.mark.parametrize('tolerance', [(0.0,) * 6, (0.0, 0.0, 0.0, INF, INF, INF)])
def test_the_square_extended_jacobian_keeps_the_criterion(tolerance):
    """After a short step e is 0 and N^T grad g has not changed, to first order."""
    for problem, point in points_of('panda', 5, tolerance):
        N = np.linalg.svd(point.J)[2][len(point.J):].T
        before = null_criterion(problem, point.x, N)
        changes = []
        for part in (1e-4, 1e-5):
            short = replace(point, e=part * point.e)
            dx = extended_jacobian.extended_square(problem, short, ClassicOptions())
            assert point.J @ dx == pytest.approx(short.e, abs=1e-9)
            changes.append(np.abs(null_criterion(problem, point.x + dx, N) - before).max())
        assert changes[1] < 0.02 * changes[0] + 1e-12  # second order: a hundredth
        plain = steps.pseudo_inverse_step(point.J, 1e-5 * point.e, 1e-10)
        assert np.abs(null_criterion(problem, point.x + plain, N) - before).max() \
            > 10.0 * changes[1]


def test_the_square_extended_jacobian_with_correction_finds_the_best_posture():
    """Three planar links, a position goal: the posture that scipy finds best."""
    chain = planar((0.4, 0.3, 0.2))
    preferred = (0.3, 0.5, 0.4)
    options = ClassicOptions(gains=(1.0, 2.0, 3.0), preferred=preferred, correction=1.0)
    problem = problem_of(chain, plane_goal(0.5, 0.45), options)
    q = np.array([0.4, 0.6, 0.3])
    for _ in range(20):
        q = q + extended_jacobian.extended_square(problem, problem.at(q), options)
    assert problem.task.at(q).position_error < 1e-12

    def reach(q):
        angles = np.cumsum(q)
        return [np.cos(angles) @ (0.4, 0.3, 0.2) - 0.5, np.sin(angles) @ (0.4, 0.3, 0.2) - 0.45]

    from scipy.optimize import minimize
    best = minimize(lambda q: criterion(problem, q, (1.0, 2.0, 3.0), preferred),
                    [0.4, 0.6, 0.3], constraints={'type': 'eq', 'fun': reach},
                    method='SLSQP', options={'ftol': 1e-15})
    assert q == pytest.approx(best.x, abs=1e-6)


def test_the_square_extended_jacobian_without_spare_joints_is_the_inverse():
    for problem, point in points_of('ur5', 5):
        assert extended_jacobian.extended_square(problem, point, ClassicOptions()) \
            == pytest.approx(np.linalg.inv(point.J) @ point.e)
    problem = problem_of(planar((1.0, 0.5, 0.5)), plane_goal(1.4, 0.3))
    with pytest.raises(np.linalg.LinAlgError, match='singular'), np.errstate(all='raise'):
        extended_jacobian.extended_square(problem, problem.at(np.zeros(3)), ClassicOptions())


def paper_jacobian(lengths, q):
    """Return the extended Jacobian (2 n, n) of equation 9 and equation 8's local axes."""
    n = len(q)
    A = np.zeros((2 * n, n))
    for i in range(n - 1):
        a, b = q[i], q[i] + q[i + 1]
        A[i, i] = -lengths[i] * sin(a) - lengths[i + 1] * sin(b)
        A[i, i + 1] = -lengths[i + 1] * sin(b)
        A[n - 1 + i, i] = lengths[i] * cos(a) + lengths[i + 1] * cos(b)
        A[n - 1 + i, i + 1] = lengths[i + 1] * cos(b)
    angles = np.cumsum(q)
    for k in range(n):
        A[2 * n - 2, k] = -np.dot(lengths[k:], np.sin(angles[k:]))
        A[2 * n - 1, k] = np.dot(lengths[k:], np.cos(angles[k:]))
    return A


LENGTHS = (0.09, 0.06, 0.09, 0.15, 0.15, 0.09)


@pytest.mark.parametrize('weight', [1.0, 0.2])
def test_the_pairwise_extended_jacobian_is_that_of_the_paper(weight):
    chain = planar(LENGTHS)
    options = ClassicOptions(pair_weight=weight)
    for q in [np.zeros(6), *robots.random_postures(chain, 10, 4)]:
        problem = problem_of(chain, plane_goal(0.2, 0.3))
        point = problem.at(q)
        A = paper_jacobian(LENGTHS, q)
        A[:-2] *= weight
        expected = np.linalg.lstsq(A, np.concatenate([np.zeros(10), point.e]), rcond=None)[0]
        assert extended_jacobian.extended_pairwise(problem, point, options) \
            == pytest.approx(expected, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize('tolerance, kinds', [
    ((0.0,) * 6, 6), ((0.0, 0.0, 0.0, INF, INF, INF), 3), ((INF, INF, INF, 0.0, 0.0, 0.0), 3)])
def test_element_rows_of_a_spatial_arm(tolerance, kinds):
    """By finite differences: frame k + 2 in the frame before joint k, in base axes."""
    chain = robots.skew_chain()
    for q in robots.random_postures(chain, 5, 4):
        problem = problem_of(chain, Goal(random_pose(np.random.default_rng(1)), tolerance))
        point = problem.at(q)
        rows = extended_jacobian.element_rows(problem, point)
        m = len(chain.joints)
        assert rows.shape == (kinds * (m - 1), chain.n)
        joint_values = chain.table[:-1, 14] * q[chain.joints[:, 1]] + chain.table[:-1, 15]
        for element in range(m - 1):
            block = rows[kinds * element:kinds * (element + 1)]
            expected = np.zeros((6, chain.n))
            for k in (element, element + 1):
                change = _element_change(chain, joint_values, element, k, point.task.frames)
                expected[:, chain.joints[k, 1]] += chain.factors[k, 0] * change
            expected[3:] *= 0.3
            wanted = np.concatenate([expected[:3] if np.isfinite(tolerance[0]) else
                                     np.empty((0, chain.n)),
                                     expected[3:] if np.isfinite(tolerance[3]) else
                                     np.empty((0, chain.n))])
            assert block == pytest.approx(wanted, abs=1e-8)


def _element_change(chain, values, element, k, frames):
    """Return how the end of an element moves with joint k, from two multiplied-out ends."""
    ends = []
    for step in (1e-6, -1e-6):
        moved = np.array(values)
        moved[k] += step
        R, p = np.eye(3), np.zeros(3)
        for j in range(element, element + 3):
            if j > element:
                offset = chain.table[j]
                p = p + R @ offset[9:12]
                R = R @ offset[:9].reshape(3, 3)
            if j < len(moved) and chain.joints[j, 0]:
                p = p + R[:, 2] * moved[j]
            elif j < element + 2:
                R = R @ pin.exp3(np.array([0.0, 0.0, moved[j]]))
        ends.append((R, p))
    # The frame before the first joint of the element, in the base.
    R_first = frames[element, :9].reshape(3, 3)
    if not chain.joints[element, 0]:
        R_first = R_first @ pin.exp3(np.array([0.0, 0.0, -values[element]]))
    turned = pin.log3(ends[0][0] @ ends[1][0].T)
    return np.concatenate([R_first @ (ends[0][1] - ends[1][1]), R_first @ turned]) / 2e-6


def test_two_links_are_one_element_and_stay_singular():
    """For one pair the added rows are those of the main link: the paper's rank n needs more."""
    for lengths, rank in (((1.0, 0.5), 1), ((1.0, 0.5, 0.2), 3), (LENGTHS, 6)):
        problem = problem_of(planar(lengths), plane_goal(0.4, 0.3))
        point = problem.at(np.zeros(len(lengths)))
        A = np.vstack([extended_jacobian.element_rows(problem, point), point.J])
        assert np.linalg.matrix_rank(A) == rank
