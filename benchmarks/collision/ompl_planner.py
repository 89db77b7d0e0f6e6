# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""OMPL's RRT-Connect on the raw meshes, checked by Pinocchio and coal from Python."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time

import numpy as np

from ik_node.model.chain import Chain

RESOLUTION_RAD = 0.02  # between two checked postures of an edge
MAX_TIME_S = 5.0       # as the wall shows it


def plan(chain: Chain, q_start: np.ndarray, q_goal: np.ndarray,
         is_free: Callable[[np.ndarray], bool]) -> tuple[float, float] | None:
    """
    Plan and simplify with OMPL.

    Parameters
    ----------
    q_start, q_goal : (n,) arrays
    is_free : callable
        Returns whether a posture (n,) is free.

    Returns
    -------
    (float, float) or None
        Processor time (ms) and length (rad) of the path; None if there is none in MAX_TIME_S.

    """
    from ompl import base, geometric
    n = chain.n
    space = base.RealVectorStateSpace(n)
    bounds = base.RealVectorBounds(n)
    for k in range(n):
        bounds.setLow(k, float(chain.lower[k]))
        bounds.setHigh(k, float(chain.upper[k]))
    space.setBounds(bounds)
    setup = geometric.SimpleSetup(space)
    setup.setStateValidityChecker(lambda state: is_free(np.array([state[k] for k in range(n)])))
    information = setup.getSpaceInformation()
    information.setStateValidityCheckingResolution(RESOLUTION_RAD / space.getMaximumExtent())
    ends = []
    for q in (q_start, q_goal):
        state = space.allocState()
        for k in range(n):
            state[k] = float(q[k])
        ends.append(state)
    setup.setStartAndGoalStates(*ends)
    setup.setPlanner(geometric.RRTConnect(information))
    begin = thread_time()
    setup.solve(MAX_TIME_S)
    if not setup.haveExactSolutionPath():
        return None
    setup.simplifySolution()
    return 1e3 * (thread_time() - begin), float(setup.getSolutionPath().length())
