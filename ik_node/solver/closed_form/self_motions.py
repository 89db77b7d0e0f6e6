# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled search for the posture nearest to the seed, if an arm has more joints than a pose needs.

Of most arms with seven axes over all self-motions: the first or the last joint is put to values
all over its range.  For each, the other six have a closed form, so that every self-motion is met;
from the most promising of these postures the arm goes to the nearest one
(:func:`ik_node.solver.descent.nearest.approach`).
"""

from __future__ import annotations

from math import pi

import numpy as np

from ik_node.kinematics.kernels import allocating, compiled, copy, inner, sine_cosine, small
from ik_node.solver.closed_form.closed_form import (
    branch_workspace,
    GEOMETRY_SIZE,
    spherical_branches,
)
from ik_node.solver.closed_form.subproblems import FULL_TURN, rotate
from ik_node.solver.descent.damped import farthest, NEAR_JUMP
from ik_node.solver.descent.layout import (
    BOX_WIDTHS,
    GOAL_POSITION,
    goal_workspace,
    joint_rows,
    JOINT_VALUES,
    POSE_SIZE,
    SOLVED_FLAG,
    workspace,
)
from ik_node.solver.descent.nearest import approach, slide, squared, write_answer
from ik_node.solver.descent.residual import fill_goal

# Entries of the form of an arm, (FORM_SIZE,): the geometry of the six joints that follow each
# other, and of the seventh, in the base frame at q = 0: axis (3), a point on it (3), and the pose
# of the tip (rotation row by row, position); not 0 if the seventh is the last one.  Then the arm
# is seen from its tip: the sixth joint comes first.
AXIS = GEOMETRY_SIZE
POINT, TIP_POSE, FROM_TIP = AXIS + 3, AXIS + 6, AXIS + 18
FORM_SIZE = FROM_TIP + 1

HALF_TURN_VALUES = 16  # of the seventh joint, about, to either side of the seed
VALUES = 2 * HALF_TURN_VALUES + 1
BRANCHES = 8           # of the six joints, at most
MAX_EXCESS = 0.1       # rad beyond a limit, from where an arm may still come inside
EXCESS_WEIGHT = 4.0    # of its square
OPEN_END_SHARE = 0.6   # of the square at an end of the samples, beside which it may fall steeply
SAME_VALUE = 1e-9      # rad
MAX_STARTS = 8


@allocating
def sample_workspace():
    """Return postures (VALUES, BRANCHES, 7), rad, their squares and what they promise."""
    return (np.empty((VALUES, BRANCHES, 7)), np.empty((VALUES, BRANCHES)),
            np.empty((VALUES, BRANCHES)), np.empty((VALUES, BRANCHES)))


@inner
def turn_towards(x, reference, lower, upper):
    """
    Return an angle at the turn nearest to the reference and inside the limits, rad.

    If no turn is inside, the limit that is nearest, and how far beyond it the angle is.
    """
    x += FULL_TURN * np.rint((reference - x) * (1.0 / FULL_TURN))
    if x > upper:
        x -= FULL_TURN * np.ceil((x - upper) * (1.0 / FULL_TURN))
        if x < lower:
            over, under = x + FULL_TURN - upper, lower - x
            return (lower, under) if under < over else (upper, over)
    elif x < lower:
        x += FULL_TURN * np.ceil((lower - x) * (1.0 / FULL_TURN))
        if x > upper:
            over, under = x - upper, lower - x + FULL_TURN
            return (lower, under) if under < over else (upper, over)
    return x, 0.0


@inner
def fixed_goal(form, T, goal):
    """Write the goal (19,) of the six joints with the seventh at 0, as if it were the base's."""
    m = TIP_POSE
    if form[FROM_TIP] == 0.0:
        for i in range(3):
            for j in range(3):
                goal[3 * i + j] = T[4 * i + j]
            goal[GOAL_POSITION + i] = T[4 * i + 3]
        return
    for i in range(3):  # M T^-1
        for j in range(3):
            goal[3 * i + j] = form[m + 3 * i] * T[4 * j] + form[m + 3 * i + 1] * T[4 * j + 1] \
                + form[m + 3 * i + 2] * T[4 * j + 2]
        p = form[m + 9 + i]
        for j in range(3):
            p -= goal[3 * i + j] * T[4 * j + 3]
        goal[GOAL_POSITION + i] = p


