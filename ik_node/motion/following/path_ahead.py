# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled look at the joints' path ahead, and at whether the arm can still stop on it.

``dq/ds = J^+ dx/ds`` along a line or screw of the tip is integrated as far as braking takes, and
is counted by the way of the joints, which is regular at a singularity as well.  A stop is tried
out on it, with all joints within velocity, acceleration and jerk.
"""

from __future__ import annotations

from math import cos, sin, sqrt
from typing import NamedTuple

import numpy as np

from ik_node.kinematics.kernels import copy, inner
from ik_node.motion.following.pose_stream import rotate
from ik_node.motion.following.rates import linearize, RAMP_JERK_SHARE
from ik_node.solver.descent.damped import cholesky_solve, gram, substitute
from ik_node.solver.descent.layout import HALF_WIDTHS

PATH_DAMPING = 1.5e-4  # of the reach: smaller singular values are damped
FAR_AHEAD = 4.0  # rad or m of all joints together
LOST_SHARE = 0.02  # of the direction; if more of it is lost, there is no path
DRIFT_SHARE = 0.2  # of a step to the next node, that it may be off the path
LIMIT_ZONE = 0.1  # rad or m, beside a limit; there other joints of redundant arms move more
MIN_WEIGHT = 1e-3  # of such a joint
USUAL_NODES = 9  # of the path ahead, usually
MAX_PATH_NODES = 48
NODE_STEP, FINE_NODE_STEP = 0.1, 0.02  # rad or m of all joints, between nodes where it is smooth
SMOOTH_COS = 0.99  # between the directions of the joints at two nodes, at least
MIN_NODE_STEP = 4e-4  # rad or m; where even this is too long, the path ends
SHORTER_STEP, LONGER_STEP = 0.4, 1.5  # of a step that was too long, or not
SPEED_SHARE = 0.995  # of the velocity limits, along the path
PLAN_ACCELERATION, PLAN_JERK = 0.9, 0.8  # of the limits, with which stops are tried out
JUDGED_ACCELERATION = 0.97  # of the limit, that a stop that is tried out may take
BRAKE_STEP_S = 0.02  # of a stop that is tried out, ...
BRAKE_STEPS = 400  # at most
SINGULAR_WAY = 0.03  # rad or m of all joints, by which a line ends before a singularity
TINY_VALUE = 1e-12


class Course(NamedTuple):
    """Workspace of the path ahead; M nodes."""

    # rates, bends: (n,), dq/ds and d2q/ds2 here; s is in m of the task
    rates: np.ndarray
    bends: np.ndarray
    rest: np.ndarray    # (n,), joint velocities that are not along the path
    swerve: np.ndarray  # (n,), accelerations by which a target leaves it
    base: np.ndarray    # (n,), accelerations without that along the path
    bias: np.ndarray    # (n,), null-space rates
    last: np.ndarray    # (n,), accelerations of a step
    # (n, 6), columns of the task Jacobian with the roots of the weights of the joints
    scaled: np.ndarray
    weights: np.ndarray    # (n,), these roots
    gram: np.ndarray       # (6, 6), of the solve
    right: np.ndarray      # (6,), of the solve
    twist: np.ndarray      # (6,), at a node
    # bend, sway: (6,), what the bends make up for
    bend: np.ndarray
    sway: np.ndarray
    direction: np.ndarray  # (6,), here, unweighted
    weakest: np.ndarray    # (6,), eigenvector of the smallest singular value
    start: np.ndarray      # (12,), pose of the tip
    ways: np.ndarray       # (M,), way w of the joints up to the nodes
    paces: np.ndarray      # (M,), dw/ds there
    slopes: np.ndarray     # (M, n), dq/dw there
    curves: np.ndarray     # (M, n), d2q/dw2 there
    # q, slope, curve, there: (n,), of a node or step
    q: np.ndarray
    slope: np.ndarray
    curve: np.ndarray
    there: np.ndarray
    active: np.ndarray   # (n,) bool, all joints
    blocked: np.ndarray  # (1,), 1 while the path is left because it is blocked


def course_work(n: int) -> Course:
    """Return the workspace for n joints."""
    rows = [np.zeros(n) for _ in range(7)]
    return Course(*rows, np.zeros((n, 6)), np.ones(n), np.zeros((6, 6)), *np.zeros((5, 6)),
                  np.ones(6), np.zeros(12), *np.zeros((2, MAX_PATH_NODES)),
                  *np.zeros((2, MAX_PATH_NODES, n)), *np.zeros((4, n)),
                  np.ones(n, dtype=np.bool_), np.zeros(1))


@inner
def point_on(start, direction, turning, s, pose, twist):
    """Write pose and twist at `s` along a twist from `start`; it may turn with the tip."""
    copy(start, pose)
    x, y, z = s * direction[3], s * direction[4], s * direction[5]
    rotate(pose, x, y, z)
    angle = sqrt(x * x + y * y + z * z)
    for i in range(6):
        twist[i] = direction[i]
    if not turning or angle < 1e-9:
        for i in range(3):
            pose[9 + i] += s * direction[i]
        return
    a0, a1, a2 = x / angle, y / angle, z / angle
    v0, v1, v2 = direction[0], direction[1], direction[2]
    along = v0 * a0 + v1 * a1 + v2 * a2
    axial = along * a0, along * a1, along * a2
    across = v0 - axial[0], v1 - axial[1], v2 - axial[2]
    turned = a1 * v2 - a2 * v1, a2 * v0 - a0 * v2, a0 * v1 - a1 * v0
    c, d = cos(angle), sin(angle)
    for i in range(3):
        twist[i] = axial[i] + c * across[i] + d * turned[i]
        pose[9 + i] += s * (axial[i] + (d * across[i] + (1.0 - c) * turned[i]) / angle)


@inner
def factorise(model, work, course):
    """Factorise ``J W J^T``, damped; free axes do not count."""
    columns, scaled, weights = work.columns, course.scaled, course.weights
    damping = (PATH_DAMPING * model.reach)**2
    for k in range(columns.shape[0]):
        root = sqrt(weights[k])
        for i in range(6):
            scaled[k, i] = root * columns[k, i]
    gram(scaled, course.active, damping, course.gram)
    for i in range(6):
        if model.goal[HALF_WIDTHS + i] > 0.0:
            course.gram[i, i] = 1e6


@inner
def rates_of(model, task, first, work, course, rates):
    """
    Write the joint rates (n,) of a task velocity (6,) by ``W J^T (J W J^T)^-1``.

    The damped solution is refined once (iterated Tikhonov regularisation).

    Returns
    -------
    float
        Length of the part of the task velocity that is lost.

    """
    once, twice, columns = course.right, work.task, work.columns
    damping = (PATH_DAMPING * model.reach)**2
    copy(task, once)
    if first:
        cholesky_solve(course.gram, once)
    else:
        substitute(course.gram, once)
    for i in range(6):
        twice[i] = damping * once[i]
    substitute(course.gram, twice)
    lost = 0.0
    for i in range(6):
        lost += twice[i] * twice[i]
        once[i] += twice[i]
    for k in range(rates.shape[0]):
        c = columns[k]
        rates[k] = course.weights[k] * (c[0] * once[0] + c[1] * once[1] + c[2] * once[2]
                                        + c[3] * once[3] + c[4] * once[4] + c[5] * once[5])
    return damping * sqrt(lost)


@inner
def path_rates(model, task, redundant, q, work, course, rates):
    """
    Write dq/ds (n,) for a task velocity of length 1, after :func:`linearize`.

    Joints of a redundant arm give way to others near a limit, whether they approach or leave it:
    weights that depend on that (Chan and Dubey 1995) would let the rates jump.

    Returns
    -------
    float
        As :func:`rates_of`.

    """
    lower, upper, weights = model.limits.lower, model.limits.upper, course.weights
    if redundant:
        for k in range(q.shape[0]):
            room = max(min(upper[k] - q[k], q[k] - lower[k]) / LIMIT_ZONE, 0.0)
            weights[k] = max(room * room * (3.0 - 2.0 * room), MIN_WEIGHT) if room < 1.0 else 1.0
    factorise(model, work, course)
    return rates_of(model, task, True, work, course, rates)


@inner
def smallest_singular_value(model, course):
    """Return the smallest singular value by two steps of inverse iteration, from the last one."""
    v, w, size = course.weakest, course.right, 0.0
    for _ in range(2):
        copy(v, w)
        substitute(course.gram, w)
        size = 0.0
        for i in range(6):
            size += w[i] * w[i]
        size = sqrt(size)
        for i in range(6):
            v[i] = w[i] / size + 1e-6
    return sqrt(max(1.0 / size - (PATH_DAMPING * model.reach)**2, 0.0))


@inner
def look_ahead(model, turning, redundant, ahead, smallest, work, course):
    """
    Write the nodes of the path from ``course.q`` on, where the rates are known.

    They are counted by the way of the joints, which stays regular where the arm is stretched.

    Parameters
    ----------
    ahead : float
        How far it has to be known, rad or m of all joints together.
    smallest : float
        Singular value here.

    Returns
    -------
    (int, bool, float, bool, float, float)
        Number of nodes; whether the path ends at the last; how far the joints may go; whether it
        ends at a singularity; change of the smallest singular value to the first node, by m of
        the task; the least of them, if it looks FAR_AHEAD.

    """
    ways, slopes, curves, q, next_q, next_rates, there = (
        course.ways, course.slopes, course.curves, course.q, course.slope, course.curve,
        course.there)
    lower, upper, rates, n = model.limits.lower, model.limits.upper, course.last, q.shape[0]
    widest = min(max(ahead / USUAL_NODES, FINE_NODE_STEP), NODE_STEP)
    spacing, shortest = widest, min(MIN_NODE_STEP, SHORTER_STEP * widest)
    s, count = 0.0, 1
    ways[0], speed, opening, least, inside = 0.0, 0.0, 0.0, smallest, True
    for k in range(n):
        speed += course.rates[k]**2
    speed = sqrt(speed)
    for k in range(n):
        rates[k] = course.rates[k]
        there[k] = course.bends[k]
        slopes[0, k] = rates[k] / speed
    course.paces[0] = speed
    while count < MAX_PATH_NODES and ways[count - 1] < ahead:
        i = count - 1
        step = spacing / speed
        inside = True
        for k in range(n):
            next_q[k] = q[k] + step * (rates[k] + 0.5 * step * there[k])
            inside = inside and lower[k] <= next_q[k] <= upper[k]
        lost, drift, along, next_speed = np.inf, 0.0, 0.0, 0.0
        if inside:
            point_on(course.start, course.direction, turning, s + step, model.goal[:12],
                     course.twist)
            linearize(model, course.twist, next_q, work)
            lost = path_rates(model, work.target_twist, redundant, next_q, work, course,
                              next_rates)
            rates_of(model, work.error, False, work, course, slopes[count])
            for k in range(n):
                drift += slopes[count, k]**2
                next_speed += next_rates[k] * next_rates[k]
                along += next_rates[k] * slopes[i, k]
            next_speed = sqrt(next_speed)
        if lost > LOST_SHARE or drift > (DRIFT_SHARE * spacing)**2 \
                or along < SMOOTH_COS * next_speed:
            spacing *= SHORTER_STEP
            if spacing < shortest:
                break
            continue
        if i == 0:
            opening = (smallest_singular_value(model, course) - smallest) / step
        elif ahead >= FAR_AHEAD:
            least = min(least, smallest_singular_value(model, course))
        way = 0.0
        for k in range(n):
            there[k] = (next_rates[k] - rates[k]) / step
            moved = next_q[k] + slopes[count, k] - q[k]
            way += moved * moved
            q[k] += moved
            rates[k] = next_rates[k]
            slopes[count, k] = rates[k] / next_speed
        s += step
        speed = course.paces[count] = next_speed
        ways[count] = ways[i] + sqrt(way)
        count += 1
        spacing = min(LONGER_STEP * spacing, widest)
    for i in range(count - 1):
        inverse = 1.0 / (ways[i + 1] - ways[i])
        for k in range(n):
            curve = (slopes[i + 1, k] - slopes[i, k]) * inverse
            curves[i + 1, k] = curve
            if i > 0:
                f = (ways[i] - ways[i - 1]) / (ways[i + 1] - ways[i - 1])
                curves[i, k] += f * (curve - curves[i, k])
    along = speed = 0.0
    for k in range(n):
        along += course.bends[k] * slopes[0, k]
        speed += course.rates[k] * course.rates[k]
    for k in range(n):
        curves[0, k] = (course.bends[k] - along * slopes[0, k]) / speed
    ends, end = spacing < shortest, ways[count - 1]
    if ends and inside:  # it ends at a singularity
        end -= SINGULAR_WAY
    return count, ends, end, ends and inside, opening, least


@inner
def can_stop(model, count, end, top, u, ud, course):
    """
    Return whether the arm can come to rest on what is known of the path, by braking all the time.

    Parameters
    ----------
    count, end
        Of :func:`look_ahead`.
    top : float
        Speed that is not exceeded meanwhile, m of the task per s.
    u, ud : float
        Speed and acceleration along the path, counted by the way of the joints;
        ``course.last`` are the accelerations of the joints along it.

    """
    limits = model.limits
    velocity, acceleration, jerk = limits.velocity, limits.acceleration, limits.jerk
    ways, slopes, curves, slope, curve = (course.ways, course.slopes, course.curves,
                                          course.slope, course.curve)
    bias, last, paces = course.bias, course.last, course.paces
    n, i, s = slope.shape[0], 0, 0.0
    h = BRAKE_STEP_S
    for _ in range(BRAKE_STEPS):
        if u <= 0.0:
            return True
        s += h * (u + 0.5 * h * ud)
        speed = u + h * ud
        if speed <= 0.0:
            return True
        if s > end:
            return False
        while i < count - 2 and ways[i + 1] < s:
            i += 1
        f = (s - ways[i]) / (ways[i + 1] - ways[i])
        low, high, softest = -np.inf, np.inf, np.inf
        for k in range(n):
            p = slopes[i, k] + f * (slopes[i + 1, k] - slopes[i, k])
            b = curves[i, k] + f * (curves[i + 1, k] - curves[i, k])
            slope[k] = p
            b *= speed * speed
            curve[k] = b
            if abs(p) < TINY_VALUE:
                continue
            inverse = 1.0 / p
            size = abs(inverse)
            softest = min(softest, jerk[k] * size)
            middle, room = -b * inverse, PLAN_ACCELERATION * acceleration[k] * size
            low, high = max(low, middle - room), min(high, middle + room)
            middle, room = (last[k] - b) * inverse, PLAN_JERK * h * jerk[k] * size
            low, high = max(low, middle - room), min(high, middle + room)
        wanted = -sqrt(2.0 * RAMP_JERK_SHARE * PLAN_JERK * softest * speed)
        if low > high:
            after = 0.5 * (low + high)
        else:
            after = min(max(wanted, low), high)
        u += 0.5 * h * (ud + after)
        ud = after
        if u > top * (paces[i] + f * (paces[i + 1] - paces[i])):
            return False
        for k in range(n):
            a = curve[k] + slope[k] * after
            if abs(a) > JUDGED_ACCELERATION * acceleration[k] or abs(a - last[k]) > h * jerk[k] \
                    or abs(slope[k] * u + bias[k]) > SPEED_SHARE * velocity[k]:
                return False
            last[k] = a
    return False
