# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled null-space bias: where a goal leaves the arm free, move it to its preferred posture.

Descent of ``h(q) = 1/2 sum pull_i (q_i - preferred_i)^2 - gain log m(q)`` (Liegeois
1977; m: Yoshikawa 1985) on the set of postures that meet the goal.  Each step lies
in the exact null space of the task Jacobian, and each is followed by damped steps
back to tolerance, so that the bias costs no accuracy; why it does not go through
the damped projector is told in docs/explanation/method.md.  The step is Newton's on the reduced
Hessian of the Lagrangian, ``Z^T (grad^2 h - sum y_i grad^2 x_i) Z`` (Nocedal and
Wright 2006, eq. 18.19), with the second derivatives of the pose from the columns
of its Jacobian.
"""

from __future__ import annotations

from math import log, pi, sqrt

import numpy as np

from ik_node.kinematics.kernels import (
    allocating,
    copy,
    inlined,
    inner,
    jacobian_columns,
    joint_frames,
)
from ik_node.solver.compiled.damped import (
    BIAS_ITERATIONS,
    cholesky_solve,
    descend,
    EXPLORE,
    farthest,
    gram,
    ITERATIONS,
    LATE,
    LENGTH,
    LONG_STEP,
    LOWER,
    MANIPULABILITY,
    measure_postures,
    PREFERRED,
    PULL,
    REACH,
    SCALE,
    take_nearest,
    UPPER,
)
from ik_node.solver.compiled.residual import GOAL, PLAIN, residual, task_columns

STEP = 0.3           # rad or m, largest joint change of one step
RESTING = 1e-6       # a shorter step ends the descent
FLAT = 1e-7          # m, a row of the Jacobian that is so short is no constraint
WIDE_BORDER = 0.1    # share of the width of a box
BORDER = 3e-6        # m or rad, so near to its border an axis of a box may become a constraint
WALK = 0.25          # rad or m, step along a one-dimensional self-motion
SHORT_WALK = 0.02    # a shorter step ends the walk
WALKS = 80           # steps each way
STARTS = 6           # other postures to begin at where there is more than one dimension
LESS = 1e-3          # another posture must have less bias by this share
CORRECTIONS = 8.0    # damped steps back to the goal after a step


@inner
def from_preferred(value, preferred, lower, upper):
    """Return a joint's way from its preferred position, the short one if it has no limits."""
    d = value - preferred
    if lower == -np.inf and upper == np.inf:
        d -= 2.0 * pi * np.round(d / (2.0 * pi))
    return d


@inner
def manipulability_gradient(table, frames, columns, active, A, y, gradient):
    """
    Write the gradient (n,) of log m and return log m, ``m = sqrt(det J J^T)``.

    ``d log m / dq_i = tr(J^+ dJ/dq_i)``, the derivative of column j being
    ``[a_i x v_j; a_i x w_j]`` for i below j and ``[a_j x v_i; 0]`` for i above it.

    Parameters
    ----------
    columns : (n, 6) array, written
        J^T, angular rows in rad.
    active : (n,) array, becomes all True

    """
    m = table.shape[0] - 1
    active[:] = True
    jacobian_columns(table, frames, 1.0, columns)
    gradient[:] = 0.0
    value = 0.0
    for j in range(m):
        c = int(table[j, 13])
        gram(columns, active, 1e-12, A)
        copy(columns[c], y)
        if not cholesky_solve(A, y):
            return -np.inf
        if j == 0:
            for i in range(6):
                value -= 0.5 * log(A[i, i])  # cholesky_solve leaves 1 / D there
        f = table[j, 14]
        jx, jy, jz, jl, jm, jn = path_column(table, frames, j)
        for i in range(m):
            ix, iy, iz, il, im, i_n = path_column(table, frames, i)
            if i <= j:
                s = (y[0] * (im * jz - i_n * jy) + y[1] * (i_n * jx - il * jz)
                     + y[2] * (il * jy - im * jx))
                s += (y[3] * (im * jn - i_n * jm) + y[4] * (i_n * jl - il * jn)
                      + y[5] * (il * jm - im * jl))
            else:
                s = (y[0] * (jm * iz - jn * iy) + y[1] * (jn * ix - jl * iz)
                     + y[2] * (jl * iy - jm * ix))
            gradient[int(table[i, 13])] += s * f * table[i, 14]
    return value


