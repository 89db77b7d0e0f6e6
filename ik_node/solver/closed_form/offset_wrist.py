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
    joint_frames,
    sine_cosine_within,
)
from ik_node.solver.closed_form.closed_form import (
    branch_workspace,
    GEOMETRY_PART,
    JOINTS_PART,
    polish_branches,
    SEARCHED_JOINT,
    SETTINGS_PART,
    squared_distance,
)
from ik_node.solver.closed_form.subproblems import FULL_TURN
from ik_node.solver.closed_form.wrist_equation import (
    is_parallel,
    OPEN_ROWS,
    plane_of,
    REST_ROW,
    SAMPLE_SIZE,
    VALUE_ROWS,
    way_at,
    WRIST_SIZE,
    write_joints,
    write_sample,
    write_wrist,
)
from ik_node.solver.descent.damped import descend, EARLY_STOP, NEAR_GOAL_M, SHORT_STEP
from ik_node.solver.descent.entry import write_row
from ik_node.solver.descent.layout import (
    Attempt,
    BOX_WIDTHS,
    joint_rows,
    METRES_PER_RADIAN,
    POSE_SIZE,
    ProblemArrays,
    workspace,
)
from ik_node.solver.descent.residual import fill_goal, residual

JOINT_SAMPLES = 56         # of the searched joint, over a turn
EDGE_SAMPLES = 2           # at the ends of a window, beside which roots are not sought
MAX_CANDIDATES = 32        # twice as many as there can be
MAX_REFINEMENTS = 12
ROOT_TOLERANCE = 1e-9      # of the equation (a cosine), and of the joint (rad)
FOLD_TOLERANCE = 1e-7      # of the discriminant, where two ways become one
TOUCH_TOLERANCE = 1e-5     # of the equation, at a double root
EXTREMUM_STEPS = 8         # of successive parabolic interpolation
DEEPEST_SHARE = 0.8        # an extremum is sought if the parabola leaves less of the value
CLOSEST_SHARE = 0.02       # of the interval, between two of its positions
NEAR_FOLD = 0.1            # discriminant below which there are twice as many samples
FOLD_SAMPLES = 3           # added between a sample and the position where all four ways end
NEAR_ATTEMPT = Attempt(EARLY_STOP, SHORT_STEP, 5.0, False)
# The even samples, over two turns from -pi: rad, and their sines and cosines.
STEP = FULL_TURN / JOINT_SAMPLES
EVEN_SINES = np.sin(np.arange(2 * JOINT_SAMPLES) * STEP - pi)
EVEN_COSINES = np.cos(np.arange(2 * JOINT_SAMPLES) * STEP - pi)
# Columns of the samples: one before the first, the last of a turn, and two after the last, the
# first ones; then one for what lies between samples.
MAX_SAMPLES = (FOLD_SAMPLES + 1) * JOINT_SAMPLES
BETWEEN = MAX_SAMPLES + 3


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

    wrist: np.ndarray      # (WRIST_SIZE,)
    even: np.ndarray       # (SAMPLE_SIZE, JOINT_SAMPLES), samples spread evenly over a turn
    samples: np.ndarray    # (SAMPLE_SIZE, BETWEEN + 1), all samples
    positions: np.ndarray  # (BETWEEN + 1,), of all samples, rad
    nodes: np.ndarray      # (7, 2), positions on a curve, and the values there
    found: np.ndarray      # (MAX_CANDIDATES, 6), joint positions, rad


@inlined
def ways_of(samples):
    """Return discriminants (2, k) and values (4, k) of the ways, of samples (SAMPLE_SIZE, k)."""
    return samples[OPEN_ROWS:VALUE_ROWS], samples[VALUE_ROWS:]


@inner
def position_on(curve, u):
    """Return the joint position (rad) on a curve, and the way there."""
    return curve.origin + curve.span * (u * u if curve.power == 2 else u), \
        curve.first if u >= 0.0 else curve.second


@inner
def value(wrist, curve, u):
    """Return the value of the equation on a curve."""
    position, way = position_on(curve, u)
    return way_at(wrist, position, way)[2]


@inner
def keep(curve, u, work, count):
    """Write the joint positions at a root into ``work.found``; return how many there are."""
    if count == MAX_CANDIDATES:
        return count
    position, way = position_on(curve, u)
    write_joints(work.wrist, position, way, work.found[count])
    return count + 1


