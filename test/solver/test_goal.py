# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Valid goals, and goals that are refused."""

from answers import FREE, solver, tip_pose
import numpy as np
import pytest

from ik_node.base.errors import GoalError, Reason
from ik_node.solver.goal import EXACT_TOLERANCE, Goal

Q = np.array([0.1, -1.0, 1.5, 0.3, 0.8, 0.0])


def bent(row, column, value):
    """Return the identity pose with one number replaced."""
    T = np.eye(4)
    T[row, column] = value
    return T


@pytest.mark.parametrize('T, reason, words', [
    (np.eye(3), Reason.GOAL_NOT_FINITE, '4x4'),
    (bent(0, 3, np.nan), Reason.GOAL_NOT_FINITE, 'not finite'),
    (bent(2, 3, np.inf), Reason.GOAL_NOT_FINITE, 'not finite'),
    (bent(1, 1, np.nan), Reason.GOAL_NOT_FINITE, 'not finite'),
    (bent(3, 0, 1e-3), Reason.GOAL_NOT_FINITE, 'last row'),
    (bent(3, 3, 2.0), Reason.GOAL_NOT_FINITE, 'last row'),
    (bent(0, 0, 1.00001), Reason.GOAL_ORIENTATION_NOT_UNIT, 'orthonormal'),
    (bent(0, 1, 0.001), Reason.GOAL_ORIENTATION_NOT_UNIT, 'orthonormal'),
    (bent(2, 2, -1.0), Reason.GOAL_ORIENTATION_NOT_UNIT, 'right-handed'),
    (np.diag([0.0, 0.0, 0.0, 1.0]), Reason.GOAL_ORIENTATION_NOT_UNIT, 'orthonormal'),
])
def test_poses_that_are_refused(T, reason, words):
    """A goal must be a finite, right-handed rigid pose, given as Goal or as matrix."""
    for ask in (Goal, solver('ur5').solve, solver('ur5').solve_all):
        with pytest.raises(GoalError, match=words) as caught:
            ask(T)
        assert caught.value.reason is reason


@pytest.mark.parametrize('tolerance', [
    (0.0,) * 5, (0.0,) * 7, (), (0.0, 0.0, 0.0, 0.0, 0.0, -1e-9), (np.nan,) + (0.0,) * 5, None,
    0.1, 'abcdef', (None,) * 6, [[0.0] * 6], (-FREE,) + (0.0,) * 5])
def test_tolerances_that_are_refused(tolerance):
    """Six numbers from 0 to inf."""
    with pytest.raises(GoalError, match='tolerance.*six numbers'):
        Goal(np.eye(4), tolerance)


@pytest.mark.parametrize('frame', ['tool', '', None, 0, 'Tip'])
@pytest.mark.parametrize('tolerance', [EXACT_TOLERANCE, (0.0, 0.0, 0.0, 0.0, 0.0, FREE)])
def test_frames_that_are_refused(frame, tolerance):
    """Only 'tip' and 'base', also for exact goals."""
    with pytest.raises(GoalError, match='tip or base'):
        Goal(np.eye(4), tolerance, frame)


def test_a_goal_with_six_free_axes_is_refused():
    """Six free axes are met by any posture."""
    with pytest.raises(GoalError, match='nothing to solve'):
        Goal(np.eye(4), (FREE,) * 6)


@pytest.mark.parametrize('p', [(0.0, 0.0), np.eye(3), 'abc', None, (0.0, 0.0, np.nan),
                               (0.0, 0.0, FREE), (None, 0.0, 0.0)])
def test_positions_that_are_refused(p):
    """Three finite numbers."""
    with pytest.raises(GoalError):
        Goal.position(p)


@pytest.mark.parametrize('R', [np.eye(4), 'abc', None, np.full((3, 3), np.nan), 2.0 * np.eye(3),
                               -np.eye(3), [[None] * 3] * 3])
def test_orientations_that_are_refused(R):
    """A rotation matrix."""
    with pytest.raises(GoalError):
        Goal.orientation(R)


def test_position_and_orientation_goals():
    """A position leaves the orientation free, an orientation the position."""
    p, R = np.array([0.1, 0.2, 0.3]), np.diag([1.0, -1.0, -1.0])
    at, turned = Goal.position(p), Goal.orientation(R)
    assert at.tolerance == (0.0, 0.0, 0.0, FREE, FREE, FREE)
    assert np.array_equal(at.T_base_tip[:3, 3], p)
    assert at.orientation_free and not at.position_free
    assert turned.tolerance == (FREE, FREE, FREE, 0.0, 0.0, 0.0)
    assert np.array_equal(turned.T_base_tip[:3, :3], R)
    assert turned.position_free and not turned.orientation_free
    assert Goal.position(p, frame='base').frame == 'base'
    both = Goal(np.eye(4), [0, 0, 0, 0, 0, FREE])
    assert not both.position_free and not both.orientation_free


def test_a_goal_is_a_frozen_copy():
    """Later changes of the caller's array or of a result do not change the goal."""
    T = tip_pose('ur5', Q)
    goal = Goal(T)
    before = solver('ur5').solve(goal, np.zeros(6))
    result = solver('ur5').solve(T, np.zeros(6))
    T[0, 3] += 0.1
    assert np.array_equal(solver('ur5').solve(goal, np.zeros(6)).q, before.q)
    assert np.array_equal(result.goal.T_base_tip, goal.T_base_tip)
    with pytest.raises(ValueError, match='read-only'):
        goal.T_base_tip[0, 0] = 2.0


def test_a_result_is_a_copy():
    """Changing a result or its seed changes no later result."""
    T, seed = tip_pose('ur5', Q), np.zeros(6)
    result = solver('ur5').solve(T, seed)
    before = result.q.copy()
    seed[:] = 9.0
    assert np.array_equal(result.seed, np.zeros(6))
    result.q[:] = 7.0
    assert np.array_equal(solver('ur5').solve(T, np.zeros(6)).q, before)
