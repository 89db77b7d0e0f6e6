# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled closed form of seven axes, at many positions of the first or the last joint.

With that joint fixed, the other six have a spherical wrist, and eight branches: two for the
elbow, two for the shoulder, two for the wrist.  Each is followed over all positions, by its signs
of three square roots, without a branch in the code, so that LLVM takes several positions at once.
This takes a fifth of the time of the subproblems.
Vectors across an axis are multiplied as complex numbers.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from ik_node.kinematics.kernels import inner, sine_cosine, sine_cosine_within, small
from ik_node.solver.closed_form.closed_form import (
    apply,
    ARM_CLASS,
    GEOMETRY_SIZE,
    goal_rotation,
    link,
    PARALLEL_SHOULDER,
    vector,
)
from ik_node.solver.closed_form.subproblems import (
    dot,
    FULL_TURN,
    MIN_SQUARED_RADIUS,
    negative,
    subtract,
    turning,
    unit_angle,
)
from ik_node.solver.descent.layout import GOAL_POSITION

# Entries of the form of an arm, (FORM_SIZE,): the geometry of the six joints that follow each
# other, and of the seventh, in the base frame at q = 0: axis (3), a point on it (3), and the pose
# of the tip (rotation row by row, position); not 0 if the seventh is the last one.  Then the arm
# is seen from its tip: the sixth joint comes first.  Then the frames of axes 1 and 6 of the six
# (9 each, axis by axis), the rotations from the frame of axis 3 to those of axes 2 and 4 (9 each,
# row by row), and the numbers of Six.  The z of each frame is its axis; y is common to axes 1 and
# 2, to 4 and 5, and to 5 and 6, with a second frame of axis 5.
AXIS = GEOMETRY_SIZE
POINT, TIP_POSE, FROM_TIP = AXIS + 3, AXIS + 6, AXIS + 18
FIRST_FRAME = FROM_TIP + 1
LAST_FRAME, TO_SECOND, TO_FOURTH = FIRST_FRAME + 9, FIRST_FRAME + 18, FIRST_FRAME + 27
NUMBERS = FIRST_FRAME + 36
FORM_SIZE = NUMBERS + 17

BRANCHES = 8
ROWS_SIZE = 36       # of a goal, see :func:`write_rows`


angle_of = small(unit_angle.py_func)  # inlined, as it must be for several positions at once


class Six(NamedTuple):
    """Numbers of six joints with a spherical wrist; sines and cosines are of angles of axes."""

    cosine12: float
    sine12: float
    cosine45: float
    sine45: float
    cosine56: float
    sine56: float
    # x and y in the first frame of axis 5 of the x of its second frame
    turn5_x: float
    turn5_y: float
    # x, y of p23 and p34: across axis 3 in its frame; with parallel axes across axis 2 in its
    # frame, m
    p23_x: float
    p23_y: float
    p34_x: float
    p34_y: float
    # Of p23 + p34 along axis 3; with parallel axes of p12 + p23 + p34 along axis 2, m
    along: float
    squares: float  # of the lengths of p34 and p23, and twice their product along axis 3, m^2
    # x and y of p12 in the frame of axis 2, m
    p12_x: float
    p12_y: float
    sense: float    # 1 if axes 2 and 3 point the same way, else -1


class Arm(NamedTuple):
    """Joints 1 to 3 of a branch, as unit vectors, and what is left to the wrist."""

    open: float   # least discriminant; there is no such branch if it is negative
    e1: tuple
    e2: tuple
    e3: tuple
    f: tuple      # x and y of axis 6 in the frame of axis 4, as joints 1 to 3 have turned it back
    w: tuple      # x and y of axis 4 in the frame of axis 6, as the goal has turned it back
    along: float  # x of axis 6 in the frame of axis 5, as joint 5 has turned it
    root: float   # and the size of its y


@small
def times(a, b):
    """Return the product of two vectors of a plane."""
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


@small
def back(a, b):
    """Return a turned back by b: the product with its conjugate."""
    return a[0] * b[0] + a[1] * b[1], a[1] * b[0] - a[0] * b[1]


@small
def scaled(a, square):
    """Return a, divided by a squared length."""
    scale = 1.0 / max(square, MIN_SQUARED_RADIUS)
    return a[0] * scale, a[1] * scale


@small
def three(row, s, c):
    """Return a vector of the goal, of nine numbers, at a sine and cosine of the seventh joint."""
    return (row[0] + row[1] * s + row[2] * c, row[3] + row[4] * s + row[5] * c,
            row[6] + row[7] * s + row[8] * c)