@inner
def root_between(curve, one, other, work, count):
    """Keep a root at two positions (u, value) on a curve, or between them (Anderson-Bjorck)."""
    (a, fa), (b, fb) = one, other
    if fa == 0.0 or fb == 0.0:
        return keep(curve, a if fa == 0.0 else b, work, count)
    if not fa * fb < 0.0:
        return count
    u = b
    for _ in range(MAX_REFINEMENTS):
        u = b - fb * (b - a) / (fb - fa)
        f = value(work.wrist, curve, u)
        if abs(f) < ROOT_TOLERANCE or abs(b - a) < ROOT_TOLERANCE:
            break
        if f * fb < 0.0:
            a, fa = b, fb
        else:
            share = 1.0 - f / fb
            fa *= share if share > 0.0 else 0.5
        b, fb = u, f
    return keep(curve, u, work, count)


@inner
def roots_around(curve, left, middle, right, work, count):
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
        f = value(work.wrist, curve, u)
        if f * fb < 0.0:
            for side in range(2):
                end = (a, fa) if side == 0 else (c, fc)
                count = root_between(curve, end, (u, f), work, count)
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
            return keep(curve, b, work, count)
    return count


@inner
def fold_between(wrist, way, a, da, b, db):
    """
    Return where a discriminant is zero, between two positions (rad) with its values.

    It is that of a way; of the first two ways against the others, if `way` is negative.

    Returns
    -------
    (float, float, float)
        rad; both discriminants there, that of the first two ways against the others first.

    """
    fold, rest, opening = b, 0.0, 0.0
    for _ in range(MAX_REFINEMENTS):
        fold = b - db * (b - a) / (db - da)
        rest, opening, _ = way_at(wrist, fold, max(way, 0))
        d = rest if way < 0 else opening
        if abs(d) < FOLD_TOLERANCE:
            break
        if d * db < 0.0:
            a, da = b, db
        else:
            da *= 0.5
        b, db = fold, d
    return fold, rest, opening


@inner
def roots_at_fold(side, sample, previous, end, work, count):
    """
    Keep the roots beside the position where two ways and others end.

    Parameters
    ----------
    side : int
        Of the ways: 0 of the first two, 1 of the others.
    sample, previous : int
        Columns of the samples on their open side, the nearer and the next; `previous` is negative
        if there is none.
    end : int
        Column of the next sample, where there are no such ways.
    work : SearchWork
    count : int
        Of what was found before.

    Returns
    -------
    int
        The new number.

    """
    opening, values = ways_of(work.samples)
    opened, closed = work.positions[sample], work.positions[end]
    fold, rest, there = fold_between(work.wrist, 2 * side, opened, opening[side, sample], closed,
                                     opening[side, end])
    # Both end as they become one, or each becomes one with one of the other side.
    meet = rest > there
    both = meet or opening[1 - side, sample] >= 0.0
    if both and not meet and side == 1:
        return count  # found with the other side
    far = 0.0
    if previous >= 0:
        far = sqrt(abs((work.positions[previous] - fold) / (opened - fold)))
    for way in range(2 * side, 2 * side + (1 if meet else 2)):
        other = way ^ (1 if meet else 2)
        curve = Curve(fold, opened - fold, 2, way, other)
        # Nodes of the curve, from the other way over the fold to this one: u and value.
        first, last, nodes = (0 if both else 3), 6, work.nodes
        if first == 0 and (previous < 0 or opening[other >> 1, previous] < 0.0):
            first = 1
        if previous < 0 or opening[side, previous] < 0.0:
            last = 5
        for k in range(first, last + 1):
            at = way if k > 3 else other
            if k == 0 or k == 6:
                nodes[k, 0], nodes[k, 1] = (far if k == 6 else -far), values[at, previous]
            elif k == 1 or k == 5:
                nodes[k, 0], nodes[k, 1] = 0.5 * (k - 3), values[at, sample]
            else:
                nodes[k, 0] = 0.5 * (k - 3)
                nodes[k, 1] = value(work.wrist, curve, nodes[k, 0])
        for k in range(max(first, 1), min(last, 5)):
            count = root_between(curve, (nodes[k, 0], nodes[k, 1]),
                                 (nodes[k + 1, 0], nodes[k + 1, 1]), work, count)
        for k in range(first + 1, last):
            count = roots_around(curve, nodes[k - 1], nodes[k], nodes[k + 1], work, count)
    return count


@inner
def add_sample(wrist, position, column, work):
    """Write a sample into a column."""
    work.positions[column] = position
    s, c = sine_cosine_within(position)
    if is_parallel(wrist):
        write_sample(wrist, plane_of(wrist), s, c, work.samples, column)
    else:
        write_sample(wrist, None, s, c, work.samples, column)


