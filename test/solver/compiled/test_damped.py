# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled parts of a damped step, each against an independent computation."""

import re

from answers import FREE, reachable
from cached_kernels import compiled
import numpy as np
import pytest
import robots

from ik_node.kinematics import kernels
from ik_node.kinematics.arm import jacobian
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.solver.descent import damped
from ik_node.solver.descent.layout import BASE_AXES, EXACT_POSE, GOAL_SIZE, TIP_AXES, workspace
from ik_node.solver.descent.residual import fill_goal
from ik_node.solver.options import SolverOptions
from ik_node.solver.tables import Tables


# The inner functions have no wrapper for Python.
@compiled
def run_cholesky(A, b):
    return damped.cholesky_solve(A, b)


@compiled
def run_substitute(A, b):
    damped.substitute(A, b)


@compiled
def run_second_order(table, q, length, e, scale, damping, dq, bent, active):
    n = q.shape[0]
    work, free = workspace(n, table.shape[0] - 1), np.full(n, np.inf)
    kernels.joint_frames(table, q, work.frames)
    kernels.jacobian_columns(table, work.frames, length, work.columns)
    work.e[:] = e
    damped.limited_step(q, -free, free, scale, damping, 1e9, work)
    straight = work.dq.copy()
    damped.add_second_order(scale, length, work)
    dq[:], bent[:], active[:] = work.dq, work.bent, work.active
    return straight


@compiled
def run_gram(columns, active, damping, A):
    damped.gram(columns, active, damping, A)


@compiled
def run_limited_step(columns, e, q, lower, upper, scale, damping, longest, dq, active):
    n = q.shape[0]
    work = workspace(n, n)
    work.columns[:], work.e[:] = columns, e
    solved = damped.limited_step(q, lower, upper, scale, damping, longest, work)
    dq[:], active[:] = work.dq, work.active
    return solved


@compiled
def run_postures(T, box, poses, length, distances, order):
    goal = np.empty(GOAL_SIZE)
    fill_goal(T, box, goal)
    damped.measure_postures(goal, poses, length, distances)
    before = distances.copy()
    for i in range(order.shape[0]):
        order[i] = damped.take_nearest(distances)
    distances[:] = before


# ---- linear algebra ---------------------------------------------------------

def test_cholesky_solve():
    """Against numpy; a matrix that is not positive is refused."""
    rng = np.random.default_rng(40)
    for _ in range(50):
        M = rng.normal(size=(6, 6))
        A, b = M @ M.T + 1e-3 * np.eye(6), rng.normal(size=6)
        x = b.copy()
        assert run_cholesky(A.copy(), x)
        assert np.abs(x - np.linalg.solve(A, b)).max() < 1e-10 * np.linalg.cond(A)
    for bad in (np.zeros((6, 6)), -np.eye(6), np.diag([1.0, 1, 1, 1, 1, -1e-3]),
                np.full((6, 6), np.nan), np.ones((6, 6)) - 0.5 * np.eye(6)):
        assert not run_cholesky(bad.copy(), np.ones(6))


def test_gram():
    """``J J^T + damping I`` over the active joints; one triangle of it."""
    rng = np.random.default_rng(41)
    J, active, A = rng.normal(size=(6, 7)), rng.random(7) < 0.6, np.full((6, 6), np.nan)
    run_gram(J.T.copy(), active, 0.25, A)
    expected = J[:, active] @ J[:, active].T + 0.25 * np.eye(6)
    assert np.abs(np.where(np.isnan(A), A.T, A) - expected).max() < 1e-12


def test_substitute():
    """A second right-hand side, with the factors of the first solution."""
    rng = np.random.default_rng(42)
    for _ in range(50):
        M = rng.normal(size=(6, 6))
        A, b = M @ M.T + 1e-3 * np.eye(6), rng.normal(size=6)
        left = A.copy()
        assert run_cholesky(left, np.ones(6))
        x = b.copy()
        run_substitute(left, x)
        assert np.abs(x - np.linalg.solve(A, b)).max() < 1e-10 * np.linalg.cond(A)


# ---- a step inside the limits -----------------------------------------------

def step(J, e, q, lower, upper, weights=None, damping=1e-14, longest=1e9):
    """Return whether there is a step, dq, and which joints are active."""
    n = len(q)
    dq, active = np.empty(n), np.empty(n, dtype=bool)
    scale = 1.0 / np.sqrt(np.ones(n) if weights is None else weights)
    ok = run_limited_step(J.T.copy(), e, q, lower, upper, scale, damping, longest, dq, active)
    return ok, dq, active


