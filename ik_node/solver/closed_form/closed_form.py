# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled closed-form inverse kinematics of six revolute joints: every branch of a pose.

For arms with a spherical wrist whose axes 2 and 3 are parallel, or whose axes 1 and 2 meet, and
for arms with three parallel axes 2, 3, 4 whose axes 5 and 6 meet: decomposition into
subproblems (Pieper 1968; Elias and Wen, "IK-Geo", 2025).  Every branch is then moved into the
joint limits by whole turns, polished by damped steps, and checked by the forward kinematics.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ik_node.kinematics.kernels import allocating, compiled, copy, inner, sine_cosine, small
from ik_node.solver.closed_form.free_wrist import free_wrist, SIDE_TURNS, slide_wrist, try_turns
from ik_node.solver.closed_form.subproblems import (
    add,
    dot,
    FULL_TURN,
    negative,
    rotate,
    subproblem_1,
    subproblem_4,
    subtract,
    turn_inside,
    unit_angle,
)
from ik_node.solver.descent.damped import descend, farthest, LATE_STOP, SHORT_STEP
from ik_node.solver.descent.entry import write_row
from ik_node.solver.descent.layout import (
    Attempt,
    BOX_WIDTHS,
    GOAL_POSITION,
    GOAL_SIZE,
    joint_rows,
    JOINT_VALUES,
    ORIENTATION_ERROR,
    POSE_SIZE,
    POSITION_ERROR,
    ProblemArrays,
    SAME_SOLUTION,
    SETTINGS_SIZE,
    SOLVED_FLAG,
    SQUARED_ERROR,
    STEP_COUNT,
    workspace,
)
from ik_node.solver.descent.residual import fill_goal

# Entries of the geometry of an arm, (GEOMETRY_SIZE,), in the base frame at q = 0: the axes of the
# joints (6 x 3); vectors from a point on one axis to a point on the next, the first from the
# base, the last from axis 6 to the tip (7 x 3); the transposed rotation of the tip (9); the class;
# the index of the joint along which an arm with an offset wrist is searched.
AXIS_VECTORS, LINK_VECTORS, TIP_ROTATION, ARM_CLASS, SEARCHED_JOINT = 0, 18, 39, 48, 49
GEOMETRY_SIZE = 50
# Values of geometry[SEARCHED_JOINT]; 0 without a search.
FOURTH_JOINT, SIXTH_JOINT = 3.0, 5.0
# Values of geometry[ARM_CLASS].
PARALLEL_SHOULDER, MEETING_SHOULDER, THREE_PARALLEL = 1.0, 2.0, 3.0

# Entries of the setup of an arm, (SETUP_SIZE,), one array because each argument of a call from
# Python costs time: table (7, 16), joints (7, 6), settings (16), geometry (50).
JOINTS_PART = 7 * 16
SETTINGS_PART = JOINTS_PART + 7 * 6
GEOMETRY_PART = SETTINGS_PART + SETTINGS_SIZE
SETUP_SIZE = GEOMETRY_PART + GEOMETRY_SIZE

MAX_BRANCHES = 16         # twice as many as there can be
POLISH_ATTEMPT = Attempt(LATE_STOP, SHORT_STEP, 12.0, False)
ANSWER_SIZE = JOINT_VALUES + 6
STRAIGHT_WRIST = 1e-14    # 1 - |cosine| of the angle between two axes that count as aligned


class BranchWork(NamedTuple):
    """The arrays that the search for branches works in."""

    goal: np.ndarray  # (19,)
    # (14,), sine and cosine of each joint of the seed; with three parallel axes also of the turn
    # of link 4 about axis 2
    seed: np.ndarray
    # (4, 6), sine and cosine of joints 1 to 3, one row for each way to place the wrist
    arm: np.ndarray
    branches: np.ndarray  # (most, 6), joint positions, rad
    # (most,), squared distances of the branches from the seed, rad^2; infinite outside the limits
    distances: np.ndarray
    # (5, 32), turns of link 4 that are tried where the wrist is straight, see
    # :mod:`ik_node.solver.closed_form.free_wrist`
    tried: np.ndarray


@allocating
def branch_workspace(most):
    """Return the BranchWork for so many branches."""
    seed = GOAL_SIZE
    arm = seed + 14
    branches = arm + 24
    distances = branches + 6 * most
    tried = distances + most
    space = np.empty(tried + 10 * SIDE_TURNS)
    return BranchWork(space[:seed], space[seed:arm], space[arm:branches].reshape((4, 6)),
                      space[branches:distances].reshape((most, 6)), space[distances:tried],
                      space[tried:].reshape((5, 2 * SIDE_TURNS)))


