# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled functions that Python calls to solve, one goal or many."""

from __future__ import annotations

import numpy as np

from ik_node.kinematics.kernels import compiled, inner
from ik_node.solver.compiled.damped import (
    BIAS_ITERATIONS,
    BIAS_STEPS,
    BOX,
    goal_workspace,
    LOWER,
    nearest_turns,
    ORIENTATION,
    ORIENTATION_ERROR,
    POSITION,
    POSITION_ERROR,
    Q,
    solve_one,
    SOLVED,
    TURNING,
    UPPER,
    workspace,
)
from ik_node.solver.compiled.nullspace import bias_workspace, lower_bias, tip_error
from ik_node.solver.compiled.residual import fill_goal

NOT_RIGID = -1.0  # SOLVED of an answer to a goal that is no pose
ORTHONORMAL = 1e-6


@inner
def rigid(goal, T):
    """Return whether a goal, of the matrix T (16,), is a right-handed rigid pose."""
    if not (T[12] == 0.0 and T[13] == 0.0 and T[14] == 0.0 and T[15] == 1.0):
        return False
    for i in range(0, 9, 3):
        for j in range(0, i + 1, 3):
            d = -1.0 if i == j else 0.0
            for k in range(3):
                d += goal[i + k] * goal[j + k]
            if not abs(d) <= ORTHONORMAL:
                return False
    return (goal[0] * (goal[4] * goal[8] - goal[5] * goal[7])
            - goal[1] * (goal[3] * goal[8] - goal[5] * goal[6])
            + goal[2] * (goal[3] * goal[7] - goal[4] * goal[6])) > 0.0


@compiled
def solve_rows(table, joints, settings, postures, packed, count, first, picks):
    """
    Solve goals one by one; each answer depends on its own goal and seeds only.

    Parameters
    ----------
    table, joints, settings, postures, first, picks :
        As in :func:`ik_node.solver.compiled.damped.solve_one`.
    packed : (count * W,) array, answers are written
        A row each: the pose of the goal (16), seeds (s * n), the answer (Q + n).
        One array, because each argument of a call from Python costs a tenth of a
        microsecond; ``settings[BOX:]`` has the box of all the goals.

    """
    n, m = joints.shape[1], table.shape[0] - 1
    solve_each(table, joints, settings, postures, packed, count, first, picks,
               goal_workspace(n, postures.shape[1]), workspace(n, m))


@inner
def solve_each(table, joints, settings, postures, packed, count, first, picks, more, work):
    """Do what :func:`solve_rows` promises, in a workspace."""
    goal, never, q, distances = more
    n, width = joints.shape[1], packed.shape[0] // count
    start = width - Q - n
    for first_of_row in range(0, packed.shape[0], width):
        row = packed[first_of_row:first_of_row + width]
        T, seeds, answer = row[:16], row[16:start], row[start:]
        fill_goal(T, settings[BOX:], goal)
        if not rigid(goal, T):
            answer[SOLVED] = NOT_RIGID
            continue
        solve_one(table, joints, settings, postures, goal, seeds, first, picks, distances,
                  never, q, work, answer)
        answer[BIAS_STEPS] = 0.0
        if answer[SOLVED] == 1.0 and nearest_turns(answer[Q:], seeds[:n], joints[LOWER],
                                                   joints[UPPER], joints[TURNING]):
            confirm(table, goal, settings, answer, work)


@inner
def confirm(table, goal, settings, answer, work):
    """Compute what is claimed from the very numbers that are returned."""
    answer[POSITION_ERROR], answer[ORIENTATION_ERROR] = tip_error(table, goal, settings,
                                                                  answer[Q:], work)
    if (answer[POSITION_ERROR] > settings[POSITION]
            or answer[ORIENTATION_ERROR] > settings[ORIENTATION]):
        answer[SOLVED] = 0.0


@compiled
def bias_rows(table, joints, settings, postures, packed, count):
    """
    Lower the bias of the answers that :func:`solve_rows` left in its rows, where it solved.

    Compiled by itself, and only when a bias is asked for.
    """
    n, m = joints.shape[1], table.shape[0] - 1
    bias_each(table, joints, settings, postures, packed, count,
              goal_workspace(n, postures.shape[1]), workspace(n, m), bias_workspace(n))


@inner
def bias_each(table, joints, settings, postures, packed, count, more, work, still_more):
    """Do what :func:`bias_rows` promises, in a workspace."""
    goal, never, q, distances = more
    n, width = joints.shape[1], packed.shape[0] // count
    start = width - Q - n
    for first in range(0, packed.shape[0], width):
        row = packed[first:first + width]
        answer = row[start:]
        if answer[SOLVED] == 1.0:
            fill_goal(row[:16], settings[BOX:], goal)
            answer[BIAS_STEPS] = lower_bias(table, joints, settings, goal, postures, distances,
                                            never, answer[Q:], q, work, still_more)
            confirm(table, goal, settings, answer, work)


def solve_goals(table: np.ndarray, joints: np.ndarray, settings: np.ndarray,
                postures: np.ndarray, T: np.ndarray, seeds: np.ndarray, first: int,
                picks: int) -> np.ndarray:
    """
    Solve goals T (N, 4, 4) from seeds (N, s, n); return the answers (N, Q + n).

    The rest as in :func:`solve_rows`.
    """
    count, n = len(T), joints.shape[1]
    if count == 0:
        return np.empty((0, Q + n))
    packed = np.concatenate([T.reshape(count, 16), seeds.reshape(count, -1),
                             np.zeros((count, Q + n))], axis=1)
    solve_rows(table, joints, settings, postures, packed.ravel(), count, first, picks)
    if settings[BIAS_ITERATIONS] > 0.0:
        bias_rows(table, joints, settings, postures, packed.ravel(), count)
    return packed[:, -(Q + n):]
