# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Poses of an arm that are solved beforehand: what methods that learn by example learn from."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ik_node.kinematics import kernels
from ik_node.model.chain import Chain
from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver
from ik_node.solver.tables import posture_table
from ik_node.textbook.ccd import nearest_allowed
from ik_node.textbook.task import Task

SOLVED_POSE_COUNT = 3000  # of an arm
MAX_SOLVE_S = 60.0        # for a pose; the load of the machine leaves none out
MAX_RESTARTS = 20         # for a pose
KEPT_ARMS = 16            # whose solved poses are kept, and what was learned from them


@dataclass(frozen=True)
class ArmKey:
    """
    A chain, equal to another one if it moves in the same way within the same limits.

    Attributes
    ----------
    numbers : bytes
        The table and the limits.
    chain : Chain

    """

    numbers: bytes
    chain: Chain = field(compare=False)


@dataclass(frozen=True, eq=False)
class SolvedPoses:
    """
    Poses and a posture for each.

    Attributes
    ----------
    poses : (k, 12) array
        Rotation (9, row-major) and position (3, m) of the tip in the base frame.
    postures : (k, n) array
        Rad or m, within the limits.

    """

    poses: np.ndarray
    postures: np.ndarray


def arm_key(chain: Chain) -> ArmKey:
    """Return the key of a chain, by which what was learned about it is kept."""
    return ArmKey(b''.join(each.tobytes() for each in (chain.table, chain.lower, chain.upper)),
                  chain)


@lru_cache(KEPT_ARMS)
def solved_poses(arm: ArmKey) -> SolvedPoses:
    """
    Return poses all over the workspace, each with the posture that the solver finds for it.

    The poses are those of postures spread evenly over the limits.  An arm has several postures
    for a pose, and their mean is none: so each is solved anew, by the posture nearest to the
    middle of the limits, which makes the posture a function of the pose, continuous in parts.
    Poses that are not solved from there are left out.
    """
    chain = arm.chain
    solver = Solver(chain, max_restarts=MAX_RESTARTS, deadline=MAX_SOLVE_S, select='nearest')
    solved = [(row, result.q)
              for row in posture_table(chain, SOLVED_POSE_COUNT)[chain.n:].T
              if (result := solver.solve(Goal(kernels.pose_matrix(row)), chain.middle)).success]
    return SolvedPoses(np.array([row for row, _ in solved]), np.array([q for _, q in solved]))


def pose_aimed_at(task: Task, q: np.ndarray) -> np.ndarray:
    """
    Return a full pose (12,) for the goal: along its free axes and in its boxes that of `q` (n,).

    It is the pose within the goal's tolerances that is nearest to the tip.
    """
    return kernels.pose_row(nearest_allowed(task, task.frames(q))[0])
