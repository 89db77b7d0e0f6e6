# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled joint rates that make the tip follow a moving target.

Resolved rates (Whitney 1969), ``J qd = v_target + K e``, by damped least squares in the
eigenvectors of ``J J^T``: near a singularity only the lost direction is damped
(Maciejewski and Klein 1988).  Damping that grows with the error stands in for the second
derivatives of the pose; without it, an arm that is stretched towards a target out of reach
would not come to rest.  A joint that is stopped by its limit leaves the active set, and the
rates are solved again for the others.  The null-space bias goes through the exact null space.

Near an obstacle the rates are changed as little as possible for the tip so that no distance
shrinks faster than it can still be stopped (the velocity damper of Faverjon and Tournassoud
1987): the arm slides along, and comes to rest at the reachable pose nearest to the target.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from ik_node.kinematics.kernels import inner, jacobian_columns, joint_frames
from ik_node.motion.following.brake import speed_to_stop
from ik_node.motion.trajectory.limits import LimitRows
from ik_node.solver.descent.layout import EXACT_POSE, HALF_WIDTHS, TOLERANCE_AXES
from ik_node.solver.descent.nullspace import from_preferred
from ik_node.solver.descent.residual import residual, task_columns

SINGULAR_SHARE = 0.07      # of the reach; smaller singular values (m per unit of q) are damped ...
DAMPING_SHARE = 0.035      # ... by up to this
SLOW_SHARE = 0.13          # of the reach; from twice this down the joints slow down ...
MAX_OVERRUN = 0.1          # rad or m; ... so that they can stop within this distance
CURVATURE_SHARE = 0.3      # of the arm's reach; stands for the curvature of its boundary
SMALL_ERROR_M = 0.02       # below it the damping falls faster than the error
MAX_ERROR_M = 0.3          # a larger error is treated as one of this length
MIN_SQUARED_VALUE_M2 = 1e-12  # m^2, added to squared singular values
SINGULAR_RATE_PER_S = 4.0  # 1/s; a singularity that is not crossed is approached at this rate, ...
LEFT_SHARE = 0.009         # of the reach; ... to this singular value
BRAKE_SHARE = 0.6          # of acceleration and jerk, with which stops are planned
RAMP_JERK_SHARE = 0.6      # of the jerk, with which changes of speed are planned
JACOBI_SWEEPS = 12         # at most; usual are four to six
NULL_SPACE_WEIGHT = 1e-3   # m^2 per unit of q^2, of rates that do not move the tip
HILDRETH_SWEEPS = 30       # at most, ...
SETTLED_RATE_M_S = 1e-6    # ... until no rate of a distance changes by more


class FollowModel(NamedTuple):
    """What does not change between control cycles."""

    table: np.ndarray  # (m + 1, 16), :attr:`ik_node.model.chain.Chain.table`
    limits: LimitRows
    # preferred, bias: (n,), preferred positions (rad or m), and how fast the joints go there (1/s)
    preferred: np.ndarray
    bias: np.ndarray
    # (19,), row of :mod:`ik_node.solver.descent.layout`, widths 0 or inf; its pose is written
    goal: np.ndarray
    gain: float  # 1/s, at which the error decays
    metres_per_radian: float
    reach: float  # largest distance (m) of the tip from the base
    locked: np.ndarray  # (n,) bool, joints that are not moved
    # How far (rad or m) the joints may be carried beyond a singularity; 0 = they stop before it.
    overrun: float = MAX_OVERRUN


class RatesWork(NamedTuple):
    """Workspace, and results of its functions; see :func:`rates_work` for the shapes."""

    frames: np.ndarray
    columns: np.ndarray       # of the task Jacobian, weighted
    eigenvalues: np.ndarray   # of J J^T, on the diagonal
    eigenvectors: np.ndarray
    task_map: np.ndarray      # derivative of the error by the rotation vector
    error: np.ndarray
    target_twist: np.ndarray  # as a task velocity
    correction: np.ndarray    # task velocity that reduces the error
    task: np.ndarray
    bias_rates: np.ndarray
    fixed_rates: np.ndarray   # of joints at their limits
    active: np.ndarray        # joints that are not
    q: np.ndarray
    twist: np.ndarray         # of the target, base frame
    wanted: np.ndarray        # joint rates, the result


