# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled inverse kinematics of six revolute joints with an offset wrist: every branch of a pose.

For arms whose axes 2 and 3 are parallel, or whose axes 1 and 2 meet, and whose axes 4 and 5 or
5 and 6 meet, but not all three.  If one joint of the wrist is given, the others follow in closed
form but for one equation (Elias and Wen, "IK-Geo", 2025).  Its roots are sought along that joint:
between samples, and around the positions where two of the four ways to place the wrist become
one.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import NamedTuple

import numpy as np

from ik_node.kinematics.kernels import (
    allocating,
    compiled,
    copy,
    inlined,
    inner,
    sine_cosine,
    sine_cosine_within,
    small,
)
from ik_node.solver.closed_form.closed_form import (
    apply,
    ARM_CLASS,
    axis,
    branch_workspace,
    FOURTH_JOINT,
    GEOMETRY_PART,
    goal_rotation,
    JOINTS_PART,
    link,
    PARALLEL_SHOULDER,
    polish_branches,
    same_way,
    SEARCHED_JOINT,
    SETTINGS_PART,
    squared_distance,
    vector,
)
from ik_node.solver.closed_form.subproblems import (
    across,
    add,
    Circle,
    circle,
    cross,
    dot,
    FULL_TURN,
    MIN_SQUARED_RADIUS,
    negative,
    on_circle,
    rotate,
    subproblem_1,
    subtract,
    unit_angle,
)
from ik_node.solver.descent.damped import descend, EARLY_STOP, SHORT_STEP
from ik_node.solver.descent.entry import write_row
from ik_node.solver.descent.layout import (
    Attempt,
    BOX_WIDTHS,
    GOAL_POSITION,
    joint_rows,
    POSE_SIZE,
    ProblemArrays,
    workspace,
)
from ik_node.solver.descent.residual import fill_goal

JOINT_SAMPLES = 56         # of the searched joint, over a turn
EDGE_SAMPLES = 2           # at the ends of a window, beside which roots are not sought
MAX_CANDIDATES = 32        # twice as many as there can be
SAMPLE_SIZE = 9            # entries of a sample, see SearchWork; the first of each kind:
REST_ROW, OPEN_ROWS, VALUE_ROWS = 0, 1, 5
MAX_REFINEMENTS = 12
ROOT_TOLERANCE = 1e-9      # of the equation (a cosine), and of the joint (rad)
FOLD_TOLERANCE = 1e-7      # of the discriminant, where two ways become one
TOUCH_TOLERANCE = 1e-5     # of the equation, at a double root
EXTREMUM_STEPS = 8         # of successive parabolic interpolation
DEEPEST_SHARE = 0.8        # an extremum is sought if the parabola leaves less of the value
CLOSEST_SHARE = 0.02       # of the interval, between two of its positions
NEAR_FOLD = 0.1            # discriminant below which there are twice as many samples
FOLD_SAMPLES = 3           # added between a sample and the position where all four ways end
MAX_SAMPLES = (FOLD_SAMPLES + 1) * JOINT_SAMPLES + 1
NEAR_ATTEMPT = Attempt(EARLY_STOP, SHORT_STEP, 5.0, False)


class Wrist(NamedTuple):
    """A goal for an arm with an offset wrist."""

    # Whether joint 4 is searched (axes 5 and 6 meet), else joint 6 (axes 4 and 5 meet).
    by_fourth: bool
    parallel: bool  # whether axes 2 and 3 are parallel, else axes 1 and 2 meet
    sense: float    # 1 if axes 2 and 3 point the same way, else -1
    axes: tuple     # six (3,), at q = 0
    links: tuple    # five (3,), from axis 1 to 2, 2 to 3, ..., 5 to 6, m
    R: tuple        # rotation of the last link; it is I at q = 0
    p: tuple        # (3,), from the point on axis 1 to that on axis 6, m


