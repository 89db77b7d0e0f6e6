# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
OMPL's RRT-Connect in its constrained state spaces, on the rows and the check of ik_node.

Kingston, Moll and Kavraki 2019, "Exploring implicit spaces for constrained sampling-based
planning".  OMPL calls both from C++ through Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import thread_time

import numpy as np
from ompl import base, geometric, util

from ik_node.kinematics.kernels import compiled, jacobian_columns, joint_frames
from ik_node.model.chain import Chain
from ik_node.motion.constrained.constraint import PathConstraint
from ik_node.motion.constrained.rows import (
    constraint_rows,
    constraint_work,
    write_gradient,
    write_values,
)

SPACES = 'ProjectedStateSpace', 'AtlasStateSpace'


@compiled
def write_outside(table, rows, q, out, work):
    """Write how far outside each row is at q (n,), 0 inside, into (r,)."""
    joint_frames(table, q, work.frames)
    write_values(rows, work.frames[-1], work)
    for j in range(out.shape[0]):
        out[j] = max(work.values[j], 0.0)


@compiled
def write_gradients(table, rows, q, out, work):
    """Write the derivatives (r, n) of the rows at q (n,)."""
    joint_frames(table, q, work.frames)
    jacobian_columns(table, work.frames, 1.0, work.columns)
    for j in range(out.shape[0]):
        write_gradient(rows, j, work, work.step)
        out[j, :] = work.step


class Outside(base.Constraint):  # type: ignore[misc]
    """
    How far outside each row is, 0 inside: inequalities as OMPL takes them.

    The derivative is that of the row on both sides, of full rank for the charts of an atlas.
    """

    def __init__(self, chain: Chain, constraints: Sequence[PathConstraint]) -> None:
        rows = constraint_rows(constraints)
        super().__init__(chain.n, len(rows.kinds))
        self._arguments = chain.table, rows
        self._work = constraint_work(rows, chain.table, chain.n)

    def function(self, x: np.ndarray, out: np.ndarray) -> None:
        """Write the values."""
        write_outside(*self._arguments, np.array(x), out, self._work)

    def jacobian(self, x: np.ndarray, out: np.ndarray) -> None:
        """Write the derivatives."""
        found = np.empty(out.shape)
        write_gradients(*self._arguments, np.array(x), found, self._work)
        out[:] = found


def plan(space_name: str, chain: Chain, constraints: Sequence[PathConstraint],
         is_free: Callable[[np.ndarray], bool], q_start: np.ndarray, goals: np.ndarray,
         seconds: float) -> tuple[float, float] | None:
    """
    Plan and simplify with OMPL.

    Parameters
    ----------
    space_name : str
        One of SPACES.
    is_free : callable
        Returns whether a posture (n,) is free.
    goals : (g, n) array
        Any of which is to be reached.
    seconds : float
        Of this thread, for all.

    Returns
    -------
    (float, float) or None
        Processor time (ms) and length (rad) of the path; None if there is none.

    """
    util.setLogLevel(util.LOG_NONE)
    n, ambient = chain.n, base.RealVectorStateSpace(chain.n)
    bounds = base.RealVectorBounds(n)
    for k in range(n):
        bounds.setLow(k, float(chain.lower[k]))
        bounds.setHigh(k, float(chain.upper[k]))
    ambient.setBounds(bounds)
    begin = thread_time()
    space = getattr(base, space_name)(ambient, Outside(chain, constraints))
    information = base.ConstrainedSpaceInformation(space)
    space.setSpaceInformation(information)
    space.setup()
    setup = geometric.SimpleSetup(information)
    setup.setStateValidityChecker(lambda state: is_free(np.array([state[k] for k in range(n)])))
    ends = []
    for q in (q_start, *goals):
        state = information.allocState()
        state.copy(q.tolist())
        if hasattr(space, 'anchorChart'):
            space.anchorChart(state)
        ends.append(state)
    setup.setStartState(ends[0])
    goal = base.GoalStates(information)
    for state in ends[1:]:
        goal.addState(state)
    setup.setGoal(goal)
    setup.setPlanner(geometric.RRTConnect(information))
    over = base.PlannerTerminationCondition(lambda: thread_time() - begin > seconds)
    setup.solve(over)
    if not setup.haveExactSolutionPath():
        return None
    setup.simplifySolution(over)
    end, path = thread_time(), setup.getSolutionPath()
    path.interpolate()
    return 1e3 * (end - begin), float(path.length())
