# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the solver is asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_node.errors import GoalError, Reason


@dataclass(frozen=True, eq=False)
class Goal:
    """
    A pose of the tip in the base frame.

    Parameters
    ----------
    T_base_tip : (4, 4) array
        Rigid pose, m.
    position_only : bool
        Leave the orientation free.

    Raises
    ------
    GoalError
        If the matrix is not finite or its rotation is not orthonormal to 1e-6.

    """

    T_base_tip: np.ndarray
    position_only: bool = False

    def __post_init__(self) -> None:
        T = np.array(self.T_base_tip, dtype=float)
        if T.shape != (4, 4):
            raise GoalError(f'a goal pose is a 4x4 matrix, got shape {T.shape}')
        if not np.isfinite(T).all():
            raise GoalError('the goal pose is not finite')
        if not np.array_equal(T[3], (0.0, 0.0, 0.0, 1.0)):
            raise GoalError('the last row of a goal pose is 0 0 0 1')
        R = T[:3, :3]
        if np.abs(R @ R.T - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0.0:
            raise GoalError('the rotation of the goal pose is not a right-handed orthonormal '
                            'matrix', Reason.GOAL_ORIENTATION_NOT_UNIT)
        T.setflags(write=False)
        object.__setattr__(self, 'T_base_tip', T)

    @property
    def rows(self) -> int:
        """Return the number of task coordinates: 3 position only, 6 with orientation."""
        return 3 if self.position_only else 6
