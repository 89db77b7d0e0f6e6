# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Check of a planned trajectory for collisions, as the controller interpolates it."""

from __future__ import annotations

import numpy as np

from ik_node.collision.certificate import certify
from ik_node.collision.model import CollisionModel
from ik_node.errors import Reason, TrajectoryError
from ik_node.motion.sampling import compiled_segments
from ik_node.motion.trajectory import Trajectory


def require_free(model: CollisionModel | None, trajectory: Trajectory, advice: str = '',
                 allowed: np.ndarray | None = None) -> None:
    """
    Check that a trajectory is proved to keep the margin of a collision model, if there is one.

    Parameters
    ----------
    advice : str
        What to do otherwise, for the error.
    allowed : (K,) array, optional
        As for :func:`ik_node.collision.certificate.certify`.

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
