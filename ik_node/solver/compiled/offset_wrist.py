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

from ik_node.kinematics.kernels import allocating, compiled, copy, inner, sine_cosine
from ik_node.solver.compiled.closed_form import (
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
    vector,
)
from ik_node.solver.compiled.damped import descend, EARLY_STOP, SHORT_STEP
from ik_node.solver.compiled.entry import rigid, write_row
from ik_node.solver.compiled.layout import (
    Attempt,
    BOX_WIDTHS,
    GOAL_POSITION,
    joint_rows,
    POSE_SIZE,
    ProblemArrays,
    workspace,
)
from ik_node.solver.compiled.residual import fill_goal
from ik_node.solver.compiled.subproblems import (
    across,
    add,
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

JOINT_SAMPLES = 56         # of the searched joint, over a turn
MAX_CANDIDATES = 32        # twice as many as there can be
WAY_SIZE = 9               # a row of :func:`place`
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
    """
    A goal for an arm with an offset wrist.

    Attributes
    ----------
    geometry : (GEOMETRY_SIZE,) array
    by_fourth : bool
        Whether joint 4 is searched (axes 5 and 6 meet), else joint 6 (axes 4 and 5 meet).
    R : tuple of three tuples
        Rotation of the last link; it is I at q = 0.
    p : (3,) tuple
        From the point on axis 1 to that on axis 6, m.

    """

    geometry: np.ndarray
    by_fourth: bool
    R: tuple
    p: tuple


class Curve(NamedTuple):
    """
    A piece of the equation that is smooth in u: at the joint position ``origin + span u^power``.

    Attributes
    ----------
    origin, span : float
        rad.
    power : int
        1, or 2 around a position where two ways become one: then u >= 0 on the first.
    first, second : int
        Numbers of the ways, 0 to 3.

    """

    origin: float
    span: float
    power: int
    first: int
    second: int


class SearchWork(NamedTuple):
    """
    The arrays that the search works in.

    Attributes
    ----------
    ways : (4, WAY_SIZE) array
    positions : (MAX_SAMPLES + 1,) array
        Of the samples, rad.  The last is for one between them.
    rests : (MAX_SAMPLES + 1,) array
        Discriminant of the first two ways against the others.
    open : (4, MAX_SAMPLES + 1) array
        Discriminant of each way at each sample: negative where there is none.
    values : (4, MAX_SAMPLES + 1) array
        Of the equation.
    nodes : (7, 2) array
        Positions on a curve, and the values there.
    found : (MAX_CANDIDATES, 6) array
        Joint positions, rad.

    """

    ways: np.ndarray
    positions: np.ndarray
    rests: np.ndarray
    open: np.ndarray
    values: np.ndarray
    nodes: np.ndarray
    found: np.ndarray


@inner
def transposed(R, v):
    """Return R^T v."""
    return (R[0][0] * v[0] + R[1][0] * v[1] + R[2][0] * v[2],
            R[0][1] * v[0] + R[1][1] * v[1] + R[2][1] * v[2],
            R[0][2] * v[0] + R[1][2] * v[1] + R[2][2] * v[2])


@inner
def place(wrist, position, way, ways):
    """
    Place the wrist at a position of the searched joint, and look how the last equation holds.

    Parameters
    ----------
    wrist : Wrist
    position : float
        rad.
    way : int
        Number of the way, 0 to 3; all of them if it is negative.
    ways : (4, WAY_SIZE) array, rows written
        Discriminant (the way exists if it is not negative), value of the equation, sine and
        cosine of joints 1 to 3, discriminant of the first two ways against the others.

    """
    g = wrist.geometry
    h1, h2, h3 = axis(g, 1), axis(g, 2), axis(g, 3)
    h4, h5, h6 = axis(g, 4), axis(g, 5), axis(g, 6)
    p12, p23, p34 = link(g, 1), link(g, 2), link(g, 3)
    sine, cosine = sine_cosine(position)
    p, target = wrist.p, h6
    if wrist.by_fourth:
        p34 = add(p34, rotate(h4, sine, cosine, link(g, 4)))
    else:
        p = subtract(p, apply(wrist.R, rotate(h6, -sine, cosine, link(g, 5))))
        target = rotate(h6, -sine, cosine, h5)
    target = apply(wrist.R, target)
    back1, back23 = negative(h1), negative(p23)
    squares = dot(p34, p34) + dot(p23, p23)
    # The axis that the equation is about, in the frame of link 3, and its constant.
    fixed = rotate(h4, sine, cosine, h5) if wrist.by_fourth else h4
    constant = dot(h5, h6) if wrist.by_fourth else dot(h4, h5)
    parallel = g[ARM_CLASS] == PARALLEL_SHOULDER
    sense = same_way(h2, h3)
    # As in closed_form.place_wrist: joints 1 and 3, or 3 and 2, by the subproblem 4.
    if parallel:
        outer = circle(h2, p, back1, dot(h2, add(add(p12, p23), p34)))
    else:
        outer = circle(back23, p34, h3, 0.5 * (squares - dot(p, p)))
    # What is the same for all ways, if axes 2 and 3 are parallel.
    side34, across34 = cross(h3, p34), across(h3, p34)
    side_fixed, along_fixed = cross(h2, fixed), dot(h2, fixed)
    for i in range(2):
        if way >= 0 and way >> 1 != i:
            continue
        s1, c1 = on_circle(outer, i)
        s3, c3 = s1, c1
        if parallel:
            b = subtract(rotate(back1, s1, c1, p), p12)
            side = rotate(back1, s1, c1, target)
            inside = circle(back23, p34, h3, 0.5 * (squares - dot(b, b)))
            plane, normal = across(h2, b), cross(b, h2)
            along, scale = along_fixed * dot(h2, side), dot(plane, plane)
            scale = 1.0 / max(scale, MIN_SQUARED_RADIUS)
            cosines = (dot(p23, plane), dot(across34, plane), dot(side34, plane))
            sines = (dot(p23, normal), dot(across34, normal), dot(side34, normal))
            last = (dot(fixed, side) - along, dot(side_fixed, side))
        else:
            b = add(p23, rotate(h3, s3, c3, p34))
            side = rotate(h3, s3, c3, fixed)
            inside = circle(h1, b, h2, dot(h1, p))
            scale, along = 0.0, 0.0
            cosines = sines = (0.0, 0.0, 0.0)
            last = (0.0, 0.0)
        for j in range(2):
            if way >= 0 and way & 1 != j:
                continue
            row = ways[2 * i + j]
            if parallel:
                # Subproblem 1 of axis 2, from p23 + rot(h3, q3) p34 to b.  They are as long if the
                # axes are parallel; if they are only nearly so, the polish mends it.
                s3, c3 = on_circle(inside, j)
                s2 = scale * (sines[0] + c3 * sines[1] + s3 * sines[2])
                c2 = scale * (cosines[0] + c3 * cosines[1] + s3 * cosines[2])
                s23, c23 = s2 * c3 + sense * c2 * s3, c2 * c3 - sense * s2 * s3
                # The part of rot(h2, q2 + q3) fixed in the direction of side.
                row[1] = c23 * last[0] + s23 * last[1] + along - constant
            else:
                s2, c2 = on_circle(inside, j)
                s1, c1 = subproblem_1(h1, rotate(h2, s2, c2, b), p, 0.0, 1.0)
                row[1] = dot(rotate(h1, s1, c1, rotate(h2, s2, c2, side)), target) - constant
            row[0] = outer.share if outer.share < 0.0 else min(outer.share, inside.share)
            row[2], row[3], row[4], row[5], row[6], row[7] = s1, c1, s2, c2, s3, c3
            row[8] = outer.share


@inner
def value(wrist, curve, u, ways):
    """Return the value of the equation on a curve."""
    way = curve.first if u >= 0.0 else curve.second
    place(wrist, curve.origin + curve.span * (u * u if curve.power == 2 else u), way, ways)
    return ways[way, 1]


@inner
def keep(wrist, curve, u, work, count):
    """Write the joint positions at a root into ``work.found``; return how many there are."""
    if count == MAX_CANDIDATES:
        return count
    g, q = wrist.geometry, work.found[count]
    h1, h2, h3, h4, h5, h6 = (axis(g, 1), axis(g, 2), axis(g, 3), axis(g, 4), axis(g, 5),
                              axis(g, 6))
    way = curve.first if u >= 0.0 else curve.second
    position = curve.origin + curve.span * (u * u if curve.power == 2 else u)
    place(wrist, position, way, work.ways)
    row = work.ways[way]
    s1, c1, s2, c2, s3, c3 = row[2], row[3], row[4], row[5], row[6], row[7]
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
def root_between(wrist, curve, a, fa, b, fb, work, count):
    """Keep a root at two positions on a curve, or between them (Anderson-Bjorck)."""
    if fa == 0.0 or fb == 0.0:
        return keep(wrist, curve, a if fa == 0.0 else b, work, count)
    if not fa * fb < 0.0:
        return count
    u = b
    for _ in range(MAX_REFINEMENTS):
        u = b - fb * (b - a) / (fb - fa)
        f = value(wrist, curve, u, work.ways)
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
        f = value(wrist, curve, u, work.ways)
        if f * fb < 0.0:
            for side in range(2):
                end, f_end = (a, fa) if side == 0 else (c, fc)
                count = root_between(wrist, curve, end, f_end, u, f, work, count)
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
def fold_between(wrist, way, a, da, b, db, entry, ways):
    """
    Return where a discriminant is zero, between two positions (rad) with its values.

    The discriminant is an entry of the row of a way (:func:`place`), which is left as it is there.
    """
    fold = b
    for _ in range(MAX_REFINEMENTS):
        fold = b - db * (b - a) / (db - da)
        place(wrist, fold, way, ways)
        d = ways[way, entry]
        if abs(d) < FOLD_TOLERANCE:
            break
        if d * db < 0.0:
            a, da = b, db
        else:
            da *= 0.5
        b, db = fold, d
    return fold


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
    # Each pair of ways once.
    partner = way ^ 2 if work.rests[end] < 0.0 else way ^ 1
    if partner < way and work.open[partner, sample] >= 0.0:
        return count
    opened, closed = work.positions[sample], work.positions[end]
    closed += FULL_TURN * np.rint((opened - closed) / FULL_TURN)
    fold = fold_between(wrist, way, opened, work.open[way, sample], closed, work.open[way, end], 0,
                        work.ways)
    row = work.ways[way]
    other = way ^ 2 if row[8] <= row[0] else way ^ 1
    both = work.open[other, sample] >= 0.0
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
    elif first == 0 and work.open[other, previous] < 0.0:
        first = 1
    if end == 7 and work.open[way, previous] < 0.0:
        end = 6
    for k in range(first, end):
        at = way if k > 3 else other
        if k == 0 or k == 6:
            nodes[k, 0], nodes[k, 1] = (far if k == 6 else -far), work.values[at, previous]
        elif k == 1 or k == 5:
            nodes[k, 0], nodes[k, 1] = 0.5 * (k - 3), work.values[at, sample]
        else:
            nodes[k, 0] = 0.5 * (k - 3)
            nodes[k, 1] = value(wrist, curve, nodes[k, 0], work.ways)
    for k in range(max(first, 1), min(end - 1, 5)):
        count = root_between(wrist, curve, nodes[k, 0], nodes[k, 1], nodes[k + 1, 0],
                             nodes[k + 1, 1], work, count)
    for k in range(first + 1, end - 1):
        count = roots_around(wrist, curve, nodes[k - 1], nodes[k], nodes[k + 1], work, count)
    return count


@inner
def add_sample(wrist, position, column, work):
    """Write a sample into a column."""
    place(wrist, position, -1, work.ways)
    work.positions[column], work.rests[column] = position, work.ways[0, 8]
    for way in range(4):
        work.open[way, column], work.values[way, column] = work.ways[way, 0], work.ways[way, 1]


@inner
def take_samples(wrist, work):
    """
    Write samples over a turn; return how many.

    They are spread evenly, twice as close where two ways come near each other, and there are
    more beside each position where all four ways end: two of them may exist only there.
    """
    step = FULL_TURN / JOINT_SAMPLES
    count, position, rest = 0, -pi, 0.0
    for k in range(JOINT_SAMPLES + 1):
        before, rest_before, position = position, rest, k * step - pi
        add_sample(wrist, position, count, work)
        rest = work.rests[count]
        start, end, more = before, position, 0
        if k > 0 and rest * rest_before < 0.0:
            start = fold_between(wrist, 0, before, rest_before, position, rest, 8, work.ways)
            end, more = (position if rest > 0.0 else before), FOLD_SAMPLES
        elif k > 0:
            for way in range(0, 4, 2):
                if 0.0 < min(work.open[way, count], work.open[way, count - 1]) < NEAR_FOLD:
                    more = 1
        for i in range(more):
            share = (i + 1.0) / (more + 1.0)
            if more > 1:  # evenly in its square root, beside a fold, and in rising order
                share = share * share if end > start else (1.0 - share)**2
            add_sample(wrist, start + share * (end - start), count, work)
            count += 1
        if more > 0:
            add_sample(wrist, position, count, work)
        count += 1
    return count - 1  # the last is the first


@inner
def find_candidates(wrist, work):
    """Write the joint positions that fulfil the equation; return how many there are."""
    count, samples = 0, take_samples(wrist, work)
    for way in range(4):
        opening, values = work.open[way], work.values[way]
        for k in range(samples):
            last, after = (k - 1) % samples, (k + 1) % samples
            position = work.positions[k]
            back, ahead = work.positions[last] - position, work.positions[after] - position
            back -= FULL_TURN if k == 0 else 0.0
            ahead += FULL_TURN if after == 0 else 0.0
            d0, d1, d2 = opening[last], opening[k], opening[after]
            f0, f1, f2 = values[last], values[k], values[after]
            if d1 >= 0.0 and d2 >= 0.0:
                curve = Curve(position, 1.0, 1, way, way)
                count = root_between(wrist, curve, 0.0, f1, ahead, f2, work, count)
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
    ways = 4 * WAY_SIZE
    positions = ways + MAX_SAMPLES + 1
    rests = positions + MAX_SAMPLES + 1
    opening = rests + 4 * (MAX_SAMPLES + 1)
    values = opening + 4 * (MAX_SAMPLES + 1)
    nodes = values + 14
    space = np.empty(nodes + 6 * MAX_CANDIDATES)
    return SearchWork(space[:ways].reshape((4, WAY_SIZE)), space[ways:positions],
                      space[positions:rests],
                      space[rests:opening].reshape((4, MAX_SAMPLES + 1)),
                      space[opening:values].reshape((4, MAX_SAMPLES + 1)),
                      space[values:nodes].reshape((7, 2)),
                      space[nodes:].reshape((MAX_CANDIDATES, 6)))


@compiled
def searched_rows(setup, T, seed, row, most):
    """
    Find solutions as :func:`ik_node.solver.compiled.closed_form.branch_rows` does.

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
    if not rigid(goal, row[:POSE_SIZE]):
        return 0
    R = goal_rotation(geometry, goal)
    p = subtract(subtract(vector(goal, GOAL_POSITION), apply(R, link(geometry, 6))),
                 link(geometry, 0))
    wrist = Wrist(geometry, geometry[SEARCHED_JOINT] == FOURTH_JOINT, R, p)
    count = find_candidates(wrist, work)
    for i in range(count):
        copy(work.found[i], branch_work.branches[i])
    damped, joints, start = workspace(6, 6), joint_rows(arrays.joints), branch_work.branches[count]
    for k in range(6):
        start[k] = min(max(seed[k], joints.lower[k]), joints.upper[k])
    if descend(arrays.table, joints, arrays.settings, goal, NEAR_ATTEMPT, start, damped).solved:
        count += 1
    return polish_branches(arrays, row, count, most, branch_work, damped)
