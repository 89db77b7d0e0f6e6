# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A trajectory that was planned before, joined to where the arm is now."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ik_node.base.errors import TrajectoryError
from ik_node.base.text import quote
from ik_node.model.chain import Chain
from ik_node.motion.direct.start_state import StartState
from ik_node.motion.trajectory import quintic
from ik_node.motion.trajectory.limits import TipLimits
from ik_node.motion.trajectory.sampling import states_at
from ik_node.motion.trajectory.tip_speed import speed_shares, TIP_POINT_PERIOD_S
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory

SPEED_SLACK = 1e-3  # of the speed limits of the tip, between the points


def joined_to(trajectory: Trajectory, start_state: StartState, tolerance: float) -> Trajectory:
    """
    Return a trajectory as it starts from where the arm rests, and ends where it ended.

    The difference of the starts fades over its duration by a quintic, so that the controller
    interpolates the checked motion.

    Parameters
    ----------
    start_state : StartState
        Of the arm.
    tolerance : float
        Largest difference of the starts, rad or m.

    Raises
    ------
    TrajectoryError
        If it starts elsewhere or in motion, or the arm moves.

    """
    if start_state.states or not start_state.initial.rests:
        raise TrajectoryError('the arm moves; a trajectory is executed from rest')
    q = start_state.initial.q
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
    for share in shares:
        share[-1] = 0.0  # it ends exactly where it ended, at rest
    return replace(trajectory, start=MotionState.at_rest(q),
                   q=trajectory.q + shares[0] * away, qd=trajectory.qd + shares[1] * away,
                   qdd=trajectory.qdd + shares[2] * away)


def require_tip_speed(chain: Chain, limits: TipLimits, trajectory: Trajectory) -> None:
    """
    Check that the tip keeps its speed limits, every TIP_POINT_PERIOD_S at least.

    Raises
    ------
    TrajectoryError
        With the time and how much faster it would be.

    """
    if not limits.limits_speed:
        return
    count = int(np.ceil(trajectory.duration / TIP_POINT_PERIOD_S)) + 1
    times = np.union1d(np.linspace(0.0, trajectory.duration, count), trajectory.times)
    q, qd, _ = np.array(states_at(trajectory, times)).swapaxes(0, 1)
    shares = speed_shares(chain, limits, q, qd)
    k = int(shares.argmax())
    if shares[k] > 1.0 + SPEED_SLACK:
        raise TrajectoryError(f'after {times[k]:.2f} s the tip would have {shares[k]:.3g} times '
                              'the speed that motion.tool_speed or motion.tool_turn allows; '
                              'plan more slowly')
