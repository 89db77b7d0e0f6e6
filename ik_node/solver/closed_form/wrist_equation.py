# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled equation of an arm with an offset wrist, at positions of the joint that is searched.

If that joint of the wrist is given, there are four ways to place the wrist, and each leaves one
equation.  Where axes 2 and 3 are parallel, all is seen in the plane across them, vectors of which
are multiplied as complex numbers: with scans that make no calls, a search takes 5 us instead of
22.  Where axes 1 and 2 meet it is evaluated by the subproblems.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from ik_node.kinematics.kernels import inner, sine_cosine, sine_cosine_within, small
from ik_node.solver.closed_form.closed_form import (
    apply,
    ARM_CLASS,
    axis,
    FOURTH_JOINT,
    GEOMETRY_SIZE,
    goal_rotation,
    link,
    PARALLEL_SHOULDER,
    same_way,
    SEARCHED_JOINT,
    vector,
)
from ik_node.solver.closed_form.subproblems import (
    add,
    Circle,
    circle,
    cross,
    dot,
    MIN_SQUARED_RADIUS,
    negative,
    on_circle,
    rotate,
    subproblem_1,
    subtract,
    turning,
    unit_angle,
)
from ik_node.solver.descent.layout import GOAL_POSITION

# Entries of a goal for an arm, (WRIST_SIZE,): the geometry of the arm; the rotation of the last
# link, which is I at q = 0, row by row; the position of axis 6 from the point on axis 1, m; and,
# of an arm whose axes 2 and 3 are parallel, the Plane: its rows, then its numbers.
ROTATION = GEOMETRY_SIZE
POSITION, ROWS = ROTATION + 9, ROTATION + 12
NUMBERS = ROWS + 36
WRIST_SIZE = NUMBERS + 9

# Entries of a sample, (SAMPLE_SIZE,), the first of each kind: the discriminant of the first two
# ways against the others; those of the first two ways and of the others, negative where there are
# none; the values of the equation of the four ways.
REST_ROW, OPEN_ROWS, VALUE_ROWS = 0, 1, 3
SAMPLE_SIZE = 7


class Plane(NamedTuple):
    """
    An arm whose axes 2 and 3 are parallel, and its goal, seen in the plane across them.

    The rows of vectors are a constant and the factors of sine and cosine of the searched joint.
    Their x is across axes 1 and 2; z is along axis 1 for what joint 1 turns (`p` and `target`),
    along axis 2 for what joint 2 turns (the others).
    """

    p: tuple         # three rows, from the point on axis 1 to the wrist, m
    target: tuple    # three rows, where the fixed axis should point
    p34: tuple       # three rows, from axis 3 to the wrist, m
    fixed: tuple     # three rows, the axis that the last equation is about, in the frame of link 3
    p12: tuple       # x and y, m
    p23: tuple       # x and y, m
    along: float     # z of p12 + p23, m
    constant: float  # the cosine of the equation
    cosine: float    # of the angle between axes 1 and 2
    sine: float
    length: float    # squared length of p23, m^2


class InPlane(NamedTuple):
    """A position of the searched joint: what is the same for all four ways."""

    x: float       # of the wrist, as joint 1 has turned it back, without its sign, m
    y: float
    z: float
    share: float   # discriminant of joint 1, see subproblems.Circle
    side: tuple    # x and y of the target, divided by those of the wrist, 1/m
    height: float  # z of the target
    p34: tuple     # x and y, m
    reach: float   # squared length of these, m^2
    fore: tuple    # x and y of the fixed axis, divided by those of p34, 1/m
    lean: float    # z of the fixed axis
    scale: float   # of the discriminant of joint 3, 1/m^4


