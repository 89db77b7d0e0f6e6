# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Checks for collisions: of a planned trajectory, as the controller interpolates it; of goals."""

from __future__ import annotations

import numpy as np

from ik_node.base.errors import GoalError, Reason, TrajectoryError
from ik_node.collision.distances.certificate import certify
from ik_node.collision.distances.model import CollisionModel
from ik_node.motion.trajectory.sampling import compiled_segments
from ik_node.motion.trajectory.trajectory import Trajectory


def require_free(model: CollisionModel | None, trajectory: Trajectory, advice: str = '',
                 allowed: np.ndarray | None = None) -> None:
    """
    Check that a trajectory is proved to keep the margin of a collision model, if there is one.

    Parameters
    ----------
    advice : str
        What to do otherwise, for the error.
    allowed : (K,) array, optional
        As for :func:`ik_node.collision.distances.certificate.certify`.

    Raises
    ------
    TrajectoryError
        COLLISION: with what, when and how near.

    """
    contact = None if model is None else certify(model, *compiled_segments(trajectory),
                                                    allowed)
    if contact is not None:
        raise TrajectoryError(
            f'{contact.words} after {contact.time:.2f} s of the motion of '
            f'{trajectory.duration:.2f} s{advice}', Reason.COLLISION)


def require_free_goal(model: CollisionModel | None, q: np.ndarray) -> None:
    """
    Check that joint positions `q` (n,) that are a goal keep the margin, if there is a model.

    Also where an arm starts in contact: the solver accepts no such posture for a pose, either.

    Raises
    ------
    GoalError
        COLLISION: with what, and how near.

    """
    if model is not None and not model.check_many(q[None])[0]:
        raise GoalError(f'at the goal, {model.describe(q)}', Reason.COLLISION)
