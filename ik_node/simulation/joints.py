# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Simulated joints: how they follow their commands, and how they are measured.

All randomness comes from a seed, so that runs can be repeated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ik_node.motion.trajectory.trajectory import MotionState


class Plant(Protocol):
    """The joints of an arm under position control."""

    state: MotionState   # true state of the joints
    blocked: np.ndarray  # (n,) bool, joints that do not move, whatever is commanded

    def step(self, command: MotionState, dt: float) -> None:
        """Move towards `command`, which is due in `dt` seconds, for that time."""


@dataclass(frozen=True)
class Following:
    """How simulated joints follow their commands."""

    lag: float = 0.0  # time (s) that the joints lag behind at constant speed; 0 = none
    order: int = 1    # 1: first-order lag, whose speed may jump; 2: critically damped
    # Rad or m that the joints stay behind the command, in motion and at rest.
    friction: float = 0.0


class LaggingPlant:
    """
    Joints with lag and friction; without both they follow exactly.

    Friction is the play operator: a joint does not move until the command is further away than
    the friction, then follows at this distance, and stays there at the end.  The lag comes
    after it, solved exactly for a command of constant speed in each step.
    """

    def __init__(self, q: np.ndarray, following: Following = Following()) -> None:
        self.state = MotionState.at_rest(q)
        self.blocked = np.zeros(len(q), dtype=bool)
        self.following = following
        self._target = self.state.q

    def step(self, command: MotionState, dt: float) -> None:
        """Move towards `command`, which is due in `dt` seconds, for that time."""
        q, qd, how = self.state.q, self.state.qd, self.following
        before = self._target
        self._target = command.q if how.friction == 0.0 else \
            np.clip(before, command.q - how.friction, command.q + how.friction)
        if how.lag == 0.0 and how.friction == 0.0:
            reached = command
        elif dt == 0.0:
            reached = self.state
        else:
            slope = (self._target - before) / dt
            behind, rate = _response(q - before, qd - slope, slope, how, dt)
            reached = MotionState(self._target + behind, slope + rate, (slope + rate - qd) / dt)
        if self.blocked.any():
            stands = MotionState.at_rest(q)
            reached = MotionState(*(np.where(self.blocked, still, moved) for still, moved in (
                (stands.q, reached.q), (stands.qd, reached.qd), (stands.qdd, reached.qdd))))
        self.state = reached


def _response(e: np.ndarray, e_rate: np.ndarray, slope: np.ndarray, how: Following,
              dt: float) -> tuple[np.ndarray, np.ndarray]:
    """
    Return position and rate relative to a target that moves at `slope`, after `dt`.

    `e` and `e_rate` are the values at its start.  Closed forms of
    ``lag e' + e = -lag slope`` and ``e'' + 2 w e' + w^2 e = -2 w slope``, w = 2 / lag.
    """
    if how.lag == 0.0:
        return np.zeros_like(e), np.zeros_like(e)
    a = e + how.lag * slope   # deviation from the steady state of a ramp
    if how.order == 1:
        a = a * np.exp(-dt / how.lag)
        return a - how.lag * slope, -a / how.lag
    w = 2.0 / how.lag
    b = e_rate + w * a
    decay = np.exp(-w * dt)
    return (a + b * dt) * decay - how.lag * slope, (b - w * (a + b * dt)) * decay


@dataclass(frozen=True)
class Measuring:
    """Errors of the measurement."""

    noise: float = 0.0           # standard deviation of the measured positions (rad or m)
    velocity_noise: float = 0.0  # standard deviation of the measured velocities (per s)
    delay: float = 0.0           # time (s) from the measurement to the message
    dropped: float = 0.0         # share of the messages that are lost, 0 to 1


class Sensors:
    """
    Measures the joints with noise, and delivers measurements with delays and losses.

    Each measurement and each message draws one random number of each kind, whatever the
    options are, so that a seed determines what happens in which cycle.
    """

    def __init__(self, seed: int, measuring: Measuring = Measuring()) -> None:
        self.measuring = measuring
        self._noise, self._losses = (np.random.default_rng([seed, k]) for k in range(2))
        self._in_delivery: deque[tuple[float, MotionState]] = deque()

    def forget(self) -> None:
        """Drop measurements that are not delivered yet: the joints are others now."""
        self._in_delivery.clear()

    def measure(self, state: MotionState) -> MotionState:
        """Return `state` with noise on position and velocity."""
        e_q, e_qd = self._noise.standard_normal((2, len(state.q)))
        return MotionState(state.q + self.measuring.noise * e_q,
                           state.qd + self.measuring.velocity_noise * e_qd, state.qdd)

    def deliver(self, now: float, state: MotionState) -> Sequence[tuple[float, MotionState]]:
        """Return the measurements that arrive at `now` (s), times and states, oldest first."""
        if self._losses.random() >= self.measuring.dropped:
            self._in_delivery.append((now, state))
        arrived = []
        # Half a nanosecond of tolerance: clocks count whole ones.
        while self._in_delivery and (self._in_delivery[0][0] + self.measuring.delay
                                     <= now + 0.5e-9):
            arrived.append(self._in_delivery.popleft())
        return arrived