@small
def mapped(m, v):
    """Return a vector in another frame; m has nine numbers, row by row."""
    return (m[0] * v[0] + m[1] * v[1] + m[2] * v[2], m[3] * v[0] + m[4] * v[1] + m[5] * v[2],
            m[6] * v[0] + m[7] * v[1] + m[8] * v[2])


@small
def mapped_back(m, v):
    """Return a vector in the frame that :func:`mapped` begins from."""
    return (m[0] * v[0] + m[3] * v[1] + m[6] * v[2], m[1] * v[0] + m[4] * v[1] + m[7] * v[2],
            m[2] * v[0] + m[5] * v[1] + m[8] * v[2])


@small
def meeting_shoulder(six, to_second, p, elbow, shoulder):
    """
    Return discriminant and joints 1 to 3 of an arm whose axes 1 and 2 meet.

    `p` is the wrist in the frame of axis 1; `elbow` and `shoulder` are 1 or -1.
    """
    square = p[0] * p[0] + p[1] * p[1]
    # Joint 3 gives the distance from where the axes meet: p23 times p34 as it has turned it.
    length = (six.p23_x * six.p23_x + six.p23_y * six.p23_y) * (
        six.p34_x * six.p34_x + six.p34_y * six.p34_y)
    middle = 0.5 * (square + p[2] * p[2] - six.squares)
    rest = length - middle * middle
    root = elbow * sqrt(max(rest, 0.0))
    p23, p34 = (six.p23_x, six.p23_y), (six.p34_x, six.p34_y)
    turned = times((middle, root), p23)  # p34 turned, times the square of p23
    e3 = scaled(back(turned, p34), length)
    turned = scaled(turned, p23[0] * p23[0] + p23[1] * p23[1])
    b = mapped(to_second, (p23[0] + turned[0], p23[1] + turned[1], six.along))
    # Joint 2 gives the height along axis 1.
    x, radius = (p[2] - six.cosine12 * b[2]) / six.sine12, b[0] * b[0] + b[1] * b[1]
    left = radius - x * x
    y = shoulder * sqrt(max(left, 0.0))
    e2 = scaled(back((x, y), (b[0], b[1])), radius)
    e1 = scaled(back((p[0], p[1]), (six.cosine12 * x - six.sine12 * b[2], y)), square)
    return min(rest / max(length, MIN_SQUARED_RADIUS), left / max(radius, MIN_SQUARED_RADIUS)), \
        e1, e2, e3


@small
def parallel_shoulder(six, p, elbow, shoulder):
    """Return the same of an arm whose axes 2 and 3 are parallel."""
    square = p[0] * p[0] + p[1] * p[1]
    # Along axis 2 the wrist is where joint 1 alone puts it.
    x = (six.cosine12 * p[2] - six.along) / six.sine12
    left = square - x * x
    y = shoulder * sqrt(max(left, 0.0))
    e1 = scaled(back((p[0], p[1]), (x, y)), square)
    b = (six.cosine12 * x + six.sine12 * p[2] - six.p12_x, y - six.p12_y)
    p23, p34 = (six.p23_x, six.p23_y), (six.p34_x, six.p34_y)
    upper, lower = p23[0] * p23[0] + p23[1] * p23[1], p34[0] * p34[0] + p34[1] * p34[1]
    reach = b[0] * b[0] + b[1] * b[1]
    middle, length = 0.5 * (reach - upper - lower), upper * lower
    rest = length - middle * middle
    root = elbow * sqrt(max(rest, 0.0))
    e3 = scaled(back(times((middle, root), p23), p34), length)
    e2 = scaled(back(times(b, back((middle + lower, root), p34)), e3), lower * reach)
    return min(rest / max(length, MIN_SQUARED_RADIUS), left / max(square, MIN_SQUARED_RADIUS)), \
        e1, e2, (e3[0], six.sense * e3[1])


