# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Judge the output of a controller, cycle by cycle, without knowing what was planned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

STEP_ALLOWANCE_RAD = 1e-4        # besides what the acceleration limit allows in a cycle
ACCELERATION_ALLOWANCE = 1.05    # share of the limit that the reference may have
MIN_SPEED_RAD_S = 1e-3           # a slower joint has no direction
CYCLE_TOLERANCE = 0.5            # share of a cycle by which it may be longer or shorter
MAX_CYCLE = 1.4                  # cycles between two joint states without a gap


class UnseenError(ValueError):
    """Nothing was recorded that could be judged."""


@dataclass(frozen=True)
class Findings:
    """
    What the output of a controller shows.

    Attributes
    ----------
    step : float
        Largest step (rad or m) of a joint beyond velocity x cycle.
    allowed : float
        What the acceleration limit makes of it, and STEP_ALLOWANCE_RAD.
    backward : int
        Cycles in which a joint went against its velocity.
    acceleration : float
        Largest acceleration of the reference (rad/s^2 or m/s^2); 0 if it is not known.
    velocity_step : float
        Largest step of a velocity from cycle to cycle, as an acceleration.
    cycles : int
        How many cycles were judged.

    """

    step: float
    allowed: float
    backward: int
    acceleration: float
    velocity_step: float
    cycles: int

    def faults(self, acceleration: float) -> list[str]:
        """Return in words what of it is a kick, for a limit of `acceleration` (rad/s^2)."""
        words = []
        if self.step > self.allowed:
            words.append(f'a step of {1e3 * self.step:.3f} mrad beyond velocity x cycle, '
                         f'{1e3 * self.allowed:.3f} are allowed')
        if self.backward:
            words.append(f'{self.backward} cycles backwards')
        if self.acceleration > ACCELERATION_ALLOWANCE * acceleration:
            words.append(f'the reference is accelerated by {self.acceleration:.3f} rad/s^2')
        return words


def judge(times: np.ndarray, q: np.ndarray, qd: np.ndarray, rate: float, acceleration: float,
          qdd: np.ndarray | None = None) -> Findings:
    """
    Judge what a controller commanded in N cycles.

    Parameters
    ----------
    times : (N,) array
        For when each command is (s).  Neighbours that are not about a cycle apart, because a
        record has gaps, are left out.
    q, qd : (N, n) arrays
        Commanded positions (rad or m) and velocities.
    rate : float
        Cycles a second (Hz).
    acceleration : float
        The limit of the joints (rad/s^2 or m/s^2).
    qdd : (N, n) array, optional
        Commanded accelerations.

    Raises
    ------
    UnseenError
        If no two neighbours are about a cycle apart.

    """
    dt = np.diff(times)
    whole = np.abs(dt * rate - 1.0) < CYCLE_TOLERANCE
    if not whole.any():
        raise UnseenError(f'of {len(times)} commands no two are a cycle of {1.0 / rate:g} s '
                          'apart; was the machine too busy to record them?')
    dt = dt[whole, None]
    distance = np.diff(q, axis=0)[whole]
    before, after = qd[:-1][whole], qd[1:][whole]
    excess = np.abs(distance - dt * before)
    allowed = 0.5 * acceleration * dt**2 + STEP_ALLOWANCE_RAD
    worst = int(np.argmax((excess - allowed).max(axis=1)))
    backward = (distance * before < 0.0) & (distance * after < 0.0) \
        & (np.abs(before) > MIN_SPEED_RAD_S) & (np.abs(distance) > STEP_ALLOWANCE_RAD)
    return Findings(
        float(excess[worst].max()), float(allowed[worst, 0]), int(backward.any(axis=1).sum()),
        0.0 if qdd is None else float(np.abs(qdd).max()),
        float((np.abs(after - before) / dt).max()), len(dt))


def judge_states(stamps: np.ndarray, q: np.ndarray, qd: np.ndarray, rate: float,
                 acceleration: float) -> Findings:
    """
    Judge a real controller by the joint states of hardware that mirrors its commands.

    Parameters
    ----------
    stamps : (N,) array
        Of the joint states (s).
    q, qd : (N, n) arrays
        Their positions and velocities.
    rate, acceleration : float
        As of :func:`judge`, and the error.

    """
    # What is measured in a cycle was commanded in the one before; after a gap nobody knows when.
    commanded = np.where(np.diff(stamps) * rate > MAX_CYCLE, np.nan, stamps[:-1])
    return judge(commanded, q[1:], qd[1:], rate, acceleration)
