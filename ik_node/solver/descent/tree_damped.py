# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled damped least squares for several tips of a tree at once, with joint limits and restarts.

The errors of all tips are stacked, and one step ``dq = W J^T (J W J^T + D)^-1 e`` moves all
joints (Wampler 1986; for several tips Baerlocher and Boulic 2004), inside the limits as in
:mod:`ik_node.solver.descent.damped`.  The damping of each row vanishes with the error of its level
(Sugihara 2011).  Once the first level is met it has next to no damping, and so is an equality
constraint for the second level, which takes what freedom is left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ik_node.kinematics.kernels import allocating, compiled, copy, inner
from ik_node.kinematics.tree.tree_kernels import tree_columns, tree_frames
from ik_node.solver.descent.damped import (
    advance,
    DAMPING_FLOOR_M2,
    DAMPING_INCREASE,
    DAMPING_SHARE,
    factorise_and_solve,
    LONG_STEP,
    nearest_turns,
    step_inside,
)
from ik_node.solver.descent.layout import EXACT_POSE, JointRows, TOLERANCE_AXES
from ik_node.solver.descent.residual import residual, task_columns


class TreeProblem(NamedTuple):
    """What all goals of a tree have in common."""

    # table, parents: (m, 16), (m,), see :func:`ik_node.kinematics.tree.tree_kernels.tree_frames`
    table: np.ndarray
    parents: np.ndarray
    joints: JointRows
    tolerances: np.ndarray  # (2,), of position (m) and orientation (rad)
    length: float           # metres per radian


class TipGoals(NamedTuple):
    """The goals of G tips."""

    poses: np.ndarray  # (G, 19), see :mod:`ik_node.solver.descent.layout`
    rows: np.ndarray  # (G,) int, row of the tip in the table
    weights: np.ndarray  # (G,), factor of each tip's errors
    levels: np.ndarray  # (G,) int, 0 = to be met; 1 = as near as possible once the others are met
    moved_by: np.ndarray  # (n, G) bool, which coordinates move which tip


class TreeWork(NamedTuple):
    """The arrays that an attempt works in; r = 6 G rows."""

    frames: np.ndarray   # (m, 12)
    twists: np.ndarray   # (n, 6), of one tip
    columns: np.ndarray  # (n, r), J^T
    A: np.ndarray        # (r, r)
    e: np.ndarray        # (r,)
    y: np.ndarray        # (r,)
    damping: np.ndarray  # (r,)
    maps: np.ndarray     # (G, 6, 3), D of each tip
    errors: np.ndarray   # (G, 2), m and rad
    met: np.ndarray      # (G,) bool
    dq: np.ndarray       # (n,)
    kept: np.ndarray     # (n,)
    active: np.ndarray   # (n,) bool


class Levels(NamedTuple):
    """The squared errors (m^2) of the two levels, and whether each is met."""

    first: float
    second: float
    first_met: bool
    second_met: bool


@allocating
def tree_workspace(n, m, G):
    """Return the TreeWork of n coordinates, m rows and G goals."""
    r = 6 * G
    return TreeWork(np.empty((m, 12)), np.empty((n, 6)), np.empty((n, r)), np.empty((r, r)),
                    np.empty(r), np.empty(r), np.empty(r), np.empty((G, 6, 3)),
                    np.empty((G, 2)), np.empty(G, dtype=np.bool_), np.empty(n), np.empty(n),
                    np.empty(n, dtype=np.bool_))


@inner
def stack_errors(problem, goals, q, work):
    """Write frames, errors, their maps, and which tips are met at q (n,); return the Levels."""
    tree_frames(problem.table, problem.parents, q, work.frames)
    first = second = 0.0
    first_met = second_met = True
    for g in range(goals.rows.shape[0]):
        e = work.e[6 * g:6 * g + 6]
        position, angle = residual(goals.poses[g], work.frames[goals.rows[g]], problem.length, e,
                                   work.maps[g])
        work.errors[g, 0], work.errors[g, 1] = position, angle
        met = position <= problem.tolerances[0] and angle <= problem.tolerances[1]
        work.met[g] = met
        square, w = 0.0, goals.weights[g]
        for i in range(6):
            e[i] *= w
            square += e[i] * e[i]
        if goals.levels[g] == 0:
            first += square
            first_met = first_met and met
        else:
            second += square
            second_met = second_met and met
    return Levels(first, second, first_met, second_met)


