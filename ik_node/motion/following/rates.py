# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled joint rates that take the tip after a moving target.

Resolved rates (Whitney 1969), ``J qd = v_target + K e``, by damped least squares
in the eigenvectors of ``J J^T``: near a singularity only the direction that is
lost is damped (Maciejewski and Klein 1988).  Damping that grows with the error
stands in for the second derivatives of the pose, by which alone an arm that is
stretched towards a target out of reach has a nearest posture to come to rest at.
A joint that its limit stops leaves the active set, and the rates are solved again
for the others.  The null-space bias goes through the exact null space.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from ik_node.kinematics.kernels import inlined, inner, jacobian_columns, joint_frames
from ik_node.motion.following.brake import speed_to_stop
from ik_node.solver.compiled.layout import EXACT_POSE, HALF_WIDTHS, TOLERANCE_AXES
from ik_node.solver.compiled.nullspace import from_preferred
from ik_node.solver.compiled.residual import residual, task_columns

# Rows of the table of joints, (7, n).
LOWER, UPPER, SPEED, MOST, JERK, PREFERRED, PULL = range(7)
# Entries of the settings.
GAIN, LENGTH, REACH, TOOL_SPEED = range(4)
# Entries of what a cycle finds out.
POSITION_ERROR, ORIENTATION_ERROR, SMALLEST, SCALED = range(4)

SINGULAR = 0.08      # m per unit of q; smaller singular values are damped ...
DAMPING = 0.04       # ... by up to this
SLOW = 0.15          # m per unit of q; from twice this down the joints slow down ...
BEYOND = 0.1         # rad or m, ... so that a stop takes no longer way than this
CURVATURE = 0.3      # share of the arm's reach that stands for the curvature of its boundary
SMALL_ERROR = 0.02   # m, below it the damping vanishes faster than the error
LARGEST_ERROR = 0.3  # m, a longer way is begun as one of this length
NO_DIRECTION = 1e-12  # m^2, square of a singular value below which nothing is left of a motion
ROOM = 0.6           # share of acceleration and jerk with which stops are foreseen
SWEEPS = 12          # of Jacobi's method; it ends after four to six

@inner
def eigen(A, W):
    """Diagonalise a symmetric A (6, 6) by Jacobi's method; the columns of W are its vectors."""
    for i in range(6):
        for j in range(6):
            W[i, j] = 1.0 if i == j else 0.0
    trace = 1e-300
    for i in range(6):
        trace += abs(A[i, i])
    for _ in range(SWEEPS):
        largest = 0.0
        for p in range(5):
            for q in range(p + 1, 6):
                off = A[p, q]
                largest = max(largest, abs(off))
                if abs(off) < 1e-18 * trace:
                    continue
                tau = 0.5 * (A[q, q] - A[p, p]) / off
                t = 1.0 / (abs(tau) + sqrt(1.0 + tau * tau))
                if tau < 0.0:
                    t = -t
                c = 1.0 / sqrt(1.0 + t * t)
                s = t * c
                for k in range(6):
                    x, y = A[k, p], A[k, q]
                    A[k, p], A[k, q] = c * x - s * y, s * x + c * y
                for k in range(6):
                    x, y = A[p, k], A[q, k]
                    A[p, k], A[q, k] = c * x - s * y, s * x + c * y
                for k in range(6):
                    x, y = W[k, p], W[k, q]
                    W[k, p], W[k, q] = c * x - s * y, s * x + c * y
        if largest < 1e-17 * trace:
            return


@inner
def decompose(columns, active, A, W):
    """Write the eigenvalues of ``J J^T`` over the active joints (A's diagonal), the vectors W."""
    for i in range(6):
        for j in range(6):
            s = 0.0
            for k in range(columns.shape[0]):
                if active[k]:
                    s += columns[k, i] * columns[k, j]
            A[i, j] = s
    eigen(A, W)


@inner
def damped_rates(columns, active, A, W, u, least, feed, slow, steep, qd):
    """
    Write the rates (n,) of the active joints for the task velocity ``u + feed``.

    Parameters
    ----------
    u, feed : (6,) arrays
        To correct the error, damped as if no singular value squared were below `least`;
        to go with the target.
    slow, steep : float
        ``slow^2 + steep sigma`` is the square of the speed in a direction of singular
        value sigma from which the joints can stop before they are carried far beyond
        the singularity.

    """
    n = columns.shape[0]
    for k in range(n):
        if active[k]:
            qd[k] = 0.0
    for i in range(6):
        square = max(A[i, i], 0.0)
        root = sqrt(square)
        lost = max(0.0, 1.0 - root / SINGULAR)
        damping = DAMPING * DAMPING * lost * lost + NO_DIRECTION
        x, y = 0.0, 0.0
        for r in range(6):
            x += W[r, i] * u[r]
            y += W[r, i] * feed[r]
        along = x / (max(square, least) + damping) + y / (square + damping)
        near = min(1.0, 2.0 - root / SLOW)
        if near > 0.0:
            most = sqrt(slow * slow + steep * root)
            if abs(along) * root * near > most:
                along = most / (root * near) if along > 0.0 else -most / (root * near)
        for k in range(n):
            if active[k]:
                s = 0.0
                for r in range(6):
                    s += columns[k, r] * W[r, i]
                qd[k] += s * along


