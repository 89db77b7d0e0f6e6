# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled null-space bias: where a goal leaves the arm free, move it to its preferred posture.

Descent of ``h(q) = 1/2 sum pull_i (q_i - preferred_i)^2 - gain log m(q)`` (Liegeois
1977; m: Yoshikawa 1985) on the set of postures that meet the goal.  Each step lies
in the exact null space of the task Jacobian and is followed by damped steps back to
tolerance, so the bias costs no accuracy; docs/explanation/method.md explains why the damped
projector is not used.  The step is Newton's on the reduced Hessian of the Lagrangian,
``Z^T (grad^2 h - sum y_i grad^2 x_i) Z`` (Nocedal and Wright 2006, eq. 18.19), with
the second derivatives of the pose from the columns of its Jacobian.
"""

from __future__ import annotations

from math import log, pi, sqrt
from typing import NamedTuple

import numpy as np

from ik_node.kinematics.kernels import copy, inner, jacobian_columns, joint_frames, small
from ik_node.solver.descent.damped import (
    cholesky_solve,
    descend,
    gram,
    LATE_STOP,
    LONG_STEP,
    measure_postures,
    nearest_turns,
    path_bend,
    substitute,
)
from ik_node.solver.descent.layout import (
    ARM_REACH,
    Attempt,
    BIAS_STARTS,
    EXACT_POSE,
    EXPLORE_SELF_MOTION,
    FACTOR_COLUMN,
    HALF_WIDTHS,
    INDEX_COLUMN,
    MANIPULABILITY_GAIN,
    MAX_BIAS_STEPS,
    MAX_STEPS,
    METRES_PER_RADIAN,
    PRISMATIC_COLUMN,
    TOLERANCE_AXES,
)
from ik_node.solver.descent.residual import residual, task_columns

BIAS_STEP = 0.3          # rad or m, largest joint change of one step
RESTING_STEP = 1e-6      # rad or m, a shorter step ends the descent
MIN_ROW_LENGTH_M = 1e-7  # a shorter row of the Jacobian is no constraint
WIDE_BORDER = 0.1        # share of the width of a box that counts as its border, at first
NARROW_BORDER = 3e-6     # m or rad, the narrowest border
CURVE_STARTS = BIAS_STARTS  # other postures to start from, if the self-motion is a curve
SURFACE_STARTS = 6          # ... and if it has more dimensions
MIN_IMPROVEMENT = 1e-3   # share by which another posture must lower the bias
DOUBTED_SHARE = 1.0      # of the slope times the step: twice what is expected of it
CORRECTION_STEPS = 8.0   # damped steps back to the goal after a step


class NullStep(NamedTuple):
    """A step in the null space."""

    longest: float  # largest change of a joint, rad or m
    room: float     # share of the step at which the first axis reaches the border of its box


class Breach(NamedTuple):
    """The limit or the border that a step would break most."""

    joint: int   # the joint that would pass its limit, or -1
    axis: int    # the axis of the goal that would leave its box, or -1
    room: float  # as in :class:`NullStep`


@inner
def from_preferred(value, preferred, lower, upper):
    """Return a joint's distance from its preferred position, modulo 2 pi if it has no limits."""
    d = value - preferred
    if lower == -np.inf and upper == np.inf:
        d -= 2.0 * pi * np.round(d / (2.0 * pi))
    return d


@inner
def manipulability_gradient(table, gradient, work):
    """
    Write the gradient (n,) of log m and return log m, ``m = sqrt(det J J^T)``.

    ``d log m / dq_i = tr(J^+ dJ/dq_i)``, the derivative of column j being
    ``[a_i x v_j; a_i x w_j]`` for i below j and ``[a_j x v_i; 0]`` for i above it.

    Parameters
    ----------
    work : Work
        The frames are given; columns (J^T, angular parts in rad), A and y are written,
        and all joints become active.

    """
    frames, columns, A, y, active = work.frames, work.columns, work.A, work.y, work.active
    m = table.shape[0] - 1
    active[:] = True
    jacobian_columns(table, frames, 1.0, columns)
    gradient[:] = 0.0
    value = 0.0
    for j in range(m):
        c = int(table[j, INDEX_COLUMN])
        gram(columns, active, 1e-12, A)
        copy(columns[c], y)
        if not cholesky_solve(A, y):
            return -np.inf
        if j == 0:
            for i in range(6):
                value -= 0.5 * log(A[i, i])  # cholesky_solve leaves 1 / D there
        f = table[j, FACTOR_COLUMN]
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
            gradient[int(table[i, INDEX_COLUMN])] += s * f * table[i, FACTOR_COLUMN]
    return value