class Searched(NamedTuple):
    """A position of the searched joint: what is the same for all four ways to place the wrist."""

    # p, p34: (3,), from the point on axis 1 to the wrist, and from axis 3 to it, m
    p: tuple
    p34: tuple
    fixed: tuple     # (3,), the axis that the last equation is about, in the frame of link 3
    target: tuple    # (3,), where it should point
    constant: float  # the cosine of the equation
    # Of joint 1, or of joint 3 where axes 1 and 2 meet; the first two ways are one solution.
    outer: Circle


class Way(NamedTuple):
    """One of the four ways to place the wrist."""

    open: float   # discriminant; there is no such way if it is negative
    value: float  # of the last equation
    # s1, c1, s2, c2, s3, c3: sine and cosine of joints 1 to 3
    s1: float
    c1: float
    s2: float
    c2: float
    s3: float
    c3: float


class Curve(NamedTuple):
    """A smooth piece of the equation: at the joint position ``origin + span u^power``, by u."""

    # origin, span: rad
    origin: float
    span: float
    power: int  # 1, or 2 around a position where two ways become one: then u >= 0 on the first
    # first, second: numbers of the ways, 0 to 3
    first: int
    second: int


class SearchWork(NamedTuple):
    """The arrays that the search works in."""

    # (9, JOINT_SAMPLES), samples that are spread evenly over a turn: the discriminant of the first
    # two ways against the others; the discriminants of the ways, negative where there is none; the
    # values
    even: np.ndarray
    # (9, MAX_SAMPLES + 1), the same of all samples.  The last is for one between them.
    samples: np.ndarray
    positions: np.ndarray  # (MAX_SAMPLES + 1,), of all samples, rad
    nodes: np.ndarray      # (7, 2), positions on a curve, and the values there
    found: np.ndarray      # (MAX_CANDIDATES, 6), joint positions, rad


@inner
def transposed(R, v):
    """Return R^T v."""
    return (R[0][0] * v[0] + R[1][0] * v[1] + R[2][0] * v[2],
            R[0][1] * v[0] + R[1][1] * v[1] + R[2][1] * v[2],
            R[0][2] * v[0] + R[1][2] * v[1] + R[2][2] * v[2])


@small
def searched_at(wrist, position):
    """Return what is Searched at a position (rad)."""
    h1, h2, h3, h4, h5, h6 = wrist.axes
    p12, p23, p34, p45, p56 = wrist.links
    sine, cosine = sine_cosine_within(position)
    if wrist.by_fourth:
        p, p34 = wrist.p, add(p34, rotate(h4, sine, cosine, p45))
        fixed, target, constant = rotate(h4, sine, cosine, h5), h6, dot(h5, h6)
    else:
        p = subtract(wrist.p, apply(wrist.R, rotate(h6, -sine, cosine, p56)))
        fixed, target, constant = h4, rotate(h6, -sine, cosine, h5), dot(h4, h5)
    # As in closed_form.place_wrist: joints 1 and 3, or 3 and 2, by the subproblem 4.
    if wrist.parallel:
        outer = circle(h2, p, negative(h1), dot(h2, add(add(p12, p23), p34)))
    else:
        outer = circle(negative(p23), p34, h3,
                       0.5 * (dot(p34, p34) + dot(p23, p23) - dot(p, p)))
    return Searched(p, p34, fixed, apply(wrist.R, target), constant, outer)


