# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The goal of a solve: a pose and its tolerances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi

import numpy as np

from ik_node.base.checks import is_pose, LAST_ROW, real_array
from ik_node.base.errors import GoalError, Reason
from ik_node.base.se3 import (
    distance,
    FARTHEST_GOAL_M,
    pose,
    rotation_from_quaternion,
    rotation_log,
)
from ik_node.base.text import shown

DOUBLE_TYPE = np.dtype(float)
EXACT_TOLERANCE = (0.0,) * 6
FREE_AXIS = float('inf')
FREE_TOLERANCE_RAD = pi - 1e-3  # of a rotation in messages, from which on an axis is free
TIP_FRAME = 'tip'
TOLERANCE_FRAMES = (TIP_FRAME, 'base')
QUATERNION_NORM_TOLERANCE = 1e-3
IDENTITY_POSE = np.eye(4)
POSITION_ONLY = (0.0, 0.0, 0.0, FREE_AXIS, FREE_AXIS, FREE_AXIS)
ORIENTATION_ONLY = (FREE_AXIS, FREE_AXIS, FREE_AXIS, 0.0, 0.0, 0.0)
POINTING_ONLY = (0.0, 0.0, 0.0, 0.0, 0.0, FREE_AXIS)


@dataclass(frozen=True, eq=False, init=False)
class Goal:
    """
    A pose of the tip in the base frame, with a tolerance on each axis.

    The deviation of the tip from the goal has six parts: x, y, z (m) and a rotation
    vector (rad).  In the axes of the goal pose (the axes of the tool at the goal) it is
    ``[R_goal^T (p - p_goal); log(R_goal^T R)]``, in the axes of the base link
    ``[p - p_goal; log(R R_goal^T)]``.

    Parameters
    ----------
    T_base_tip : (4, 4) array
        Rigid pose, m.
    tolerance : six numbers
        Largest allowed deviation of each part (m, rad): 0 = as exact as the solver's
        own tolerance, inf = free.
    frame : str
        Axes of the deviation: 'tip' (of the goal pose) or 'base'.

    Raises
    ------
    GoalError
        If a number is NaN, the matrix is not finite, its rotation is not
        orthonormal to 1e-6, a tolerance is negative, or all axes are free.

    Examples
    --------
    A tool that may rotate about its own z axis: ``Goal(T, (0, 0, 0, 0, 0, FREE_AXIS))``.

    """

    T_base_tip: np.ndarray
    tolerance: tuple[float, ...] = EXACT_TOLERANCE
    frame: str = TIP_FRAME

    def __init__(self, T_base_tip: np.ndarray, tolerance: Sequence[float] = EXACT_TOLERANCE,
                 frame: str = TIP_FRAME) -> None:
        fields = self.__dict__  # quicker than the __setattr__ of a frozen class
        fields['T_base_tip'] = checked_pose(T_base_tip)
        if tolerance is not EXACT_TOLERANCE:
            tolerance = _checked_tolerance(tolerance)
        if frame is not TIP_FRAME and (not isinstance(frame, str)
                                       or frame not in TOLERANCE_FRAMES):
            raise GoalError(f'the frame of a tolerance must be {" or ".join(TOLERANCE_FRAMES)}, '
                            f'got {shown(frame)}')
        fields['tolerance'], fields['frame'] = tolerance, frame

    @classmethod
    def pointing(cls, T_base_tip: np.ndarray) -> Goal:
        """Return the goal of a pose (4, 4) whose rotation about the tool's z axis is free."""
        return cls(T_base_tip, POINTING_ONLY)

    @classmethod
    def position(cls, p: np.ndarray, **kwargs: object) -> Goal:
        """Return the goal to put the tip's origin at `p` (3,), m, its orientation free."""
        p, T = _numbers(p, (3,), 'a position is three numbers'), IDENTITY_POSE.copy()
        T[:3, 3] = p
        x, y, z = p.tolist()
        if kwargs or not x * x + y * y + z * z < FARTHEST_GOAL_M**2:
            return cls(T, POSITION_ONLY, **kwargs)
        T.setflags(write=False)
        return cls._of(T, POSITION_ONLY)

    @classmethod
    def _of(cls, T_base_tip: np.ndarray, tolerance: tuple[float, ...]) -> Goal:
        """Return a goal of which there is nothing more to check."""
        goal = cls.__new__(cls)
        goal.__dict__.update(T_base_tip=T_base_tip, tolerance=tolerance, frame=TIP_FRAME)
        return goal

    @classmethod
    def orientation(cls, R: np.ndarray, **kwargs: object) -> Goal:
        """Return the goal to orient the tip by the rotation `R` (3, 3), its position free."""
        T = IDENTITY_POSE.copy()
        T[:3, :3] = _numbers(R, (3, 3), 'a rotation is a 3x3 matrix of numbers')
        return cls(T, ORIENTATION_ONLY, **kwargs)

    def error(self, T_base_tip: np.ndarray) -> tuple[float, float]:
        """
        Return by how much (m, rad) a pose (4, 4) of the tip is outside the tolerance.

        Each is the length of the three parts of the deviation, less the tolerance.
        """
        if self.is_exact:
            return distance(T_base_tip, self.T_base_tip)
        R, R_goal = T_base_tip[:3, :3], self.T_base_tip[:3, :3]
        d = T_base_tip[:3, 3] - self.T_base_tip[:3, 3]
        if self.frame == TIP_FRAME:
            deviation = np.concatenate([R_goal.T @ d, rotation_log(R_goal.T @ R)])
        else:
            deviation = np.concatenate([d, rotation_log(R @ R_goal.T)])
        outside = np.maximum(np.abs(deviation) - self.tolerance, 0.0)
        return float(np.linalg.norm(outside[:3])), float(np.linalg.norm(outside[3:]))

    @property
    def is_exact(self) -> bool:
        """Return whether no axis has a tolerance of its own."""
        return self.tolerance is EXACT_TOLERANCE

    @property
    def position_free(self) -> bool:
        """Return whether the position is free on all axes."""
        return all(t == FREE_AXIS for t in self.tolerance[:3])

    @property
    def orientation_free(self) -> bool:
        """Return whether the orientation is free on all axes."""
        return all(t == FREE_AXIS for t in self.tolerance[3:])


