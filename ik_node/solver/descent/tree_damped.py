# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled damped least squares for several tips of a tree at once, with joint limits and restarts.

An attempt takes the steps of :mod:`ik_node.solver.descent.tree_step`.  The damping of each row
vanishes with the error of its level, as in :mod:`ik_node.solver.descent.damped` (Sugihara 2011).
Once the first level is met it has next to no damping, and so is an equality constraint for the
second level, which takes what freedom is left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ik_node.kinematics.kernels import compiled, copy, inner
from ik_node.solver.descent.damped import (
    DAMPING_FLOOR_M2,
    DAMPING_INCREASE,
    DAMPING_SHARE,
    nearest_turns,
)
from ik_node.solver.descent.tree_step import (
    Levels,
    stack_columns,
    stack_errors,
    stacked_step,
    take_step,
    tree_workspace,
)

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
    """
    How far an attempt walks.

    Attributes
    ----------
    max_steps : int
        For the first level.
    to_rest : bool
        Whether to walk until nothing is gained.

    """

    max_steps: int
    to_rest: bool


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
        take_step(q, problem.joints, not to_rest and levels.first > NEAR_ERROR_M2, work)
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
        if levels.first_met:
            if levels.second_met:
                return Walk(levels, step)
            if levels.second < REST_SHARE * best:
                best, stalled, kept = levels.second, 0, levels
                factor = max(1.0, 0.5 * factor)
                copy(q, work.kept)
            else:
                stalled += 1
                factor *= DAMPING_INCREASE
                copy(work.kept, q)
                levels = stack_errors(problem, goals, q, work)
        elif levels.second >= best:
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
        if take_step(q, problem.joints, False, work) < SMALLEST_STEP:
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

