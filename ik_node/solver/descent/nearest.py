# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled search for the posture nearest to the seed, if an arm has more joints than a pose needs.

Each step ends at the point nearest to the seed in the tangent space of the solutions,
``dq = d + J^T (J J^T + damping I)^-1 (e - J d)`` with d = seed - q: sequential quadratic
programming with the unit matrix as Hessian (Nocedal and Wright 2006, ch. 18).
"""

from __future__ import annotations

from math import pi

import numpy as np

from ik_node.kinematics.kernels import (
    compiled,
    copy,
    inner,
    jacobian_columns,
    joint_frames,
    small,
)
from ik_node.solver.descent.damped import (
    cholesky_solve,
    DAMPING_FLOOR_M2,
    DAMPING_SHARE,
    descend,
    farthest,
    gram,
    held_at_limits,
    LATE_STOP,
    NEAR_GOAL_M,
    NEAR_JUMP,
    SHORT_STEP,
)
from ik_node.solver.descent.layout import (
    Attempt,
    BOX_WIDTHS,
    GOAL_SIZE,
    goal_workspace,
    joint_rows,
    JOINT_VALUES,
    MAX_STEPS,
    METRES_PER_RADIAN,
    ORIENTATION_ERROR,
    ORIENTATION_TOLERANCE,
    POSE_SIZE,
    POSITION_ERROR,
    POSITION_TOLERANCE,
    SOLVED_FLAG,
    SQUARED_ERROR,
    STEP_COUNT,
    workspace,
)
from ik_node.solver.descent.nullspace import null_basis
from ik_node.solver.descent.residual import fill_goal, residual

LONGEST_SLIDE = 0.5   # rad or m, largest joint change of one step
RESTING_SLIDE = 1e-3  # ... of the last: what is left changes the distance by its square
MAX_SLIDES = 20


@compiled
def nearest_row(table, joints, settings, row):
    """
    Move to the posture nearest to the seed; the goal is an exact pose.

    From the answer in the row if it is solved, and then only if that is nearer.  Otherwise from
    the seed, if the goal is near it, and the answer too: farther away another posture may be
    nearer.

    Parameters
    ----------
    table, settings :
        As in :class:`~ik_node.solver.descent.layout.Problem`.
    joints : (7, n) array
    row : (16 + n + 7 + n,) array, the answer is written if there is a better one
        See :mod:`ik_node.solver.descent.layout`.

    Returns
    -------
    bool
        Whether there is.

    """
    n = joints.shape[1]
    return find_nearest(table, joint_rows(joints), settings, row, goal_workspace(n, 0),
                        workspace(n, table.shape[0] - 1))


@inner
def find_nearest(table, joints, settings, row, goal_work, work):
    """Search as :func:`nearest_row` does, in arrays that are given."""
    goal, q = goal_work.goal, goal_work.q
    n = q.shape[0]
    T, seed, answer = row[:POSE_SIZE], row[POSE_SIZE:POSE_SIZE + n], row[POSE_SIZE + n:]
    fill_goal(T, settings[BOX_WIDTHS:], goal)
    given = answer[SOLVED_FLAG] == 1.0
    start = answer[JOINT_VALUES:] if given else seed
    for k in range(n):
        q[k] = min(max(start[k], joints.lower[k]), joints.upper[k])
    solved, steps, position, angle = slide(table, joints, settings, goal_work, seed,
                                           np.inf if given else NEAR_GOAL_M, work)
    if not solved or (given and squared(q, seed) >= squared(start, seed)) \
            or (not given and farthest(q, seed) > NEAR_JUMP):
        return False
    length = settings[METRES_PER_RADIAN]
    answer[SOLVED_FLAG] = 1.0
    answer[STEP_COUNT] += steps
    answer[POSITION_ERROR], answer[ORIENTATION_ERROR] = position, angle
    answer[SQUARED_ERROR] = position * position + length * length * angle * angle
    copy(q, answer[JOINT_VALUES:])
    return True


@inner
def squared(a, b):
    """Return the squared distance of two postures."""
    s = 0.0
    for k in range(a.shape[0]):
        s += (a[k] - b[k])**2
    return s


@inner
def slide(table, joints, settings, goal_work, seed, farthest_m, work):
    """
    Move `goal_work.q` to a solution from which no small step leads nearer to the seed.

    Parameters
    ----------
    farthest_m : float
        Largest error at the start (weighted, m).

    Returns
    -------
    (bool, int, float, float)
        Whether that is reached; steps; errors in m and rad.

    """
    goal, q = goal_work.goal, goal_work.q
    frames, columns, e, D = work.frames, work.columns, work.e, work.D
    length, moved = settings[METRES_PER_RADIAN], np.inf
    for step in range(MAX_SLIDES):
        joint_frames(table, q, frames)
        position, angle = residual(goal, frames[-1], length, e, D)
        error = position * position + length * length * angle * angle
        if (moved < RESTING_SLIDE and position <= settings[POSITION_TOLERANCE]
                and angle <= settings[ORIENTATION_TOLERANCE]):
            return True, step, position, angle
        if step == 0 and error > farthest_m * farthest_m:
            break
        jacobian_columns(table, frames, length, columns)
        if not slide_step(q, seed, joints, DAMPING_SHARE * error + DAMPING_FLOOR_M2, work):
            break
        dq, moved = work.dq, 0.0
        for k in range(q.shape[0]):
            moved = max(moved, abs(dq[k]))
        scale = min(1.0, LONGEST_SLIDE / max(moved, LONGEST_SLIDE))
        for k in range(q.shape[0]):
            q[k] = min(max(q[k] + scale * dq[k], joints.lower[k]), joints.upper[k])
    return False, 0, 0.0, 0.0


@small
def slide_step(q, seed, joints, damping, work):
    """
    Write the step to the point nearest to the seed in the tangent space, inside the limits.

    A joint that would pass a limit is put on it, and the step is solved again for the others.
    The columns of J and the error e are given; returns whether there is a step.
    """
    columns, A, e, y, dq, active = work.columns, work.A, work.e, work.y, work.dq, work.active
    lower, upper, wish = joints.lower, joints.upper, work.bent
    n = q.shape[0]
    for k in range(n):
        active[k] = lower[k] < upper[k]
        wish[k] = min(max(seed[k], lower[k]), upper[k]) - q[k]
        dq[k] = 0.0
    for _ in range(n + 1):
        gram(columns, active, damping, A)
        for i in range(6):
            y[i] = e[i]
        for k in range(n):
            motion = wish[k] if active[k] else dq[k]
            for i in range(6):
                y[i] -= columns[k, i] * motion
        if not cholesky_solve(A, y):
            return False
        for k in range(n):
            if active[k]:
                s = wish[k]
                for i in range(6):
                    s += columns[k, i] * y[i]
                dq[k] = s
        if not held_at_limits(q, lower, upper, dq, active):
            break
    return True


MAX_HALVINGS = 4     # of a step that leads to no posture near its end
CLOSED_SHARE = 0.75  # of a step, within which the walk is back at its start
MIN_LOOP_STEPS = 4


@compiled
def walk(table, joints, settings, T, begin, step, found):
    """
    Walk along the self-motion from a posture, by predictor and corrector.

    Parameters
    ----------
    table : (m + 1, 16) array
        Of the chain.
    joints : (7, n) array
        Joints of which lower and upper limit are one stay; one more moves than the tip needs.
    settings : (16,) array
    T : (16,) array
        The pose of the tip, row by row.
    begin : (n,) array
        Rad or m; it has that pose.
    step : float
        Rad or m; its sign says in which of both directions.
    found : (K, n) array, written
        The postures, `begin` first.

    Returns
    -------
    (int, bool)
        How many there are, and whether the last is back beside the first, whole turns left out.

    """
    n = begin.shape[0]
    rows, work, goal = joint_rows(joints), workspace(n, table.shape[0] - 1), np.empty(GOAL_SIZE)
    fill_goal(T, settings[BOX_WIDTHS:], goal)
    active, V = np.empty(n, dtype=np.bool_), np.empty((6 + n, n))
    for k in range(n):
        active[k] = rows.lower[k] < rows.upper[k]
    along, before, q = np.zeros(n), np.zeros(n), np.empty(n)
    copy(begin, found[0])
    attempt = Attempt(LATE_STOP, SHORT_STEP, settings[MAX_STEPS], False)
    for count in range(1, found.shape[0]):
        here = found[count - 1]
        if not direction(table, here, active, work, V, along):
            return count, False
        turned = step
        if count > 1:
            turned = 0.0
            for k in range(n):
                turned += along[k] * before[k]
        length, good = abs(step), False
        for _ in range(MAX_HALVINGS):
            for k in range(n):
                q[k] = here[k] + (length if turned >= 0.0 else -length) * along[k]
            good = descend(table, rows, settings, goal, attempt, q, work).solved \
                and apart(q, here, rows.revolute) < 2.0 * length
            if good:
                break
            length *= 0.5
        if not good:
            return count, False
        for k in range(n):
            before[k] = q[k] - here[k]
        copy(q, found[count])
        if count >= MIN_LOOP_STEPS and apart(q, begin, rows.revolute) < CLOSED_SHARE * abs(step):
            return count + 1, True
    return found.shape[0], False


@inner
def direction(table, q, active, work, V, along):
    """Write the direction (n,) in which q moves and leaves the tip; return if there is one."""
    joint_frames(table, q, work.frames)
    jacobian_columns(table, work.frames, 1.0, work.columns)
    rank, end = null_basis(work.columns, active, V)
    if end <= rank:
        return False
    copy(V[end - 1], along)
    return True


@inner
def apart(a, b, revolute):
    """Return the distance of two postures (n,), whole turns left out."""
    square = 0.0
    for k in range(a.shape[0]):
        d = a[k] - b[k]
        if revolute[k] != 0.0:
            d -= 2.0 * pi * np.round(d / (2.0 * pi))
        square += d * d
    return np.sqrt(square)