@inner
def vector(row, first):
    """Return three entries of a row."""
    return (row[first], row[first + 1], row[first + 2])


@inner
def axis(geometry, joint):
    """Return the axis of a joint, 1 to 6."""
    return vector(geometry, AXIS_VECTORS + 3 * (joint - 1))


@inner
def link(geometry, joint):
    """Return the vector from the axis of a joint, 0 (the base) to 6, to the next (or the tip)."""
    return vector(geometry, LINK_VECTORS + 3 * joint)


@inner
def goal_rotation(geometry, goal):
    """Return the rows of the rotation R06 of the last link at the goal; it is I at q = 0."""
    t = TIP_ROTATION
    g = geometry
    x = (g[t], g[t + 3], g[t + 6])
    y = (g[t + 1], g[t + 4], g[t + 7])
    z = (g[t + 2], g[t + 5], g[t + 8])
    a, b, c = vector(goal, 0), vector(goal, 3), vector(goal, 6)
    return ((dot(a, x), dot(a, y), dot(a, z)), (dot(b, x), dot(b, y), dot(b, z)),
            (dot(c, x), dot(c, y), dot(c, z)))


@inner
def apply(R, v):
    """Return R v."""
    return (dot(R[0], v), dot(R[1], v), dot(R[2], v))


@inner
def move_into_limits(q, reference, joints):
    """Move joints by whole turns into the limits, as near to the reference as possible."""
    for k in range(q.shape[0]):
        inside, q[k] = turn_inside(q[k], reference[k], joints.lower[k], joints.upper[k])
        if not inside:
            return False
    return True


@inner
def squared_distance(q, seed):
    """Return the squared distance of two postures, rad^2."""
    square = 0.0
    for k in range(q.shape[0]):
        square += (q[k] - seed[k])**2
    return square


@inner
def place_wrist(geometry, p, seed, arm):
    """
    Find joints 1 to 3 that put the centre of a spherical wrist at a point.

    Parameters
    ----------
    p : (3,) tuple
        From the point on axis 1, m.
    seed : (14,) array
    arm : (4, 6) array, written

    Returns
    -------
    int
        Number of rows of `arm`, 0 to 4.

    """
    h1, h2, h3 = axis(geometry, 1), axis(geometry, 2), axis(geometry, 3)
    p12, p23, p34 = link(geometry, 1), link(geometry, 2), link(geometry, 3)
    back1, back23 = negative(h1), negative(p23)
    count = 0
    if geometry[ARM_CLASS] == PARALLEL_SHOULDER:
        # Along h2 the wrist is where q1 alone puts it; q3 gives its distance from axis 2.
        n1, s1a, c1a, s1b, c1b = subproblem_4(h2, p, back1, dot(h2, add(add(p12, p23), p34)),
                                              seed[0], seed[1])
        for i in range(n1):
            s1, c1 = (s1a, c1a) if i == 0 else (s1b, c1b)
            b = subtract(rotate(back1, s1, c1, p), p12)
            n3, s3a, c3a, s3b, c3b = subproblem_4(
                back23, p34, h3, 0.5 * (dot(p34, p34) + dot(p23, p23) - dot(b, b)),
                seed[4], seed[5])
            for j in range(n3):
                s3, c3 = (s3a, c3a) if j == 0 else (s3b, c3b)
                s2, c2 = subproblem_1(h2, add(p23, rotate(h3, s3, c3, p34)), b, seed[2], seed[3])
                row = arm[count]
                row[0], row[1], row[2], row[3], row[4], row[5] = s1, c1, s2, c2, s3, c3
                count += 1
        return count
    # Axes 1 and 2 meet: q3 gives the distance from that point, q2 the height along h1.
    n3, s3a, c3a, s3b, c3b = subproblem_4(
        back23, p34, h3, 0.5 * (dot(p34, p34) + dot(p23, p23) - dot(p, p)), seed[4], seed[5])
    for i in range(n3):
        s3, c3 = (s3a, c3a) if i == 0 else (s3b, c3b)
        a = add(p23, rotate(h3, s3, c3, p34))
        n2, s2a, c2a, s2b, c2b = subproblem_4(h1, a, h2, dot(h1, p), seed[2], seed[3])
        for j in range(n2):
            s2, c2 = (s2a, c2a) if j == 0 else (s2b, c2b)
            s1, c1 = subproblem_1(h1, rotate(h2, s2, c2, a), p, seed[0], seed[1])
            row = arm[count]
            row[0], row[1], row[2], row[3], row[4], row[5] = s1, c1, s2, c2, s3, c3
            count += 1
    return count