@inner
def stack_columns(problem, goals, work):
    """Write J^T (n, 6 G) at the frames of :func:`stack_errors`, weighted by tips."""
    columns, twists = work.columns, work.twists
    for g in range(goals.rows.shape[0]):
        tree_columns(problem.table, problem.parents, work.frames, goals.rows[g], problem.length,
                     twists)
        if goals.poses[g, TOLERANCE_AXES] != EXACT_POSE:
            task_columns(work.maps[g], twists)
        for k in range(twists.shape[0]):
            for i in range(6):
                columns[k, 6 * g + i] = twists[k, i] * goals.weights[g]


@inner
def solve_stacked(columns, active, damping, A, y):
    """As :func:`ik_node.solver.descent.damped.solve_normal`; many entries of the columns are 0."""
    n, r = columns.shape
    for i in range(r):
        for j in range(i, r):
            A[i, j] = 0.0
        A[i, i] = damping[i]
    for k in range(n):
        c = columns[k]
        if active[k]:
            for i in range(r):
                if c[i] != 0.0:
                    for j in range(i, r):
                        A[i, j] += c[i] * c[j]
    return factorise_and_solve(A, y, r)


@inner
def stacked_step(q, joints, work):
    """Write the damped step ``work.dq`` inside the limits; return whether there is one."""
    return step_inside(q, (joints.lower, joints.upper, joints.scale), work.damping, LONG_STEP,
                       solve_stacked, work.A.shape[0], work)


NEAR_ERROR_M2 = 0.09        # squared error of a level from which on joints no longer wrap
PROGRESS_SHARE = 0.9        # to which the squared error must fall ...
PROGRESS_STEPS = 5          # ... within so many steps
REST_SHARE = 1.0 - 1e-7     # the same for a walk that goes on until nothing is gained
REST_STEPS = 12
SECONDARY_STEPS = 150       # most steps for the second level, once the first is met
SMALLEST_STEP = 1e-9        # rad or m; a walk of the second level that moves less is at rest
SECONDARY_ATTEMPTS = 6      # that meet the first level, of which the best for the second is taken
PARTIAL_SHARE = 2           # each so many attempts keeps the tips that the best one has met

# Entries of an answer, before the errors of each tip (position, orientation) and q.
(FIRST_MET, SECOND_MET, ANSWER_STEPS, ANSWER_ATTEMPTS, FIRST_ERROR, SECOND_ERROR,
 TIP_ERRORS) = range(7)


class WalkRule(NamedTuple):
    """How far an attempt walks."""

    max_steps: int  # for the first level
    to_rest: bool   # whether to walk until nothing is gained


class Walk(NamedTuple):
    """Where an attempt ended."""

    levels: Levels
    steps: int


@inner
def set_damping(goals, levels, factor, second_factor, damping):
    """Write the damping of each row (r,), by the error of its level."""
    for g in range(goals.rows.shape[0]):
        value = factor * DAMPING_SHARE * levels.first
        if goals.levels[g] != 0:
            # While the first level is not met, the second must not hinder it.
            value = second_factor * DAMPING_SHARE * (levels.first + levels.second)
        for i in range(6 * g, 6 * g + 6):
            damping[i] = value + DAMPING_FLOOR_M2


@inner
def walk_first(problem, goals, rule, q, work):
    """
    Walk from q (n,) until the first level is met, or too little is gained; return the Walk.

    With ``rule.to_rest`` until nothing is gained, by the Levenberg-Marquardt rule.
    """
    max_steps, to_rest = rule
    share, most = (REST_SHARE, REST_STEPS) if to_rest else (PROGRESS_SHARE, PROGRESS_STEPS)
    best, stalled, step, factor = np.inf, 0, 0, 1.0
    while True:
        levels = stack_errors(problem, goals, q, work)
        if levels.first_met:
            return Walk(levels, step)
        if levels.first < share * best:
            best, stalled = levels.first, 0
            factor = max(1.0, 0.5 * factor)
            copy(q, work.kept)
        else:
            stalled += 1
            if to_rest:
                factor *= DAMPING_INCREASE
                copy(work.kept, q)
                levels = stack_errors(problem, goals, q, work)
        if stalled >= most or step >= max_steps:
            return Walk(levels, step)
        stack_columns(problem, goals, work)
        set_damping(goals, levels, factor, factor, work.damping)
        if not stacked_step(q, problem.joints, work):
            return Walk(levels, step)
        advance(q, work.dq, problem.joints, not to_rest and levels.first > NEAR_ERROR_M2)
        step += 1