@inner
def path_column(table, frames, k):
    """Return the column of joint k of the path, without its factor: linear (3), angular (3)."""
    frame, tip = frames[k], frames[table.shape[0] - 1]
    x, y, z = frame[2], frame[5], frame[8]
    if table[k, 12] != 0.0:
        return x, y, z, 0.0, 0.0, 0.0
    dx, dy, dz = tip[9] - frame[9], tip[10] - frame[10], tip[11] - frame[11]
    return y * dz - z * dy, z * dx - x * dz, x * dy - y * dx, x, y, z


@inner
def bias(table, joints, settings, frames, columns, active, A, y, q, gradient):
    """Return h at `q`, whose joint frames are given, and write its gradient (n,)."""
    n = q.shape[0]
    h = 0.0
    gain = settings[MANIPULABILITY]
    if gain > 0.0:
        h = -gain * manipulability_gradient(table, frames, columns, active, A, y, gradient)
    for k in range(n):
        d = from_preferred(q[k], joints[PREFERRED, k], joints[LOWER, k], joints[UPPER, k])
        h += 0.5 * joints[PULL, k] * d * d
        gradient[k] = joints[PULL, k] * d - (gain * gradient[k] if gain > 0.0 else 0.0)
    return h


@inner
def add_curvature(table, frames, f, B):
    """
    Take ``f . d^2 x / dq_i dq_j`` off B (n, n), for a wrench f (6,) at the tip.

    Linear part ``a_i x v_j`` for i below j on the path, angular part, as second
    derivative of the rotation vector, ``1/2 a_i x a_j``.
    """
    m = table.shape[0] - 1
    for j in range(m):
        jx, jy, jz, jl, jm, jn = path_column(table, frames, j)
        for i in range(j + 1):
            _, _, _, il, im, i_n = path_column(table, frames, i)
            s = (f[0] * (im * jz - i_n * jy) + f[1] * (i_n * jx - il * jz)
                 + f[2] * (il * jy - im * jx))
            s += 0.5 * (f[3] * (im * jn - i_n * jm) + f[4] * (i_n * jl - il * jn)
                        + f[5] * (il * jm - im * jl))
            s *= table[i, 14] * table[j, 14]
            a, b = int(table[i, 13]), int(table[j, 13])
            B[a, b] -= s
            if i != j:
                B[b, a] -= s


@inner
def remainder(V, count, row):
    """Take the first `count` rows of V off `row`, twice, and normalise; return its length."""
    n = row.shape[0]
    for _ in range(2):
        for r in range(count):
            c = 0.0
            for k in range(n):
                c += V[r, k] * row[k]
            for k in range(n):
                row[k] -= c * V[r, k]
    s = 0.0
    for k in range(n):
        s += row[k] * row[k]
    s = sqrt(s)
    if s > 0.0:
        for k in range(n):
            row[k] /= s
    return s


@inner
def null_basis(columns, active, V):
    """
    Write orthonormal bases of the row space and the null space of J over the active joints.

    Gram-Schmidt on the rows of J, then on unit vectors, the one that sticks out
    farthest first.

    Parameters
    ----------
    columns : (n, 6) array
        J^T.
    V : (6 + n, n) array, written

    Returns
    -------
    (int, int)
        The row space is ``V[:rank]``, the null space ``V[rank:end]``.

    """
    n = columns.shape[0]
    free = 0
    for k in range(n):
        free += active[k]
    rank = 0
    for i in range(6):
        for k in range(n):
            V[rank, k] = columns[k, i] if active[k] else 0.0
        if remainder(V, rank, V[rank]) > FLAT:
            rank += 1
    for count in range(rank, free):
        best, longest = 0, -1.0
        for k in range(n):
            if active[k]:
                s = 1.0
                for r in range(count):
                    s -= V[r, k] * V[r, k]
                if s > longest:
                    best, longest = k, s
        V[count] = 0.0
        V[count, best] = 1.0
        remainder(V, count, V[count])
    return rank, max(rank, free)


