# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Solving by a textbook method, with the seeds, restarts and checks of the compiled solver."""

from __future__ import annotations

from dataclasses import fields
from itertools import chain as in_turn
from time import perf_counter

import numpy as np

from ik_node.errors import Reason
from ik_node.model.chain import Chain
from ik_node.solver.branches import nearest_inside, verify
from ik_node.solver.compiled.damped import ATTEMPT, ERROR, LOWER, SOLVED, STEPS, UPPER
from ik_node.solver.goal import Goal
from ik_node.solver.options import SolverOptions, Tables
from ik_node.textbook.attempt import descend
from ik_node.textbook.options import ClassicOptions

SHARED = {field.name for field in fields(ClassicOptions)} & set(SolverOptions.__dataclass_fields__)


def solve_by_method(chain: Chain, tables: Tables, options: SolverOptions, goal: Goal,
                    settings: np.ndarray, joints: np.ndarray, seeds: np.ndarray,
                    answers: np.ndarray, began: float) -> Reason:
    """
    Attempt from the seeds, then from the postures of the table nearest to the goal.

    What a method calls solved is checked by the compiled kinematics.

    Parameters
    ----------
    seeds : (1, s, n) array
    answers : (1, Q + n) array, written
        The solution, or the attempt that came nearest.

    Returns
    -------
    Reason
        SOLVED, NO_SOLUTION or DEADLINE.

    """
    classic = ClassicOptions(**{name: getattr(options, name) for name in SHARED})
    T = np.array(goal.T_base_tip, ndmin=3)
    steps, status = 0, Reason.NO_SOLUTION
    answers[0, ERROR] = np.inf
    starts = in_turn(seeds[0], tables.nearest_postures(T[0])[:options.max_restarts])
    for attempt, start in enumerate(starts):
        if attempt > 0 and perf_counter() - began > options.deadline:
            status = Reason.DEADLINE
            break
        start = np.clip(start, joints[LOWER], joints[UPPER])
        ended = descend(options.method, chain, goal, start, classic)
        steps += ended.iterations
        q, _ = nearest_inside(chain, ended.q[None], seeds[0, 0], joints)
        trial = verify(tables, T, settings, joints, q[0])
        if trial[0, SOLVED] == 1.0 or trial[0, ERROR] < answers[0, ERROR]:
            answers[:] = trial
        answers[0, STEPS], answers[0, ATTEMPT] = steps, attempt
        if trial[0, SOLVED] == 1.0:
            return Reason.SOLVED
    return status