class Elbow(NamedTuple):
    """The same, for one sign of x: what is the same for both ways to place the elbow."""

    open: float    # discriminant of both ways
    even: float    # the value of the equation is even + odd or even - odd
    odd: float
    b: tuple       # x and y from axis 2 to the wrist, m
    square: float  # their squared length, m^2
    middle: float  # of p23 times p34 as joint 3 has turned it: its part along p23, m^2
    root: float    # and its part across


class Meeting(NamedTuple):
    """The same as InPlane, of an arm whose axes 1 and 2 meet."""

    # p, p34: (3,), from the point on axis 1 to the wrist, and from axis 3 to it, m
    p: tuple
    p34: tuple
    fixed: tuple     # (3,), the axis that the last equation is about, in the frame of link 3
    target: tuple    # (3,), where it should point
    constant: float  # the cosine of the equation
    outer: Circle    # of joint 3


class Way(NamedTuple):
    """One of the four ways to place the wrist."""

    rest: float   # discriminant of the first two ways against the others
    open: float   # discriminant; there is no such way if it is negative
    value: float  # of the last equation
    # s1, c1, s2, c2, s3, c3: sine and cosine of joints 1 to 3
    s1: float
    c1: float
    s2: float
    c2: float
    s3: float
    c3: float


# ---- axes 2 and 3 are parallel -----------------------------------------------

@inner
def times(a, b):
    """Return the product of two vectors of the plane."""
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


@inner
def over(a, b, square):
    """Return a divided by b, whose squared length is given."""
    scale = 1.0 / max(square, MIN_SQUARED_RADIUS)
    return scale * (a[0] * b[0] + a[1] * b[1]), scale * (a[1] * b[0] - a[0] * b[1])


@small
def at(row, s, c):
    """Return a component of a vector of a Plane."""
    return row[0] + row[1] * s + row[2] * c


@small
def in_plane(plane, s, c):
    """Return what is InPlane at a sine and cosine of the searched joint."""
    x, y, z = at(plane.p[0], s, c), at(plane.p[1], s, c), at(plane.p[2], s, c)
    p34 = at(plane.p34[0], s, c), at(plane.p34[1], s, c)
    beside = at(plane.p34[2], s, c)
    square, reach = x * x + y * y, p34[0] * p34[0] + p34[1] * p34[1]
    # Along axis 2 the wrist is where joint 1 alone puts it.
    turned = (plane.along + beside - plane.cosine * z) / plane.sine
    rest = square - turned * turned
    side = over((at(plane.target[0], s, c), at(plane.target[1], s, c)), (x, y), square)
    fore = over((at(plane.fixed[0], s, c), at(plane.fixed[1], s, c)), p34, reach)
    return InPlane(
        sqrt(max(rest, 0.0)), turned, z,
        rest * plane.sine * plane.sine / max(square + z * z, MIN_SQUARED_RADIUS), side,
        at(plane.target[2], s, c), p34, reach, fore, at(plane.fixed[2], s, c),
        1.0 / max(plane.length * (reach + beside * beside), MIN_SQUARED_RADIUS))


@small
def elbow_at(plane, here, x):
    """Return the Elbow at what is InPlane, for ``here.x`` or its negative."""
    b = (x - plane.p12[0], plane.cosine * here.y - plane.sine * here.z - plane.p12[1])
    square = b[0] * b[0] + b[1] * b[1]
    middle = 0.5 * (square - plane.length - here.reach)
    rest = plane.length * here.reach - middle * middle
    root, share = sqrt(max(rest, 0.0)), rest * here.scale
    sx, sy = times(here.side, (x, here.y))
    side = (sx, plane.cosine * sy - plane.sine * here.height)
    # rot(h2, q2 + q3) in the plane is b conj(p34) (middle + reach +- i root) / (reach square).
    zx, zy = times(over(b, side, square), here.fore)
    even = zx * (middle + here.reach) - plane.constant \
        + here.lean * (plane.sine * sy + plane.cosine * here.height)
    return Elbow(share if here.share >= 0.0 else here.share, even, zy * root, b, square, middle,
                 root)