@inner
def turn_goal(form, fixed, value, goal):
    """Write the goal of the six joints with the seventh at a value, rad."""
    s, c = sine_cosine(value)
    if form[FROM_TIP] == 0.0:
        s = -s
    k = (form[AXIS], form[AXIS + 1], form[AXIS + 2])
    for j in range(3):
        v = rotate(k, s, c, (fixed[j], fixed[3 + j], fixed[6 + j]))
        goal[j], goal[3 + j], goal[6 + j] = v
    x, y, z = form[POINT], form[POINT + 1], form[POINT + 2]
    v = rotate(k, s, c, (fixed[GOAL_POSITION] - x, fixed[GOAL_POSITION + 1] - y,
                         fixed[GOAL_POSITION + 2] - z))
    goal[GOAL_POSITION], goal[GOAL_POSITION + 1], goal[GOAL_POSITION + 2] = \
        v[0] + x, v[1] + y, v[2] + z


@small
def take_sample(q, seed, joints, from_tip, branch, square, sample):
    """
    Write the posture of a branch into a sample, at the turns nearest to the seed.

    Returns its squared distance from the seed, begun with that of the seventh joint; infinite if
    it is too far beyond the limits.
    """
    outside = 0.0
    for k in range(6):
        joint = 5 - k if from_tip else k + 1
        x, excess = turn_towards(branch[k], seed[joint], joints.lower[joint], joints.upper[joint])
        sample[joint] = x
        square += (x - seed[joint])**2 + EXCESS_WEIGHT * excess * excess
        outside = max(outside, excess)
    if outside > MAX_EXCESS:
        square = np.inf
    sample[6 if from_tip else 0] = q
    return square, outside == 0.0


@inner
def promise(squares, beyond, value, branch):
    """
    Return what the least square near a sample may be, if no sample beside it has less.

    By a parabola through the three; infinite if one beside it has less.  A sample beyond the
    limits counts only if none beside it is inside.
    """
    here = squares[value, branch]
    before = squares[value - 1, branch] if value > 0 else np.inf
    after = squares[value + 1, branch] if value < VALUES - 1 else np.inf
    if here == np.inf and before == np.inf and after == np.inf:
        return beyond[value, branch]
    if here == np.inf or before < here or after <= here:
        return np.inf
    if before == np.inf or after == np.inf:
        return OPEN_END_SHARE * here
    bend = before - 2.0 * here + after
    return here - (after - before)**2 / (8.0 * bend) if bend > 0.0 else here


@compiled
def nearest_row(table, joints, settings, form, row):
    """
    Move to the posture nearest to the seed; the goal is an exact pose.

    From the seed, if the goal is near it, and the answer too: farther away another posture may be
    nearer.  Or, if the row has an answer, from that, and of an arm with a form over all
    self-motions.

    Parameters
    ----------
    table, settings :
        As in :class:`~ik_node.solver.descent.layout.Problem`.
    joints : (7, n) array
    form : (FORM_SIZE,) array
        Of seven joints; or without entries.
    row : (16 + n + 7 + n,) array, the answer is written if there is a better one
        See :mod:`ik_node.solver.descent.layout`.

    Returns
    -------
    bool
        Whether there is an answer.

    """
    n, rows = joints.shape[1], joint_rows(joints)
    goal_work, work = goal_workspace(n, 0), workspace(n, table.shape[0] - 1)
    q = goal_work.q
    pose, seed, answer = row[:POSE_SIZE], row[POSE_SIZE:POSE_SIZE + n], row[POSE_SIZE + n:]
    fill_goal(pose, settings[BOX_WIDTHS:], goal_work.goal)
    if answer[SOLVED_FLAG] == 1.0:
        copy(answer[JOINT_VALUES:], q)
        end, best = approach(table, rows, settings, goal_work, seed, work), \
            squared(answer[JOINT_VALUES:], seed)
        if end.solved and squared(q, seed) < best:
            best = squared(q, seed)
            write_answer(end, q, answer)
        if form.shape[0] > 0:
            search(table, rows, settings, form, row, best, goal_work, work)
        return True
    for k in range(n):
        q[k] = min(max(seed[k], rows.lower[k]), rows.upper[k])
    end = slide(table, rows, settings, goal_work, seed, work)
    if not end.solved or farthest(q, seed) > NEAR_JUMP:
        return False
    write_answer(end, q, answer)
    return True


