# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Solve by a textbook method, with the seeds, restarts and checks of the compiled solver."""

from __future__ import annotations

from dataclasses import fields
from itertools import chain as in_turn
from time import perf_counter

import numpy as np

from ik_node.base.errors import Reason
from ik_node.solver.branches import nearest_inside
from ik_node.solver.descent.layout import (
    JointRows,
    LAST_ATTEMPT,
    SOLVED_FLAG,
    SQUARED_ERROR,
    STEP_COUNT,
)
from ik_node.solver.goal import Goal
from ik_node.solver.options import SolverOptions
from ik_node.solver.tables import Query
from ik_node.textbook.attempt import descend
from ik_node.textbook.methods import TEXTBOOK_METHODS
from ik_node.textbook.options import ClassicOptions

IMPROVING_METHOD = 'damped_least_squares'  # from the restarts of a method with a guess
SHARED_OPTIONS = ({field.name for field in fields(ClassicOptions)}
                  & set(SolverOptions.__dataclass_fields__))


def solve_by_method(options: SolverOptions, goal: Goal, query: Query, began: float) -> Reason:
    """
    Try the seeds, then the postures of the table whose tips are nearest to the goal.

    A solution of the method is checked by the compiled kinematics.

    Parameters
    ----------
    query : Query
        Its answer is written: the solution, or the best attempt.
    began : float
        When the call began, by the performance counter (s).

    Returns
    -------
    Reason
        SOLVED, NO_SOLUTION or DEADLINE.

    """
    classic = ClassicOptions(**{name: getattr(options, name) for name in SHARED_OPTIONS})
    chain, answer, rows = query.chain, query.answer, JointRows(*query.joints)
    # What was learned beforehand is the same from each start, so it is asked once.
    method = options.method if TEXTBOOK_METHODS[options.method].guess is None \
        else IMPROVING_METHOD
    steps, status = 0, Reason.NO_SOLUTION
    answer[SQUARED_ERROR] = np.inf
    restarts = query.tables.nearest_postures(query.T[0])[:options.max_restarts]
    starts = in_turn(query.seeds[0], restarts)
    for attempt, start in enumerate(starts):
        if attempt > 0 and perf_counter() - began > options.deadline:
            status = Reason.DEADLINE
            break
        start = np.clip(start, rows.lower, rows.upper)
        ended = descend(options.method if attempt == 0 else method, chain, goal, start, classic)
        steps += ended.iterations
        q, _ = nearest_inside(chain, ended.q[None], query.seed, query.joints)
        trial = query.check(q[0])
        if query.improves(trial):
            answer[:] = trial
        answer[STEP_COUNT], answer[LAST_ATTEMPT] = steps, attempt
        if trial[SOLVED_FLAG] == 1.0:
            return Reason.SOLVED
    return status