@inner
def walk_second(problem, goals, q, work):
    """
    Walk on from q (n,), where the first level is met, as near to the second as possible.

    The first level stays met in the posture that is returned: what a step loses of it, the next
    regains.  A step after which the second level is farther away is taken back and damped more.
    """
    best, stalled, factor = np.inf, 0, 1.0
    levels = stack_errors(problem, goals, q, work)
    kept = levels
    copy(q, work.kept)
    for step in range(SECONDARY_STEPS):
        if levels.first_met and levels.second_met:
            return Walk(levels, step)
        if levels.first_met and levels.second < REST_SHARE * best:
            best, stalled, kept = levels.second, 0, levels
            factor = max(1.0, 0.5 * factor)
            copy(q, work.kept)
        elif levels.first_met or levels.second >= best:
            stalled += 1
            factor *= DAMPING_INCREASE
            copy(work.kept, q)
            levels = stack_errors(problem, goals, q, work)
        if stalled >= REST_STEPS:
            break
        stack_columns(problem, goals, work)
        set_damping(goals, levels, 1.0, factor, work.damping)
        if not stacked_step(q, problem.joints, work):
            break
        if advance(q, work.dq, problem.joints, False) < SMALLEST_STEP:
            break
        levels = stack_errors(problem, goals, q, work)
    copy(work.kept, q)
    return Walk(kept, SECONDARY_STEPS)


@inner
def start_for_unmet(goals, start, joints, met, q):
    """
    Write where to start into q (n,), the best posture so far.

    Coordinates that move only tips that are not met there are taken from `start` (n,).  Returns
    whether there are any.
    """
    changed = False
    for k in range(q.shape[0]):
        serves_met = serves_unmet = False
        for g in range(goals.rows.shape[0]):
            if goals.moved_by[k, g]:
                serves_met = serves_met or met[g]
                serves_unmet = serves_unmet or not met[g]
        if serves_unmet and not serves_met:
            q[k] = min(max(start[k], joints.lower[k]), joints.upper[k])
            changed = True
    return changed


@inner
def better(levels, answer):
    """Return whether an attempt ended nearer than the best one."""
    if levels.first_met != (answer[FIRST_MET] != 0.0):
        return levels.first_met
    if levels.first_met:
        return levels.second < answer[SECOND_ERROR]
    return levels.first < answer[FIRST_ERROR]


@compiled
def attempt_tree(problem, goals, starts, reference, rule, met, answer):
    """
    Attempt from each start until the goals are met; the answer is the best one so far.

    Parameters
    ----------
    problem : TreeProblem
    goals : TipGoals
    starts : (s, n) array
    reference : (n,) array
        Angles of the answer are at the turns nearest to it.
    rule : WalkRule
        Of each attempt.
    met : (G,) array of bool, changed
        Which tips the best attempt has met.
    answer : (6 + 2 G + n,) array, changed
        Of the attempts before these; FIRST_ERROR infinite if there are none.

    """
    joints, G = problem.joints, goals.rows.shape[0]
    n = joints.lower.shape[0]
    work = tree_workspace(n, problem.table.shape[0], G)
    errors, best = answer[TIP_ERRORS:TIP_ERRORS + 2 * G], answer[TIP_ERRORS + 2 * G:]
    q, count_met, any_second = np.empty(n), 0, False
    for g in range(G):
        any_second = any_second or goals.levels[g] != 0
    for count in range(starts.shape[0]):
        partial = False
        if answer[FIRST_ERROR] < np.inf and count % PARTIAL_SHARE == 1 and not rule.to_rest:
            copy(best, q)
            partial = start_for_unmet(goals, starts[count], joints, met, q)
        if not partial:
            for k in range(n):
                q[k] = min(max(starts[count, k], joints.lower[k]), joints.upper[k])
        walk = walk_first(problem, goals, rule, q, work)
        answer[ANSWER_STEPS] += walk.steps
        if walk.levels.first_met and any_second:
            count_met += 1
            walk = walk_second(problem, goals, q, work)
            answer[ANSWER_STEPS] += walk.steps
        if better(walk.levels, answer):
            nearest_turns(q, reference, joints)
            levels = stack_errors(problem, goals, q, work)
            answer[FIRST_MET], answer[SECOND_MET] = levels.first_met, levels.second_met
            answer[FIRST_ERROR], answer[SECOND_ERROR] = walk.levels.first, walk.levels.second
            for g in range(G):
                errors[2 * g], errors[2 * g + 1] = work.errors[g, 0], work.errors[g, 1]
                met[g] = work.met[g]
            copy(q, best)
        answer[ANSWER_ATTEMPTS] += 1
        if answer[FIRST_MET] != 0.0 and (answer[SECOND_MET] != 0.0
                                         or count_met >= SECONDARY_ATTEMPTS):
            break