def rates_work(n: int, m: int) -> RatesWork:
    """Return the workspace for n joints and m + 1 rows of the chain's table."""
    return RatesWork(np.empty((m + 1, 12)), np.empty((n, 6)), np.empty((6, 6)),
                     np.empty((6, 6)), np.empty((6, 3)), np.empty(6), np.empty(6), np.empty(6),
                     np.empty(6), np.empty(n), np.empty(n), np.empty(n, dtype=np.bool_),
                     np.empty(n), np.empty(6), np.zeros(n))


def time_to_rates(gain: float, duration: float) -> float:
    """Return the time (s) in which the joints reach the desired rates."""
    return max(0.25 / gain, 1.5 * duration)


lag_of = inner(time_to_rates)


@inner
def eigen(A, W):
    """Diagonalise a symmetric A (6, 6) by Jacobi's method; the columns of W are its vectors."""
    for i in range(6):
        for j in range(6):
            W[i, j] = 1.0 if i == j else 0.0
    trace = 1e-300
    for i in range(6):
        trace += abs(A[i, i])
    for _ in range(JACOBI_SWEEPS):
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
def decompose(work):
    """Write eigenvalues and eigenvectors of ``J J^T`` over the active joints."""
    columns, active, A = work.columns, work.active, work.eigenvalues
    for i in range(6):
        for j in range(6):
            s = 0.0
            for k in range(columns.shape[0]):
                if active[k]:
                    s += columns[k, i] * columns[k, j]
            A[i, j] = s
    eigen(A, work.eigenvectors)


@inner
def damping_of(value, reach):
    """Return the damping (m^2) of a singular value, of an arm with a reach (m)."""
    lost = DAMPING_SHARE * reach * max(0.0, 1.0 - value / (SINGULAR_SHARE * reach))
    return lost * lost + MIN_SQUARED_VALUE_M2


@inner
def damped_rates(work, correction, feed, min_square, stop_speed, reach, rates):
    """
    Write the rates (n,) of the active joints for the task velocity ``correction + feed``.

    Parameters
    ----------
    correction : (6,) array
        Reduces the error; damped as if no squared singular value were below `min_square`.
    feed : (6,) array
        Follows the target.
    stop_speed : (float, float, float)
        ``(a, b, c)``: ``sqrt(a^2 + b sigma)`` is the speed in a direction of singular value
        sigma from which the joints can stop within the overrun beyond the singularity;
        ``c (sigma - LEFT_SHARE reach)`` is another bound.
    reach : float
        Of the arm (m).

    """
    columns, active = work.columns, work.active
    A, W = work.eigenvalues, work.eigenvectors
    at_singularity, growth, approach = stop_speed
    n = columns.shape[0]
    for k in range(n):
        if active[k]:
            rates[k] = 0.0
    for i in range(6):
        square = max(A[i, i], 0.0)
        value = sqrt(square)
        damping = damping_of(value, reach)
        x, y = 0.0, 0.0
        for r in range(6):
            x += W[r, i] * correction[r]
            y += W[r, i] * feed[r]
        along = x / (max(square, min_square) + damping) + y / (square + damping)
        near = min(1.0, 2.0 - value / (SLOW_SHARE * reach))
        if near > 0.0:
            limit = sqrt(at_singularity * at_singularity + growth * value)
            if approach < np.inf:
                limit = min(limit, approach * max(value - LEFT_SHARE * reach, 0.0))
            if abs(along) * value * near > limit:
                along = limit / (value * near) if along > 0.0 else -limit / (value * near)
        for k in range(n):
            if active[k]:
                s = 0.0
                for r in range(6):
                    s += columns[k, r] * W[r, i]
                rates[k] += s * along


@inner
def project_to_null_space(work, rates):
    """Remove from rates (n,) what moves the tip: the active joints' exact null space is left."""
    columns, active, task = work.columns, work.active, work.task
    A, W = work.eigenvalues, work.eigenvectors
    n = columns.shape[0]
    for r in range(6):
        task[r] = 0.0
        for k in range(n):
            if active[k]:
                task[r] += columns[k, r] * rates[k]
    for i in range(6):
        along = 0.0
        for r in range(6):
            along += W[r, i] * task[r]
        along /= max(A[i, i], 0.0) + MIN_SQUARED_VALUE_M2
        for k in range(n):
            if active[k]:
                s = 0.0
                for r in range(6):
                    s += columns[k, r] * W[r, i]
                rates[k] -= s * along