@inner
def newton_step(gradient, B, V, rank, end, H, s, dq):
    """
    Write ``dq = -Z^T (Z B Z^T + shift I)^-1 Z g``, Z = rows `rank` to `end` of V.

    The shift is the first of 0 and powers of ten that makes the matrix positive.
    Returns the largest ``|dq|``.
    """
    n, d = B.shape[0], end - rank
    heaviest = 0.0
    for k in range(n):
        heaviest = max(heaviest, abs(B[k, k]))
    shift = 0.0
    while True:
        for i in range(d):
            s[i] = 0.0
            for k in range(n):
                s[i] -= V[rank + i, k] * gradient[k]
            for j in range(i + 1):
                t = 0.0
                for k in range(n):
                    u = 0.0
                    for o in range(n):
                        u += B[k, o] * V[rank + j, o]
                    t += V[rank + i, k] * u
                H[i, j] = t
            H[i, i] += shift
        if positive_solve(H, s, d, 1e-9 * heaviest):
            break
        shift = max(10.0 * shift, 1e-2 * heaviest)
        if not 0.0 < shift < 1e6 * heaviest:  # 0: of gains so small that products vanish
            return 0.0
    longest = 0.0
    for k in range(n):
        dq[k] = 0.0
        for i in range(d):
            dq[k] += V[rank + i, k] * s[i]
        longest = max(longest, abs(dq[k]))
    return longest


@inner
def positive_solve(H, s, d, least):
    """Solve the leading (d, d) block by Cholesky in place; False if a pivot is below `least`."""
    for j in range(d):
        p = H[j, j]
        for k in range(j):
            p -= H[j, k] * H[j, k]
        if not p > least:
            return False
        H[j, j] = sqrt(p)
        for i in range(j + 1, d):
            t = H[i, j]
            for k in range(j):
                t -= H[i, k] * H[j, k]
            H[i, j] = t / H[j, j]
    for i in range(d):
        for k in range(i):
            s[i] -= H[i, k] * s[k]
        s[i] /= H[i, i]
    for i in range(d - 1, -1, -1):
        for k in range(i + 1, d):
            s[i] -= H[k, i] * s[k]
        s[i] /= H[i, i]
    return True


@inner
def pointed_goal(goal, pointed):
    """Copy a goal with nothing between exact and free, to measure where in its box it is."""
    copy(goal, pointed)
    for i in range(12, 18):
        pointed[i] = np.inf if goal[i] == np.inf else 0.0


@inlined
def null_step(table, joints, settings, goal, pointed, border, q, gradient, f, columns, full, B, V,
              H, s, work):
    """
    Write the step of the bias at a solved `q` into the workspace's dq.

    Joints at a limit and axes at the border of their box stay out unless the step
    would break them.

    Parameters
    ----------
    border : float
        An axis within this share of its width of the border counts as there.

    Returns
    -------
    (float, float)
        The largest ``|dq|``; the share of the step after which the first axis
        comes to the border of its box.

    """
    frames, _, A, D, e, y, dq, _, active = work
    n, length = q.shape[0], settings[LENGTH]
    for k in range(n):
        active[k] = joints[LOWER, k] < joints[UPPER, k]
    residual(pointed, frames[-1], length, e, D)
    jacobian_columns(table, frames, length, columns)
    if goal[18] != PLAIN:
        task_columns(D, columns)
    for k in range(n):
        for i in range(6):
            full[k, i] = columns[k, i]
            if goal[12 + i] > 0.0:
                columns[k, i] = 0.0
    for _ in range(n + 7):
        # multipliers y: J^T y = g by least squares; as a wrench at the tip, f = D^T y
        gram(columns, active, 1e-10, A)
        for i in range(6):
            y[i] = 0.0
            for k in range(n):
                if active[k]:
                    y[i] += columns[k, i] * gradient[k]
        cholesky_solve(A, y)
        for i in range(3):
            f[i], f[3 + i] = y[i], length * y[3 + i]
            if goal[18] != PLAIN:
                f[i] = D[0, i] * y[0] + D[1, i] * y[1] + D[2, i] * y[2]
                f[3 + i] = length * (D[3, i] * y[3] + D[4, i] * y[4] + D[5, i] * y[5])
        B[:] = 0.0
        for k in range(n):
            B[k, k] = joints[PULL, k]
        add_curvature(table, frames, f, B)
        rank, end = null_basis(columns, active, V)
        longest = newton_step(gradient, B, V, rank, end, H, s, dq)
        # Of the limits and borders that the step would break, only the worst joins at a
        # time: with it there, the others may not be broken any more.
        worst, joint, axis, room = 0.0, -1, -1, np.inf
        for k in range(n):
            if (active[k] and abs(dq[k]) > worst
                    and ((q[k] <= joints[LOWER, k] and dq[k] < 0.0)
                         or (q[k] >= joints[UPPER, k] and dq[k] > 0.0))):
                worst, joint = abs(dq[k]), k
        for i in range(6):
            if 0.0 < goal[12 + i] < np.inf:
                moved, present = 0.0, 0.0
                for k in range(n):
                    moved += full[k, i] * dq[k]
                    present += abs(columns[k, i])
                if present > 0.0 or moved == 0.0:
                    continue
                unit = length if i > 2 else 1.0
                gap = goal[12 + i] * unit + (e[i] if moved > 0.0 else -e[i])
                if gap > max(BORDER, border * goal[12 + i]) * unit:
                    room = min(room, gap / abs(moved))
                elif abs(moved) / unit > worst:
                    worst, axis = abs(moved) / unit, i
        if worst == 0.0:
            return longest, room
        if axis >= 0:
            for k in range(n):
                columns[k, axis] = full[k, axis]
        else:
            active[joint] = False
    return 0.0, np.inf


