# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled damped least squares with hard joint limits and restarts.

One attempt walks from a seed by damped steps ``dq = J^T (J J^T + lambda^2 I)^-1 e``
(Wampler 1986; Nakamura and Hanafusa 1986).  The damping vanishes with the error
(Sugihara 2011, Chan and Lawrence 1988), so that the convergence is quadratic at the
end.  A joint that would pass a limit is put on it and leaves the active set, and the
step is solved again for the others; a joint with a range of a turn or more goes round
by 2 pi instead.  An attempt that makes too little progress is given up.  The next one
starts from the posture whose tip is nearest to the goal, out of a table of postures
spread evenly over the limits.
"""

from __future__ import annotations

from math import pi

import numpy as np

from ik_node.kinematics.kernels import copy, inner, jacobian_columns, joint_frames, shared, small
from ik_node.solver.descent.layout import (
    ARM_REACH,
    Attempt,
    Descent,
    EXACT_POSE,
    GOAL_POSITION,
    HALF_WIDTHS,
    JOINT_VALUES,
    LAST_ATTEMPT,
    MAX_STEPS,
    METRES_PER_RADIAN,
    ORIENTATION_ERROR,
    ORIENTATION_TOLERANCE,
    POSITION_ERROR,
    POSITION_TOLERANCE,
    SOLVED_FLAG,
    SQUARED_ERROR,
    STEP_COUNT,
    StopRule,
    TOLERANCE_AXES,
    WALK_TO_REST,
)
from ik_node.solver.descent.residual import residual, task_columns

# lambda^2 = DAMPING_SHARE * |e|^2 + DAMPING_FLOOR_M2; the floor keeps the normal matrix
# invertible at a singularity.
DAMPING_SHARE = 0.03
DAMPING_FLOOR_M2 = 1e-14
DAMPING_INCREASE = 4.0  # factor on the damping after a step that did not get nearer
MIN_BEND_ERROR_M2 = 1e-6  # below this squared error the second-order part of a step is left out
LONG_STEP = 2.2   # largest joint change of one step, rad or m
SHORT_STEP = 0.2  # the same for attempts that must stay near the seed

# EARLY_STOP: give up if the squared error has not halved in 2 steps, or, from farther than
# FAR_GOAL_M, if one step leaves more than 0.4 of it.  LATE_STOP: the same near the goal and for
# goals with a box.  REST_STOP: with settings[WALK_TO_REST].
EARLY_STOP = StopRule(0.5, 2)
FAR_STOP = StopRule(0.4, 1)
LATE_STOP = StopRule(0.9, 5)
REST_STOP = StopRule(1.0 - 1e-7, 12)
EARLY_STOP_ATTEMPTS = 8  # later attempts use LATE_STOP in any case
FAR_GOAL_M = 1.0  # weighted distance of the tip from the goal at the start

# If the goal is within NEAR_GOAL_M of the seed and the answer is farther than NEAR_JUMP from it,
# NEAR_ATTEMPTS more attempts start within NEAR_SPREAD (share of the joint ranges) of the seed.
NEAR_GOAL_M = 0.3
NEAR_JUMP = 0.5  # rad or m
NEAR_ATTEMPTS = 10
NEAR_SPREAD = 0.05

# From attempt POLISH_AFTER on every other attempt starts within POLISH_SPREAD of the best posture.
POLISH_AFTER = 16
POLISH_SPREAD = 0.1

DISTANT_ATTEMPTS = 8  # restarts for a goal farther away than the arm is long


@inner
def cholesky_solve(A, b):
    """
    Solve ``A x = b`` in place by ``A = L D L^T``; False if A is not positive.

    Parameters
    ----------
    A : (6, 6) array, changed
        Upper triangle; it becomes ``D L^T``, and its diagonal 1 / D.
    b : (6,) array, changed to x

    """
    return factorise_and_solve(A, b, 6)


@inner
def substitute(A, b):
    """Solve ``A x = b`` in place with what :func:`cholesky_solve` left in A."""
    substitute_rows(A, b, 6)


@small
def factorise_and_solve(A, b, r):
    """Do what :func:`cholesky_solve` does for A (r, r); a number is faster than its shape."""
    for j in range(r):
        d = A[j, j]
        if not d > 0.0:
            return False
        d = 1.0 / d
        A[j, j] = d
        for i in range(j + 1, r):
            factor = A[j, i] * d
            for k in range(i, r):
                A[i, k] -= factor * A[j, k]
    substitute_rows(A, b, r)
    return True


@small
def substitute_rows(A, b, r):
    """Do what :func:`substitute` does for A (r, r)."""
    for j in range(r):
        z = A[j, j] * b[j]
        for i in range(j + 1, r):
            b[i] -= A[j, i] * z
    for i in range(r - 1, -1, -1):
        s = b[i]
        for k in range(i + 1, r):
            s -= A[i, k] * b[k]
        b[i] = s * A[i, i]


@small
def path_bend(columns, length, dq, bend):
    """
    Write ``-1/2 (dJ/dt) dq`` (6,), from the curvature of the tip's path along `dq`, to `bend`.

    A column changes with the joints before it only, so one pass over the columns is enough.

    Parameters
    ----------
    columns : (n, 6) array
        J^T, of a chain without mimic joints.
    length : float
        Factor on the angular parts of the columns, m per rad.
    dq : (n,) array

    """
    wx = wy = wz = y0 = y1 = y2 = y3 = y4 = y5 = 0.0
    r = 1.0 / length
    for k in range(dq.shape[0]):
        c, d = columns[k], dq[k]
        vx, vy, vz = c[0] * d, c[1] * d, c[2] * d
        lx, ly, lz = c[3] * d, c[4] * d, c[5] * d
        ax, ay, az = r * lx, r * ly, r * lz
        hx, hy, hz = wx + 0.5 * ax, wy + 0.5 * ay, wz + 0.5 * az
        y0 -= hy * vz - hz * vy
        y1 -= hz * vx - hx * vz
        y2 -= hx * vy - hy * vx
        y3 -= 0.5 * (wy * lz - wz * ly)
        y4 -= 0.5 * (wz * lx - wx * lz)
        y5 -= 0.5 * (wx * ly - wy * lx)
        wx += ax
        wy += ay
        wz += az
    bend[0], bend[1], bend[2], bend[3], bend[4], bend[5] = y0, y1, y2, y3, y4, y5


@small
def add_second_order(scale, length, work):
    """
    Add the second-order part of Chebyshev's method to the step ``work.dq``.

    ``dq -= 1/2 W J^T (J W J^T + damping I)^-1 (dJ/dt) dq``: the curvature of the tip's
    path along the step, with the matrix that the step was solved with; the geodesic
    acceleration of Transtrum and Sethna (2012).

    Parameters
    ----------
    scale : (n,) array
    length : float
        Factor on the angular parts of the columns, m per rad.
    work : Work
        As :func:`limited_step` left it; of a chain without mimic joints.

    """
    columns, y, dq, bent, active = work.columns, work.y, work.dq, work.bent, work.active
    n = dq.shape[0]
    for k in range(n):
        bent[k] = dq[k] if scale[k] == 1.0 else dq[k] / scale[k]
    path_bend(columns, length, bent, y)
    substitute(work.A, y)
    y0, y1, y2, y3, y4, y5 = y[0], y[1], y[2], y[3], y[4], y[5]
    square = bound = 0.0
    for k in range(n):
        bent[k] = 0.0
        if active[k]:
            c = columns[k]
            bent[k] = scale[k] * (c[0] * y0 + c[1] * y1 + c[2] * y2 + c[3] * y3 + c[4] * y4
                                  + c[5] * y5)
        square += bent[k] * bent[k]
        bound += dq[k] * dq[k]
    if square < bound:
        for k in range(n):
            dq[k] += bent[k]


@inner
def gram(columns, active, damping, A):
    """
    Write the upper triangle of ``A = J J^T + damping I`` over the active joints.

    The 21 sums stay in registers; as loops over A they take three times as long.
    """
    a00 = a11 = a22 = a33 = a44 = a55 = damping
    a01 = a02 = a03 = a04 = a05 = a12 = a13 = a14 = a15 = 0.0
    a23 = a24 = a25 = a34 = a35 = a45 = 0.0
    for k in range(columns.shape[0]):
        if active[k]:
            c = columns[k]
            c0, c1, c2, c3, c4, c5 = c[0], c[1], c[2], c[3], c[4], c[5]
            a00 += c0 * c0
            a01 += c0 * c1
            a02 += c0 * c2
            a03 += c0 * c3
            a04 += c0 * c4
            a05 += c0 * c5
            a11 += c1 * c1
            a12 += c1 * c2
            a13 += c1 * c3
            a14 += c1 * c4
            a15 += c1 * c5
            a22 += c2 * c2
            a23 += c2 * c3
            a24 += c2 * c4
            a25 += c2 * c5
            a33 += c3 * c3
            a34 += c3 * c4
            a35 += c3 * c5
            a44 += c4 * c4
            a45 += c4 * c5
            a55 += c5 * c5
    A[0, 0], A[0, 1], A[0, 2], A[0, 3], A[0, 4], A[0, 5] = a00, a01, a02, a03, a04, a05
    A[1, 1], A[1, 2], A[1, 3], A[1, 4], A[1, 5] = a11, a12, a13, a14, a15
    A[2, 2], A[2, 3], A[2, 4], A[2, 5] = a22, a23, a24, a25
    A[3, 3], A[3, 4], A[3, 5] = a33, a34, a35
    A[4, 4], A[4, 5], A[5, 5] = a44, a45, a55


@small
def limited_step(q, lower, upper, scale, damping, longest, work):
    """
    Damped step ``dq = W J^T (J W J^T + damping I)^-1 e`` that ends inside the limits.

    A joint that would pass a limit is put on it, its motion is subtracted from the
    error, and the step is solved again for the others, at most n times.

    Parameters
    ----------
    q, lower, upper : (n,) arrays
    scale : (n,) array
        Roots of the joints' weights in W.
    longest : float
        Bound on each ``|dq|``, rad or m.
    work : Work
        The columns of J and the error e are given; the columns are multiplied by
        `scale`, and A, y, dq and active are written.

    Returns
    -------
    bool
        Whether there is a step.

    """
    return step_inside(q, (lower, upper, scale), damping, longest, solve_normal, 6, work)


@small
def solve_normal(columns, active, damping, A, y):
    """Solve ``(J J^T + damping I) x = y`` in place over the active joints; False if it fails."""
    gram(columns, active, damping, A)
    return cholesky_solve(A, y)


@small
def step_inside(q, joints, damping, longest, solve, r, work):
    """
    Write the step of :func:`limited_step`, for r rows; return whether there is one.

    Parameters
    ----------
    joints : tuple
        Lower and upper limits, and scale.
    damping : float or (r,) array
    solve : function
        As :func:`solve_normal`.

    """
    columns, A, e, y, dq, active = work.columns, work.A, work.e, work.y, work.dq, work.active
    lower, upper, scale = joints
    n = q.shape[0]
    for k in range(n):
        if scale[k] != 1.0:
            for i in range(r):
                columns[k, i] *= scale[k]
        active[k], dq[k] = True, 0.0
        if q[k] <= lower[k] or q[k] >= upper[k]:
            # A joint at its limit takes part if the error pulls it inward.
            pull = 0.0
            for i in range(r):
                pull += columns[k, i] * e[i]
            active[k] = (q[k] > lower[k] or pull > 0.0) and (q[k] < upper[k] or pull < 0.0)
    for _ in range(n + 1):
        for i in range(r):
            y[i] = e[i]
        for k in range(n):
            if not active[k] and dq[k] != 0.0:
                for i in range(r):
                    y[i] -= columns[k, i] * dq[k] / scale[k]
        if not solve(columns, active, damping, A, y):
            return False
        largest = 0.0
        for k in range(n):
            if active[k]:
                s = 0.0
                for i in range(r):
                    s += columns[k, i] * y[i]
                dq[k] = s * scale[k]
                largest = max(largest, abs(dq[k]))
        if largest > longest:
            for k in range(n):
                if active[k]:
                    dq[k] *= longest / largest
        if not held_at_limits(q, lower, upper, dq, active):
            break
    return True


@small
def held_at_limits(q, lower, upper, dq, active):
    """Put joints that would pass a limit on it, and keep them there; return if there are any."""
    passed = False
    for k in range(q.shape[0]):
        if active[k] and not lower[k] <= q[k] + dq[k] <= upper[k]:
            dq[k] = (lower[k] if dq[k] < 0.0 else upper[k]) - q[k]
            active[k] = False
            passed = True
    return passed


@small
def advance(q, dq, joints, wrap):
    """
    Add a step to q (n,), inside the limits, or round by 2 pi where joints may wrap.

    Returns its largest change of a joint.
    """
    lower, upper, largest = joints.lower, joints.upper, 0.0
    for k in range(q.shape[0]):
        largest = max(largest, abs(dq[k]))
        q[k] = min(max(q[k] + dq[k], lower[k]), upper[k])
        if wrap and joints.wraps[k] != 0.0:
            if q[k] >= upper[k]:
                q[k] -= 2.0 * pi
            elif q[k] <= lower[k]:
                q[k] += 2.0 * pi
    return largest


@shared
def descend(table, joints, settings, goal, attempt, q, work):
    """
    Walk one attempt from `q`; on return `q` is where it ended.

    Parameters
    ----------
    table, joints, settings :
        See :class:`~ik_node.solver.descent.layout.Problem`.
    goal : (19,) array
        See :mod:`ik_node.solver.descent.layout`.
    attempt : Attempt
        Its stop rule becomes LATE_STOP if the goal is near or has a box, FAR_STOP in place of
        EARLY_STOP if it is far, and REST_STOP with settings[WALK_TO_REST].  Joints wrap only if
        the goal is not near.
    q : (n,) array, changed
    work : Work

    Returns
    -------
    Descent

    """
    frames, columns, D, e, dq, bent = (work.frames, work.columns, work.D, work.e, work.dq,
                                       work.bent)
    lower, upper, scale = joints.lower, joints.upper, joints.scale
    longest_step, max_steps, may_wrap = attempt.longest_step, attempt.max_steps, attempt.may_wrap
    share, max_stalled = attempt.stop
    length = settings[METRES_PER_RADIAN]
    boxed = goal[TOLERANCE_AXES] != EXACT_POSE
    to_rest = settings[WALK_TO_REST] != 0.0
    if to_rest:
        share, max_stalled = REST_STOP
    second_order = not to_rest and not boxed and frames.shape[0] - 1 == q.shape[0]
    far, damping_factor = True, 1.0
    best, stalled, step = np.inf, 0, 0
    while True:
        joint_frames(table, q, frames)
        position, angle = residual(goal, frames[-1], length, e, D)
        error = position * position + length * length * angle * angle
        if step == 0 and (error < NEAR_GOAL_M * NEAR_GOAL_M or boxed):
            far = error >= NEAR_GOAL_M * NEAR_GOAL_M
            if not to_rest:
                share, max_stalled = LATE_STOP
        elif step == 0 and error > FAR_GOAL_M * FAR_GOAL_M and share == EARLY_STOP.share:
            share, max_stalled = FAR_STOP
        if position <= settings[POSITION_TOLERANCE] and angle <= settings[ORIENTATION_TOLERANCE]:
            return Descent(True, step, position, angle, error, far)
        if error < share * best:
            best, stalled = error, 0
            if to_rest:
                damping_factor = max(1.0, 0.5 * damping_factor)
                copy(q, bent)
        else:
            stalled += 1
            if to_rest:
                # Levenberg-Marquardt: far from a solution the damping must outweigh the
                # curvature that J leaves out, so return to the best posture and step shorter.
                damping_factor *= DAMPING_INCREASE
                copy(bent, q)
                joint_frames(table, q, frames)
                position, angle = residual(goal, frames[-1], length, e, D)
                error = best
        if stalled >= max_stalled or step >= max_steps:
            return Descent(False, step, position, angle, error, far)
        jacobian_columns(table, frames, length, columns)
        if boxed:
            task_columns(D, columns)
        damping = damping_factor * DAMPING_SHARE * error + DAMPING_FLOOR_M2
        if not limited_step(q, lower, upper, scale, damping, longest_step, work):
            return Descent(False, step, position, angle, error, far)
        if second_order and error > MIN_BEND_ERROR_M2:
            add_second_order(scale, length, work)
        step += 1
        advance(q, dq, joints, may_wrap and far)


@shared
def measure_postures(goal, poses, length, distances):
    """
    Write the squared distance of the tip from the goal, less a constant, for each posture.

    The rotation contributes the chord ``|R - R_goal|^2 / 2`` (its variable part is
    ``-R : R_goal``), the position ``p . (p - 2 p_goal)``; either is left out if one
    of its axes is free.

    Parameters
    ----------
    poses : (12, K) array
    distances : (K,) array, written, m^2

    """
    position_weight, rotation_weight = 1.0, -length * length
    if goal[TOLERANCE_AXES] != EXACT_POSE:
        for i in range(3):
            if goal[HALF_WIDTHS + i] == np.inf:
                position_weight = 0.0
            if goal[HALF_WIDTHS + 3 + i] == np.inf:
                rotation_weight = 0.0
    w = rotation_weight
    g0, g1, g2 = w * goal[0], w * goal[1], w * goal[2]
    g3, g4, g5 = w * goal[3], w * goal[4], w * goal[5]
    g6, g7, g8 = w * goal[6], w * goal[7], w * goal[8]
    x, y, z = (2.0 * goal[GOAL_POSITION], 2.0 * goal[GOAL_POSITION + 1],
               2.0 * goal[GOAL_POSITION + 2])
    # One pass with all of the goal in registers takes a third of the time of twelve passes.
    for i in range(distances.shape[0]):
        px, py, pz = poses[9, i], poses[10, i], poses[11, i]
        distances[i] = (
            position_weight * (px * (px - x) + py * (py - y) + pz * (pz - z))
            + (g0 * poses[0, i] + g1 * poses[1, i] + g2 * poses[2, i])
            + (g3 * poses[3, i] + g4 * poses[4, i] + g5 * poses[5, i])
            + (g6 * poses[6, i] + g7 * poses[7, i] + g8 * poses[8, i]))


@inner
def take_nearest(distances):
    """Return the index of the smallest distance, and set that distance to infinity."""
    nearest = 0
    for i in range(distances.shape[0]):
        if distances[i] < distances[nearest]:
            nearest = i
    distances[nearest] = np.inf
    return nearest


@inner
def out_of_reach(goal, origin, reach):
    """Return whether an exact position is farther from `origin` (3,) than the arm is long."""
    square = 0.0
    for i in range(3):
        if goal[HALF_WIDTHS + i] != 0.0:
            return False
        square += (goal[GOAL_POSITION + i] - origin[i]) ** 2
    return square > reach * reach


@inner
def nearest_turns(q, reference, joints):
    """
    Move revolute joints by whole turns, inside the limits, as near to `reference` as possible.

    Returns whether a joint was moved.
    """
    lower, upper, revolute = joints.lower, joints.upper, joints.revolute
    moved = False
    for k in range(q.shape[0]):
        if revolute[k] != 0.0 and not abs(reference[k] - q[k]) <= pi:
            turns = np.round((reference[k] - q[k]) / (2.0 * pi))
            turns = max(turns, np.ceil((lower[k] - q[k]) / (2.0 * pi)))
            turns = min(turns, np.floor((upper[k] - q[k]) / (2.0 * pi)))
            if not lower[k] <= q[k] + 2.0 * pi * turns <= upper[k]:
                turns -= np.sign(turns)  # rounding put it just outside
            if turns != 0.0:
                q[k] += 2.0 * pi * turns
                moved = True
    return moved


@inner
def farthest(a, b):
    """Return the largest ``|a_i - b_i|``."""
    largest = 0.0
    for k in range(a.shape[0]):
        largest = max(largest, abs(a[k] - b[k]))
    return largest


@inner
def start_aside(start, postures, row, share, joints, q):
    """
    Write a start beside the posture `start` into `q`, inside the limits.

    It is moved by a share of the difference between postures `row` and `row` + 1.
    """
    lower, upper = joints.lower, joints.upper
    for k in range(q.shape[0]):
        aside = share * (postures[k, row] - postures[k, row + 1])
        q[k] = min(max(start[k] + aside, lower[k]), upper[k])


@small
def stay_near(problem, goal, start, q, work):
    """
    Search for a solution near `start`, for a goal that is near it.

    Attempts with short steps and without wrapping, from `start` and from points
    close around it.  `q` is the solution if the Descent says ``solved``.

    Returns
    -------
    Descent
        Solved if within NEAR_JUMP of `start`; with the steps of all attempts.

    """
    table, joints, settings, postures = problem
    attempt = Attempt(LATE_STOP, SHORT_STEP, settings[MAX_STEPS], False)
    steps, solved, position, angle, error = 0, False, np.inf, np.inf, np.inf
    for row in range(NEAR_ATTEMPTS):
        start_aside(start, postures, row, NEAR_SPREAD if row > 0 else 0.0, joints, q)
        ended = descend(table, joints, settings, goal, attempt, q, work)
        steps += ended.steps
        if ended.solved and farthest(q, start) <= NEAR_JUMP:
            solved, position, angle = True, ended.position_error, ended.orientation_error
            error = ended.squared_error
            break
    return Descent(solved, steps, position, angle, error, False)


@inner
def solve_one(problem, goal_work, seeds, first, restarts, answer, work):
    """
    Attempt from the given seeds, then from the nearest postures of the table.

    Parameters
    ----------
    problem : Problem
    goal_work : GoalWork
        The goal is given.
    seeds : (s * n,) array
        Attempts begin at those from `first` on; a goal is near if it is near the
        first seed.
    restarts : int
        Number of attempts after the seeds.
    answer : (7 + n,) array, written
        Of the solution, or else of the attempt that came nearest.
    work : Work

    """
    table, joints, settings, postures = problem
    goal, q, distances = goal_work
    lower, upper = joints.lower, joints.upper
    n = q.shape[0]
    if out_of_reach(goal, table[0, 9:12], settings[ARM_REACH]):
        restarts = min(restarts, DISTANT_ATTEMPTS)
    answer[SOLVED_FLAG], answer[SQUARED_ERROR], answer[STEP_COUNT] = 0.0, np.inf, 0.0
    best = answer[JOINT_VALUES:]
    measured = False
    given = seeds.shape[0] // n - first
    for count in range(given + restarts):
        if count < given:
            seed = (first + count) * n
            for k in range(n):
                q[k] = min(max(seeds[seed + k], lower[k]), upper[k])
        elif count >= POLISH_AFTER and count % 2 == 1:
            start_aside(best, postures, count, POLISH_SPREAD, joints, q)
        else:
            if not measured:
                measured = True
                measure_postures(goal, postures[n:], settings[METRES_PER_RADIAN], distances)
            nearest = take_nearest(distances)
            for k in range(n):
                q[k] = min(max(postures[k, nearest], lower[k]), upper[k])
        stop = EARLY_STOP if count < EARLY_STOP_ATTEMPTS else LATE_STOP
        ended = descend(table, joints, settings, goal,
                        Attempt(stop, LONG_STEP, settings[MAX_STEPS], True), q, work)
        solved = ended.solved
        answer[STEP_COUNT] += ended.steps
        if solved or ended.squared_error < answer[SQUARED_ERROR]:
            answer[POSITION_ERROR] = ended.position_error
            answer[ORIENTATION_ERROR] = ended.orientation_error
            answer[SQUARED_ERROR] = ended.squared_error
            copy(q, best)
        if (first == 0 and count == 0 and not ended.was_far
                and not (solved and farthest(q, seeds) <= NEAR_JUMP)):
            near = stay_near(problem, goal, seeds[:n], q, work)
            answer[STEP_COUNT] += near.steps
            if near.solved:
                solved = True
                answer[POSITION_ERROR] = near.position_error
                answer[ORIENTATION_ERROR] = near.orientation_error
                copy(q, best)
        answer[LAST_ATTEMPT] = count
        if solved:
            answer[SOLVED_FLAG] = 1.0
            break