@small
def arm_at(six, maps, goal, s, c, way, parallel):
    """
    Return an Arm at a sine and cosine of the seventh joint.

    Parameters
    ----------
    six : Six
    maps : tuple
        To the frames of axes 2 and 4, from that of axis 3, nine numbers each.
    goal : tuple
        Four vectors, see :func:`write_rows`.
    s, c : float
    way : int
        0 to 3.
    parallel : bool
        Whether axes 2 and 3 are.

    """
    to_second, to_fourth = maps
    elbow, shoulder = 1.0 - (way & 2), 1.0 - 2.0 * (way & 1)
    p = three(goal[0], s, c)
    share, e1, e2, e3 = parallel_shoulder(six, p, elbow, shoulder) if parallel \
        else meeting_shoulder(six, to_second, p, elbow, shoulder)
    # Axis 6 back to link 3.
    u = three(goal[1], s, c)
    a = back((u[0], u[1]), e1)
    a2 = back((six.cosine12 * a[0] + six.sine12 * u[2], a[1]), e2)
    b = mapped_back(to_second, (a2[0], a2[1], six.cosine12 * u[2] - six.sine12 * a[0]))
    a3 = back((b[0], b[1]), e3)
    f = mapped(to_fourth, (a3[0], a3[1], b[2]))
    # Axis 4 on to the goal.
    g = times((to_fourth[6], to_fourth[7]), e3)
    v = mapped(to_second, (g[0], g[1], to_fourth[8]))
    g2 = times((v[0], v[1]), e2)
    g1 = times((six.cosine12 * g2[0] - six.sine12 * v[2], g2[1]), e1)
    out = (g1[0], g1[1], six.sine12 * g2[0] + six.cosine12 * v[2])
    w = dot(three(goal[2], s, c), out), dot(three(goal[3], s, c), out)
    along = (f[2] - six.cosine45 * six.cosine56) / six.sine45
    rest = six.sine56 * six.sine56 - along * along
    return Arm(min(share, rest), e1, e2, e3, (f[0], f[1]), w, along, sqrt(max(rest, 0.0)))


@small
def wrist_at(six, arm, root):
    """Return joints 4 to 6 as unit vectors, for ``arm.root`` or its negative."""
    turned = (arm.along, root)
    f, w = arm.f, arm.w
    x = six.cosine45 * arm.along - six.sine45 * six.cosine56
    e4 = scaled(back(f, (x, root)), f[0] * f[0] + f[1] * f[1])
    e5 = scaled(back(turned, (six.turn5_x, six.turn5_y)), six.sine56)
    share = six.sine45 / six.sine56
    n = (share * six.cosine56 * arm.along - six.sine56 * six.cosine45, -share * root)
    return e4, e5, scaled(back(n, w), w[0] * w[0] + w[1] * w[1])


@inner
def write_rows(form, T, rows):
    """
    Write a goal (16,) as it depends on the seventh joint, (ROWS_SIZE,).

    In the frame of axis 1: the wrist from the point on axis 1, axis 6, and x and y of the frame
    of axis 6; of each vector three components, see :func:`.subproblems.turning`.
    """
    goal, m = rows[:12], TIP_POSE
    k = vector(form, AXIS)
    if form[FROM_TIP] == 0.0:
        for i in range(3):
            for j in range(3):
                goal[3 * i + j] = T[4 * i + j]
            goal[GOAL_POSITION + i] = T[4 * i + 3]
        k = negative(k)
    else:  # M T^-1
        for i in range(3):
            row, p = vector(form, m + 3 * i), form[m + 9 + i]
            for j in range(3):
                goal[3 * i + j] = dot(row, (T[4 * j], T[4 * j + 1], T[4 * j + 2]))
            for j in range(3):
                p -= goal[3 * i + j] * T[4 * j + 3]
            goal[GOAL_POSITION + i] = p
    R, point = goal_rotation(form, goal), vector(form, POINT)
    position = vector(goal, GOAL_POSITION)
    frame = (vector(form, FIRST_FRAME), vector(form, FIRST_FRAME + 3),
             vector(form, FIRST_FRAME + 6))
    none, last = (0.0, 0.0, 0.0), LAST_FRAME
    vectors = (
        turning(frame, subtract(point, link(form, 0)), k,
                subtract(subtract(position, point), apply(R, link(form, 6)))),
        turning(frame, none, k, apply(R, vector(form, last + 6))),
        turning(frame, none, k, apply(R, vector(form, last))),
        turning(frame, none, k, apply(R, vector(form, last + 3))))
    for i in range(4):
        for j in range(3):
            first = 9 * i + 3 * j
            rows[first], rows[first + 1], rows[first + 2] = vectors[i][j]


@small
def nine(array, first):
    """Return nine entries of an array."""
    a = array
    return (a[first], a[first + 1], a[first + 2], a[first + 3], a[first + 4], a[first + 5],
            a[first + 6], a[first + 7], a[first + 8])


@small
def six_of(form):
    """Return the Six of an arm, and the maps of :func:`arm_at`."""
    n = NUMBERS
    return Six(form[n], form[n + 1], form[n + 2], form[n + 3], form[n + 4], form[n + 5],
               form[n + 6], form[n + 7], form[n + 8], form[n + 9], form[n + 10], form[n + 11],
               form[n + 12], form[n + 13], form[n + 14], form[n + 15], form[n + 16]), \
        (nine(form, TO_SECOND), nine(form, TO_FOURTH))


@small
def goal_of(rows):
    """Return the vectors of a goal."""
    return nine(rows, 0), nine(rows, 9), nine(rows, 18), nine(rows, 27)