@small
def way_in_plane(plane, s, c, way):
    """Return a Way, 0 to 3, at a sine and cosine of the searched joint, without its joints."""
    here = in_plane(plane, s, c)
    elbow = elbow_at(plane, here, here.x if way < 2 else -here.x)
    return here.share, elbow.open, elbow.even + (elbow.odd if way & 1 else -elbow.odd)


@small
def arm_in_plane(plane, sense, s, c, way):
    """Return sine and cosine of joints 1 to 3 of a way."""
    here = in_plane(plane, s, c)
    elbow = elbow_at(plane, here, here.x if way < 2 else -here.x)
    p, p34, p23 = (at(plane.p[0], s, c), at(plane.p[1], s, c)), here.p34, plane.p23
    c1, s1 = over(p, (here.x if way < 2 else -here.x, here.y), p[0] * p[0] + p[1] * p[1])
    root = -elbow.root if way & 1 else elbow.root
    c3, s3 = over(over((elbow.middle, root), p34, here.reach), (p23[0], -p23[1]), plane.length)
    c23, s23 = over(times(elbow.b, over((elbow.middle + here.reach, root), p34, here.reach)),
                    (1.0, 0.0), elbow.square)
    c2, s2 = times((c23, s23), (c3, -s3))
    return s1, c1, s2, c2, sense * s3, c3


# ---- axes 1 and 2 meet -------------------------------------------------------

@small
def meeting_at(wrist, s, c):
    """Return the Meeting at a sine and cosine of the searched joint."""
    h3, h4, h5, h6 = axis(wrist, 3), axis(wrist, 4), axis(wrist, 5), axis(wrist, 6)
    p23, p34, p, R = link(wrist, 2), link(wrist, 3), vector(wrist, POSITION), rotation_of(wrist)
    if wrist[SEARCHED_JOINT] == FOURTH_JOINT:
        p34 = add(p34, rotate(h4, s, c, link(wrist, 4)))
        fixed, target, constant = rotate(h4, s, c, h5), h6, dot(h5, h6)
    else:
        p = subtract(p, apply(R, rotate(h6, -s, c, link(wrist, 5))))
        fixed, target, constant = h4, rotate(h6, -s, c, h5), dot(h4, h5)
    # As in closed_form.place_wrist, by the subproblem 4.
    outer = circle(negative(p23), p34, h3,
                   0.5 * (dot(p34, p34) + dot(p23, p23) - dot(p, p)))
    return Meeting(p, p34, fixed, apply(R, target), constant, outer)


@small
def way_where_axes_meet(wrist, there, way):
    """Return a Way, 0 to 3."""
    h1, h2, h3 = axis(wrist, 1), axis(wrist, 2), axis(wrist, 3)
    s3, c3 = on_circle(there.outer, way >> 1)
    b = add(link(wrist, 2), rotate(h3, s3, c3, there.p34))
    inside = circle(h1, b, h2, dot(h1, there.p))
    s2, c2 = on_circle(inside, way & 1)
    s1, c1 = subproblem_1(h1, rotate(h2, s2, c2, b), there.p, 0.0, 1.0)
    side = rotate(h2, s2, c2, rotate(h3, s3, c3, there.fixed))
    share = there.outer.share
    return Way(share, share if share < 0.0 else min(share, inside.share),
               dot(rotate(h1, s1, c1, side), there.target) - there.constant, s1, c1, s2, c2, s3,
               c3)


# ---- both --------------------------------------------------------------------

@inner
def write_wrist(geometry, goal, wrist):
    """Write a goal (19,) for an arm with an offset wrist, (WRIST_SIZE,)."""
    for i in range(GEOMETRY_SIZE):
        wrist[i] = geometry[i]
    R = goal_rotation(geometry, goal)
    p = subtract(subtract(vector(goal, GOAL_POSITION), apply(R, link(geometry, 6))),
                 link(geometry, 0))
    for i in range(3):
        wrist[ROTATION + 3 * i], wrist[ROTATION + 3 * i + 1], wrist[ROTATION + 3 * i + 2] = R[i]
        wrist[POSITION + i] = p[i]
    if geometry[ARM_CLASS] == PARALLEL_SHOULDER:
        write_plane(wrist, R, p)