@inner
def take_off_task(columns, active, A, W, z, u):
    """Take off z (n,) what moves the task: the exact null space of the active joints is left."""
    n = columns.shape[0]
    for r in range(6):
        u[r] = 0.0
        for k in range(n):
            if active[k]:
                u[r] += columns[k, r] * z[k]
    for i in range(6):
        along = 0.0
        for r in range(6):
            along += W[r, i] * u[r]
        along /= max(A[i, i], 0.0) + NO_DIRECTION
        for k in range(n):
            if active[k]:
                s = 0.0
                for r in range(6):
                    s += columns[k, r] * W[r, i]
                z[k] -= s * along


@inlined
def rates(table, joints, settings, goal, twist, q, wanted, found, work):
    """
    Write the wanted rates (n,) at a posture q (n,).

    Parameters
    ----------
    goal : (19,) array
        See :mod:`ik_node.solver.compiled.layout`; widths are 0 or inf.
    twist : (6,) array
        Velocity of the goal in the base frame (m/s, rad/s).

    """
    frames, columns, A, W, D, e, u, feed, y, z, fixed, active = work
    n, length = q.shape[0], settings[LENGTH]
    joint_frames(table, q, frames)
    found[POSITION_ERROR], found[ORIENTATION_ERROR] = residual(goal, frames[-1], length, e, D)
    jacobian_columns(table, frames, 1.0, columns)
    for k in range(n):
        active[k] = True
    for i in range(6):
        feed[i] = twist[i]
    if goal[TOLERANCE_AXES] != EXACT_POSE:
        task_columns(D, columns)
        task_columns(D, feed.reshape((1, 6)))
    for i in range(3, 6):
        feed[i] *= length
        for k in range(n):
            columns[k, i] *= length
    decompose(columns, active, A, W)
    exact = 0
    for i in range(6):
        y[i] = A[i, i]
        exact += goal[HALF_WIDTHS + i] == 0.0
    y.sort()
    found[SMALLEST] = sqrt(max(y[6 - min(exact, n)], 0.0))
    size = 0.0
    for i in range(6):
        size += e[i] * e[i]
    size = sqrt(size)
    short = min(1.0, LARGEST_ERROR / size) if size > 0.0 else 1.0
    near = size * short
    curved = CURVATURE * settings[REACH] * near * near / (SMALL_ERROR + near)
    # Where a motion is lost, the null space turns over within a hair's breadth: no bias there.
    fade = min(1.0, found[SMALLEST] / SINGULAR)
    # the way that is left for each joint, and how fast it may be begun
    for i in range(6):
        y[i] = e[i] * short
    for i in range(6):
        u[i] = 0.0
    damped_rates(columns, active, A, W, y, curved, u, np.inf, 0.0, wanted)
    gain = settings[GAIN]
    for k in range(n):
        way = abs(wanted[k])
        if way > 0.0:
            gain = min(gain, speed_to_stop(way / short, ROOM * joints[MOST, k],
                                           ROOM * joints[JERK, k]) / way)
    for i in range(6):
        u[i] = gain * short * e[i]
    slow = steep = np.inf
    for k in range(n):
        fixed[k] = 0.0
        steep = min(steep, 2.0 * ROOM * joints[MOST, k] / (CURVATURE * settings[REACH]))
        slow = min(slow, speed_to_stop(BEYOND, ROOM * joints[MOST, k], ROOM * joints[JERK, k]))
    for _ in range(n + 1):
        for i in range(6):
            y[i] = u[i]
            for k in range(n):
                if not active[k]:
                    y[i] -= columns[k, i] * fixed[k]
        damped_rates(columns, active, A, W, y, curved, feed, slow, steep, wanted)
        # the bias takes what speed is left
        for k in range(n):
            z[k] = 0.0
            if active[k]:
                z[k] = -fade * fade * joints[PULL, k] * from_preferred(
                    q[k], joints[PREFERRED, k], joints[LOWER, k], joints[UPPER, k])
        take_off_task(columns, active, A, W, z, y)
        share = 1.0
        for k in range(n):
            if active[k] and z[k] != 0.0:
                share = min(share, max(0.0, joints[SPEED, k] - abs(wanted[k])) / abs(z[k]))
        worst, joint, bound = 0.0, -1, 0.0
        for k in range(n):
            if not active[k]:
                wanted[k] = fixed[k]
                continue
            wanted[k] += share * z[k]
            low = inward(joints, settings, q[k] - joints[LOWER, k], k)
            high = inward(joints, settings, joints[UPPER, k] - q[k], k)
            if wanted[k] - high > worst:
                worst, joint, bound = wanted[k] - high, k, high
            if -low - wanted[k] > worst:
                worst, joint, bound = -low - wanted[k], k, -low
        if joint < 0:
            break
        active[joint] = False
        fixed[joint] = bound
        decompose(columns, active, A, W)
    # as a whole no faster than the slowest joint and the tool may be
    scale = 1.0
    for k in range(n):
        scale = min(scale, joints[SPEED, k] / max(abs(wanted[k]), 1e-300))
    if settings[TOOL_SPEED] < np.inf:
        jacobian_columns(table, frames, 1.0, columns)
        tool = 0.0
        for i in range(3):
            s = 0.0
            for k in range(n):
                s += columns[k, i] * wanted[k]
            tool += s * s
        scale = min(scale, settings[TOOL_SPEED] / max(sqrt(tool), 1e-300))
    for k in range(n):
        wanted[k] *= scale
    found[SCALED] = scale


@inner
def inward(joints, settings, room, k):
    """Return the highest velocity of a joint towards a limit that is `room` away."""
    if room == np.inf:
        return np.inf
    if room < 0.0:
        return settings[GAIN] * room
    return min(settings[GAIN] * room,
               speed_to_stop(room, ROOM * joints[MOST, k], ROOM * joints[JERK, k]))
