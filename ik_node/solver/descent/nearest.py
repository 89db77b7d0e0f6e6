# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled motion along solutions to the one nearest to the seed, if a pose leaves an arm free.

Near the seed each step ends at the point nearest to it in the tangent space of the solutions,
``dq = d + J^T (J J^T + damping I)^-1 (e - J d)`` with d = seed - q: sequential quadratic
programming with the unit matrix as Hessian (Nocedal and Wright 2006, ch. 18).  Farther away the
solutions bend too much for that: there the arm goes along the projected gradient by steps of
Barzilai and Borwein (1988), back to the goal after each, and never away from the seed.
"""

from __future__ import annotations

from math import pi

import numpy as np

from ik_node.kinematics.kernels import (
    allocating,
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
    gram,
    held_at_limits,
    LATE_STOP,
    NEAR_GOAL_M,
    SHORT_STEP,
)
from ik_node.solver.descent.layout import (
    Attempt,
    BOX_WIDTHS,
    Descent,
    GOAL_SIZE,
    joint_rows,
    JOINT_VALUES,
    MAX_STEPS,
    METRES_PER_RADIAN,
    ORIENTATION_ERROR,
    ORIENTATION_TOLERANCE,
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


@inner
def write_answer(end, q, answer):
    """Write where a search has ended."""
    answer[SOLVED_FLAG], answer[STEP_COUNT] = 1.0, answer[STEP_COUNT] + end.steps
    answer[POSITION_ERROR], answer[ORIENTATION_ERROR] = end.position_error, end.orientation_error
    answer[SQUARED_ERROR] = end.squared_error
    copy(q, answer[JOINT_VALUES:])


@inner
def squared(a, b):
    """Return the squared distance of two postures."""
    s = 0.0
    for k in range(a.shape[0]):
        s += (a[k] - b[k])**2
    return s


@inner
def slide(table, joints, settings, goal_work, seed, work):
    """
    Move `goal_work.q` to a solution near it from which no small step leads nearer to the seed.

    Returns a Descent.
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
            return Descent(True, step, position, angle, error, False)
        if step == 0 and error > NEAR_GOAL_M * NEAR_GOAL_M:
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
    return Descent(False, 0, 0.0, 0.0, 0.0, True)


@small
def slide_step(q, seed, joints, damping, work):
    """
    Write the step to the point nearest to the seed in the tangent space, inside the limits.

    A joint that would pass a limit is put on it, and the step is solved again for the others.
    The columns of J and the error e are given; returns whether there is a step.
    """
    columns, e, y, dq, active = work.columns, work.e, work.y, work.dq, work.active
    begin_step(q, seed, joints, work)
    for _ in range(q.shape[0] + 1):
        for i in range(6):
            y[i] = e[i]
        for k in range(q.shape[0]):
            motion = work.bent[k] if active[k] else dq[k]
            for i in range(6):
                y[i] -= columns[k, i] * motion
        if not step_beside(damping, work):
            return False
        if not held_at_limits(q, joints.lower, joints.upper, dq, active):
            break
    return True


@small
def begin_step(q, seed, joints, work):
    """Write the way to the seed inside the limits, (n,), to `work.bent`; activate the joints."""
    lower, upper = joints.lower, joints.upper
    for k in range(q.shape[0]):
        work.active[k], work.dq[k] = lower[k] < upper[k], 0.0
        work.bent[k] = min(max(seed[k], lower[k]), upper[k]) - q[k]


@small
def step_beside(damping, work):
    """
    Write the active joints' way to the seed and the least motion that moves the tip by `work.y`.

    ``dq = d + J^T (J J^T + damping I)^-1 y``; returns whether there is such a step.
    """
    columns, y, active = work.columns, work.y, work.active
    gram(columns, active, damping, work.A)
    if not cholesky_solve(work.A, y):
        return False
    for k in range(active.shape[0]):
        if active[k]:
            s = work.bent[k]
            for i in range(6):
                s += columns[k, i] * y[i]
            work.dq[k] = s
    return True