@inner
def take_even_samples(wrist, first, number, even):
    """Write the samples that are spread evenly: LLVM takes several at once."""
    if is_parallel(wrist):
        plane = plane_of(wrist)
        for k in range(number):
            write_sample(wrist, plane, EVEN_SINES[first + k], EVEN_COSINES[first + k], even, k)
    else:
        for k in range(number):
            write_sample(wrist, None, EVEN_SINES[first + k], EVEN_COSINES[first + k], even, k)


@inner
def window(centre, room):
    """Return the first even sample, and how many, of those within some room of a position, rad."""
    first = np.floor((centre - room + pi) / STEP) - EDGE_SAMPLES
    last = np.ceil((centre + room + pi) / STEP) + EDGE_SAMPLES
    if not last - first + 1.0 < JOINT_SAMPLES:
        return 0, JOINT_SAMPLES
    return int(first) % JOINT_SAMPLES, int(last - first) + 1


@inner
def copy_sample(samples, column, work, other, position):
    """Copy a column of samples into another of all samples, at a position (rad)."""
    work.positions[other] = position
    for row in range(SAMPLE_SIZE):
        work.samples[row, other] = samples[row, column]


@inner
def take_samples(first, number, work):
    """
    Write samples over a turn, or a window of it; return how many, from the second column on.

    They are spread evenly, twice as close where two ways come near each other, and there are
    more beside each position where all four ways end: two of them may exist only there.
    """
    wrist, even = work.wrist, work.even
    take_even_samples(wrist, first, number, even)
    opening, _ = ways_of(work.samples)
    count, position, rest, whole = 1, -pi, 0.0, number == JOINT_SAMPLES
    for k in range(number + 1 if whole else number):
        before, rest_before, position = position, rest, (first + k) * STEP - pi
        column = k if k < JOINT_SAMPLES else 0
        rest = even[REST_ROW, column]
        start, end, more = before, position, 0
        if k > 0 and rest * rest_before < 0.0:
            start, _, _ = fold_between(wrist, -1, before, rest_before, position, rest)
            end, more = (position if rest > 0.0 else before), FOLD_SAMPLES
        elif k > 0:
            for side in range(2):
                if 0.0 < min(even[OPEN_ROWS + side, column], opening[side, count - 1]) < NEAR_FOLD:
                    more = 1
        for i in range(more):
            share = (i + 1.0) / (more + 1.0)
            if more > 1:  # evenly in its square root, beside a fold, and in rising order
                share = share * share if end > start else (1.0 - share)**2
            add_sample(wrist, start + share * (end - start), count, work)
            count += 1
        copy_sample(even, column, work, count, position)
        count += 1
    if not whole:
        return count - 1
    count -= 2  # the last of a turn is the first
    samples, positions = work.samples, work.positions
    copy_sample(samples, count, work, 0, positions[count] - FULL_TURN)
    copy_sample(samples, 2, work, count + 2, positions[2] + FULL_TURN)
    return count


@inner
def find_candidates(first, number, work):
    """
    Write the joint positions that fulfil the equation; return how many there are.

    `first`, `number`: of the even samples, see :func:`window`.
    """
    count, end = 0, take_samples(first, number, work) + 1
    edge = 0 if number == JOINT_SAMPLES else EDGE_SAMPLES
    every_opening, every_value = ways_of(work.samples)
    for side in range(2):
        opening = every_opening[side]
        for k in range(1 + edge, end - edge):
            d0, d1, d2 = opening[k - 1], opening[k], opening[k + 1]
            if d1 >= 0.0 and d2 >= 0.0:
                for way in range(2 * side, 2 * side + 2):
                    values = every_value[way]
                    f0, f1, f2 = values[k - 1], values[k], values[k + 1]
                    if not f1 * f2 > 0.0:
                        position = work.positions[k]
                        curve = Curve(position, 1.0, 1, way, way)
                        count = root_between(curve, (0.0, f1),
                                             (work.positions[k + 1] - position, f2), work, count)
                    elif d0 >= 0.0 and abs(f1) <= abs(f2) and abs(f1) <= abs(f0):
                        position = work.positions[k]
                        curve = Curve(position, 1.0, 1, way, way)
                        count = roots_around(
                            curve, (work.positions[k - 1] - position, f0), (0.0, f1),
                            (work.positions[k + 1] - position, f2), work, count)
            elif d1 >= 0.0:
                count = roots_at_fold(side, k, k - 1, k + 1, work, count)
            elif d2 >= 0.0:
                count = roots_at_fold(side, k + 1, k + 2, k, work, count)
            # Between the samples there may be a short piece of two ways, or a short gap in it.
            if (d1 - d0) * (d2 - d1) <= 0.0 and d0 * d1 > 0.0 and d1 * d2 > 0.0:
                count = roots_in_gap(side, k, work, count)
    return count


