# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A trajectory that was planned before, joined to where the arm is now."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ik_node.errors import TrajectoryError
from ik_node.motion import quintic
from ik_node.motion.trajectory import MotionState, Trajectory
from ik_node.text import quote


def joined_to(trajectory: Trajectory, q: np.ndarray, tolerance: float) -> Trajectory:
    """
    Return a trajectory as it starts from rest at `q`, and ends where it ended.

    The difference of the starts fades over its duration by a quintic, so that the controller
    interpolates what is checked here.

    Parameters
    ----------
    q : (n,) array
        Where the arm rests, rad or m.
    tolerance : float
        Largest difference of the starts, rad or m.

    Raises
    ------
    TrajectoryError
        If it starts elsewhere, or in motion.

    """
    if not trajectory.start.rests:
        raise TrajectoryError('the trajectory starts in motion; it must start at rest')
    away = q - trajectory.start.q
    k = int(np.abs(away).argmax())
    if abs(away[k]) > tolerance:
        raise TrajectoryError(
            f'the trajectory starts with {quote(trajectory.joint_names[k])} at '
            f'{trajectory.start.q[k]:.4g}, but the arm has it at {q[k]:.4g}; plan again from '
            'where the arm is')
    fading = quintic.coefficients(trajectory.duration, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    shares = [derivative(fading, trajectory.times[:, None]) for derivative in
              (quintic.position, quintic.velocity, quintic.acceleration)]
    return replace(trajectory, start=MotionState.at_rest(q),
                   q=trajectory.q + shares[0] * away, qd=trajectory.qd + shares[1] * away,
                   qdd=trajectory.qdd + shares[2] * away)
