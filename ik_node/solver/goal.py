# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the solver is asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_node.errors import GoalError, Reason
from ik_node.se3 import distance, rotation_log
from ik_node.text import shown

EXACT = (0.0,) * 6
FREE = float('inf')
FRAMES = ('tip', 'base')
FARTHEST = 1e10  # m, so that its square is a number


@dataclass(frozen=True, eq=False)
class Goal:
    """
    A pose of the tip in the base frame, with a tolerance on each axis.

    The deviation of the tip from the goal has six parts: x, y, z (m) and a rotation
    vector (rad).  In the axes of the goal pose, which are the tool's when it is
    there, it is ``[R_goal^T (p - p_goal); log(R_goal^T R)]``, in those of the base
    link ``[p - p_goal; log(R R_goal^T)]``.

    Parameters
    ----------
    T_base_tip : (4, 4) array
        Rigid pose, m.
    tolerance : six numbers
        Each part of the deviation may be so large (m, rad): 0 = as exact as the
        solver's own tolerance, inf = free.
    frame : str
        Whose axes they are: 'tip' or 'base'.

    Raises
    ------
    GoalError
        If a number is NaN, the matrix is not finite, its rotation is not
        orthonormal to 1e-6, a tolerance is negative, or nothing is asked.

    Examples
    --------
    A tool that may turn about its own z axis: ``Goal(T, (0, 0, 0, 0, 0, FREE))``.

    """

    T_base_tip: np.ndarray
    tolerance: tuple[float, ...] = EXACT
    frame: str = 'tip'

    def __post_init__(self) -> None:
        object.__setattr__(self, 'T_base_tip', checked_pose(self.T_base_tip))
        if not isinstance(self.frame, str) or self.frame not in FRAMES:
            raise GoalError(f'the tolerance is along the axes of {" or ".join(FRAMES)}, '
                            f'got {shown(self.frame)}')
        if self.tolerance is EXACT:
            return
        try:
            tolerance = tuple(map(float, self.tolerance))
        except (TypeError, ValueError, OverflowError):
            tolerance = ()
        if len(tolerance) != 6 or not all(t >= 0.0 for t in tolerance):
            raise GoalError('the tolerance of a goal is six numbers, x y z in m and rotation in '
                            f'rad, 0 (exact) to inf (free), got {shown(self.tolerance)}')
        if all(t == FREE for t in tolerance):
            raise GoalError('all six axes of the goal are free; there is nothing to solve')
        object.__setattr__(self, 'tolerance', tolerance)

    @classmethod
    def pointing(cls, T_base_tip: np.ndarray) -> Goal:
        """Return the goal of a pose (4, 4) whose turn about the tool's z axis is free."""
        return cls(T_base_tip, (0.0, 0.0, 0.0, 0.0, 0.0, FREE))

    @classmethod
    def position(cls, p: np.ndarray, **kwargs: object) -> Goal:
        """Return the goal to put the tip's origin at `p` (3,), m, its orientation free."""
        T = np.eye(4)
        T[:3, 3] = _numbers(p, (3,), 'a position is three numbers')
        return cls(T, (0.0, 0.0, 0.0, FREE, FREE, FREE), **kwargs)

    @classmethod
    def orientation(cls, R: np.ndarray, **kwargs: object) -> Goal:
        """Return the goal to turn the tip to the rotation `R` (3, 3), its position free."""
        T = np.eye(4)
        T[:3, :3] = _numbers(R, (3, 3), 'a rotation is a 3x3 matrix of numbers')
        return cls(T, (FREE, FREE, FREE, 0.0, 0.0, 0.0), **kwargs)

    def error(self, T_base_tip: np.ndarray) -> tuple[float, float]:
        """
        Return by how much (m, rad) a pose (4, 4) of the tip is outside the tolerance.

        Each is the length of what is left of three parts of the deviation.
        """
        if self.tolerance is EXACT:
            return distance(T_base_tip, self.T_base_tip)
        R, R_goal = T_base_tip[:3, :3], self.T_base_tip[:3, :3]
        d = T_base_tip[:3, 3] - self.T_base_tip[:3, 3]
        if self.frame == 'tip':
            deviation = np.concatenate([R_goal.T @ d, rotation_log(R_goal.T @ R)])
        else:
            deviation = np.concatenate([d, rotation_log(R @ R_goal.T)])
        outside = np.maximum(np.abs(deviation) - self.tolerance, 0.0)
        return float(np.linalg.norm(outside[:3])), float(np.linalg.norm(outside[3:]))

    @property
    def position_free(self) -> bool:
        """Return whether no position is asked for."""
        return all(t == FREE for t in self.tolerance[:3])

    @property
    def orientation_free(self) -> bool:
        """Return whether no orientation is asked for."""
        return all(t == FREE for t in self.tolerance[3:])


def checked_pose(T: np.ndarray) -> np.ndarray:
    """
    Return a read-only copy (4, 4) of a rigid pose.

    Raises
    ------
    GoalError
        If it is not finite, or not a rotation (orthonormal to 1e-6) and a position.

    """
    T = _numbers(T, (4, 4), 'a goal pose is a 4x4 matrix of numbers')
    if not np.isfinite(T).all():
        raise GoalError('the goal pose is not finite')
    if np.abs(T).max() > FARTHEST:
        raise GoalError(f'the goal is more than {FARTHEST:g} m away')
    if not np.array_equal(T[3], (0.0, 0.0, 0.0, 1.0)):
        raise GoalError('the last row of a goal pose is 0 0 0 1')
    R = T[:3, :3]
    if np.abs(R @ R.T - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0.0:
        raise GoalError('the rotation of the goal pose is not a right-handed orthonormal '
                        'matrix', Reason.GOAL_ORIENTATION_NOT_UNIT)
    T.setflags(write=False)
    return T


def _numbers(value: object, shape: tuple[int, ...], what: str) -> np.ndarray:
    try:
        array = np.asarray(value)
        if array.dtype.kind != 'c' and array.shape == shape:
            return array.astype(float)
    except (TypeError, ValueError, OverflowError):
        pass
    raise GoalError(f'{what}, got {type(value).__name__}'
                    + (f' of shape {value.shape}' if isinstance(value, np.ndarray) else ''))