@inner
def total_inside(total, sign, joints):
    """Move q4 + sign q6 by whole turns to where the limits of both joints allow it, if they do."""
    lower, upper = joints.lower, joints.upper
    least = lower[3] + min(sign * lower[5], sign * upper[5])
    most = upper[3] + max(sign * lower[5], sign * upper[5])
    if total > most:
        total -= FULL_TURN * np.ceil((total - most) / FULL_TURN)
    elif total < least:
        total += FULL_TURN * np.ceil((least - total) / FULL_TURN)
    return total


@small
def spherical_wrist(geometry, joints, q, R, p, work):
    """
    Find every branch of an arm with a spherical wrist.

    If the wrist is straight, joints 4 and 6 share the change from the seed.

    Parameters
    ----------
    joints : JointRows
    q : (6,) array
        The seed.
    R, p : tuples
        Rotation of the last link; position of the wrist from the point on axis 1.
    work : BranchWork
        Its branches are written.

    Returns
    -------
    int
        Number of branches.

    """
    h1, h2, h3 = axis(geometry, 1), axis(geometry, 2), axis(geometry, 3)
    h4, h5, h6 = axis(geometry, 4), axis(geometry, 5), axis(geometry, 6)
    seed, branches = work.seed, work.branches
    back1, back2, back3 = negative(h1), negative(h2), negative(h3)
    back4, back5 = negative(h4), negative(h5)
    fifth, last_axis = apply(R, h5), apply(R, h6)
    count = 0
    for i in range(place_wrist(geometry, p, seed, work.arm)):
        row = work.arm[i]
        s1, c1, s2, c2, s3, c3 = row[0], row[1], row[2], row[3], row[4], row[5]
        # R36 h6 and R36 h5
        f = rotate(back3, s3, c3, rotate(back2, s2, c2, rotate(back1, s1, c1, last_axis)))
        side = rotate(back3, s3, c3, rotate(back2, s2, c2, rotate(back1, s1, c1, fifth)))
        n5, s5a, c5a, s5b, c5b = subproblem_4(h4, h6, h5, dot(h4, f), seed[8], seed[9])
        q1, q2, q3 = unit_angle(s1, c1), unit_angle(s2, c2), unit_angle(s3, c3)
        for j in range(n5):
            s5, c5 = (s5a, c5a) if j == 0 else (s5b, c5b)
            along = dot(h6, rotate(back5, s5, c5, h4))
            branch = branches[count]
            branch[0], branch[1], branch[2], branch[4] = q1, q2, q3, unit_angle(s5, c5)
            straight = abs(along) > 1.0 - STRAIGHT_WRIST
            s4, c4 = seed[6], seed[7]
            if not straight:
                s4, c4 = subproblem_1(h4, rotate(h5, s5, c5, h6), f, s4, c4)
            # q6 from q4, so that their errors cancel near a straight wrist: R56 h5.
            v = rotate(back5, s5, c5, rotate(back4, s4, c4, side))
            s6, c6 = subproblem_1(h6, h5, v, seed[10], seed[11])
            q4, q6 = unit_angle(s4, c4), unit_angle(s6, c6)
            if straight:
                sign = 1.0 if along > 0.0 else -1.0
                q6 += FULL_TURN * np.rint((q[5] - q6) / FULL_TURN)
                total = total_inside(q[3] + sign * q6, sign, joints)
                q4 = 0.5 * (q[3] - sign * q[5] + total)
                q4 = min(max(q4, joints.lower[3]), joints.upper[3])
                q6 = min(max(sign * (total - q4), joints.lower[5]), joints.upper[5])
                q4 = total - sign * q6
            branch[3], branch[5] = q4, q6
            count += 1
    return count


@inner
def same_way(a, b):
    """Return 1 if two parallel axes point the same way, else -1."""
    return 1.0 if dot(a, b) > 0.0 else -1.0


