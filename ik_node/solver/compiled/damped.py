# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled damped least squares with hard joint limits and restarts.

One attempt walks from a seed by damped steps ``dq = J^T (J J^T + lambda^2 I)^-1 e``
(Wampler 1986; Nakamura and Hanafusa 1986) whose damping vanishes with the error
(Sugihara 2011, Chan and Lawrence 1988), so that it ends quadratically.  Joints
that would pass a limit are put on it, leave the active set, and the step is
solved again for the others; a joint that may turn by 2 pi goes round instead.
An attempt that gains too little ends.  The next begins at the posture, of a
table that covers the limits evenly, whose tip is nearest to the goal.
"""

from __future__ import annotations

from math import pi

import numpy as np

from ik_node.kinematics.kernels import (
    allocating,
    copy,
    inlined,
    inner,
    jacobian_columns,
    joint_frames,
)
from ik_node.solver.compiled.residual import GOAL, PLAIN, residual, task_columns

DAMPING = 0.03         # lambda^2 = DAMPING * |e|^2 + DAMPING_FLOOR
STRAIGHT = 1e-6        # m^2; with a smaller squared error the curvature does not count
DAMPING_FLOOR = 1e-14  # m^2, keeps the normal matrix invertible at a singularity
LONG_STEP = 1.5        # rad or m, largest joint change of one step
SHORT_STEP = 0.2       # the same for an attempt that must stay near its seed
NEAR = 0.3             # m, a goal with a smaller error at the seed counts as near
JUMP = 0.5             # rad or m, an answer to a near goal is looked for within this of the seed
RESCUES = 10           # attempts to find it
ASIDE = 0.05           # they begin aside of the seed by this share of the joints' ranges
POLISH_AFTER = 16      # of the attempts after these, every other one begins
POLISH_ASIDE = 0.1     # aside of where the best one ended
HASTY = (0.5, 2)       # an attempt goes on while the squared error falls to this share in so
PATIENT = (0.9, 5)     # many steps: from afar, and near or with a box
TO_REST = (1.0 - 1e-7, 12)  # and if settings[PERSISTENT]
BEYOND_ATTEMPTS = 8    # to get near to a goal that is farther away than the arm is long
STIFFER = 4.0           # times the damping where a step did not get nearer
EARLY, LATE = 1.0, 0.0
HASTY_ATTEMPTS = 8     # the attempts after these are patient in any case

# Rows of the table of joints, (7, n).
LOWER, UPPER, WRAPS, TURNING, SCALE, PREFERRED, PULL = range(7)
# Entries of the settings.
(LENGTH, POSITION, ORIENTATION, ITERATIONS, BIAS_ITERATIONS, MANIPULABILITY, EXPLORE, REACH,
 PERSISTENT, BOX) = range(10)
# Entries of an answer, before the n numbers of q.
SOLVED, POSITION_ERROR, ORIENTATION_ERROR, STEPS, ATTEMPT, ERROR, BIAS_STEPS, Q = range(8)


@allocating
def workspace(n, m):
    """Return the arrays that an attempt works in: frames, J^T, A, D, e, y, dq, bent, active."""
    f, c = 12 * (m + 1), 6 * n
    b = f + c + 66
    space = np.empty(b + 2 * n)
    return (space[:f].reshape((m + 1, 12)), space[f:f + c].reshape((n, 6)),
            space[f + c:f + c + 36].reshape((6, 6)), space[f + c + 36:f + c + 54].reshape((6, 3)),
            space[f + c + 54:f + c + 60], space[f + c + 60:b], space[b:b + n], space[b + n:],
            np.empty(n, dtype=np.bool_))


@allocating
def goal_workspace(n, K):
    """Return the arrays that a goal needs besides: goal, never (zeros), q, distances (K,)."""
    space = np.empty(GOAL + 2 * n + K)
    space[GOAL:GOAL + n] = 0.0
    return (space[:GOAL], space[GOAL:GOAL + n], space[GOAL + n:GOAL + 2 * n],
            space[GOAL + 2 * n:])


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
    for j in range(6):
        d = A[j, j]
        if not d > 0.0:
            return False
        d = 1.0 / d
        A[j, j] = d
        for i in range(j + 1, 6):
            factor = A[j, i] * d
            for k in range(i, 6):
                A[i, k] -= factor * A[j, k]
    substitute(A, b)
    return True


@inner
def substitute(A, b):
    """Solve ``A x = b`` in place with what :func:`cholesky_solve` left in A."""
    for j in range(6):
        z = A[j, j] * b[j]
        for i in range(j + 1, 6):
            b[i] -= A[j, i] * z
    for i in range(5, -1, -1):
        s = b[i]
        for k in range(i + 1, 6):
            s -= A[i, k] * b[k]
        b[i] = s * A[i, i]


@inner
def bend(columns, scale, length, A, y, bent, dq, active):
    """
    Add to a step what the curvature of the tip's way along it asks for.

    ``dq -= 1/2 W J^T (J W J^T + damping I)^-1 (dJ/dt) dq``, the second-order term of
    Chebyshev's method, with the matrix that the step was solved with; as geodesic
    acceleration in Transtrum and Sethna (2012).  A column turns with the joints
    before its own, so that one pass over the columns gives ``(dJ/dt) dq``.

    Parameters
    ----------
    columns, scale, A, dq, active :
        As :func:`limited_step` left them; of a chain without mimic joints.
    length : float
        Of which the columns' angular parts are multiples, m per rad.
    y, bent : (6,), (n,) arrays, written

    """
    n = dq.shape[0]
    wx = wy = wz = y0 = y1 = y2 = y3 = y4 = y5 = 0.0
    r = 1.0 / length
    for k in range(n):
        c = columns[k]
        d = dq[k] if scale[k] == 1.0 else dq[k] / scale[k]
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
    y[0], y[1], y[2], y[3], y[4], y[5] = y0, y1, y2, y3, y4, y5
    substitute(A, y)
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


@inner
def limited_step(columns, e, q, lower, upper, scale, damping, longest, A, y, dq, active):
    """
    Damped step ``dq = W J^T (J W J^T + damping I)^-1 e`` that ends inside the limits.

    A joint that would pass a limit is put on it, its motion is taken off the
    error, and the others are solved again, at most n times.

    Parameters
    ----------
    columns : (n, 6) array
        J^T, each row times the root of the joint's weight in W (`scale`); changed.
    longest : float
        Bound on each ``|dq|``, rad or m.

    Returns
    -------
    bool
        Whether there is a step.

    """
    n = q.shape[0]
    for k in range(n):
        if scale[k] != 1.0:
            for i in range(6):
                columns[k, i] *= scale[k]
        active[k], dq[k] = True, 0.0
        if q[k] <= lower[k] or q[k] >= upper[k]:
            # At its limit it takes part when the error pulls it inward.
            pull = 0.0
            for i in range(6):
                pull += columns[k, i] * e[i]
            active[k] = (q[k] > lower[k] or pull > 0.0) and (q[k] < upper[k] or pull < 0.0)
    for _ in range(n + 1):
        gram(columns, active, damping, A)
        for i in range(6):
            y[i] = e[i]
        for k in range(n):
            if not active[k] and dq[k] != 0.0:
                for i in range(6):
                    y[i] -= columns[k, i] * dq[k] / scale[k]
        if not cholesky_solve(A, y):
            return False
        largest = 0.0
        for k in range(n):
            if active[k]:
                s = 0.0
                for i in range(6):
                    s += columns[k, i] * y[i]
                dq[k] = s * scale[k]
                largest = max(largest, abs(dq[k]))
        if largest > longest:
            for k in range(n):
                if active[k]:
                    dq[k] *= longest / largest
        passed = False
        for k in range(n):
            if active[k] and not lower[k] <= q[k] + dq[k] <= upper[k]:
                dq[k] = (lower[k] if dq[k] < 0.0 else upper[k]) - q[k]
                active[k] = False
                passed = True
        if not passed:
            break
    return True


@inner
def descend(table, lower, upper, scale, wraps, goal, settings, patience, longest, most, q,
            work):
    """
    One attempt from `q`; leaves in `q` where it ended.

    Parameters
    ----------
    wraps : (n,) array
        Not 0 for a joint that may go round by 2 pi when it meets a limit; near a
        goal none does.
    patience : float
        EARLY: it may give up early, if it is far from the goal and that has no box;
        LATE.  (Floats, because numba compiles once more for every literal int or bool.)
    longest : float
        Bound on each ``|dq|`` of a step, rad or m.
    most : float
        Steps.

    Returns
    -------
    (bool, int, float, float, float, bool)
        Whether both tolerances are met; steps taken; position (m) and orientation
        (rad) error; weighted squared error (m^2); whether the goal was far at `q`.

    """
    frames, columns, A, D, e, y, dq, bent, active = work
    length = settings[LENGTH]
    best, stalled, step = np.inf, 0, 0
    share, rounds = HASTY if patience == EARLY else PATIENT
    stiffness = 1.0
    persistent = settings[PERSISTENT] != 0.0
    if persistent:
        share, rounds = TO_REST
    far = True
    bends = not persistent and goal[18] == PLAIN and frames.shape[0] - 1 == q.shape[0]
    while True:
        joint_frames(table, q, frames)
        position, angle = residual(goal, frames[-1], length, e, D)
        error = position * position + length * length * angle * angle
        if step == 0 and (error < NEAR * NEAR or goal[18] != PLAIN):
            far = error >= NEAR * NEAR
            if not persistent:
                share, rounds = PATIENT
        if position <= settings[POSITION] and angle <= settings[ORIENTATION]:
            return True, step, position, angle, error, far
        if error < share * best:
            best, stalled = error, 0
            if persistent:
                stiffness = max(1.0, 0.5 * stiffness)
                copy(q, bent)
        else:
            stalled += 1
            if persistent:
                # Away from the goal the damping must outweigh the curvature that J leaves out:
                # back to the best, and on with shorter steps (Levenberg and Marquardt).
                stiffness *= STIFFER
                copy(bent, q)
                joint_frames(table, q, frames)
                position, angle = residual(goal, frames[-1], length, e, D)
                error = best
        if stalled >= rounds or step >= most:
            return False, step, position, angle, error, far
        jacobian_columns(table, frames, length, columns)
        if goal[18] != PLAIN:
            task_columns(D, columns)
        damping = stiffness * DAMPING * error + DAMPING_FLOOR
        if not limited_step(columns, e, q, lower, upper, scale, damping, longest, A, y, dq,
                            active):
            return False, step, position, angle, error, far
        if bends and error > STRAIGHT:
            bend(columns, scale, length, A, y, bent, dq, active)
        step += 1
        for k in range(q.shape[0]):
            q[k] = min(max(q[k] + dq[k], lower[k]), upper[k])
            if far and wraps[k] != 0.0:
                if q[k] >= upper[k]:
                    q[k] -= 2.0 * pi
                elif q[k] <= lower[k]:
                    q[k] += 2.0 * pi


@inner
def measure_postures(goal, poses, length, distances):
    """
    Write how far the tip of each posture of the table is from the goal: squared, less a constant.

    The rotation counts by the chord ``|R - R_goal|^2 / 2`` (of which ``-R : R_goal``
    varies), the position by ``p . (p - 2 p_goal)``; a position or an orientation of
    which an axis is free does not count.

    Parameters
    ----------
    poses : (12, K) array
    distances : (K,) array, written, m^2

    """
    near, turn = 1.0, -length * length
    if goal[18] != PLAIN:
        if max(goal[12], goal[13], goal[14]) == np.inf:
            near = 0.0
        if max(goal[15], goal[16], goal[17]) == np.inf:
            turn = 0.0
    g0, g1, g2 = turn * goal[0], turn * goal[1], turn * goal[2]
    g3, g4, g5 = turn * goal[3], turn * goal[4], turn * goal[5]
    g6, g7, g8 = turn * goal[6], turn * goal[7], turn * goal[8]
    x, y, z = 2.0 * goal[9], 2.0 * goal[10], 2.0 * goal[11]
    # One pass, all in registers: a third of the time of a pass for each number.
    for i in range(distances.shape[0]):
        px, py, pz = poses[9, i], poses[10, i], poses[11, i]
        distances[i] = (
            near * (px * (px - x) + py * (py - y) + pz * (pz - z))
            + (g0 * poses[0, i] + g1 * poses[1, i] + g2 * poses[2, i])
            + (g3 * poses[3, i] + g4 * poses[4, i] + g5 * poses[5, i])
            + (g6 * poses[6, i] + g7 * poses[7, i] + g8 * poses[8, i]))


@inner
def take_nearest(distances):
    """Return the index of the smallest distance, and strike it off."""
    nearest = 0
    for i in range(distances.shape[0]):
        if distances[i] < distances[nearest]:
            nearest = i
    distances[nearest] = np.inf
    return nearest


@inner
def beyond(goal, origin, reach):
    """Return whether an exact position is farther from `origin` (3,) than the arm is long."""
    square = 0.0
    for i in range(3):
        square += (goal[9 + i] - origin[i]) ** 2
    return square > reach * reach and goal[12] == goal[13] == goal[14] == 0.0


@inner
def nearest_turns(q, reference, lower, upper, turning):
    """Move angles by whole turns as near to `reference` as limits allow; say if one moved."""
    moved = False
    for k in range(q.shape[0]):
        if turning[k] != 0.0 and not abs(reference[k] - q[k]) <= pi:
            turns = np.round((reference[k] - q[k]) / (2.0 * pi))
            turns = max(turns, np.ceil((lower[k] - q[k]) / (2.0 * pi)))
            turns = min(turns, np.floor((upper[k] - q[k]) / (2.0 * pi)))
            if not lower[k] <= q[k] + 2.0 * pi * turns <= upper[k]:
                turns -= np.sign(turns)  # by rounding
            if turns != 0.0:
                q[k] += 2.0 * pi * turns
                moved = True
    return moved


@inner
def farthest(a, b):
    """Return the largest ``|a_i - b_i|`` over a."""
    largest = 0.0
    for k in range(a.shape[0]):
        largest = max(largest, abs(a[k] - b[k]))
    return largest


@inner
def start_aside(start, postures, row, share, lower, upper, q):
    """Write `start` moved by a share of the difference of two postures of the table, clipped."""
    for k in range(q.shape[0]):
        aside = share * (postures[k, row] - postures[k, row + 1])
        q[k] = min(max(start[k] + aside, lower[k]), upper[k])


@inlined
def stay_near(table, lower, upper, scale, never, goal, settings, start, postures, q, work):
    """
    Look once more for an answer near `start`, where the goal is near and none was found.

    Short steps, no turns, from `start` and from points that lie closely around it.

    Returns
    -------
    (bool, int, float, float)
        Whether `q` is an answer within JUMP of `start`; steps; errors (m, rad).

    """
    steps = 0
    for rescue in range(RESCUES):
        start_aside(start, postures, rescue, ASIDE if rescue > 0 else 0.0, lower, upper, q)
        solved, taken, position, angle, _, _ = descend(
            table, lower, upper, scale, never, goal, settings, LATE, SHORT_STEP,
            settings[ITERATIONS], q, work)
        steps += taken
        if solved and farthest(q, start) <= JUMP:
            return True, steps, position, angle
    return False, steps, np.inf, np.inf


@inner
def solve_one(table, joints, settings, postures, goal, seeds, first, picks, distances, never, q,
              work, answer):
    """
    Attempts from the given seeds, then from the `picks` nearest postures of the table.

    Parameters
    ----------
    table : (m + 1, 16) array
        :attr:`Chain.table`.
    joints : (7, n) array
        Rows LOWER to PULL.
    settings : (16,) array
        LENGTH to BOX.
    postures : (n + 12, K) array
        Columns: joint positions, and the pose of the tip there.
    goal : (19,) array
        See :mod:`ik_node.solver.compiled.residual`.
    seeds : (s * n,) array
        Turns are chosen nearest to the first; attempts begin at those from `first` on.
    distances, never, q, work :
        Workspace: (K,), (n,) zeros, (n,), and :func:`workspace`.
    answer : (Q + n,) array, written
        Of the solution; else of the attempt that came nearest.

    """
    n = q.shape[0]
    lower, upper, wraps, scale = joints[LOWER], joints[UPPER], joints[WRAPS], joints[SCALE]
    measured = False
    if beyond(goal, table[0, 9:12], settings[REACH]):
        picks = min(picks, BEYOND_ATTEMPTS)
    answer[SOLVED], answer[ERROR], answer[STEPS] = 0.0, np.inf, 0.0
    given = seeds.shape[0] // n - first
    for attempt in range(given + picks):
        if attempt < given:
            seed = (first + attempt) * n
            for k in range(n):
                q[k] = min(max(seeds[seed + k], lower[k]), upper[k])
        elif attempt >= POLISH_AFTER and attempt % 2 == 1:
            start_aside(answer[Q:], postures, attempt, POLISH_ASIDE, lower, upper, q)
        else:
            if not measured:
                measured = True
                measure_postures(goal, postures[n:], settings[LENGTH], distances)
            nearest = take_nearest(distances)
            for k in range(n):
                q[k] = min(max(postures[k, nearest], lower[k]), upper[k])
        solved, steps, position, angle, error, far = descend(
            table, lower, upper, scale, wraps, goal, settings,
            EARLY if attempt < HASTY_ATTEMPTS else LATE, LONG_STEP, settings[ITERATIONS], q, work)
        answer[STEPS] += steps
        if solved or error < answer[ERROR]:
            answer[POSITION_ERROR], answer[ORIENTATION_ERROR] = position, angle
            answer[ERROR] = error
            copy(q, answer[Q:])
        if (first == 0 and attempt == 0 and not far
                and not (solved and farthest(q, seeds) <= JUMP)):
            near, steps, position, angle = stay_near(table, lower, upper, scale, never, goal,
                                                     settings, seeds[:n], postures, q, work)
            answer[STEPS] += steps
            if near:
                solved = True
                answer[POSITION_ERROR], answer[ORIENTATION_ERROR] = position, angle
                copy(q, answer[Q:])
        answer[ATTEMPT] = attempt
        if solved:
            answer[SOLVED] = 1.0
            break
