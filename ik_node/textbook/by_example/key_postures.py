# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Key postures: the answer interpolated between postures that were solved beforehand.

In animation the joints are interpolated between key positions (Parent 2012, section 5.2); over
the goals instead of the time this answers goals (Rose, Sloan and Cohen 2001, "Artist-directed
inverse-kinematics using radial basis function interpolation").
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ik_node.base.errors import ParameterError
from ik_node.base.system import how_to_install
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
    """A chain, equal to another one if it moves in the same way within the same limits."""

    numbers: bytes  # the table and the limits
    chain: Chain = field(compare=False)


@dataclass(frozen=True, eq=False)
class SolvedPoses:
    """Poses and a posture for each."""

    # (k, 12), rotation (9, row-major) and position (3, m) of the tip in the base frame
    poses: np.ndarray
    postures: np.ndarray  # (k, n), rad or m, within the limits


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


NEIGHBOUR_COUNT = 40        # key postures that an answer is interpolated between
CANDIDATE_COUNT = 320       # nearest poses among which they are sought
MAX_BRANCH_DISTANCE = 1.5   # of a joint from the nearest key posture, rad or m
MIN_SPREAD_RATIO = 1e-3     # of the widest direction of the neighbours; others do not count
SMALLEST_ANGLE_RAD = 1e-9


def key_postures(task: Task, q: np.ndarray) -> np.ndarray:
    """
    Return the posture (n,) for a goal by interpolation between key postures.

    Thin-plate splines with a linear part, in the distances of the neighbours' poses from the
    goal: position, and rotation vector times metres per radian.  Neighbours are the key postures
    whose poses are nearest and that are on the branch of the nearest, which is told by the
    distance of the joints.  Where they are too few, it is the nearest key posture itself.

    Parameters
    ----------
    task : Task
    q : (n,) array
        The posture by which the free axes of the goal are chosen, rad or m.

    Raises
    ------
    ParameterError
        If scipy is not installed.

    """
    try:
        from scipy.interpolate import RBFInterpolator
    except ImportError as error:
        raise ParameterError('the method key_postures needs scipy; install it with '
                             f'"{how_to_install("scipy")}" or choose another method') from error

    keys = solved_poses(arm_key(task.chain))
    away = pose_differences(keys.poses, pose_aimed_at(task, q), float(task.weights[3]))
    order = np.argsort((away**2).sum(axis=1), kind='stable')[:CANDIDATE_COUNT]
    nearest = keys.postures[order[0]]
    same = np.abs(keys.postures[order] - nearest).max(axis=1) <= MAX_BRANCH_DISTANCE
    chosen = order[same][:NEIGHBOUR_COUNT]
    # An arm of few joints has poses on a surface: only the directions along it count.
    middle = away[chosen].mean(axis=0)
    _, spread, directions = np.linalg.svd(away[chosen] - middle, full_matrices=False)
    along = directions[spread > MIN_SPREAD_RATIO * spread[0]].T
    if len(chosen) <= along.shape[1] + 1:
        return nearest.copy()
    try:
        spline = RBFInterpolator((away[chosen] - middle) @ along, keys.postures[chosen],
                                 kernel='thin_plate_spline', degree=1)
    except np.linalg.LinAlgError:
        return nearest.copy()
    return np.asarray(spline(-(middle @ along)[None])[0])


def pose_differences(poses: np.ndarray, goal: np.ndarray, metres_per_radian: float) -> np.ndarray:
    """
    Return the differences (k, 6) of poses from a goal, in metres.

    ``[p - p_goal; L log(R R_goal^T)]`` with L metres per radian.

    Parameters
    ----------
    poses : (k, 12) array
    goal : (12,) array

    """
    R = poses[:, :9].reshape(-1, 3, 3) @ goal[:9].reshape(3, 3).T
    turned = 0.5 * np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0],
                             R[:, 1, 0] - R[:, 0, 1]], axis=1)
    sine = np.linalg.norm(turned, axis=1)
    angle = np.arctan2(sine, 0.5 * (np.trace(R, axis1=1, axis2=2) - 1.0))
    scale = np.where(sine > SMALLEST_ANGLE_RAD, angle / np.maximum(sine, SMALLEST_ANGLE_RAD), 1.0)
    return np.hstack([poses[:, 9:] - goal[9:], metres_per_radian * scale[:, None] * turned])