@inner
def linearize(model, twist, q, work):
    """Write error, Jacobian and target velocity in task space; return the errors (m, rad)."""
    table, goal, length = model.table, model.goal, model.metres_per_radian
    frames, columns, feed = work.frames, work.columns, work.target_twist
    joint_frames(table, q, frames)
    position_error, orientation_error = residual(goal, frames[-1], length, work.error,
                                                 work.task_map)
    jacobian_columns(table, frames, 1.0, columns)
    for i in range(6):
        feed[i] = twist[i]
        for k in range(columns.shape[0]):
            if model.locked[k]:
                columns[k, i] = 0.0
    if goal[TOLERANCE_AXES] != EXACT_POSE:
        task_columns(work.task_map, columns)
        task_columns(work.task_map, feed.reshape((1, 6)))
    for i in range(3, 6):
        feed[i] *= length
        for k in range(columns.shape[0]):
            columns[k, i] *= length
    return position_error, orientation_error


@inner
def smallest_value(goal, work):
    """Return the smallest singular value (m per unit of q) of the axes that are followed."""
    A, squares = work.eigenvalues, work.task
    exact = 0
    for i in range(6):  # insertion sort, ascending
        k = i
        while k > 0 and squares[k - 1] > A[i, i]:
            squares[k] = squares[k - 1]
            k -= 1
        squares[k] = A[i, i]
        exact += goal[HALF_WIDTHS + i] == 0.0
    return sqrt(max(squares[6 - min(exact, work.columns.shape[0])], 0.0))


@inner
def closing_gain(model, shortened, min_square, work):
    """Return the gain (1/s) for the error at which all joints can still stop at the goal."""
    acceleration, jerk = model.limits.acceleration, model.limits.jerk
    task, none, distances = work.task, work.correction, work.wanted
    for i in range(6):
        task[i] = work.error[i] * shortened
        none[i] = 0.0
    damped_rates(work, task, none, min_square, (np.inf, 0.0, np.inf), model.reach, distances)
    gain = model.gain
    for k in range(distances.shape[0]):
        distance = abs(distances[k])
        if distance > 0.0:
            gain = min(gain, speed_to_stop(distance / shortened, BRAKE_SHARE * acceleration[k],
                                           BRAKE_SHARE * jerk[k]) / distance)
    return gain


@inner
def singular_stop_speed(model):
    """Return the `stop_speed` of :func:`damped_rates`."""
    acceleration, jerk = model.limits.acceleration, model.limits.jerk
    at_singularity = growth = np.inf
    for k in range(acceleration.shape[0]):
        growth = min(growth, 2.0 * BRAKE_SHARE * acceleration[k]
                     / (CURVATURE_SHARE * model.reach))
        at_singularity = min(at_singularity, speed_to_stop(
            model.overrun, BRAKE_SHARE * acceleration[k], BRAKE_SHARE * jerk[k]))
    if model.overrun > 0.0:
        return at_singularity, growth, np.inf
    return at_singularity, growth, SINGULAR_RATE_PER_S / (CURVATURE_SHARE * model.reach)


@inner
def add_bias(model, q, fade, work):
    """Add the null-space bias, as fast as the velocity limits of the active joints allow."""
    limits, wanted = model.limits, work.wanted
    lower, upper, velocity = limits.lower, limits.upper, limits.velocity
    active, bias_rates = work.active, work.bias_rates
    n = q.shape[0]
    for k in range(n):
        bias_rates[k] = 0.0
        if active[k]:
            bias_rates[k] = -fade * fade * model.bias[k] * from_preferred(
                q[k], model.preferred[k], lower[k], upper[k])
    project_to_null_space(work, bias_rates)
    share = 1.0
    for k in range(n):
        if active[k] and bias_rates[k] != 0.0:
            share = min(share, max(0.0, velocity[k] - abs(wanted[k])) / abs(bias_rates[k]))
    for k in range(n):
        if active[k]:
            wanted[k] += share * bias_rates[k]
        else:
            wanted[k] = work.fixed_rates[k]