@inner
def path_column(table, frames, k):
    """Return the column of joint k of the path, without its factor: linear (3), angular (3)."""
    frame, tip = frames[k], frames[table.shape[0] - 1]
    x, y, z = frame[2], frame[5], frame[8]
    if table[k, PRISMATIC_COLUMN] != 0.0:
        return x, y, z, 0.0, 0.0, 0.0
    dx, dy, dz = tip[9] - frame[9], tip[10] - frame[10], tip[11] - frame[11]
    return y * dz - z * dy, z * dx - x * dz, x * dy - y * dx, x, y, z


@inner
def bias(problem, q, gradient, work):
    """Return h at `q`, whose frames are in `work`, and write its gradient (n,)."""
    joints = problem.joints
    preferred, pull, lower, upper = joints.preferred, joints.pull, joints.lower, joints.upper
    h = 0.0
    gain = problem.settings[MANIPULABILITY_GAIN]
    if gain > 0.0:
        h = -gain * manipulability_gradient(problem.table, gradient, work)
    for k in range(q.shape[0]):
        d = from_preferred(q[k], preferred[k], lower[k], upper[k])
        h += 0.5 * pull[k] * d * d
        gradient[k] = pull[k] * d - (gain * gradient[k] if gain > 0.0 else 0.0)
    return h