@inlined
def settle(table, joints, settings, goal, pointed, never, most, q, trial, space, work):
    """
    Move a solved `q` down the bias without leaving the goal.

    A step that does not lower the bias is shortened, at last undone.

    Returns
    -------
    (float, float)
        The bias where it ends; steps taken.

    """
    frames, _, A, D, e, y, dq, _, active = work
    gradient, f, columns, full, B, V, H, s = space
    # Borders are wide at first, so that the steps do not bounce from one to the next.
    reach, step, cost, border = STEP, 0.0, np.inf, WIDE_BORDER
    while True:
        joint_frames(table, q, frames)
        cost = bias(table, joints, settings, frames, columns, active, A, y, q, gradient)
        if step >= most:
            break
        longest, room = null_step(table, joints, settings, goal, pointed, border, q, gradient, f,
                                  columns, full, B, V, H, s, work)
        if longest < RESTING or reach < RESTING:
            if goal[18] == PLAIN or border < BORDER:
                break
            border, reach = 0.1 * border, STEP
            continue
        step += 1.0
        scale = min(1.0, room, reach / longest)
        for k in range(q.shape[0]):
            trial[k] = min(max(q[k] + scale * dq[k], joints[LOWER, k]), joints[UPPER, k])
        solved = descend(table, joints[LOWER], joints[UPPER], joints[SCALE], never, goal, settings,
                         LATE, STEP, CORRECTIONS, trial, work)[0]
        if solved and bias(table, joints, settings, frames, columns, active, A, y, trial,
                           gradient) < cost:
            copy(trial, q)
            reach = min(STEP, 2.0 * reach)
        else:
            reach = 0.25 * min(reach, longest)
    return cost, step


@inlined
def walk(table, joints, settings, goal, never, way, q, trial, best, cost, space, work):
    """
    Follow a one-dimensional self-motion from a solved `q`, one way, as far as it goes.

    It ends at a limit, at the border of a box, or where it comes round to its
    beginning.  Writes the posture of the lowest bias below `cost` into `best` and
    returns that bias.
    """
    frames, _, A, D, e, y, dq, _, active = work
    gradient, _, columns, _, _, V, H, ahead = space
    n, lower, upper, start = q.shape[0], joints[LOWER], joints[UPPER], H[0]
    copy(q, start)
    for step in range(WALKS):
        for k in range(n):
            active[k] = lower[k] < upper[k]
        joint_frames(table, q, frames)
        residual(goal, frames[-1], settings[LENGTH], e, D)
        jacobian_columns(table, frames, settings[LENGTH], columns)
        if goal[18] != PLAIN:
            task_columns(D, columns)
        rank, end = null_basis(columns, active, V)
        if end == rank:
            break
        # Straight on: the part of the last direction that is in the null space.
        for k in range(n):
            dq[k] = 0.0
        for i in range(rank, end):
            c = way if step == 0 and i == rank else 0.0
            if step > 0:
                for k in range(n):
                    c += V[i, k] * ahead[k]
            for k in range(n):
                dq[k] += c * V[i, k]
        longest = 1e-12
        for k in range(n):
            ahead[k] = dq[k]
            longest = max(longest, abs(dq[k]))
        scale = WALK / longest
        for k in range(n):
            if dq[k] != 0.0:
                room = (upper[k] - q[k] if dq[k] > 0.0 else lower[k] - q[k]) / dq[k]
                scale = min(scale, room)
        if scale * longest < SHORT_WALK:
            break
        for k in range(n):
            trial[k] = min(max(q[k] + scale * dq[k], lower[k]), upper[k])
        solved = descend(table, lower, upper, joints[SCALE], never, goal, settings, LATE, STEP,
                         CORRECTIONS, trial, work)[0]
        if not solved or not SHORT_WALK < farthest(trial, q) < 4.0 * WALK:
            break
        copy(trial, q)
        lowered = bias(table, joints, settings, frames, columns, active, A, y, q, gradient)
        if lowered < cost:
            cost = lowered
            copy(q, best)
        apart = 0.0
        for k in range(n):
            apart = max(apart, abs(from_preferred(q[k], start[k], lower[k], upper[k])))
        if step > 2 and apart < 0.6 * WALK:
            break
    return cost