@inner
def place_elbow(geometry, d, seed, side):
    """
    Find joints 2 and 3 of an arm with three parallel axes.

    Parameters
    ----------
    d : (3,) tuple
        From the point on axis 2 to that on axis 4, in the frame of link 1, m.
    seed : (14,) array
    side : int
        0 or 1, of the elbow.

    Returns
    -------
    (bool, float, float, float, float)
        Whether there is a solution; sine and cosine of joints 2 and 3.

    """
    h2, h3, p23, p34 = axis(geometry, 2), axis(geometry, 3), link(geometry, 2), link(geometry, 3)
    count, s3a, c3a, s3b, c3b = subproblem_4(
        negative(p23), p34, h3, 0.5 * (dot(p23, p23) + dot(p34, p34) - dot(d, d)), seed[4],
        seed[5])
    s3, c3 = (s3a, c3a) if side == 0 else (s3b, c3b)
    s2, c2 = subproblem_1(h2, add(p23, rotate(h3, s3, c3, p34)), d, seed[2], seed[3])
    return side < count, s2, c2, s3, c3


@small
def three_parallel(geometry, joints, q, R, p, nearest_only, work):
    """
    Find every branch of an arm with three parallel axes 2, 3, 4 and axes 5 and 6 that meet.

    If axis 6 is parallel to them as well, the nearest of each continuum, or with `nearest_only`
    of all.  Other arguments: see :func:`spherical_wrist`.
    """
    h1, h2, h5, h6 = axis(geometry, 1), axis(geometry, 2), axis(geometry, 5), axis(geometry, 6)
    way3, way4 = same_way(h2, axis(geometry, 3)), same_way(h2, axis(geometry, 4))
    seed, branches = work.seed, work.branches
    seed[12], seed[13] = sine_cosine(q[1] + way3 * q[2] + way4 * q[3])
    back1, back2, back5 = negative(h1), negative(h2), negative(h5)
    fifth, last_axis = apply(R, h5), apply(R, h6)
    links = (link(geometry, 2), link(geometry, 3), link(geometry, 4))
    reach = add(add(link(geometry, 1), links[0]), add(links[1], links[2]))
    count = 0
    n1, s1a, c1a, s1b, c1b = subproblem_4(h2, p, back1, dot(h2, reach), seed[0], seed[1])
    for i in range(n1):
        s1, c1 = (s1a, c1a) if i == 0 else (s1b, c1b)
        wrist = subtract(rotate(back1, s1, c1, p), link(geometry, 1))
        f, g = rotate(back1, s1, c1, last_axis), rotate(back1, s1, c1, fifth)  # R16 h6, R16 h5
        n5, s5a, c5a, s5b, c5b = subproblem_4(h2, h6, h5, dot(h2, f), seed[8], seed[9])
        for j in range(n5):
            s5, c5 = (s5a, c5a) if j == 0 else (s5b, c5b)
            q1, q5 = unit_angle(s1, c1), unit_angle(s5, c5)
            along = dot(h6, rotate(back5, s5, c5, h2))
            straight = abs(along) > 1.0 - STRAIGHT_WRIST
            s234, c234 = 0.0, 1.0
            if not straight:
                s234, c234 = subproblem_1(h2, rotate(h5, s5, c5, h6), f, seed[12], seed[13])
            v = rotate(back5, s5, c5, rotate(back2, s234, c234, g))  # R56 h5
            s6, c6 = subproblem_1(h6, h5, v, seed[10], seed[11])
            q6 = unit_angle(s6, c6)
            if straight:
                inside1, q1 = turn_inside(q1, q[0], joints.lower[0], joints.upper[0])
                inside5, q5 = turn_inside(q5, q[4], joints.lower[4], joints.upper[4])
                ways = (way3, way4, 1.0 if along > 0.0 else -1.0)
                apart = (q1 - q[0])**2 + (q5 - q[4])**2
                if inside1 and inside5:
                    free = free_wrist(h2, (links[0], links[1], links[2], wrist), ways, q6, apart,
                                      joints, q)
                    try_turns(free, work.tried)
                    for side in range(1 if nearest_only else 2):
                        columns = (0, 2 * SIDE_TURNS) if nearest_only else (
                            side * SIDE_TURNS, (side + 1) * SIDE_TURNS)
                        branches[count, 0], branches[count, 4] = q1, q5
                        count += slide_wrist(free, work.tried, columns, branches[count])
                continue
            d = subtract(wrist, rotate(h2, s234, c234, links[2]))
            for side in range(2):
                found, s2, c2, s3, c3 = place_elbow(geometry, d, seed, side)
                if found:
                    q2, q3 = unit_angle(s2, c2), unit_angle(s3, c3)
                    branch = branches[count]
                    branch[0], branch[1], branch[2] = q1, q2, q3
                    branch[3] = way4 * (unit_angle(s234, c234) - q2 - way3 * q3)
                    branch[4], branch[5] = q5, q6
                    count += 1
    return count


