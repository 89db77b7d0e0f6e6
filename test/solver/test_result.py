# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The metrics and the message of a result are those of its answer."""

import re

from answers import assert_solves, errors_of, reachable, solver, tip_jacobian, tip_pose
import numpy as np
import pytest
import robots

from ik_node.base.errors import Reason
from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver


@pytest.mark.parametrize('name', ['ur5', 'panda', 'kinova'])
def test_the_metrics_of_a_result(name):
    """Against Pinocchio's Jacobian and the definitions."""
    chain = robots.chain(name)
    for T, seed in zip(reachable(name, 20)[1], robots.random_postures(chain, 20, 12)):
        result = solver(name, closed_form=False).solve(T, seed)
        assert_solves(name, T, result)
        values = np.linalg.svd(tip_jacobian(name, result.q), compute_uv=False)
        assert np.abs(result.singular_values - values).max() < 1e-12
        assert result.smallest_singular_value == pytest.approx(values[-1], abs=1e-12)
        assert result.manipulability == pytest.approx(np.prod(values), rel=1e-9)
        assert np.abs(result.T_base_tip - tip_pose(name, result.q)).max() < 1e-12
        assert result.limit_margin == np.minimum(result.q - chain.lower,
                                                 chain.upper - result.q).min()
        assert (result.limiting_joints == ()) == (result.limit_margin >= 1e-6)
        assert result.distance == np.abs(result.q - seed).max()
        assert (result.iterations > 0) and result.restarts >= 0 and result.excess is None
        assert 0.0 < result.time < 10.0


def test_the_message_of_a_solution():
    """Its errors and its time."""
    result = solver('ur5').solve(reachable('ur5', 1)[1][0])
    said = re.fullmatch(r'solved to (\S+) m and (\S+) rad in (\S+) ms', result.message)
    assert said
    assert float(said[1]) == pytest.approx(result.position_error, rel=0.06, abs=1e-30)
    assert float(said[2]) == pytest.approx(result.orientation_error, rel=0.06, abs=1e-30)
    assert float(said[3]) == pytest.approx(1e3 * result.time, abs=0.006)


def test_the_goal_of_a_result():
    """A Goal; the same object if a Goal was given."""
    T = reachable('ur5', 1)[1][0]
    goal = Goal.position(T[:3, 3])
    assert solver('ur5').solve(goal).goal is goal
    asked = solver('ur5').solve(T).goal
    assert np.array_equal(asked.T_base_tip, T) and not any(asked.tolerance)


def test_joints_at_their_limits_are_named():
    """Within a micrometre or a microradian."""
    chain = robots.chain('six_axis_arm')
    q = chain.middle.copy()
    q[1], q[3] = chain.upper[1], chain.lower[3]
    result = solver('six_axis_arm').solve(tip_pose('six_axis_arm', q), q)
    assert result.success and result.limit_margin == 0.0 and result.centredness == 0.0
    assert result.limiting_joints == (chain.joint_names[1], chain.joint_names[3])


def test_which_reasons_are_a_success():
    """SOLVED and NEAREST; the errors of the others are those of the nearest posture."""
    far = np.eye(4)
    far[0, 3] = 3.0
    near = reachable('ur5', 1)[1][0]
    for T, options, status, success in (
            (near, {}, Reason.SOLVED, True), (far, {}, Reason.OUT_OF_REACH, False),
            (far, {'nearest': True}, Reason.NEAREST, True),
            (near, {'max_jump': 1e-3}, Reason.OTHER_BRANCH, False)):
        result = solver('ur5', **options).solve(T)
        assert (result.status, result.success) == (status, success)
        assert np.allclose((result.position_error, result.orientation_error),
                           errors_of('ur5', T, result.q), rtol=1e-6, atol=1e-9)
        assert result.message and '\n' not in result.message


def test_repr():
    """One line with status, success, errors and rounded joint positions."""
    one, T = solver('ur5'), reachable('ur5', 1)[1][0]
    result = one.solve(T)
    q = ', '.join(f'{value:.4f}' for value in result.q)
    assert repr(result) == (
        f'Result(SOLVED, success=True, position_error={result.position_error:.1e} m, '
        f'orientation_error={result.orientation_error:.1e} rad, q=[{q}])')
    far = T.copy()
    far[0, 3] = 3.0
    assert repr(one.solve(far)).startswith('Result(OUT_OF_REACH, success=False, position_error=')
    posture = one.solve_all(T)[0]
    assert repr(posture) == f'Posture(q=[{", ".join(f"{value:.4f}" for value in posture.q)}])'
    assert repr(Solver(robots.chain('ur5'))) == 'Solver(base_link to tool0, 6 joints)'
    assert repr(Solver(robots.chain('ur5'), gains=1.0, max_restarts=3)) == (
        'Solver(base_link to tool0, 6 joints, max_restarts=3, gains=(1.0,))')