@inner
def rotation_of(wrist):
    """Return the rows of the rotation of the last link."""
    return vector(wrist, ROTATION), vector(wrist, ROTATION + 3), vector(wrist, ROTATION + 6)


@inner
def write_vector(wrist, row, components):
    """Write a vector of the Plane, from the row of its x."""
    for i in range(3):
        first = ROWS + 3 * (row + i)
        wrist[first], wrist[first + 1], wrist[first + 2] = components[i]


@inner
def write_plane(wrist, R, p):
    """Write the Plane."""
    h1, h2, h4, h5, h6 = (axis(wrist, 1), axis(wrist, 2), axis(wrist, 4), axis(wrist, 5),
                          axis(wrist, 6))
    p12, p23, p34 = link(wrist, 1), link(wrist, 2), link(wrist, 3)
    cosine, x = dot(h1, h2), cross(h2, h1)
    sine = sqrt(dot(x, x))
    x = (x[0] / sine, x[1] / sine, x[2] / sine)
    y, none = cross(h2, x), (0.0, 0.0, 0.0)
    first, second = (x, cross(h1, x), h1), (x, y, h2)
    back = negative(apply(R, h6))  # it turns by the searched joint what the goal has fixed
    if wrist[SEARCHED_JOINT] == FOURTH_JOINT:
        write_vector(wrist, 0, turning(first, p, back, none))
        write_vector(wrist, 3, turning(first, none, back, apply(R, h6)))
        write_vector(wrist, 6, turning(second, p34, h4, link(wrist, 4)))
        write_vector(wrist, 9, turning(second, none, h4, h5))
        constant = dot(h5, h6)
    else:
        write_vector(wrist, 0, turning(first, p, back, negative(apply(R, link(wrist, 5)))))
        write_vector(wrist, 3, turning(first, none, back, apply(R, h5)))
        write_vector(wrist, 6, turning(second, p34, h6, none))
        write_vector(wrist, 9, turning(second, h4, h6, none))
        constant = dot(h4, h5)
    m = NUMBERS
    wrist[m], wrist[m + 1], wrist[m + 2], wrist[m + 3] = dot(x, p12), dot(y, p12), dot(x, p23), \
        dot(y, p23)
    wrist[m + 4], wrist[m + 5] = dot(h2, add(p12, p23)), constant
    wrist[m + 6], wrist[m + 7] = cosine, sine
    wrist[m + 8] = wrist[m + 2] * wrist[m + 2] + wrist[m + 3] * wrist[m + 3]


@small
def rows_of(wrist, row):
    """Return three rows of the Plane."""
    first = ROWS + 3 * row
    return vector(wrist, first), vector(wrist, first + 3), vector(wrist, first + 6)


@small
def plane_of(wrist):
    """Return the Plane."""
    m = NUMBERS
    return Plane(rows_of(wrist, 0), rows_of(wrist, 3), rows_of(wrist, 6), rows_of(wrist, 9),
                 (wrist[m], wrist[m + 1]), (wrist[m + 2], wrist[m + 3]), wrist[m + 4],
                 wrist[m + 5], wrist[m + 6], wrist[m + 7], wrist[m + 8])


@inner
def is_parallel(wrist):
    """Return whether axes 2 and 3 are parallel."""
    return wrist[ARM_CLASS] == PARALLEL_SHOULDER


