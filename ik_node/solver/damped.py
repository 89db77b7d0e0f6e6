# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled damped least squares with hard joint limits and restarts.

One attempt walks from a seed by damped steps ``dq = J^T (J J^T + lambda^2 I)^-1 e``
(Wampler 1986; Nakamura and Hanafusa 1986) whose damping vanishes with the error
(Sugihara 2011, Chan and Lawrence 1988), so that it ends quadratically.  Joints
that would pass a limit are put on it, leave the active set, and the step is
solved again for the others.  Once solved, the joint-limit bias (Liegeois 1977)
moves the arm within the exact null space of its Jacobian, so that it costs no
accuracy; see docs/method.md for why it does not go through the damped projector.
"""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from ik_node.kinematics.kernels import _compiled, forward, geometric_jacobian, pose_error

MAX_STEP = 1.0         # rad or m, largest joint change of one step
DAMPING = 0.05         # lambda^2 = DAMPING * |e|^2 + DAMPING_FLOOR
DAMPING_FLOOR = 1e-14  # (m)^2, keeps the normal matrix invertible at a singularity
STALL_STEPS = 5        # an attempt ends when the error has not fallen for so many steps
BIAS_STEP = 0.2        # rad or m, largest joint change of one null-space step
BIAS_RESTING = 1e-5    # a bias step shorter than this ends the descent


@_compiled
def _cholesky_solve(A, b, m):
    """Solve ``A x = b`` in place for the symmetric positive (m, m) block; False if it is not."""
    for i in range(m):
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= A[i, k] * A[j, k]
            if i == j:
                if not s > 0.0:
                    return False
                A[i, i] = sqrt(s)
            else:
                A[i, j] = s / A[j, j]
    for i in range(m):
        s = b[i]
        for k in range(i):
            s -= A[i, k] * b[k]
        b[i] = s / A[i, i]
    for i in range(m - 1, -1, -1):
        s = b[i]
        for k in range(i + 1, m):
            s -= A[k, i] * b[k]
        b[i] = s / A[i, i]
    return True


@_compiled
def _active_gram(J, active, rows, damping, A):
    """Write ``A = J J^T + damping I`` over the active joints."""
    n = J.shape[1]
    for i in range(rows):
        for j in range(i + 1):
            s = 0.0
            for k in range(n):
                if active[k]:
                    s += J[i, k] * J[j, k]
            A[i, j] = s
        A[i, i] += damping


@_compiled
def _limited_step(J, e, q, lower, upper, rows, damping, active, A, y, dq):
    """
    Damped step whose end is inside the limits; writes `dq`.

    A joint that would pass a limit is put on it, its motion is taken off the
    error, and the others are solved again, at most n times.
    """
    n = q.shape[0]
    for k in range(n):
        g = 0.0
        for i in range(rows):
            g += J[i, k] * e[i]
        # A joint at its limit takes part again when the error pulls it inward.
        active[k] = (q[k] > lower[k] or g > 0.0) and (q[k] < upper[k] or g < 0.0)
        dq[k] = 0.0
    for _ in range(n + 1):
        _active_gram(J, active, rows, damping, A)
        for i in range(rows):
            s = e[i]
            for k in range(n):
                if not active[k]:
                    s -= J[i, k] * dq[k]
            y[i] = s
        if not _cholesky_solve(A, y, rows):
            return False
        longest = 0.0
        for k in range(n):
            if active[k]:
                s = 0.0
                for i in range(rows):
                    s += J[i, k] * y[i]
                dq[k] = s
                longest = max(longest, abs(s))
        if longest > MAX_STEP:
            for k in range(n):
                if active[k]:
                    dq[k] *= MAX_STEP / longest
        passed = False
        for k in range(n):
            if active[k]:
                if q[k] + dq[k] < lower[k]:
                    dq[k] = lower[k] - q[k]
                    active[k] = False
                    passed = True
                elif q[k] + dq[k] > upper[k]:
                    dq[k] = upper[k] - q[k]
                    active[k] = False
                    passed = True
        if not passed:
            break
    return True


@_compiled
def _evaluate(offsets, joints, factors, q, goal, length, frames, e):
    """FK and weighted error: position rows in m, orientation rows in rad times `length`."""
    forward(offsets, joints, factors, q, frames)
    position, angle = pose_error(goal, frames[-1], e)
    for i in range(3, 6):
        e[i] *= length
    return position, angle


@_compiled
def _weighted_jacobian(joints, factors, frames, length, J):
    geometric_jacobian(joints, factors, frames, J)
    for i in range(3, 6):
        for k in range(J.shape[1]):
            J[i, k] *= length


@_compiled
def _descend(offsets, joints, factors, lower, upper, goal, rows, length, tolerance,
             max_iterations, q, work):
    """
    One attempt from `q`; leaves in `q` where it ended.

    Returns
    -------
    (bool, int)
        Whether both tolerances are met; steps taken.

    """
    frames, J, A, e, y, dq, active = work
    best, stalled = np.inf, 0
    for step in range(max_iterations + 1):
        position, angle = _evaluate(offsets, joints, factors, q, goal, length, frames, e)
        if position <= tolerance[0] and (rows == 3 or angle <= tolerance[1]):
            return True, step
        error = 0.0
        for i in range(rows):
            error += e[i] * e[i]
        if error < 0.9 * best:
            best, stalled = error, 0
        else:
            stalled += 1
            if stalled >= STALL_STEPS:
                return False, step
        if step == max_iterations:
            break
        _weighted_jacobian(joints, factors, frames, length, J)
        if not _limited_step(J, e, q, lower, upper, rows, DAMPING * error + DAMPING_FLOOR,
                             active, A, y, dq):
            return False, step
        for k in range(q.shape[0]):
            q[k] = min(max(q[k] + dq[k], lower[k]), upper[k])
    return False, max_iterations


@_compiled
def _bias_cost(q, preferred, weight):
    """``h = 1/2 sum w (q - preferred)^2``, with w = gain / range^2."""
    h = 0.0
    for k in range(q.shape[0]):
        d = q[k] - preferred[k]
        h += 0.5 * weight[k] * d * d
    return h


@_compiled
def _null_step(J, q, lower, upper, preferred, weight, rows, active, A, y, dq):
    """
    Newton-like step down the bias within the null space of J; writes `dq`.

    ``dq = z - W^-1 J^T (J W^-1 J^T)^-1 J z`` with ``z = preferred - q``: of all
    dq with J dq = 0 the one with the lowest bias (a weighted projection; the
    unweighted joints, of gain 0, move freely).  Joints at a limit that the step
    would pass leave the active set.  Returns the largest |dq|.
    """
    n = q.shape[0]
    heaviest = 0.0
    for k in range(n):
        active[k] = True
        heaviest = max(heaviest, weight[k])
    if heaviest == 0.0:
        return 0.0
    for _ in range(n + 1):
        for i in range(rows):
            s = 0.0
            for k in range(n):
                if active[k]:
                    s += J[i, k] * (preferred[k] - q[k])
            y[i] = s
            for j in range(i + 1):
                s = 0.0
                for k in range(n):
                    if active[k]:
                        s += J[i, k] * J[j, k] / max(weight[k], 1e-6 * heaviest)
                A[i, j] = s
            A[i, i] += DAMPING_FLOOR
        if not _cholesky_solve(A, y, rows):
            return 0.0
        longest = 0.0
        for k in range(n):
            dq[k] = 0.0
            if active[k]:
                s = 0.0
                for i in range(rows):
                    s += J[i, k] * y[i]
                dq[k] = preferred[k] - q[k] - s / max(weight[k], 1e-6 * heaviest)
                longest = max(longest, abs(dq[k]))
        passed = False
        for k in range(n):
            if active[k] and ((q[k] <= lower[k] and dq[k] < 0.0)
                              or (q[k] >= upper[k] and dq[k] > 0.0)):
                active[k] = False
                passed = True
        if not passed:
            return longest
    return 0.0


@_compiled
def _settle(offsets, joints, factors, lower, upper, goal, rows, length, tolerance,
            preferred, weight, max_iterations, q, trial, work):
    """
    Move a solved `q` towards the preferred posture without leaving the goal.

    Each null-space step is followed by an attempt back to tolerance; a step
    that does not lower the bias is halved, at last undone.  Returns the steps taken.
    """
    frames, J, A, e, y, dq, active = work
    n = q.shape[0]
    cost = _bias_cost(q, preferred, weight)
    reach = BIAS_STEP
    for step in range(max_iterations):
        forward(offsets, joints, factors, q, frames)
        _weighted_jacobian(joints, factors, frames, length, J)
        longest = _null_step(J, q, lower, upper, preferred, weight, rows, active, A, y, dq)
        if longest < BIAS_RESTING or reach < BIAS_RESTING:
            return step
        scale = min(1.0, reach / longest)
        for k in range(n):
            trial[k] = min(max(q[k] + scale * dq[k], lower[k]), upper[k])
        solved, _ = _descend(offsets, joints, factors, lower, upper, goal, rows, length,
                             tolerance, 10, trial, work)
        lowered = _bias_cost(trial, preferred, weight)
        if solved and lowered < cost:
            cost = lowered
            reach = min(BIAS_STEP, 2.0 * reach)
            q[:] = trial
        else:
            reach = 0.5 * min(reach, longest)
    return max_iterations


@_compiled
def _nearest_turns(q, seed, lower, upper, turning):
    """Move each angle by whole turns as near to the seed as its limits allow."""
    for k in range(q.shape[0]):
        if turning[k]:
            turns = np.round((seed[k] - q[k]) / (2.0 * pi))
            while turns != 0.0 and not lower[k] <= q[k] + 2.0 * pi * turns <= upper[k]:
                turns -= np.sign(turns)
            q[k] += 2.0 * pi * turns


@_compiled
def solve_kernel(offsets, joints, factors, lower, upper, turning, goal, rows, length, tolerance,
                 seeds, sequence, first, last, max_iterations, preferred, weight, bias_iterations,
                 q, best_q, figures):
    """
    Attempts `first` to `last` - 1 of a solve: the given seeds, then the fixed sequence.

    Parameters
    ----------
    goal : (12,) array
        Pose of the tip in the base frame.
    rows : int
        6 for position and orientation, 3 for position only.
    length : float
        Weight, metres per radian.
    tolerance : (2,) array
        Position (m) and orientation (rad).
    seeds : (s, n) array
        Starts of the first s attempts; row 0 is the seed that turns refer to.
    sequence : (r, n) array
        Starts of the attempts after them, inside the limits.
    preferred, weight : (n,) arrays
        Target of the bias and gain / range^2 per joint.
    q : (n,) array, written
        The solution, or where the last attempt ended.
    best_q : (n,) array, written
        End of the attempt with the smallest weighted error so far.
    figures : (6,) array, written
        Position error (m), orientation error (rad), steps (added up), attempt
        that solved it, smallest weighted error so far, steps of the bias.

    Returns
    -------
    bool
        Whether `q` solves the goal.

    """
    n, m = lower.shape[0], joints.shape[0]
    frames, J, A = np.empty((m + 1, 12)), np.empty((6, n)), np.empty((6, 6))
    e, y, dq = np.empty(6), np.empty(6), np.empty(n)
    work = (frames, J, A, e, y, dq, np.empty(n, dtype=np.bool_))
    for attempt in range(first, last):
        start = seeds[attempt] if attempt < seeds.shape[0] else sequence[attempt - seeds.shape[0]]
        for k in range(n):
            q[k] = min(max(start[k], lower[k]), upper[k])
        solved, steps = _descend(offsets, joints, factors, lower, upper, goal, rows, length,
                                 tolerance, max_iterations, q, work)
        figures[2] += steps
        if solved:
            _nearest_turns(q, seeds[0], lower, upper, turning)
            if bias_iterations > 0:
                figures[5] = _settle(offsets, joints, factors, lower, upper, goal, rows, length,
                                     tolerance, preferred, weight, bias_iterations, q,
                                     np.empty(n), work)
            figures[0], figures[1] = _evaluate(offsets, joints, factors, q, goal, length,
                                               frames, e)
            figures[3] = attempt
            if figures[0] <= tolerance[0] and (rows == 3 or figures[1] <= tolerance[1]):
                return True
        position, angle = _evaluate(offsets, joints, factors, q, goal, length, frames, e)
        error = position * position
        if rows == 6:
            error += length * length * angle * angle
        if error < figures[4]:
            figures[4] = error
            figures[0], figures[1] = position, angle
            best_q[:] = q
    return False