@inner
def roots_in_gap(side, k, work, count):
    """Keep the roots beside a short piece of two ways, or a gap in it, beside a sample."""
    positions, (opening, _) = work.positions, ways_of(work.samples)
    d0, d1, d2 = opening[side, k - 1], opening[side, k], opening[side, k + 1]
    back, ahead = positions[k - 1] - positions[k], positions[k + 1] - positions[k]
    rise, fall = (d1 - d0) / -back, (d2 - d1) / ahead
    bend = (fall - rise) / (ahead - back)
    slope = rise - bend * back
    if not (bend * d1 > 0.0 and (d1 - 0.25 * slope * slope / bend) / d1 < DEEPEST_SHARE):
        return count
    middle = positions[k] - 0.5 * slope / bend
    add_sample(work.wrist, middle, BETWEEN, work)
    if opening[side, BETWEEN] * d1 >= 0.0:
        return count
    for end in ((k - 1, k) if middle < positions[k] else (k, k + 1)):
        count = roots_at_fold(side, BETWEEN, -1, end, work, count) if d1 < 0.0 \
            else roots_at_fold(side, end, -1, BETWEEN, work, count)
    return count


@allocating
def search_workspace():
    """Return the SearchWork."""
    even = WRIST_SIZE
    samples = even + SAMPLE_SIZE * JOINT_SAMPLES
    positions = samples + SAMPLE_SIZE * (BETWEEN + 1)
    nodes = positions + BETWEEN + 1
    found = nodes + 14
    space = np.empty(found + 6 * MAX_CANDIDATES)
    return SearchWork(space[:even], space[even:samples].reshape((SAMPLE_SIZE, JOINT_SAMPLES)),
                      space[samples:positions].reshape((SAMPLE_SIZE, BETWEEN + 1)),
                      space[positions:nodes], space[nodes:found].reshape((7, 2)),
                      space[found:].reshape((MAX_CANDIDATES, 6)))


@inner
def solved_near(arrays, goal, seed, start, work):
    """Write the solution that few steps from the seed lead to; return if there is one."""
    joints, length = joint_rows(arrays.joints), arrays.settings[METRES_PER_RADIAN]
    for k in range(6):
        start[k] = min(max(seed[k], joints.lower[k]), joints.upper[k])
    joint_frames(arrays.table, start, work.frames)
    position, angle = residual(goal, work.frames[-1], length, work.e, work.D)
    if position * position + length * length * angle * angle > NEAR_GOAL_M * NEAR_GOAL_M:
        return False
    return descend(arrays.table, joints, arrays.settings, goal, NEAR_ATTEMPT, start, work).solved


@compiled
def searched_rows(setup, T, seed, row, most):
    """
    Find solutions as :func:`ik_node.solver.closed_form.closed_form.branch_rows` does.

    One more is sought from the seed, if the goal is near it.
    """
    if not write_row(T, seed, row):
        return 0
    arrays = ProblemArrays(setup[:JOINTS_PART].reshape((7, 16)),
                           setup[JOINTS_PART:SETTINGS_PART].reshape((7, 6)),
                           setup[SETTINGS_PART:GEOMETRY_PART], setup[GEOMETRY_PART:])
    branch_work, work = branch_workspace(MAX_CANDIDATES + 1), search_workspace()
    geometry, goal, damped = arrays.postures, branch_work.goal, workspace(6, 6)
    fill_goal(row[:POSE_SIZE], arrays.settings[BOX_WIDTHS:], goal)
    write_wrist(geometry, goal, work.wrist)
    start = branch_work.branches[0]
    near = solved_near(arrays, goal, seed, start, damped)
    first, number = 0, JOINT_SAMPLES
    if near and most == 1:  # what is farther from the seed along one joint alone is farther
        searched = int(geometry[SEARCHED_JOINT])
        first, number = window(seed[searched], sqrt(squared_distance(start, seed)))
    begin = 1 if near else 0
    count = find_candidates(first, number, work)
    for i in range(count):
        copy(work.found[i], branch_work.branches[begin + i])
    return polish_branches(arrays, row, begin + count, most, branch_work, damped)