@inner
def way_at(wrist, position, way):
    """
    Return what a way, 0 to 3, gives at a position (rad) of the searched joint.

    The discriminants of the first two ways against the others, and of the way; the value of the
    equation.
    """
    s, c = sine_cosine_within(position)
    if is_parallel(wrist):
        return way_in_plane(plane_of(wrist), s, c, way)
    there = way_where_axes_meet(wrist, meeting_at(wrist, s, c), way)
    return there.rest, there.open, there.value


@small
def write_sample(wrist, plane, s, c, samples, column):
    """Write a sample into a column of (SAMPLE_SIZE, k); of meeting axes if there is no plane."""
    if plane is None:
        there = meeting_at(wrist, s, c)
        for way in range(4):
            found = way_where_axes_meet(wrist, there, way)
            samples[REST_ROW, column], samples[OPEN_ROWS + (way >> 1), column] = \
                found.rest, found.open
            samples[VALUE_ROWS + way, column] = found.value
    else:
        here = in_plane(plane, s, c)
        samples[REST_ROW, column] = here.share
        for side in range(2):
            elbow = elbow_at(plane, here, here.x if side == 0 else -here.x)
            samples[OPEN_ROWS + side, column] = elbow.open
            samples[VALUE_ROWS + 2 * side, column] = elbow.even - elbow.odd
            samples[VALUE_ROWS + 2 * side + 1, column] = elbow.even + elbow.odd


@inner
def transposed(R, v):
    """Return R^T v."""
    return (R[0][0] * v[0] + R[1][0] * v[1] + R[2][0] * v[2],
            R[0][1] * v[0] + R[1][1] * v[1] + R[2][1] * v[2],
            R[0][2] * v[0] + R[1][2] * v[1] + R[2][2] * v[2])


@inner
def write_joints(wrist, position, way, q):
    """Write the joint positions (6,) of a way at a position of the searched joint, rad."""
    sine, cosine = sine_cosine(position)
    if is_parallel(wrist):
        sense = same_way(axis(wrist, 2), axis(wrist, 3))
        s1, c1, s2, c2, s3, c3 = arm_in_plane(plane_of(wrist), sense, sine, cosine, way)
    else:
        _, _, _, s1, c1, s2, c2, s3, c3 = way_where_axes_meet(
            wrist, meeting_at(wrist, sine, cosine), way)
    q[0], q[1], q[2] = unit_angle(s1, c1), unit_angle(s2, c2), unit_angle(s3, c3)
    h1, h2, h3, h4, h5, h6 = (axis(wrist, 1), axis(wrist, 2), axis(wrist, 3), axis(wrist, 4),
                              axis(wrist, 5), axis(wrist, 6))
    R, fourth = rotation_of(wrist), wrist[SEARCHED_JOINT] == FOURTH_JOINT
    # The rest of the wrist by two subproblems 1: of an axis that the goal has fixed, seen from
    # link 3, and of one that link 3 or 4 has fixed, seen from link 6.
    v = apply(R, h6 if fourth else rotate(h6, -sine, cosine, h5))
    v = rotate(negative(h3), s3, c3, rotate(negative(h2), s2, c2, rotate(negative(h1), s1, c1, v)))
    w = rotate(h4, sine, cosine, h5) if fourth else h4
    w = transposed(R, rotate(h1, s1, c1, rotate(h2, s2, c2, rotate(h3, s3, c3, w))))
    if fourth:
        sine5, cosine5 = subproblem_1(h5, h6, rotate(h4, -sine, cosine, v), 0.0, 1.0)
        sine6, cosine6 = subproblem_1(h6, w, h5, 0.0, 1.0)
        q[3], q[5] = position, unit_angle(sine6, cosine6)
    else:
        sine4, cosine4 = subproblem_1(h4, h5, v, 0.0, 1.0)
        sine5, cosine5 = subproblem_1(h5, rotate(h6, sine, cosine, w), h4, 0.0, 1.0)
        q[3], q[5] = unit_angle(sine4, cosine4), position
    q[4] = unit_angle(sine5, cosine5)