def _checked_tolerance(given: Sequence[float]) -> tuple[float, ...]:
    if given is POSITION_ONLY or given is POINTING_ONLY or given is ORIENTATION_ONLY:
        return given
    try:
        tolerance = tuple(map(float, given))
    except (TypeError, ValueError, OverflowError):
        tolerance = ()
    if len(tolerance) != 6 or not all(t >= 0.0 for t in tolerance):
        raise GoalError('the tolerance of a goal must be six numbers, x y z in m and rotation '
                        f'in rad, 0 (exact) to inf (free), got {shown(given)}')
    if all(t == FREE_AXIS for t in tolerance):
        raise GoalError('all six axes of the goal are free; there is nothing to solve')
    return tolerance


def goal_matrix(goal: np.ndarray | Sequence[float]) -> np.ndarray:
    """
    Return a goal (4, 4) or (7,) as a rigid pose (4, 4).

    Raises
    ------
    GoalError
        If it is neither; else as :func:`checked_pose` and :func:`goal_matrices`.

    """
    values = real_array(goal)
    if values is None or values.shape != (7,):
        return checked_pose(goal, 'a goal is a 4x4 matrix, or position and quaternion x y z w')
    if not np.isfinite(values).all():
        raise GoalError('the goal pose is not finite')
    norm = _norm(values[3:])
    if abs(norm - 1.0) > QUATERNION_NORM_TOLERANCE:
        raise GoalError(f'the quaternion of the goal has norm {norm:.4g}, not 1',
                        Reason.GOAL_ORIENTATION_NOT_UNIT)
    return checked_pose(pose(rotation_from_quaternion(values[3:] / norm), values[:3]))