@small
def way_of_parallel_axes(wrist, at, way):
    """Return a Way, 0 to 3, of an arm whose axes 2 and 3 are parallel."""
    h1, h2, h3 = wrist.axes[:3]
    p12, p23 = wrist.links[:2]
    s1, c1 = on_circle(at.outer, way >> 1)
    b = subtract(rotate(negative(h1), s1, c1, at.p), p12)
    side = rotate(negative(h1), s1, c1, at.target)
    squares = dot(at.p34, at.p34) + dot(p23, p23)
    inside = circle(negative(p23), at.p34, h3, 0.5 * (squares - dot(b, b)))
    s3, c3 = on_circle(inside, way & 1)
    # Subproblem 1 of axis 2, from p23 + rot(h3, q3) p34 to b.  They are as long if the axes are
    # parallel; if they are only nearly so, the polish mends it.
    plane, normal = across(h2, b), cross(b, h2)
    scale = 1.0 / max(dot(plane, plane), MIN_SQUARED_RADIUS)
    fore, turned = across(h3, at.p34), cross(h3, at.p34)
    s2 = scale * (dot(p23, normal) + c3 * dot(fore, normal) + s3 * dot(turned, normal))
    c2 = scale * (dot(p23, plane) + c3 * dot(fore, plane) + s3 * dot(turned, plane))
    s23, c23 = s2 * c3 + wrist.sense * c2 * s3, c2 * c3 - wrist.sense * s2 * s3
    # The part of rot(h2, q2 + q3) fixed in the direction of side.
    along = dot(h2, at.fixed) * dot(h2, side)
    value = c23 * (dot(at.fixed, side) - along) + s23 * dot(cross(h2, at.fixed), side) + along
    share = at.outer.share
    return Way(share if share < 0.0 else min(share, inside.share), value - at.constant,
               s1, c1, s2, c2, s3, c3)


@small
def way_of_meeting_axes(wrist, at, way):
    """Return a Way, 0 to 3, of an arm whose axes 1 and 2 meet."""
    h1, h2, h3 = wrist.axes[:3]
    s3, c3 = on_circle(at.outer, way >> 1)
    b = add(wrist.links[1], rotate(h3, s3, c3, at.p34))
    inside = circle(h1, b, h2, dot(h1, at.p))
    s2, c2 = on_circle(inside, way & 1)
    s1, c1 = subproblem_1(h1, rotate(h2, s2, c2, b), at.p, 0.0, 1.0)
    side = rotate(h2, s2, c2, rotate(h3, s3, c3, at.fixed))
    share = at.outer.share
    return Way(share if share < 0.0 else min(share, inside.share),
               dot(rotate(h1, s1, c1, side), at.target) - at.constant, s1, c1, s2, c2, s3, c3)


@inner
def way_at(wrist, position, way):
    """Return a Way, 0 to 3, at a position (rad), and the discriminant of the first two ways."""
    at = searched_at(wrist, position)
    if wrist.parallel:
        return way_of_parallel_axes(wrist, at, way), at.outer.share
    return way_of_meeting_axes(wrist, at, way), at.outer.share


@small
def write_sample(wrist, parallel, position, samples, column):
    """Write a sample into a column of (9, k), see SearchWork."""
    at = searched_at(wrist, position)
    samples[REST_ROW, column] = at.outer.share
    for k in range(4):
        way = way_of_parallel_axes(wrist, at, k) if parallel else way_of_meeting_axes(wrist, at, k)
        samples[OPEN_ROWS + k, column], samples[VALUE_ROWS + k, column] = way.open, way.value


@inner
def value(wrist, curve, u):
    """Return the value of the equation on a curve."""
    way = curve.first if u >= 0.0 else curve.second
    position = curve.origin + curve.span * (u * u if curve.power == 2 else u)
    return way_at(wrist, position, way)[0].value