@pytest.mark.parametrize('n', [5, 6, 7])
def test_a_step_without_limits_is_the_damped_one(n):
    """The closed form ``W J^T (J W J^T + damping I)^-1 e``, whatever the weights."""
    rng = np.random.default_rng(43)
    for _ in range(30):
        J, e, weights = rng.normal(size=(6, n)), rng.normal(size=6), rng.uniform(0.1, 9.0, n)
        ok, dq, active = step(J, e, np.zeros(n), np.full(n, -FREE), np.full(n, FREE), weights,
                              0.01)
        W = np.diag(1.0 / weights)
        assert ok and active.all()
        expected = W @ J.T @ np.linalg.solve(J @ W @ J.T + 0.01 * np.eye(6), e)
        assert np.abs(dq - expected).max() < 1e-9 * max(1.0, np.abs(expected).max())


def test_a_long_step_is_shortened_as_a_whole():
    """To the bound, in its direction."""
    rng = np.random.default_rng(44)
    J, e, free = rng.normal(size=(6, 7)), rng.normal(size=6), np.full(7, FREE)
    _, full, _ = step(J, e, np.zeros(7), -free, free)
    _, short, _ = step(J, e, np.zeros(7), -free, free, longest=0.01)
    assert np.abs(short).max() == pytest.approx(0.01)
    assert np.abs(short / np.abs(short).max() - full / np.abs(full).max()).max() < 1e-12


def boxed(rng, count):
    """Yield Jacobians, errors and limits, with some joints at or just before a limit."""
    for _ in range(count):
        J, e = rng.normal(size=(6, 7)), np.zeros(6)
        lower, upper = np.full(7, -1.0), np.full(7, 1.0)
        e[:3] = 0.05 * rng.normal(size=3)
        stuck = rng.choice(7, 2, replace=False)
        for k in stuck:
            room = rng.choice([0.0, 1e-3])
            lower[k], upper[k] = (-room, 1.0) if rng.random() < 0.5 else (-1.0, room)
        yield J, e, lower, upper, stuck


def test_the_others_move_for_a_joint_at_its_limit():
    """The motion that a limit takes from a joint is made by the others in the same step."""
    limited = released = 0
    for J, e, lower, upper, stuck in boxed(np.random.default_rng(19), 300):
        J[3:] = 0.0  # a task of three coordinates
        ok, dq, active = step(J, e, np.zeros(7), lower, upper)
        assert ok and (dq >= lower).all() and (dq <= upper).all()
        # With at least five free joints, the three coordinates are reached exactly.
        assert np.abs(J[:3] @ dq - e[:3]).max() < 1e-9
        assert np.abs(dq[~active]).max(initial=0.0) <= 1e-3
        limited += not active.all()
        released += bool(np.abs(dq[stuck]).max() > 2e-3)
    assert limited > 100 and released > 30


def test_a_limited_step_is_near_the_optimum():
    """
    Against scipy's bounded least squares: over the active joints always, over all mostly.

    Joints are put on their limits and not taken off again within a step.
    """
    from scipy.optimize import lsq_linear
    best = 0
    for J, e, lower, upper, _ in boxed(np.random.default_rng(45), 300):
        damping = 1e-4
        ok, dq, active = step(J, e, np.zeros(7), lower, upper, damping=damping)
        assert ok and (dq >= lower).all() and (dq <= upper).all()
        system = np.vstack([J, np.sqrt(damping) * np.eye(7)])
        target = np.concatenate([e, np.zeros(7)])
        optimum = lsq_linear(system, target, (lower - 1e-15, upper + 1e-15), 'bvls').cost
        found = 0.5 * np.sum((system @ dq - target)**2)
        gradient = system.T @ (system @ dq - target)
        assert np.abs(gradient[active]).max(initial=0.0) < 1e-9
        best += found <= optimum + 1e-12
    assert 200 < best < 300


