# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Watches whether the arm does what was planned, by its joint states alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_node.errors import quote, Reason
from ik_node.model.chain import Chain
from ik_node.trajectory.sampler import state_at
from ik_node.trajectory.trajectory import Trajectory

SEEN_SHARE = 0.1   # of the joint tolerance: so much movement shows that the motion has begun


@dataclass(frozen=True)
class Verdict:
    """How a motion ended, with one sentence."""

    reason: Reason
    sentence: str


@dataclass(frozen=True)
class MonitorOptions:
    """
    Bounds of the watch.

    Attributes
    ----------
    joint_tolerance : float
        Rad or m: a joint so near to its end has arrived.
    start_timeout : float
        s: the motion must be seen to begin within it.
    settle_timeout : float
        s: without progress for so long after the planned end, it has failed.
    state_timeout : float
        s: joint states older than this say nothing.

    """

    joint_tolerance: float
    start_timeout: float
    settle_timeout: float
    state_timeout: float


class Monitor:
    """
    Follows one trajectory to its end.

    It judges by progress, not by duration, because controllers that scale
    their speed are slower than planned on purpose.

    Parameters
    ----------
    q_start : (n,) array
        Measured positions when the trajectory was sent.

    """

    def __init__(self, chain: Chain, trajectory: Trajectory, q_start: np.ndarray,
                 options: MonitorOptions) -> None:
        self._chain = chain
        self._trajectory = trajectory
        self._q_start = q_start
        self._options = options
        path = float(np.abs(trajectory.q - q_start).max())
        # Just above the noise of encoders: a controller may be much slower than planned.
        self._seen_move = min(SEEN_SHARE * options.joint_tolerance, 0.25 * path)
        self._begun = bool(np.any(trajectory.start.qd))
        self._nearest = np.inf
        self._last_progress = trajectory.duration
        self._last_q = q_start

    def observe(self, elapsed: float, q: np.ndarray, age: float) -> Verdict | None:
        """
        Judge the motion.

        Parameters
        ----------
        elapsed : float
            Seconds since the trajectory was sent.
        q : (n,) array
            Latest measured positions.
        age : float
            Their age (s).

        Returns
        -------
        Verdict or None
            None while the motion goes on.

        """
        options, trajectory = self._options, self._trajectory
        if age > options.state_timeout:
            if elapsed > trajectory.duration + options.settle_timeout:
                return Verdict(Reason.STATE_LOST, f'the joint states stopped {age:.1f} s ago, so '
                               'it is not known where the arm ended')
            return None
        moved = float(np.abs(self._chain.difference(q, self._q_start)).max())
        self._begun = self._begun or moved >= self._seen_move
        if not self._begun and elapsed > options.start_timeout:
            due = np.abs(state_at(trajectory, elapsed).q - self._q_start).max()
            if due > options.joint_tolerance or elapsed > trajectory.duration:
                return Verdict(Reason.NOT_MOVING, f'the arm has not moved {elapsed:.1f} s after '
                               'the trajectory was sent; is the controller active, and does its '
                               'log say why it refused?')
        if elapsed < trajectory.duration:
            return None
        difference = np.abs(self._chain.difference(q, trajectory.end))
        error = float(difference.max())
        standing = np.array_equal(q, self._last_q) \
            or np.abs(q - self._last_q).max() < 0.1 * options.joint_tolerance
        self._last_q = q
        if error <= options.joint_tolerance and standing:
            return Verdict(Reason.REACHED, 'reached')
        if error < self._nearest - 0.1 * options.joint_tolerance:
            self._nearest, self._last_progress = error, elapsed
        if elapsed - self._last_progress > options.settle_timeout:
            k = int(difference.argmax())
            return Verdict(Reason.OFF_TARGET, f'the arm stands still {error:.4g} from the end of '
                           f'its trajectory at joint {quote(self._chain.joint_names[k])}; was it '
                           'stopped, blocked, or moved by somebody else?')
        return None