@inner
def keep(wrist, curve, u, work, count):
    """Write the joint positions at a root into ``work.found``; return how many there are."""
    if count == MAX_CANDIDATES:
        return count
    q = work.found[count]
    h1, h2, h3, h4, h5, h6 = wrist.axes
    way = curve.first if u >= 0.0 else curve.second
    position = curve.origin + curve.span * (u * u if curve.power == 2 else u)
    _, _, s1, c1, s2, c2, s3, c3 = way_at(wrist, position, way)[0]
    q[0], q[1], q[2] = unit_angle(s1, c1), unit_angle(s2, c2), unit_angle(s3, c3)
    sine, cosine = sine_cosine(position)
    if wrist.by_fourth:
        v = rotate(negative(h3), s3, c3, rotate(negative(h2), s2, c2, rotate(
            negative(h1), s1, c1, apply(wrist.R, h6))))
        sine5, cosine5 = subproblem_1(h5, h6, rotate(h4, -sine, cosine, v), 0.0, 1.0)
        w = rotate(h4, sine, cosine, h5)
        w = transposed(wrist.R, rotate(h1, s1, c1, rotate(h2, s2, c2, rotate(h3, s3, c3, w))))
        sine6, cosine6 = subproblem_1(h6, w, h5, 0.0, 1.0)
        q[3], q[5] = position, unit_angle(sine6, cosine6)
    else:
        v = rotate(negative(h3), s3, c3, rotate(negative(h2), s2, c2, rotate(
            negative(h1), s1, c1, apply(wrist.R, rotate(h6, -sine, cosine, h5)))))
        sine4, cosine4 = subproblem_1(h4, h5, v, 0.0, 1.0)
        w = transposed(wrist.R, rotate(h1, s1, c1, rotate(h2, s2, c2, rotate(h3, s3, c3, h4))))
        sine5, cosine5 = subproblem_1(h5, rotate(h6, sine, cosine, w), h4, 0.0, 1.0)
        q[3], q[5] = unit_angle(sine4, cosine4), position
    q[4] = unit_angle(sine5, cosine5)
    return count + 1


@inner
def root_between(wrist, curve, one, other, work, count):
    """Keep a root at two positions (u, value) on a curve, or between them (Anderson-Bjorck)."""
    (a, fa), (b, fb) = one, other
    if fa == 0.0 or fb == 0.0:
        return keep(wrist, curve, a if fa == 0.0 else b, work, count)
    if not fa * fb < 0.0:
        return count
    u = b
    for _ in range(MAX_REFINEMENTS):
        u = b - fb * (b - a) / (fb - fa)
        f = value(wrist, curve, u)
        if abs(f) < ROOT_TOLERANCE or abs(b - a) < ROOT_TOLERANCE:
            break
        if f * fb < 0.0:
            a, fa = b, fb
        else:
            share = 1.0 - f / fb
            fa *= share if share > 0.0 else 0.5
        b, fb = u, f
    return keep(wrist, curve, u, work, count)


@inner
def roots_around(wrist, curve, left, middle, right, work, count):
    """
    Keep the roots on both sides of an extremum of a curve, which may lie between three nodes.

    Each is u and value.  The values have one sign, and the middle one is the least; a double
    root is kept once.
    """
    a, fa, b, fb, c, fc = left[0], left[1], middle[0], middle[1], right[0], right[1]
    if not (fa * fb > 0.0 and fc * fb > 0.0 and abs(fb) <= abs(fa) and abs(fb) <= abs(fc)):
        return count
    for _ in range(EXTREMUM_STEPS):
        # The vertex of the parabola through the three nodes.
        rise, fall = (fb - fa) / (b - a), (fc - fb) / (c - b)
        bend = (fall - rise) / (c - a)
        slope = rise + bend * (b - a)
        if not bend * fb > 0.0 or (fb - 0.25 * slope * slope / bend) / fb > DEEPEST_SHARE:
            return count
        u = b - 0.5 * slope / bend
        if abs(u - b) < CLOSEST_SHARE * (c - a):  # the longer side is shortened
            u += CLOSEST_SHARE * (c - a) * (1.0 if c - b > b - a else -1.0)
        f = value(wrist, curve, u)
        if f * fb < 0.0:
            for side in range(2):
                end = (a, fa) if side == 0 else (c, fc)
                count = root_between(wrist, curve, end, (u, f), work, count)
            return count
        if abs(f) < abs(fb):
            if u < b:
                c, fc = b, fb
            else:
                a, fa = b, fb
            b, fb = u, f
        elif u < b:
            a, fa = u, f
        else:
            c, fc = u, f
        if abs(fb) < TOUCH_TOLERANCE:
            return keep(wrist, curve, b, work, count)
    return count


