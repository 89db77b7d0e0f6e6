# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled search for the posture nearest to the seed, if an arm has more joints than a pose needs.

Of most arms with seven axes over all self-motions: the first or the last joint is put to values
all over its range.  For each, the other six have a closed form, so that every self-motion is met
that is not much shorter than a step; from the most promising of these postures the arm goes to
the nearest one (:func:`ik_node.solver.descent.nearest.approach`).
"""

from __future__ import annotations

from math import pi, sqrt
from typing import NamedTuple

import numpy as np

from ik_node.kinematics.kernels import allocating, compiled, copy, inner, joint_frames
from ik_node.solver.closed_form.seven_axes import (
    BRANCHES,
    FROM_TIP,
    ROWS_SIZE,
    take_all,
    write_branch,
    write_rows,
)
from ik_node.solver.descent.damped import farthest, NEAR_JUMP
from ik_node.solver.descent.layout import (
    BOX_WIDTHS,
    goal_workspace,
    joint_rows,
    JOINT_VALUES,
    METRES_PER_RADIAN,
    POSE_SIZE,
    ProblemArrays,
    SAME_SOLUTION,
    SOLVED_FLAG,
    workspace,
)
from ik_node.solver.descent.nearest import approach, slide, squared, write_answer
from ik_node.solver.descent.residual import fill_goal, residual

VALUES = 96            # of the seventh joint, over a turn at most
NEAR_SEED = 2         # what :func:`nearest_row` returns of an answer near the seed
MAX_SEED_ERROR_M = 1.0  # weighted distance of the tip at the seed, to approach from there
MAX_STARTS = 16
INSIDE = 1e-3          # rad beyond the limits, or beyond where a branch ends, that count as inside
MAX_EXCESS = 0.25      # rad beyond them, from where an arm may still come inside
MAX_RISE = 4.0         # rad^2, of the square between two samples of a branch, without a turn
# Of the square at a sample beside which its branch ends: what may be left of it there, and if the
# next sample is so far (rad) beyond that it does not tell.
END_SHARE, OPEN_END_SHARE, FAR_BEYOND = 0.95, 0.6, 1.0


class Sampling(NamedTuple):
    """Samples of all self-motions of seven axes, by the value of the seventh joint."""

    rows: np.ndarray     # (ROWS_SIZE,), see :func:`.seven_axes.write_rows`
    six: np.ndarray      # (3, 6), seed and limits of the other joints
    samples: np.ndarray  # (BRANCHES, 2, VALUES), see :func:`.seven_axes.take_branches`
    starts: np.ndarray   # (BRANCHES * VALUES, 3), promise, value and branch of those to begin at
    # The first value of the seventh joint, rad, and from one to the next.
    begin: float
    step: float


@inner
def promise(samples, value):
    """
    Return what the least square of a branch near a sample may be, if none beside it has less.

    By a parabola through the three; infinite if one beside it has less.  A sample beyond the
    limits, or beyond where the branch ends, counts if none beside it is less beyond, or has a
    smaller square as far as the branch is nowhere inside.

    Parameters
    ----------
    samples : (2, VALUES) array
        See :func:`.seven_axes.take_branches`.
    value : int

    """
    squares, excess = samples[0], samples[1]
    here, beyond = squares[value], excess[value]
    before = after = beyond_before = beyond_after = np.inf
    if value > 0 and abs(squares[value - 1] - here) < MAX_RISE:
        before, beyond_before = squares[value - 1], excess[value - 1]
    if value < VALUES - 1 and abs(squares[value + 1] - here) < MAX_RISE:
        after, beyond_after = squares[value + 1], excess[value + 1]
    inside_before, inside_after = beyond_before <= INSIDE, beyond_after <= INSIDE
    if beyond > INSIDE:
        least = beyond <= beyond_before and beyond < beyond_after
        if not (inside_before or inside_after):
            least = least or here <= before and here < after
        return here if least and beyond < MAX_EXCESS else np.inf
    if inside_before and before < here or inside_after and after <= here:
        return np.inf
    if inside_before and inside_after:
        bend = before - 2.0 * here + after
        return here - (after - before)**2 / (8.0 * bend) if bend > 0.0 else here
    # Beyond an end, a sample has its joints at the limits and its square roots at 0.
    if max(beyond_before, beyond_after) < FAR_BEYOND:
        return END_SHARE * min(here, before, after)
    return OPEN_END_SHARE * here


@compiled
def nearest_row(table, joints, settings, form, row):
    """
    Move to the posture nearest to the seed; the goal is an exact pose.

    From the seed, or, if the row has an answer, from that.  Of an arm with a form then over all
    self-motions, unless the posture is near the seed: farther away another one may be nearer.

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
    int
        0 without an answer, else 1, or NEAR_SEED if it was reached from the seed nearby.

    """
    arrays = ProblemArrays(table, joints, settings, form)
    n, rows = joints.shape[1], joint_rows(joints)
    goal_work, work = goal_workspace(n, 0), workspace(n, table.shape[0] - 1)
    q = goal_work.q
    pose, seed, answer = row[:POSE_SIZE], row[POSE_SIZE:POSE_SIZE + n], row[POSE_SIZE + n:]
    fill_goal(pose, settings[BOX_WIDTHS:], goal_work.goal)
    best, searched = np.inf, form.shape[0] > 0
    if answer[SOLVED_FLAG] == 1.0:
        copy(answer[JOINT_VALUES:], q)
        best = squared(q, seed)
    else:
        copy_inside(rows, seed, q)
        end = slide(table, rows, settings, goal_work, seed, work)
        if end.solved and farthest(q, seed) <= NEAR_JUMP:
            write_answer(end, q, answer)
            return NEAR_SEED
        if not searched:
            return 0
        copy_inside(rows, seed, q)
    if best < np.inf or error_at(table, settings, goal_work, work) < MAX_SEED_ERROR_M:
        end = approach(table, rows, settings, goal_work, seed, work)
        if end.solved and squared(q, seed) < best:
            best = squared(q, seed)
            write_answer(end, q, answer)
    if searched:
        best = search(arrays, row, best, goal_work, work)
    return 1 if best < np.inf else 0


@inner
def copy_inside(joints, posture, q):
    """Write a posture into another one, (n,), inside the limits."""
    for k in range(q.shape[0]):
        q[k] = min(max(posture[k], joints.lower[k]), joints.upper[k])


@inner
def error_at(table, settings, goal_work, work):
    """Return the weighted distance (m) of the tip at `goal_work.q` from the goal."""
    length = settings[METRES_PER_RADIAN]
    joint_frames(table, goal_work.q, work.frames)
    position, angle = residual(goal_work.goal, work.frames[-1], length, work.e, work.D)
    return sqrt(position * position + length * length * angle * angle)


@allocating
def search(arrays, row, best, goal_work, work):
    """
    Write the posture that is nearest over all self-motions, if it is nearer than `best`.

    The form is in place of the postures.  Returns the least square.
    """
    seed, answer = row[POSE_SIZE:POSE_SIZE + 7], row[POSE_SIZE + 7:]
    sampling = take_samples(arrays, row)
    count = find_starts(sampling.samples, best, sampling.starts)
    for _ in range(MAX_STARTS):
        least = next_posture(arrays, sampling, count, goal_work.q)
        if not least < best:
            break
        end = approach(arrays.table, joint_rows(arrays.joints), arrays.settings, goal_work, seed,
                       work)
        square = squared(goal_work.q, seed)
        if end.solved and square < best:
            best = square
            write_answer(end, goal_work.q, answer)
    return best


@compiled
def nearest_of_curves(table, joints, settings, form, row, found):
    """
    Write the nearest postures of all self-motions of an exact pose.

    Of each curve, which the limits may cut, the nearest to the seed is among them, with others
    that are nearer than all beside them.

    Parameters
    ----------
    table, joints, settings, form, row :
        As for :func:`nearest_row`; seven axes with a form.
    found : (M, 7) array, written

    Returns
    -------
    int
        How many there are.

    """
    arrays = ProblemArrays(table, joints, settings, form)
    goal_work, work = goal_workspace(7, 0), workspace(7, table.shape[0] - 1)
    pose, seed = row[:POSE_SIZE], row[POSE_SIZE:POSE_SIZE + 7]
    fill_goal(pose, settings[BOX_WIDTHS:], goal_work.goal)
    sampling = take_samples(arrays, row)
    left = find_starts(sampling.samples, np.inf, sampling.starts)
    count = 0
    while count < found.shape[0] and next_posture(arrays, sampling, left, goal_work.q) < np.inf:
        end = approach(table, joint_rows(joints), settings, goal_work, seed, work)
        if end.solved and is_new(goal_work.q, found[:count]):
            copy(goal_work.q, found[count])
            count += 1
    return count


@inner
def is_new(q, found):
    """Return whether a posture (n,) differs from all of (k, n) by more than SAME_SOLUTION."""
    for row in range(found.shape[0]):
        most = 0.0
        for k in range(q.shape[0]):
            most = max(most, abs(q[k] - found[row, k]))
        if most <= SAME_SOLUTION:
            return False
    return True


@inner
def find_starts(samples, best, starts):
    """Write promise, value and branch of the samples below `best`; return how many."""
    count = 0
    for branch in range(BRANCHES):
        for value in range(VALUES):
            least = promise(samples[branch], value)
            if least < best:
                starts[count, 0], starts[count, 1], starts[count, 2] = least, value, branch
                count += 1
    return count


@inner
def next_posture(arrays, sampling, count, q):
    """Write the posture of the start with the least promise, and take it out; return that."""
    starts, nearest = sampling.starts, 0
    for k in range(1, count):
        if starts[k, 0] < starts[nearest, 0]:
            nearest = k
    least = starts[nearest, 0] if count else np.inf
    if least < np.inf:
        starts[nearest, 0] = np.inf
        take_posture(arrays.postures, sampling.rows, sampling.six,
                     sampling.begin + sampling.step * starts[nearest, 1],
                     int(starts[nearest, 2]), q)
        copy_inside(joint_rows(arrays.joints), q, q)  # rounding may have put it beyond a limit
    return least


@inner
def sixth_of(form, k):
    """Return the joint that is number k, 0 to 5, of the six."""
    return 5 - k if form[FROM_TIP] != 0.0 else k + 1


@allocating
def take_samples(arrays, row):
    """Return the samples of an exact pose."""
    joints, form = joint_rows(arrays.joints), arrays.postures
    pose, seed = row[:POSE_SIZE], row[POSE_SIZE:POSE_SIZE + 7]
    rows, six = np.empty(ROWS_SIZE), np.empty((3, 6))
    samples, starts = np.empty((BRANCHES, 2, VALUES)), np.empty((BRANCHES * VALUES, 3))
    write_rows(form, pose, rows)
    seventh = 6 if form[FROM_TIP] != 0.0 else 0
    for k in range(6):
        joint = sixth_of(form, k)
        six[0, k], six[1, k], six[2, k] = seed[joint], joints.lower[joint], joints.upper[joint]
    lower, upper = joints.lower[seventh], joints.upper[seventh]
    begin = max(lower, min(seed[seventh] - pi, upper - 2.0 * pi))
    step = (min(upper, begin + 2.0 * pi) - begin) / (VALUES - 1)
    take_all(form, rows, (begin, step, seed[seventh]), six, samples)
    return Sampling(rows, six, samples, starts, begin, step)


@inner
def take_posture(form, rows, six, position, branch, q):
    """Write a branch at a position of the seventh joint, (7,), inside the limits."""
    write_branch(form, rows, six, position, branch, q[:6])
    if form[FROM_TIP] != 0.0:
        for k in range(3):
            q[k], q[5 - k] = q[5 - k], q[k]
        q[6] = position
    else:
        for k in range(6, 0, -1):
            q[k] = q[k - 1]
        q[0] = position