@allocating
def search(table, joints, settings, form, row, best, goal_work, work):
    """Write the posture that is nearest over all self-motions, if it is nearer than `best`."""
    postures, squares, beyond, promises = sample_workspace()
    pose, seed, answer = row[:POSE_SIZE], row[POSE_SIZE:POSE_SIZE + 7], row[POSE_SIZE + 7:]
    q = goal_work.q
    sample_self_motions(joints, form, pose, seed, best, postures, squares, beyond)
    for value in range(VALUES):
        for branch in range(BRANCHES):
            promises[value, branch] = promise(squares, beyond, value, branch)
    for _ in range(MAX_STARTS):
        value = branch = -1
        least = best
        for i in range(VALUES):
            for j in range(BRANCHES):
                if promises[i, j] < least:
                    value, branch, least = i, j, promises[i, j]
        if value < 0:
            break
        promises[value, branch] = np.inf
        copy(postures[value, branch], q)
        end = approach(table, joints, settings, goal_work, seed, work)
        square = squared(q, seed)
        if end.solved and square < best:
            best = square
            write_answer(end, q, answer)


@allocating
def sample_self_motions(joints, form, pose, seed, best, postures, squares, beyond):
    """Write the postures of all values of the seventh joint that may be nearer than `best`."""
    branch_work, from_tip = branch_workspace(BRANCHES), form[FROM_TIP] != 0.0
    fixed, sub_seed, geometry = np.empty(12), np.empty(6), form[:GEOMETRY_SIZE]
    limits = np.empty((7, 6))
    seventh = 6 if from_tip else 0
    for k in range(6):
        joint = 5 - k if from_tip else k + 1
        sub_seed[k] = seed[joint]
        limits[0, k], limits[1, k] = joints.lower[joint], joints.upper[joint]
    rows = joint_rows(limits)
    lower, upper = joints.lower[seventh], joints.upper[seventh]
    begin = max(lower, min(seed[seventh] - pi, upper - 2.0 * pi))
    step = (min(upper, begin + 2.0 * pi) - begin) / (VALUES - 1)
    centre = np.rint((seed[seventh] - begin) / max(step, SAME_VALUE))
    centre = int(min(max(centre, 0.0), VALUES - 1.0))
    fixed_goal(form, pose, fixed)
    for value in range(VALUES):
        for branch in range(BRANCHES):
            squares[value, branch] = beyond[value, branch] = np.inf
    for k in range(2 * VALUES):  # outwards from the seed
        value = centre + ((k + 1) // 2 if k % 2 == 1 else -(k // 2))
        if value < 0 or value >= VALUES:
            continue
        q = begin + step * value
        square = (q - seed[seventh])**2
        if square > best:
            continue
        turn_goal(form, fixed, q, branch_work.goal)
        for i in range(spherical_branches(geometry, rows, sub_seed, branch_work)):
            total, is_inside = take_sample(q, seed, joints, from_tip,
                                           branch_work.branches[i], square, postures[value, i])
            if is_inside:
                squares[value, i], best = total, min(best, total)
            else:
                beyond[value, i] = total