@inlined
def start_apart(table, joints, settings, goal, postures, never, distances, fresh, q, work):
    """
    Solve the goal from a posture of the table that is near it and near the preferred one.

    Says whether it was; `distances` are spent, and computed if `fresh`.
    """
    n, reach = q.shape[0], settings[REACH]
    if fresh:
        measure_postures(goal, postures[n:], settings[LENGTH], distances)
        for i in range(distances.shape[0]):
            distances[i] /= reach * reach
            for k in range(n):
                d = postures[k, i] - joints[PREFERRED, k]
                distances[i] += joints[PULL, k] * d * d
    nearest = take_nearest(distances)
    for k in range(n):
        q[k] = min(max(postures[k, nearest], joints[LOWER, k]), joints[UPPER, k])
    return descend(table, joints[LOWER], joints[UPPER], joints[SCALE], never, goal, settings, LATE,
                   LONG_STEP, settings[ITERATIONS], q, work)[0]


@allocating
def bias_workspace(n):
    """Return the arrays that :func:`lower_bias` needs besides."""
    rows = np.empty((6 + 6 * n, n))
    return (rows[6 + 5 * n], np.empty(6), np.empty((n, 6)), np.empty((n, 6)),
            rows[6 + n:6 + 2 * n], rows[:6 + n], rows[6 + 2 * n:6 + 3 * n], np.empty(n),
            rows[6 + 3 * n], rows[6 + 4 * n], np.empty(GOAL))


@inner
def lower_bias(table, joints, settings, goal, postures, distances, never, q, trial, work, more):
    """
    Move a solved `q` to the posture of lowest bias that its goal allows; return the steps.

    Down to the nearest minimum; then, if settings[EXPLORE], from the best posture
    met along the whole of a one-dimensional self-motion, or from other postures
    that meet a goal which leaves more than one dimension.
    """
    n = q.shape[0]
    most = settings[BIAS_ITERATIONS]
    gradient, f, columns, full, B, V, H, ahead, best, walker, pointed = more
    space = gradient, f, columns, full, B, V, H, ahead
    pointed_goal(goal, pointed)
    freedom, cost, steps = 0, np.inf, 0.0
    for k in range(n):
        freedom += joints[LOWER, k] < joints[UPPER, k]
    for i in range(6):
        freedom -= goal[12 + i] == 0.0
    starts = 0
    if settings[EXPLORE] != 0.0:
        starts = 2 if freedom == 1 else STARTS
    for start in range(-1, starts):
        if start < 0 or freedom == 1:
            copy(q, walker)
        if start >= 0 and freedom == 1:
            lowest = walk(table, joints, settings, goal, never, 1.0 - 2.0 * start, walker, trial,
                          best, cost, space, work)
            if not lowest < cost - LESS * abs(cost):
                continue
            copy(best, walker)
        elif start >= 0:
            if not start_apart(table, joints, settings, goal, postures, never, distances,
                               start == 0, walker, work):
                continue
        lowest, taken = settle(table, joints, settings, goal, pointed, never, most, walker, trial,
                               space, work)
        steps += taken
        if cost == np.inf or lowest < cost - LESS * abs(cost):
            cost = lowest
            copy(walker, q)
    return steps


@inner
def tip_error(table, goal, settings, q, work):
    """Return how far the tip at `q` is from the goal: position (m) and orientation (rad)."""
    frames, _, _, D, e, _, _, _, _ = work
    joint_frames(table, q, frames)
    return residual(goal, frames[-1], settings[LENGTH], e, D)