LONGEST_APPROACH = 0.4   # rad or m, largest joint change of one step
RESTING_APPROACH = 2e-3  # ... of the last
LEAST_PULL = 1e-4        # rad or m towards the seed, below which an arm rests
MAX_APPROACHES = 16
STEP_SHARES = 0.1, 4.0   # of the projected gradient, that a step is
BACKING = 0.4            # of a step that has led away from the seed or to no solution
MAX_BACKINGS = 5
BACK_TO_GOAL = Attempt(LATE_STOP, SHORT_STEP, 8.0, False)


@allocating
def approach(table, joints, settings, goal_work, seed, work):
    """
    Move `goal_work.q` to a solution, then along the solutions until none beside it is nearer.

    It never moves away from the seed.  Returns a Descent, with all steps.
    """
    goal, q, dq, n = goal_work.goal, goal_work.q, work.dq, goal_work.q.shape[0]
    end = descend(table, joints, settings, goal, BACK_TO_GOAL, q, work)
    if not end.solved:
        return end
    space = np.empty((4, n))
    pull, last_pull, last_step, here = space[0], space[1], space[2], space[3]
    steps, least = end.steps, squared(q, seed)
    for count in range(MAX_APPROACHES):
        joint_frames(table, q, work.frames)
        jacobian_columns(table, work.frames, settings[METRES_PER_RADIAN], work.columns)
        if not pull_along(q, seed, joints, work):
            break
        longest = change = square = 0.0
        for k in range(n):
            pull[k], here[k] = dq[k], q[k]
            longest = max(longest, abs(pull[k]))
            if count > 0:
                change += last_step[k] * (last_pull[k] - pull[k])
                square += last_step[k] * last_step[k]
        if longest < LEAST_PULL:
            break
        share = 1.0
        if count > 0:
            share = STEP_SHARES[1] if change * STEP_SHARES[1] <= square \
                else max(square / change, STEP_SHARES[0])
        share = min(share, LONGEST_APPROACH / longest)
        resting = share * longest < RESTING_APPROACH  # one that a limit shortens is not the last
        for k in range(n):
            if pull[k] > 0.0:
                share = min(share, (joints.upper[k] - q[k]) / pull[k])
            elif pull[k] < 0.0:
                share = min(share, (joints.lower[k] - q[k]) / pull[k])
        nearer = False
        for _ in range(MAX_BACKINGS):
            for k in range(n):
                q[k] = min(max(here[k] + share * pull[k], joints.lower[k]), joints.upper[k])
            ahead = descend(table, joints, settings, goal, BACK_TO_GOAL, q, work)
            steps += ahead.steps
            square = squared(q, seed)
            nearer = ahead.solved and square < least
            if nearer:
                break
            share *= BACKING
        if not nearer:
            copy(here, q)
            break
        end, least = ahead, square
        for k in range(n):
            last_pull[k], last_step[k] = pull[k], q[k] - here[k]
        if resting:
            break
    return Descent(True, steps, end.position_error, end.orientation_error, end.squared_error,
                   end.was_far)


@small
def pull_along(q, seed, joints, work):
    """
    Write the part of the way to the seed that leaves the tip where it is, (n,), to `work.dq`.

    Joints at a limit stay if they would pass it.  The columns of J are given; returns whether
    there is such a part.
    """
    columns, y, dq, active = work.columns, work.y, work.dq, work.active
    begin_step(q, seed, joints, work)
    for _ in range(q.shape[0] + 1):
        for i in range(6):
            y[i] = 0.0
        for k in range(q.shape[0]):
            if active[k]:
                for i in range(6):
                    y[i] -= columns[k, i] * work.bent[k]
        if not step_beside(DAMPING_FLOOR_M2, work):
            return False
        held = False
        for k in range(q.shape[0]):
            if active[k] and ((q[k] <= joints.lower[k] and dq[k] < 0.0)
                              or (q[k] >= joints.upper[k] and dq[k] > 0.0)):
                active[k], dq[k], held = False, 0.0, True
        if not held:
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