@inner
def every_branch(geometry, joints, q, nearest_only, work):
    """
    Write every branch of ``work.goal`` into ``work.branches``; return how many there are.

    With `nearest_only`, branches of a continuum that seem farther away than others are missing.
    """
    for k in range(6):
        work.seed[2 * k], work.seed[2 * k + 1] = sine_cosine(q[k])
    R = goal_rotation(geometry, work.goal)
    p = subtract(subtract(vector(work.goal, GOAL_POSITION), apply(R, link(geometry, 6))),
                 link(geometry, 0))
    if geometry[ARM_CLASS] == THREE_PARALLEL:
        return three_parallel(geometry, joints, q, R, p, nearest_only, work)
    return spherical_wrist(geometry, joints, q, R, p, work)


@compiled
def branch_rows(setup, T, seed, row, most):
    """
    Find the solutions of a pose inside the limits, the nearest to the seed first.

    Parameters
    ----------
    setup : (SETUP_SIZE,) array
        Table, settings, joints and geometry; the goal has no box.
    T, seed : (4, 4) and (6,) arrays
        Written into the row first; or NO_POSE and NO_SEED, if one row or more are filled.
    row : (16 + 6 + 13 most,) array, written
        Pose, seed, answers; several such rows, one after the other, if they are filled.
    most : int
        Solutions after which the search ends.

    Returns
    -------
    int
        Number of solutions; 0 also if :func:`ik_node.solver.descent.entry.fill_row` refuses.

    """
    if seed.shape[0] > 0 and not write_row(T, seed, row):
        return 0
    arrays = ProblemArrays(setup[:JOINTS_PART].reshape((7, 16)),
                           setup[JOINTS_PART:SETTINGS_PART].reshape((7, 6)),
                           setup[SETTINGS_PART:GEOMETRY_PART], setup[GEOMETRY_PART:])
    branch_work, work = branch_workspace(MAX_BRANCHES), workspace(6, 6)
    count, size = 0, POSE_SIZE + 6 + most * ANSWER_SIZE
    for start in range(0, row.shape[0], size):
        count += find_branches(arrays, row[start:start + size], most, branch_work, work)
    return count


@inner
def find_branches(arrays, packed, most, branch_work, work):
    """Find solutions as :func:`branch_rows` does; the geometry is in place of the postures."""
    T, seed = packed[:POSE_SIZE], packed[POSE_SIZE:POSE_SIZE + 6]
    fill_goal(T, arrays.settings[BOX_WIDTHS:], branch_work.goal)
    found = every_branch(arrays.postures, joint_rows(arrays.joints), seed, most == 1, branch_work)
    return polish_branches(arrays, packed, found, most, branch_work, work)


@inner
def polish_branches(arrays, packed, found, most, branch_work, work):
    """Write the answers that the first `found` branches become, the nearest first."""
    table, settings, joints = arrays.table, arrays.settings, joint_rows(arrays.joints)
    goal, branches, distances = branch_work.goal, branch_work.branches, branch_work.distances
    first = POSE_SIZE + 6
    seed = packed[POSE_SIZE:first]
    for i in range(found):
        branch, square = branches[i], np.inf
        if move_into_limits(branch, seed, joints):
            square = squared_distance(branch, seed)
        distances[i] = square
    count = 0
    for _ in range(found):
        nearest = 0
        for i in range(1, found):
            if distances[i] < distances[nearest]:
                nearest = i
        if distances[nearest] == np.inf or count == most:
            break
        distances[nearest] = np.inf
        branch = branches[nearest]
        end = descend(table, joints, settings, goal, POLISH_ATTEMPT, branch, work)
        if end.solved and not is_known(branch, packed, first, count):
            answer = packed[first + count * ANSWER_SIZE:first + (count + 1) * ANSWER_SIZE]
            answer[SOLVED_FLAG], answer[STEP_COUNT] = 1.0, end.steps
            answer[POSITION_ERROR] = end.position_error
            answer[ORIENTATION_ERROR] = end.orientation_error
            answer[SQUARED_ERROR] = end.squared_error
            copy(branch, answer[JOINT_VALUES:])
            count += 1
    return count


@inner
def is_known(q, packed, first, count):
    """Return whether one of the first answers, which begin at an index, is this solution."""
    for i in range(count):
        start = first + i * ANSWER_SIZE + JOINT_VALUES
        if farthest(packed[start:start + 6], q) < SAME_SOLUTION:
            return True
    return False