@inner
def add_curvature(table, frames, f, B):
    """
    Subtract ``f . d^2 x / dq_i dq_j`` from B (n, n), for a wrench f (6,) at the tip.

    For i before j on the path the linear part is ``a_i x v_j`` and the angular part,
    as the second derivative of the rotation vector, ``1/2 a_i x a_j``.
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
            s *= table[i, FACTOR_COLUMN] * table[j, FACTOR_COLUMN]
            a, b = int(table[i, INDEX_COLUMN]), int(table[j, INDEX_COLUMN])
            B[a, b] -= s
            if i != j:
                B[b, a] -= s


@inner
def orthonormalise(V, count, row):
    """Make `row` orthogonal to the first `count` rows of V and normalise it; return its length."""
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

    Gram-Schmidt on the rows of J, then on unit vectors, the one with the longest
    remainder first.

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
        if orthonormalise(V, rank, V[rank]) > MIN_ROW_LENGTH_M:
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
        orthonormalise(V, count, V[count])
    return rank, max(rank, free)


@inner
def newton_step(rank, end, space, dq):
    """
    Write ``dq = -Z^T (Z B Z^T + shift I)^-1 Z g``, Z = rows `rank` to `end` of V.

    The shift is 0, or the smallest power of ten that makes the matrix positive.
    Returns the largest ``|dq|``.
    """
    gradient, B, V, H, s = space.gradient, space.B, space.V, space.H, space.s
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
        if not 0.0 < shift < 1e6 * heaviest:  # 0 if tiny gains underflow
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
def goal_without_box(goal, pointed):
    """Copy a goal, each axis exact or free: its residual tells where in its box the tip is."""
    copy(goal, pointed)
    for i in range(6):
        pointed[HALF_WIDTHS + i] = np.inf if goal[HALF_WIDTHS + i] == np.inf else 0.0


@inner
def task_jacobian(problem, goal, space, work):
    """
    Write the columns of J at the present frames, and the error of the goal without its box.

    ``space.task`` has the rows of all axes of the goal, ``work.columns`` only those
    of its exact axes; the others are 0.
    """
    table, length = problem.table, problem.settings[METRES_PER_RADIAN]
    frames, columns, D, task = work.frames, work.columns, work.D, space.task
    residual(space.pointed, frames[-1], length, work.e, D)
    jacobian_columns(table, frames, length, columns)
    if goal[TOLERANCE_AXES] != EXACT_POSE:
        task_columns(D, columns)
    for k in range(columns.shape[0]):
        for i in range(6):
            task[k, i] = columns[k, i]
            if goal[HALF_WIDTHS + i] > 0.0:
                columns[k, i] = 0.0


@inner
def multipliers(columns, gradient, active, A, y):
    """
    Write the multipliers y (6,) of the goal, ``J^T y = gradient`` by least squares.

    Over the active joints; A (6, 6) is left as :func:`cholesky_solve` leaves it.  Returns False if
    there are none.
    """
    gram(columns, active, 1e-10, A)
    for i in range(6):
        y[i] = 0.0
        for k in range(columns.shape[0]):
            if active[k]:
                y[i] += columns[k, i] * gradient[k]
    return cholesky_solve(A, y)


@inner
def lagrangian_hessian(problem, goal, space, work):
    """
    Write B, the Hessian of the Lagrangian over the active joints.

    The multipliers y of the goal are ``D^T y`` as a wrench at the tip.
    """
    table, pull, length = problem.table, problem.joints.pull, problem.settings[METRES_PER_RADIAN]
    columns, A, D, y, active = work.columns, work.A, work.D, work.y, work.active
    gradient, wrench, B = space.gradient, space.wrench, space.B
    n = columns.shape[0]
    multipliers(columns, gradient, active, A, y)
    for i in range(3):
        wrench[i], wrench[3 + i] = y[i], length * y[3 + i]
        if goal[TOLERANCE_AXES] != EXACT_POSE:
            wrench[i] = D[0, i] * y[0] + D[1, i] * y[1] + D[2, i] * y[2]
            wrench[3 + i] = length * (D[3, i] * y[3] + D[4, i] * y[4] + D[5, i] * y[5])
    B[:] = 0.0
    for k in range(n):
        B[k, k] = pull[k]
    add_curvature(table, work.frames, wrench, B)


@inner
def worst_breach(problem, goal, border, q, task, work):
    """
    Return the limit or border that the step ``work.dq`` would break most.

    Parameters
    ----------
    border : float
        An axis counts as at its border within this share of its width.
    task : (n, 6) array
        From :func:`task_jacobian`.

    """
    joints, length = problem.joints, problem.settings[METRES_PER_RADIAN]
    lower, upper = joints.lower, joints.upper
    columns, e, dq, active = work.columns, work.e, work.dq, work.active
    n = q.shape[0]
    worst, joint, axis, room = 0.0, -1, -1, np.inf
    for k in range(n):
        if (active[k] and abs(dq[k]) > worst
                and ((q[k] <= lower[k] and dq[k] < 0.0) or (q[k] >= upper[k] and dq[k] > 0.0))):
            worst, joint = abs(dq[k]), k
    for i in range(6):
        width = goal[HALF_WIDTHS + i]
        if 0.0 < width < np.inf:
            moved, present = 0.0, 0.0
            for k in range(n):
                moved += task[k, i] * dq[k]
                present += abs(columns[k, i])
            if present > 0.0 or moved == 0.0:
                continue
            unit = length if i > 2 else 1.0
            gap = width * unit + (e[i] if moved > 0.0 else -e[i])
            if gap > max(NARROW_BORDER, border * width) * unit:
                room = min(room, gap / abs(moved))
            elif abs(moved) / unit > worst:
                worst, axis = abs(moved) / unit, i
    return Breach(-1 if axis >= 0 else joint, axis, room)


@small
def null_step(problem, goal, border, q, space, work):
    """
    Write the step of the bias at a solved `q` into ``work.dq``.

    Joints at a limit and axes at the border of their box become constraints only if
    the step would break them.

    Parameters
    ----------
    border : float
        As in :func:`worst_breach`.

    Returns
    -------
    NullStep

    """
    columns, dq, active, task = work.columns, work.dq, work.active, space.task
    lower, upper = problem.joints.lower, problem.joints.upper
    n = q.shape[0]
    for k in range(n):
        active[k] = lower[k] < upper[k]
    task_jacobian(problem, goal, space, work)
    # Each pass adds only the worst breach to the constraints: with it, the step may not break
    # the others any more.
    for _ in range(n + 7):
        lagrangian_hessian(problem, goal, space, work)
        rank, end = null_basis(columns, active, space.V)
        longest = newton_step(rank, end, space, dq)
        breach = worst_breach(problem, goal, border, q, task, work)
        if breach.axis >= 0:
            for k in range(n):
                columns[k, breach.axis] = task[k, breach.axis]
        elif breach.joint >= 0:
            active[breach.joint] = False
        else:
            return NullStep(longest, breach.room)
    return NullStep(0.0, np.inf)


@small
def curve_step(problem, q, space, work):
    """
    Write the step of the bias in the only direction that an exact pose leaves seven joints.

    As :func:`null_step`, without a basis of the null space: the gradient less what the multipliers
    y hold of it, ``g - J^T y``, has that direction.  ``work.dq`` is the step of Newton's method,
    and ``work.bent`` its second-order part, ``-1/2 J^+ (dJ/dt) dq``, which keeps the pose.

    Parameters
    ----------
    problem : Problem
        Of a chain without mimic joints, seven of them free to move.

    Returns
    -------
    float
        The largest change of a joint, rad or m; 0 if one at its limit would pass it.

    """
    joints, length = problem.joints, problem.settings[METRES_PER_RADIAN]
    lower, upper, pull, gradient = joints.lower, joints.upper, joints.pull, space.gradient
    columns, A, y, bend, dq, bent, active = (work.columns, work.A, work.y, work.e, work.dq,
                                             work.bent, work.active)
    n, square, curvature = q.shape[0], 0.0, 0.0
    jacobian_columns(problem.table, work.frames, length, columns)
    for k in range(n):
        active[k] = lower[k] < upper[k]
    if not multipliers(columns, gradient, active, A, y):
        return 0.0
    for k in range(n):
        dq[k] = 0.0
        if active[k]:
            c = columns[k]
            dq[k] = (c[0] * y[0] + c[1] * y[1] + c[2] * y[2] + c[3] * y[3] + c[4] * y[4]
                     + c[5] * y[5]) - gradient[k]
            if (q[k] <= lower[k] and dq[k] < 0.0) or (q[k] >= upper[k] and dq[k] > 0.0):
                return 0.0
        square += dq[k] * dq[k]
        curvature += pull[k] * dq[k] * dq[k]
    path_bend(columns, length, dq, bend)
    held = 0.0
    for i in range(6):
        held += 2.0 * y[i] * bend[i]
    # As in newton_step: if the bias does not curve up, the least power of ten that makes it so.
    heaviest = curvature + abs(held)
    curvature, shift = curvature + held, 0.0
    while not curvature + shift > 1e-9 * heaviest:
        shift = max(10.0 * shift, 1e-2 * heaviest)
        if not 0.0 < shift < 1e6 * heaviest:
            return 0.0
    size, longest = square / (curvature + shift), 0.0
    substitute(A, bend)
    for k in range(n):
        bent[k] = 0.0
        if active[k]:
            c = columns[k]
            bent[k] = size * size * (c[0] * bend[0] + c[1] * bend[1] + c[2] * bend[2]
                                     + c[3] * bend[3] + c[4] * bend[4] + c[5] * bend[5])
        dq[k] *= size
        longest = max(longest, abs(dq[k]))
    return longest


@inner
def settle(problem, goal, curve, most, q, space, work):
    """
    Move a solved `q` down the bias without leaving the goal.

    A step that does not lower the bias is shortened, and in the end undone.

    Parameters
    ----------
    curve : bool
        Whether :func:`curve_step` serves: an exact pose, and no mimic joints.
    most : float
        It ends where the bias will hardly become lower than that.

    Returns
    -------
    (float, float)
        The bias where it ends; steps taken.

    """
    table, joints, settings, _ = problem
    lower, upper = joints.lower, joints.upper
    gradient, trial, dq = space.gradient, space.trial, work.dq
    correction = Attempt(LATE_STOP, BIAS_STEP, CORRECTION_STEPS, False)
    # The borders are wide at first, so that steps do not bounce from one to the next.
    max_step, steps, border = BIAS_STEP, 0.0, WIDE_BORDER
    exact = goal[TOLERANCE_AXES] == EXACT_POSE
    joint_frames(table, q, work.frames)
    cost = bias(problem, q, gradient, work)
    while steps < settings[MAX_BIAS_STEPS]:
        if curve:
            step = NullStep(curve_step(problem, q, space, work), np.inf)
        else:
            step = null_step(problem, goal, border, q, space, work)
        longest, slope = step.longest, 0.0
        for k in range(q.shape[0]):
            slope += gradient[k] * dq[k]
        # A step of Newton's method to a minimum lowers the bias by half of that.
        if (exact or border < NARROW_BORDER) and cost + DOUBTED_SHARE * slope > most:
            break
        if longest < RESTING_STEP or max_step < RESTING_STEP:
            if exact or border < NARROW_BORDER:
                break
            border, max_step = 0.1 * border, BIAS_STEP
            continue
        steps += 1.0
        scale = min(1.0, step.room, max_step / longest)
        for k in range(q.shape[0]):
            bend = scale * work.bent[k] if curve else 0.0
            trial[k] = min(max(q[k] + scale * (dq[k] + bend), lower[k]), upper[k])
        corrected = descend(table, joints, settings, goal, correction, trial, work)
        lowered = bias(problem, trial, gradient, work) if corrected.solved else np.inf
        if lowered < cost:
            copy(trial, q)
            cost, max_step = lowered, min(BIAS_STEP, 2.0 * max_step)
        else:  # back to where it was
            max_step = 0.25 * min(max_step, longest)
            joint_frames(table, q, work.frames)
            cost = bias(problem, q, gradient, work)
    return cost, steps


@inner
def rank_starts(problem, goal_work, chosen):
    """
    Write which postures of the table are near the goal and near the preferred one, best first.

    Parameters
    ----------
    problem : Problem
        The last row of its postures, (n + 13, K), is their bias, as it is weighed against a
        squared distance of the tip in reaches of the arm.
    goal_work : GoalWork
        Its distances are written.
    chosen : (s,) array of int64, written
        Columns of the postures; K is not smaller than s.

    """
    postures, reach, distances = problem.postures, problem.settings[ARM_REACH], goal_work.distances
    bias_row, count, last = postures.shape[0] - 1, chosen.shape[0], np.inf
    measure_postures(goal_work.goal, postures[bias_row - 12:],
                     problem.settings[METRES_PER_RADIAN], distances)
    share = 1.0 / (reach * reach)
    for i in range(distances.shape[0]):
        value = share * distances[i] + postures[bias_row, i]
        distances[i] = value
        if i < count or value < last:
            k = min(i, count - 1)
            while k > 0 and value < distances[chosen[k - 1]]:
                chosen[k] = chosen[k - 1]
                k -= 1
            chosen[k] = i
            last = distances[chosen[min(i, count - 1)]]


@inner
def start_elsewhere(problem, goal, column, q, work):
    """Solve the goal from a posture of the table, by its column; return whether it was solved."""
    table, joints, settings, postures = problem
    lower, upper = joints.lower, joints.upper
    for k in range(q.shape[0]):
        q[k] = min(max(postures[k, column], lower[k]), upper[k])
    return descend(table, joints, settings, goal,
                   Attempt(LATE_STOP, LONG_STEP, settings[MAX_STEPS], False), q, work).solved


@inner
def turn_to_preferred(q, joints, reference):
    """
    Move joints with limits that the bias pulls by whole turns towards preferred positions.

    Returns whether a joint was moved; `reference` (n,) is written.
    """
    for k in range(q.shape[0]):
        pulled = joints.pull[k] > 0.0 and joints.upper[k] - joints.lower[k] < np.inf
        reference[k] = joints.preferred[k] if pulled else q[k]
    return nearest_turns(q, reference, joints)


@inner
def lower_bias(problem, goal_work, q, space, work):
    """
    Move a solved `q` to the posture of lowest bias that is found; return the steps.

    First down to the nearest minimum.  Then, with settings[EXPLORE_SELF_MOTION], from other
    postures, since other minima may lie beyond a limit or on another self-motion.
    """
    joints, settings = problem.joints, problem.settings
    goal, walker = goal_work.goal, space.walker
    goal_without_box(goal, space.pointed)
    freedom, cost, steps, starts = 0, np.inf, 0.0, 0
    for k in range(q.shape[0]):
        freedom += joints.lower[k] < joints.upper[k]
    for i in range(6):
        freedom -= goal[HALF_WIDTHS + i] == 0.0
    if settings[EXPLORE_SELF_MOTION] != 0.0:
        starts = CURVE_STARTS if freedom == 1 else SURFACE_STARTS
        rank_starts(problem, goal_work, space.starts)
    curve = (freedom == 1 and goal[TOLERANCE_AXES] == EXACT_POSE
             and work.frames.shape[0] - 1 == q.shape[0])
    copy(q, walker)
    for start in range(starts + 1):
        if start > 0 and not start_elsewhere(problem, goal, space.starts[start - 1], walker, work):
            continue
        if start > 0:
            turn_to_preferred(walker, joints, space.trial)
        most = cost if cost == np.inf else cost - MIN_IMPROVEMENT * abs(cost)
        lowest, taken = settle(problem, goal, curve, most, walker, space, work)
        steps += taken
        if start == 0 < starts and turn_to_preferred(walker, joints, space.trial):
            lowest, taken = settle(problem, goal, curve, most, walker, space, work)
            steps += taken
        if lowest < most:
            cost = lowest
            copy(walker, q)
    return steps


@inner
def tip_error(problem, goal, q, work):
    """Return how far the tip at `q` is from the goal: position (m) and orientation (rad)."""
    frames = work.frames
    joint_frames(problem.table, q, frames)
    return residual(goal, frames[-1], problem.settings[METRES_PER_RADIAN], work.e, work.D)