@inner
def fold_between(wrist, way, a, da, b, db):
    """
    Return where a discriminant is zero, between two positions (rad) with its values.

    It is that of a way; of the first two ways against the others, if `way` is negative.

    Returns
    -------
    float
        rad
    Way, float
        Of :func:`way_at`, there.

    """
    fold = b
    for _ in range(MAX_REFINEMENTS):
        fold = b - db * (b - a) / (db - da)
        there, rest = way_at(wrist, fold, max(way, 0))
        d = rest if way < 0 else there.open
        if abs(d) < FOLD_TOLERANCE:
            break
        if d * db < 0.0:
            a, da = b, db
        else:
            da *= 0.5
        b, db = fold, d
    return fold, there, rest


@inner
def roots_at_fold(wrist, way, sample, previous, end, work, count):
    """
    Keep the roots beside the position where a way and another one become one and end.

    Parameters
    ----------
    wrist : Wrist
    way : int
    sample, previous : int
        Columns of the samples on its open side, the nearer and the next; `previous` is negative
        if there is none.
    end : int
        Column of the next sample, where there is no such way.
    work : SearchWork
    count : int
        Of what was found before.

    Returns
    -------
    int
        The new number.

    """
    opening, values = ways_of(work.samples)
    # Each pair of ways once.
    partner = way ^ 2 if work.samples[REST_ROW, end] < 0.0 else way ^ 1
    if partner < way and opening[partner, sample] >= 0.0:
        return count
    opened, closed = work.positions[sample], work.positions[end]
    closed += FULL_TURN * np.rint((opened - closed) / FULL_TURN)
    fold, there, rest = fold_between(wrist, way, opened, opening[way, sample], closed,
                                     opening[way, end])
    other = way ^ 2 if rest <= there.open else way ^ 1
    both = opening[other, sample] >= 0.0
    if both and other < way:
        return count  # found with the other
    curve = Curve(fold, opened - fold, 2, way, other)
    # Nodes of the curve, from the other way over the fold to this one: u and value.
    nodes, far = work.nodes, 0.0
    if previous >= 0:
        far = work.positions[previous] - fold
        far = sqrt(abs((far - FULL_TURN * np.rint(far / FULL_TURN)) / curve.span))
    first, end = (1, 6) if previous < 0 else (0, 7)
    if not both:
        first = 3
    elif first == 0 and opening[other, previous] < 0.0:
        first = 1
    if end == 7 and opening[way, previous] < 0.0:
        end = 6
    for k in range(first, end):
        at = way if k > 3 else other
        if k == 0 or k == 6:
            nodes[k, 0], nodes[k, 1] = (far if k == 6 else -far), values[at, previous]
        elif k == 1 or k == 5:
            nodes[k, 0], nodes[k, 1] = 0.5 * (k - 3), values[at, sample]
        else:
            nodes[k, 0] = 0.5 * (k - 3)
            nodes[k, 1] = value(wrist, curve, nodes[k, 0])
    for k in range(max(first, 1), min(end - 1, 5)):
        count = root_between(wrist, curve, (nodes[k, 0], nodes[k, 1]),
                             (nodes[k + 1, 0], nodes[k + 1, 1]), work, count)
    for k in range(first + 1, end - 1):
        count = roots_around(wrist, curve, nodes[k - 1], nodes[k], nodes[k + 1], work, count)
    return count


@inlined
def ways_of(samples):
    """Return discriminants and values of the four ways, each (4, k), of samples (9, k)."""
    return samples[OPEN_ROWS:VALUE_ROWS], samples[VALUE_ROWS:]


@inner
def add_sample(wrist, position, column, work):
    """Write a sample into a column."""
    work.positions[column] = position
    write_sample(wrist, wrist.parallel, position, work.samples, column)