@inner
def worst_violation(model, q, work):
    """Return the active joint that moves too fast towards its limit (-1: none), and its bound."""
    lower, upper = model.limits.lower, model.limits.upper
    active, wanted = work.active, work.wanted
    worst, joint, bound = 0.0, -1, 0.0
    for k in range(q.shape[0]):
        if not active[k]:
            continue
        low, high = approach_speed(model, q[k] - lower[k], k), \
            approach_speed(model, upper[k] - q[k], k)
        if wanted[k] - high > worst:
            worst, joint, bound = wanted[k] - high, k, high
        if -low - wanted[k] > worst:
            worst, joint, bound = -low - wanted[k], k, -low
    return joint, bound


@inner
def approach_speed(model, distance, k):
    """Return the highest velocity of joint k towards a limit that is `distance` away."""
    if distance == np.inf:
        return np.inf
    if distance < 0.0:
        return model.gain * distance
    return min(model.gain * distance,
               speed_to_stop(distance, BRAKE_SHARE * model.limits.acceleration[k],
                             BRAKE_SHARE * model.limits.jerk[k]))


@inner
def approach_limit(model, near, i):
    """Return how fast (m/s) pair i may come nearer, so that one joint alone could stop it."""
    acceleration = jerk = 0.0
    for k in range(near.gradients.shape[1]):
        share = abs(near.gradients[i, k])
        acceleration = max(acceleration, share * model.limits.acceleration[k])
        jerk = max(jerk, share * model.limits.jerk[k])
    gap = near.gaps[i]
    if gap <= 0.0 or acceleration == 0.0:
        return 0.0
    return min(model.gain * gap,
               speed_to_stop(gap, BRAKE_SHARE * acceleration, BRAKE_SHARE * jerk))


@inner
def fill_responses(near, min_square, reach, work):
    """
    Write the change of the active joints' rates by each multiplier, ``M^-1 g``, and its strength.

    M is the matrix by which :func:`damped_rates` divides: ``J^T J`` with the damping of the
    correction, and NULL_SPACE_WEIGHT in the null space.  So the arm is at rest only where no
    motion that is free reduces the error.
    """
    columns, active, task = work.columns, work.active, work.task
    A, W = work.eigenvalues, work.eigenvectors
    n = columns.shape[0]
    for i in range(near.count[0]):
        response = near.responses[i]
        for r in range(6):
            task[r] = 0.0
        for k in range(n):
            response[k] = 0.0
            if active[k]:
                response[k] = near.gradients[i, k] / NULL_SPACE_WEIGHT
                for r in range(6):
                    task[r] += columns[k, r] * near.gradients[i, k]
        for j in range(6):
            square = max(A[j, j], 0.0)
            along = 0.0
            for r in range(6):
                along += W[r, j] * task[r]
            along *= (1.0 / (max(square, min_square) + damping_of(sqrt(square), reach))
                      - 1.0 / NULL_SPACE_WEIGHT) / (square + MIN_SQUARED_VALUE_M2)
            for k in range(n):
                if active[k]:
                    for r in range(6):
                        response[k] += along * columns[k, r] * W[r, j]
        near.strengths[i] = 0.0
        for k in range(n):
            near.strengths[i] += near.gradients[i, k] * response[k]


@inner
def keep_away(model, near, min_square, work):
    """
    Change the rates so that no pair comes nearer too fast, with the least effect on the tip.

    By Hildreth's method (1957), one multiplier after another, in the norm of
    :func:`fill_responses`.
    """
    wanted, n = work.wanted, work.wanted.shape[0]
    fill_responses(near, min_square, model.reach, work)
    for i in range(near.count[0]):
        near.approach[i] = approach_limit(model, near, i)
        near.multipliers[i] = 0.0
    for _ in range(HILDRETH_SWEEPS):
        largest = 0.0
        for i in range(near.count[0]):
            if near.strengths[i] <= 0.0:
                continue
            slack = near.approach[i]
            for k in range(n):
                slack += near.gradients[i, k] * wanted[k]
            change = max(-slack / near.strengths[i], -near.multipliers[i])
            near.multipliers[i] += change
            largest = max(largest, abs(change) * near.strengths[i])
            for k in range(n):
                wanted[k] += change * near.responses[i, k]
        if largest < SETTLED_RATE_M_S:
            return