def test_a_limit_under_weights_subtracts_the_true_motion():
    """The remaining error of the others does not depend on the weight of the stuck joint."""
    rng = np.random.default_rng(46)
    met = 0
    for _ in range(50):
        J, e = rng.normal(size=(6, 7)), 0.1 * rng.normal(size=6)
        lower, upper = np.full(7, -9.0), np.full(7, 9.0)
        _, free, _ = step(J, e, np.zeros(7), lower, upper)
        if free[3] < 0.0:
            lower[3] = -1e-4
        else:
            upper[3] = 1e-4
        weights = np.ones(7)
        weights[3] = 0.01
        ok, dq, active = step(J, e, np.zeros(7), lower, upper, weights)
        if active.sum() < 6 or active[3]:
            continue
        assert ok and abs(dq[3]) == pytest.approx(1e-4)
        assert np.abs(J @ dq - e).max() < 1e-9
        met += 1
    assert met > 20


# ---- the curvature of the way ---

@pytest.mark.parametrize('name', ['ur5', 'panda', 'xarm7', 'slider'])
@pytest.mark.parametrize('weighted', [False, True])
def test_the_second_order_part_of_a_step(name, weighted):
    """``-1/2 W J^T (J W J^T + damping I)^-1 (dJ/dt) dq``, dJ/dt by central differences of J."""
    chain = sliding() if name == 'slider' else robots.chain(name)
    rng, length = np.random.default_rng(46), 0.3
    scale = rng.uniform(0.5, 2.0, chain.n) if weighted else np.ones(chain.n)
    W, rows, curved = np.diag(scale**2), np.diag([1.0, 1, 1, length, length, length]), 0
    for q in robots.random_postures(chain, 20, 47):
        J = rows @ jacobian(chain, q)
        e, damping = 0.05 * rng.normal(size=6), 1e-3
        dq, bent, active = np.empty(chain.n), np.empty(chain.n), np.empty(chain.n, dtype=bool)
        straight = run_second_order(chain.table, q, length, e, scale, damping, dq, bent, active)
        h = 1e-5
        turned = rows @ (jacobian(chain, q + h * straight)
                         - jacobian(chain, q - h * straight)) / (2.0 * h)
        expected = -0.5 * W @ J.T @ np.linalg.solve(J @ W @ J.T + damping * np.eye(6),
                                                    turned @ straight)
        assert np.abs(bent - expected).max() < 1e-6 * max(1.0, np.abs(expected).max())
        # A second-order part longer than the step itself is left out.
        longer = np.linalg.norm(expected) > np.linalg.norm(straight)
        assert np.array_equal(dq, straight if longer else straight + bent)
        curved += not longer
    assert curved > 10


def sliding():
    """Return a chain with prismatic joints between oblique revolute ones."""
    text = re.sub('<mimic[^>]*>', '', robots.SKEW)
    return make_chain(parse_urdf(text.encode()), 'base', 'tip')


# ---- the table of postures --------------------------------------------------

@pytest.mark.parametrize('box, counted', [
    ([0.0] * 6 + [EXACT_POSE], (True, True)),
    ([0.0, 0, 0, FREE, FREE, FREE, TIP_AXES], (True, False)),
    ([FREE, FREE, FREE, 0.0, 0, 0, BASE_AXES], (False, True)),
    ([0.0, 0, 0, 0, 0, FREE, TIP_AXES], (True, False)), ([0.1] * 6 + [TIP_AXES], (True, True))])
def test_the_nearest_postures_of_the_table(box, counted):
    """In the order of their distance; free parts of the pose do not count."""
    chain = robots.chain('ur5')
    tables = Tables(chain, SolverOptions())
    T = reachable('ur5', 1)[1][0]
    poses = np.empty((tables.postures.shape[1], 12))
    kernels.tip_poses(chain.table, tables.postures[:6].T.copy(), poses)
    assert np.abs(poses.T - tables.postures[6:]).max() < 1e-12
    expected = np.zeros(len(poses))
    if counted[0]:
        expected += ((poses[:, 9:] - T[:3, 3])**2).sum(axis=1)
    if counted[1]:  # the chord: 1 - cos, twice
        trace = np.einsum('kij,ij->k', poses[:, :9].reshape(-1, 3, 3), T[:3, :3])
        expected += 0.3**2 * (3.0 - trace)
    distances, order = np.empty(len(poses)), np.empty(20, dtype=int)
    run_postures(T.ravel(), np.array(box, dtype=float), tables.postures[6:], 0.3, distances, order)
    # A constant is left out.
    assert np.ptp(distances - expected) < 1e-12
    assert order.tolist() == np.argsort(expected, kind='stable')[:20].tolist()
