# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled functions that Python calls to solve one goal or many."""

from __future__ import annotations

import numpy as np

from ik_node.base.se3 import FARTHEST_GOAL_M, MAX_ROTATION_ERROR
from ik_node.kinematics.kernels import compiled, inner
from ik_node.solver.descent.damped import nearest_turns, solve_one
from ik_node.solver.descent.layout import (
    BIAS_STEP_COUNT,
    bias_workspace,
    BOX_WIDTHS,
    FARTHEST_SEED,
    goal_workspace,
    JOINT_VALUES,
    ORIENTATION_ERROR,
    ORIENTATION_TOLERANCE,
    POSE_SIZE,
    POSITION_ERROR,
    POSITION_TOLERANCE,
    problem_of,
    ProblemArrays,
    SOLVED_FLAG,
    UNSOUND,
    workspace,
)
from ik_node.solver.descent.nullspace import lower_bias, tip_error
from ik_node.solver.descent.residual import fill_goal

NO_POSE, NO_SEED = np.empty((0, 0)), np.empty(0)
ROW_COUNT, FIRST_SEED, RESTART_COUNT = range(3)  # entries of the counts of a call


@compiled
def fill_row(T, seed, row):
    """
    Write a goal, a seed and an empty answer into a row.

    Parameters
    ----------
    T : (4, 4) array
    seed : (n,) array
    row : (16 + n + k,) array, written
        See :mod:`ik_node.solver.descent.layout`; the space for answers is 0.

    Returns
    -------
    bool
        Whether the goal is rigid, and the numbers are finite, none of them too large.

    """
    return write_row(T, seed, row)


@inner
def write_row(T, seed, row):
    """Write a row as :func:`fill_row` does."""
    n, moderate = seed.shape[0], True
    for i in range(4):
        for j in range(4):
            row[4 * i + j] = T[i, j]
            moderate &= abs(T[i, j]) <= FARTHEST_GOAL_M
    for k in range(n):
        row[POSE_SIZE + k] = seed[k]
        moderate &= abs(seed[k]) <= FARTHEST_SEED
    for k in range(POSE_SIZE + n, row.shape[0]):
        row[k] = 0.0
    return moderate and rigid(row)


@inner
def rigid(T):
    """Return whether a matrix (16,) is a right-handed rigid pose."""
    if not (T[12] == 0.0 and T[13] == 0.0 and T[14] == 0.0 and T[15] == 1.0):
        return False
    for i in range(0, 12, 4):
        for j in range(0, i + 1, 4):
            d = -1.0 if i == j else 0.0
            for k in range(3):
                d += T[i + k] * T[j + k]
            if not abs(d) <= MAX_ROTATION_ERROR:
                return False
    return (T[0] * (T[5] * T[10] - T[6] * T[9]) - T[1] * (T[4] * T[10] - T[6] * T[8])
            + T[2] * (T[4] * T[9] - T[5] * T[8])) > 0.0


@compiled
def first_unsound(T):
    """Return the number of the first of N goals (N, 16) that is not rigid or too far; N: none."""
    for k in range(T.shape[0]):
        row = T[k]
        far = max(abs(row[3]), abs(row[7]), abs(row[11]))
        if not (far <= FARTHEST_GOAL_M and rigid(row)):
            return k
    return T.shape[0]


@compiled
def solve_rows(table, joints, settings, postures, T, seed, packed, counts):
    """
    Solve goals one by one; each answer depends on its own goal and seeds only.

    Parameters
    ----------
    table, settings, postures :
        As in :class:`~ik_node.solver.descent.layout.Problem`.
    joints : (7, n) array
    T, seed : (4, 4) and (n,) arrays
        Written into the row of the only goal first; or NO_POSE and NO_SEED, if the rows are
        filled.
    packed : (count * W,) array, answers are written
        A row for each goal: its pose (16), seeds (s * n), answer (7 + n).  One array,
        because each argument of a call from Python takes time; ``settings[BOX_WIDTHS:]`` is
        the box of all the goals.
    counts : (3,) array of int64
        ROW_COUNT; FIRST_SEED and RESTART_COUNT are `first` and `restarts` of
        :func:`ik_node.solver.descent.damped.solve_one`.

    Returns
    -------
    float
        SOLVED_FLAG of the last goal; UNSOUND, and nothing is solved, if :func:`fill_row` refuses
        T or the seed.

    """
    n, m = joints.shape[1], table.shape[0] - 1
    if seed.shape[0] > 0 and not write_row(T, seed, packed):
        return UNSOUND
    solve_each(ProblemArrays(table, joints, settings, postures), packed, counts[ROW_COUNT],
               counts[FIRST_SEED], counts[RESTART_COUNT], goal_workspace(n, postures.shape[1]),
               workspace(n, m))
    return packed[packed.shape[0] - JOINT_VALUES - n + SOLVED_FLAG]


@inner
def solve_each(arrays, packed, count, first, restarts, goal_work, work):
    """Solve as :func:`solve_rows` does, in arrays that are given."""
    problem = problem_of(arrays)
    goal, joints, box = goal_work.goal, problem.joints, problem.settings[BOX_WIDTHS:]
    n, width = goal_work.q.shape[0], packed.shape[0] // count
    end = width - JOINT_VALUES - n
    for start in range(0, packed.shape[0], width):
        row = packed[start:start + width]
        T, seeds, answer = row[:16], row[16:end], row[end:]
        fill_goal(T, box, goal)
        solve_one(problem, goal_work, seeds, first, restarts, answer, work)
        answer[BIAS_STEP_COUNT] = 0.0
        if (answer[SOLVED_FLAG] == 1.0
                and nearest_turns(answer[JOINT_VALUES:], seeds[:n], joints)):
            confirm(problem, goal, answer, work)


@inner
def confirm(problem, goal, answer, work):
    """Compute the errors from the joint positions that are returned; they decide on success."""
    position, angle = tip_error(problem, goal, answer[JOINT_VALUES:], work)
    answer[POSITION_ERROR], answer[ORIENTATION_ERROR] = position, angle
    if (position > problem.settings[POSITION_TOLERANCE]
            or angle > problem.settings[ORIENTATION_TOLERANCE]):
        answer[SOLVED_FLAG] = 0.0


@compiled
def bias_rows(table, joints, settings, postures, packed, count):
    """
    Lower the bias of the solved answers that :func:`solve_rows` left in `packed`.

    A function of its own, so that it is compiled only if a bias is used.  The postures have one
    row more, (n + 13, K): see :func:`ik_node.solver.descent.nullspace.rank_starts`.
    """
    n, m = joints.shape[1], table.shape[0] - 1
    bias_each(ProblemArrays(table, joints, settings, postures), packed, count,
              goal_workspace(n, postures.shape[1]), workspace(n, m), bias_workspace(n))


@inner
def bias_each(arrays, packed, count, goal_work, work, space):
    """Lower the bias as :func:`bias_rows` does, in arrays that are given."""
    problem = problem_of(arrays)
    goal, box = goal_work.goal, problem.settings[BOX_WIDTHS:]
    n, width = goal_work.q.shape[0], packed.shape[0] // count
    end = width - JOINT_VALUES - n
    for start in range(0, packed.shape[0], width):
        row = packed[start:start + width]
        answer = row[end:]
        if answer[SOLVED_FLAG] == 1.0:
            fill_goal(row[:16], box, goal)
            answer[BIAS_STEP_COUNT] = lower_bias(problem, goal_work, answer[JOINT_VALUES:],
                                                 space, work)
            confirm(problem, goal, answer, work)