@inner
def take_even_samples(wrist, first, number, work):
    """Write the samples that are spread evenly: LLVM takes several at once."""
    step = FULL_TURN / JOINT_SAMPLES
    if wrist.parallel:
        for k in range(number):
            write_sample(wrist, True, (first + k) * step - pi, work.even, k)
    else:
        for k in range(number):
            write_sample(wrist, False, (first + k) * step - pi, work.even, k)


@inner
def window(centre, room):
    """Return the first even sample, and how many, of those within some room of a position, rad."""
    step = FULL_TURN / JOINT_SAMPLES
    first = np.floor((centre - room + pi) / step) - EDGE_SAMPLES
    last = np.ceil((centre + room + pi) / step) + EDGE_SAMPLES
    if not last - first + 1.0 < JOINT_SAMPLES:
        return 0, JOINT_SAMPLES
    return int(first), int(last - first) + 1


@inner
def take_samples(wrist, first, number, work):
    """
    Write samples over a turn, or a window of it; return how many.

    They are spread evenly, twice as close where two ways come near each other, and there are
    more beside each position where all four ways end: two of them may exist only there.
    """
    take_even_samples(wrist, first, number, work)
    step, samples = FULL_TURN / JOINT_SAMPLES, work.samples
    opening, _ = ways_of(samples)
    count, position, rest, whole = 0, -pi, 0.0, number == JOINT_SAMPLES
    for k in range(number + 1 if whole else number):
        before, rest_before, position = position, rest, (first + k) * step - pi
        even = k if k < JOINT_SAMPLES else 0
        rest = work.even[REST_ROW, even]
        start, end, more = before, position, 0
        if k > 0 and rest * rest_before < 0.0:
            start, _, _ = fold_between(wrist, -1, before, rest_before, position, rest)
            end, more = (position if rest > 0.0 else before), FOLD_SAMPLES
        elif k > 0:
            for way in range(0, 4, 2):
                if 0.0 < min(work.even[OPEN_ROWS + way, even],
                             opening[way, count - 1]) < NEAR_FOLD:
                    more = 1
        for i in range(more):
            share = (i + 1.0) / (more + 1.0)
            if more > 1:  # evenly in its square root, beside a fold, and in rising order
                share = share * share if end > start else (1.0 - share)**2
            add_sample(wrist, start + share * (end - start), count, work)
            count += 1
        work.positions[count] = position
        for row in range(SAMPLE_SIZE):
            samples[row, count] = work.even[row, even]
        count += 1
    return count - 1 if whole else count  # the last of a turn is the first


@inner
def find_candidates(wrist, first, number, work):
    """
    Write the joint positions that fulfil the equation; return how many there are.

    `first`, `number`: of the even samples, see :func:`window`.
    """
    count, samples = 0, take_samples(wrist, first, number, work)
    edge = 0 if number == JOINT_SAMPLES else EDGE_SAMPLES
    every_opening, every_value = ways_of(work.samples)
    for way in range(4):
        opening, values = every_opening[way], every_value[way]
        for k in range(edge, samples - edge):
            last, after = (k - 1) % samples, (k + 1) % samples
            position = work.positions[k]
            back, ahead = work.positions[last] - position, work.positions[after] - position
            back -= FULL_TURN if k == 0 else 0.0
            ahead += FULL_TURN if after == 0 else 0.0
            d0, d1, d2 = opening[last], opening[k], opening[after]
            f0, f1, f2 = values[last], values[k], values[after]
            if d1 >= 0.0 and d2 >= 0.0:
                curve = Curve(position, 1.0, 1, way, way)
                count = root_between(wrist, curve, (0.0, f1), (ahead, f2), work, count)
                if d0 >= 0.0:
                    count = roots_around(wrist, curve, (back, f0), (0.0, f1), (ahead, f2), work,
                                         count)
            elif d1 >= 0.0:
                count = roots_at_fold(wrist, way, k, last, after, work, count)
            elif d2 >= 0.0:
                count = roots_at_fold(wrist, way, after, (after + 1) % samples, k, work, count)
            # Between the samples there may be a short piece of a way, or a short gap in it.
            rise, fall = (d1 - d0) / -back, (d2 - d1) / ahead
            bend = (fall - rise) / (ahead - back)
            slope = rise - bend * back
            if not (d0 * d1 > 0.0 and d1 * d2 > 0.0 and bend * d1 > 0.0 and rise * fall <= 0.0
                    and (d1 - 0.25 * slope * slope / bend) / d1 < DEEPEST_SHARE):
                continue
            middle = position - 0.5 * slope / bend
            add_sample(wrist, middle, MAX_SAMPLES, work)
            if opening[MAX_SAMPLES] * d1 >= 0.0:
                continue
            left, right = (last, k) if middle < position else (k, after)
            for side in range(2):
                sample, end = (left if side == 0 else right), MAX_SAMPLES
                if d1 < 0.0:
                    sample, end = end, sample
                count = roots_at_fold(wrist, way, sample, -1, end, work, count)
    return count