def as_goal(goal: Goal | np.ndarray | Sequence[float]) -> Goal:
    """Return a goal, which may be given as :func:`goal_matrix` takes it."""
    return goal if isinstance(goal, Goal) else Goal._of(goal_matrix(goal), EXACT_TOLERANCE)


def goal_matrices(goals: np.ndarray) -> np.ndarray:
    """
    Return goals (N, 4, 4) or (N, 7) as matrices (N, 4, 4).

    Raises
    ------
    GoalError
        If they are neither, not finite, or a quaternion is not of norm 1 to 1e-3.

    """
    given, goals = goals, real_array(goals)
    goals = goals if goals is None else np.ascontiguousarray(goals)
    if goals is None or goals.shape[1:] not in ((4, 4), (7,)):
        raise GoalError('goals must be an array (N, 4, 4), or (N, 7) of position and quaternion '
                        f'x y z w, got {type(given).__name__} of shape {np.shape(goals)}')
    finite = np.isfinite(goals).all(axis=tuple(range(1, goals.ndim)))
    if not finite.all():
        raise GoalError(f'goal {int(np.argmin(finite))} is not finite')
    if goals.ndim == 3:
        return goals
    norm = _norm(goals[:, 3:])
    error = np.abs(norm - 1.0)
    if (error > QUATERNION_NORM_TOLERANCE).any():
        k = int(np.argmax(error))
        raise GoalError(f'the quaternion of goal {k} has norm {norm[k]:.4g}, not 1',
                        Reason.GOAL_ORIENTATION_NOT_UNIT)
    T = np.zeros((len(goals), 4, 4))
    T[:, :3, :3] = rotation_from_quaternion(goals[:, 3:] / norm[:, None])
    T[:, :3, 3], T[:, 3, 3] = goals[:, :3], 1.0
    return T


def _norm(quaternions: np.ndarray) -> np.ndarray:
    """Return the norms of quaternions (..., 4), bit for bit the same for one as for many."""
    return np.sqrt((quaternions * quaternions).sum(axis=-1))


def checked_pose(T: np.ndarray | Sequence[float],
                 what: str = 'a goal pose is a 4x4 matrix of numbers') -> np.ndarray:
    """
    Return a read-only copy (4, 4) of a rigid pose; `what` begins the message on a wrong shape.

    Raises
    ------
    GoalError
        If it is not finite, or not a rotation (orthonormal to 1e-6) and a position.

    """
    T = _numbers(T, (4, 4), what)
    rows = T.tolist()
    if is_pose(rows, FARTHEST_GOAL_M):
        T.setflags(write=False)
        return T
    if not np.isfinite(T).all():
        raise GoalError('the goal pose is not finite')
    if np.abs(T).max() > FARTHEST_GOAL_M:
        raise GoalError(f'the goal is more than {FARTHEST_GOAL_M:g} m away')
    if rows[3] != LAST_ROW:
        raise GoalError('the last row of a goal pose is 0 0 0 1')
    if not is_pose(rows):
        raise GoalError('the rotation of the goal pose is not a right-handed orthonormal '
                        'matrix', Reason.GOAL_ORIENTATION_NOT_UNIT)
    T.setflags(write=False)
    return T


def _numbers(value: object, shape: tuple[int, ...], what: str) -> np.ndarray:
    if type(value) is np.ndarray and value.dtype is DOUBLE_TYPE and value.shape == shape:
        return value.copy()
    try:
        array = np.asarray(value)
        if array.dtype.kind != 'c' and array.shape == shape:
            return array.astype(float)
    except (TypeError, ValueError, OverflowError):
        pass
    raise GoalError(f'{what}, got {type(value).__name__}'
                    + (f' of shape {value.shape}' if isinstance(value, np.ndarray) else ''))