@inner
def scale_to_limits(model, work):
    """Scale the rates to the slowest joint and the tip's speed; return the factor."""
    velocity, tip_speed, wanted = model.limits.velocity, model.limits.tip[0], work.wanted
    n = wanted.shape[0]
    scale = 1.0
    for k in range(n):
        scale = min(scale, velocity[k] / max(abs(wanted[k]), 1e-300))
    if tip_speed < np.inf:
        columns = work.columns
        jacobian_columns(model.table, work.frames, 1.0, columns)
        square = 0.0
        for i in range(3):
            s = 0.0
            for k in range(n):
                s += columns[k, i] * wanted[k]
            square += s * s
        scale = min(scale, tip_speed / max(sqrt(square), 1e-300))
    for k in range(n):
        wanted[k] *= scale
    return scale


@inner
def resolved_rates(model, twist, q, near, work):
    """
    Write the desired rates ``work.wanted`` (n,) at the configuration q (n,).

    Parameters
    ----------
    model : FollowModel
    twist : (6,) array
        Velocity of the goal in the base frame (m/s, rad/s).
    near : NearPairs
        What the arm is near to; its multipliers are written.

    Returns
    -------
    (float, float, float, float)
        Position error (m), orientation error (rad), smallest singular value of the
        followed axes (m per unit of q), share of the rates that the limits allow.

    """
    n = q.shape[0]
    columns, active, error = work.columns, work.active, work.error
    correction, fixed_rates, task = work.correction, work.fixed_rates, work.task
    position_error, orientation_error = linearize(model, twist, q, work)
    for k in range(n):
        active[k] = True
        fixed_rates[k] = 0.0
    decompose(work)
    smallest = smallest_value(model.goal, work)
    size = 0.0
    for i in range(6):
        size += error[i] * error[i]
    size = sqrt(size)
    shortened = min(1.0, MAX_ERROR_M / size) if size > 0.0 else 1.0
    length = size * shortened
    min_square = CURVATURE_SHARE * model.reach * length * length / (SMALL_ERROR_M + length)
    # At a singularity the null space rotates abruptly: no bias there.
    fade = min(1.0, smallest / (SINGULAR_SHARE * model.reach))
    gain = closing_gain(model, shortened, min_square, work)
    for i in range(6):
        correction[i] = gain * shortened * error[i]
    stop_speed = singular_stop_speed(model)
    for _ in range(n + 1):
        for i in range(6):
            task[i] = correction[i]
            for k in range(n):
                if not active[k]:
                    task[i] -= columns[k, i] * fixed_rates[k]
        damped_rates(work, task, work.target_twist, min_square, stop_speed, model.reach,
                     work.wanted)
        add_bias(model, q, fade, work)
        joint, bound = worst_violation(model, q, work)
        if joint < 0:
            break
        active[joint] = False
        fixed_rates[joint] = bound
        decompose(work)
    if near.count[0] > 0:
        keep_away(model, near, min_square, work)
    return position_error, orientation_error, smallest, scale_to_limits(model, work)


@inner
def bounded_rates(model, rates, q, near, work):
    """
    Write ``work.wanted`` (n,): rates of the joints, as far as they are allowed, at q (n,).

    A joint slows down before its limit.  All are slowed down together for the velocity limits,
    the speed of the tip, and what comes near; none moves that was not to.

    Returns
    -------
    float
        Share of the rates that the limits and nearby objects allow.

    """
    wanted, n = work.wanted, q.shape[0]
    lower, upper = model.limits.lower, model.limits.upper
    joint_frames(model.table, q, work.frames)
    for k in range(n):
        wanted[k] = min(max(rates[k], -max(approach_speed(model, q[k] - lower[k], k), 0.0)),
                        max(approach_speed(model, upper[k] - q[k], k), 0.0))
    scale = scale_to_limits(model, work)
    share = 1.0
    for i in range(near.count[0]):
        near.multipliers[i], towards = 0.0, 0.0
        for k in range(n):
            towards -= near.gradients[i, k] * wanted[k]
        limit = approach_limit(model, near, i)
        if towards > limit:
            near.multipliers[i] = 1.0
            share = min(share, limit / towards)
    for k in range(n):
        wanted[k] *= share
    return share * scale