@allocating
def search_workspace():
    """Return the SearchWork."""
    samples = SAMPLE_SIZE * JOINT_SAMPLES
    positions = samples + SAMPLE_SIZE * (MAX_SAMPLES + 1)
    nodes = positions + MAX_SAMPLES + 1
    found = nodes + 14
    space = np.empty(found + 6 * MAX_CANDIDATES)
    return SearchWork(space[:samples].reshape((SAMPLE_SIZE, JOINT_SAMPLES)),
                      space[samples:positions].reshape((SAMPLE_SIZE, MAX_SAMPLES + 1)),
                      space[positions:nodes], space[nodes:found].reshape((7, 2)),
                      space[found:].reshape((MAX_CANDIDATES, 6)))


@compiled
def searched_rows(setup, T, seed, row, most):
    """
    Find solutions as :func:`ik_node.solver.closed_form.closed_form.branch_rows` does.

    One more is sought from the seed.
    """
    if not write_row(T, seed, row):
        return 0
    arrays = ProblemArrays(setup[:JOINTS_PART].reshape((7, 16)),
                           setup[JOINTS_PART:SETTINGS_PART].reshape((7, 6)),
                           setup[SETTINGS_PART:GEOMETRY_PART], setup[GEOMETRY_PART:])
    branch_work, work = branch_workspace(MAX_CANDIDATES + 1), search_workspace()
    geometry, goal = arrays.postures, branch_work.goal
    fill_goal(row[:POSE_SIZE], arrays.settings[BOX_WIDTHS:], goal)
    R = goal_rotation(geometry, goal)
    p = subtract(subtract(vector(goal, GOAL_POSITION), apply(R, link(geometry, 6))),
                 link(geometry, 0))
    wrist = Wrist(
        geometry[SEARCHED_JOINT] == FOURTH_JOINT, geometry[ARM_CLASS] == PARALLEL_SHOULDER,
        same_way(axis(geometry, 2), axis(geometry, 3)),
        (axis(geometry, 1), axis(geometry, 2), axis(geometry, 3), axis(geometry, 4),
         axis(geometry, 5), axis(geometry, 6)),
        (link(geometry, 1), link(geometry, 2), link(geometry, 3), link(geometry, 4),
         link(geometry, 5)), R, p)
    damped, joints, start = workspace(6, 6), joint_rows(arrays.joints), branch_work.branches[0]
    for k in range(6):
        start[k] = min(max(seed[k], joints.lower[k]), joints.upper[k])
    near = descend(arrays.table, joints, arrays.settings, goal, NEAR_ATTEMPT, start, damped).solved
    first, number = 0, JOINT_SAMPLES
    if near and most == 1:  # what is farther from the seed along one joint alone is farther
        searched = 3 if wrist.by_fourth else 5
        first, number = window(seed[searched], sqrt(squared_distance(start, seed)))
    begin = 1 if near else 0
    count = find_candidates(wrist, first, number, work)
    for i in range(count):
        copy(work.found[i], branch_work.branches[begin + i])
    return polish_branches(arrays, row, begin + count, most, branch_work, damped)