@small
def apart(e, seed, lower, upper):
    """
    Return how far an angle, given as a unit vector, is from the seed, rad.

    At the turn nearest to the seed and inside the limits; or, if no turn is inside, at the limit
    that is nearest.  Also how far the angle is beyond that.
    """
    x = angle_of(e[1], e[0])
    x += FULL_TURN * np.rint((seed - x) * (1.0 / FULL_TURN))
    x -= FULL_TURN * max(np.ceil((x - upper) * (1.0 / FULL_TURN)), 0.0)
    x += FULL_TURN * max(np.ceil((lower - x) * (1.0 / FULL_TURN)), 0.0)
    over, under = x - upper, lower + FULL_TURN - x
    limit = lower if under < over else upper
    excess = max(min(over, under), 0.0)
    return (limit if over > 0.0 else x) - seed, excess if over > 0.0 else 0.0


@inner
def write_branch(form, rows, joints, position, branch, q):
    """
    Write joints 1 to 6 of a branch, 0 to 7, at a position of the seventh joint, (6,), rad.

    `joints`: as in :func:`take_branches`.
    """
    six, maps = six_of(form)
    s, c = sine_cosine(position)
    parallel = form[ARM_CLASS] == PARALLEL_SHOULDER
    arm = arm_at(six, maps, goal_of(rows), s, c, branch >> 1, True) if parallel \
        else arm_at(six, maps, goal_of(rows), s, c, branch >> 1, False)
    e4, e5, e6 = wrist_at(six, arm, -arm.root if branch & 1 else arm.root)
    vectors = (arm.e1, arm.e2, arm.e3, e4, e5, e6)
    for k in range(6):
        q[k] = joints[0, k] + apart(vectors[k], joints[0, k], joints[1, k], joints[2, k])[0]


@small
def take_branches(way, parallel, form, rows, places, joints, samples):
    """
    Write how far two branches are from the seed, at many positions.

    Parameters
    ----------
    way : int
        0 to 3; of branches ``2 way`` and ``2 way + 1``.
    parallel : bool
    form : (FORM_SIZE,) array
    rows : (ROWS_SIZE,) array
    places : (float, float, float)
        The first position of the seventh joint, the step, and its seed, rad.
    joints : (3, 6) array
        Seed and limits of the six joints, rad.
    samples : (BRANCHES, 2, N) array, written
        Squared distances, rad^2; and how far the branches are beyond the limits or beyond where
        they end, rad, 0 inside.

    """
    six, maps = six_of(form)
    goal, (begin, step, seed) = goal_of(rows), places
    j = joints
    first, second, third = (j[0, 0], j[1, 0], j[2, 0]), (j[0, 1], j[1, 1], j[2, 1]), \
        (j[0, 2], j[1, 2], j[2, 2])
    fourth, fifth, sixth = (j[0, 3], j[1, 3], j[2, 3]), (j[0, 4], j[1, 4], j[2, 4]), \
        (j[0, 5], j[1, 5], j[2, 5])
    squares0, excess0 = samples[2 * way, 0], samples[2 * way, 1]
    squares1, excess1 = samples[2 * way + 1, 0], samples[2 * way + 1, 1]
    for k in range(samples.shape[2]):
        position = begin + step * k
        s, c = sine_cosine_within(position)
        arm = arm_at(six, maps, goal, s, c, way, parallel)
        d1, x1 = apart(arm.e1, *first)
        d2, x2 = apart(arm.e2, *second)
        d3, x3 = apart(arm.e3, *third)
        shared = (position - seed)**2 + d1 * d1 + d2 * d2 + d3 * d3
        excess = max(max(x1, x2), max(x3, sqrt(max(-arm.open, 0.0))))
        for side in range(2):
            e4, e5, e6 = wrist_at(six, arm, arm.root if side == 0 else -arm.root)
            d4, x4 = apart(e4, *fourth)
            d5, x5 = apart(e5, *fifth)
            d6, x6 = apart(e6, *sixth)
            square = shared + d4 * d4 + d5 * d5 + d6 * d6
            beyond = max(max(excess, x4), max(x5, x6))
            if side == 0:
                squares0[k], excess0[k] = square, beyond
            else:
                squares1[k], excess1[k] = square, beyond


@inner
def take_all(form, rows, places, joints, samples):
    """Write what :func:`take_branches` does, of all branches."""
    if form[ARM_CLASS] == PARALLEL_SHOULDER:
        for way in range(4):
            take_branches(way, True, form, rows, places, joints, samples)
    else:
        for way in range(4):
            take_branches(way, False, form, rows, places, joints, samples)
