# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The stream of target poses: stamps, pauses and jumps, and the estimate of the target."""

from __future__ import annotations

from math import cos, exp, inf, sin, sqrt
from typing import NamedTuple

import numpy as np

from ik_node.kinematics.kernels import compiled, copy, inner, pose_error
from ik_node.motion.following.options import PoseStatus

JERK_MEMORY = 4.0    # of the filter's memory, over which the jerk is averaged
SURE_INTERVAL = 0.3  # of the memory, between two poses; at twice as much no jerk is believed


class TargetState(NamedTuple):
    """Motion of the target in the base frame."""

    pose: np.ndarray  # (12,), see :mod:`ik_node.kinematics.kernels`
    # velocity, acceleration: (6,), linear (m) and angular (rad) parts, per s and s^2, in the axes
    # of the base
    velocity: np.ndarray
    acceleration: np.ndarray


class Fading(NamedTuple):
    """The filter of the poses of a target."""

    state: TargetState
    jerk: np.ndarray  # (6,), m or rad per s^3
    memory: float     # s, in which the weight of a pose falls by a factor of e


@inner
def rotate(pose, x, y, z):
    """Rotate a pose (12,) about its origin by a rotation vector in the base frame, in place."""
    angle = sqrt(x * x + y * y + z * z)
    if angle < 1e-12:
        return
    x, y, z = x / angle, y / angle, z / angle
    c, s = cos(angle), sin(angle)
    u = 1.0 - c
    for k in range(3):
        a, b, d = pose[k], pose[3 + k], pose[6 + k]
        pose[k] = (c + u * x * x) * a + (u * x * y - s * z) * b + (u * x * z + s * y) * d
        pose[3 + k] = (u * x * y + s * z) * a + (c + u * y * y) * b + (u * y * z - s * x) * d
        pose[6 + k] = (u * x * z - s * y) * a + (u * y * z + s * x) * b + (c + u * z * z) * d


@inner
def predict(target, t, pose):
    """Write the pose (12,) of the target after `t` seconds of constant acceleration."""
    copy(target.pose, pose)
    v, a = target.velocity, target.acceleration
    h = 0.5 * t
    for i in range(3):
        pose[9 + i] += t * (v[i] + h * a[i])
    rotate(pose, t * (v[3] + h * a[3]), t * (v[4] + h * a[4]), t * (v[5] + h * a[5]))


@inner
def add_lag(fading, sure, target):
    """Write the target (TargetState) from what the filter has, which lags behind by its jerk."""
    filtered, jerk, memory = fading
    copy(filtered.pose, target.pose)
    for i in range(6):
        target.velocity[i] = filtered.velocity[i] + 3.0 * sure * memory**2 * jerk[i]
        target.acceleration[i] = filtered.acceleration[i] + 3.0 * sure * memory * jerk[i]
    far, pose = sure * memory**3, target.pose
    for i in range(3):
        pose[9 + i] += far * jerk[i]
    rotate(pose, far * jerk[3], far * jerk[4], far * jerk[5])


@compiled
def correct(fading, target, measured, dt, jump, sure, work):
    """
    Correct the target by a pose that was measured `dt` seconds after the last.

    The fading-memory polynomial filter of the second degree (Morrison 1969, "Introduction to
    Sequential Smoothing and Prediction"): the best parabola through the past poses, whose
    weight falls by a factor of e every `memory` seconds.  A pose farther from the
    prediction than `jump` (m, rad) restarts the filter there, at rest.

    A parabola lags behind a motion with jerk: its errors of pose, velocity and acceleration are
    then `memory` cubed, 3 times its square and 3 times it, times the jerk.  These are added, by
    the jerk that follows from the mean of the corrections.

    Parameters
    ----------
    fading : Fading, changed
    target : TargetState, written
    measured : (12,) array
    jump : (float, float)
    sure : float
        Share of the jerk that is believed.
    work : (12,) array, (6,) array

    Returns
    -------
    (bool, float, float)
        Whether it was a jump, and how far from the prediction the pose was (m, rad).

    """
    (filtered, jerk, memory), (pose, e) = fading, work
    predict(filtered, dt, pose)
    distance, angle = pose_error(measured, pose, e)
    velocity, acceleration = filtered.velocity, filtered.acceleration
    if distance > jump[0] or angle > jump[1]:
        copy(measured, filtered.pose)
        for i in range(6):
            velocity[i] = acceleration[i] = jerk[i] = 0.0
        add_lag(fading, 0.0, target)
        return True, distance, angle
    theta = exp(-dt / memory)
    left, mean = 1.0 - theta, 1.0 - exp(-dt / (JERK_MEMORY * memory))
    alpha, beta, gamma = (1.0 - theta**3, 1.5 * left * left * (1.0 + theta) / dt,
                          left**3 / (dt * dt))
    for i in range(6):
        velocity[i] += dt * acceleration[i] + beta * e[i]
        acceleration[i] += gamma * e[i]
        jerk[i] += mean * (gamma * e[i] / dt - jerk[i])
    for i in range(3):
        pose[9 + i] += alpha * e[i]
    rotate(pose, alpha * e[3], alpha * e[4], alpha * e[5])
    copy(pose, filtered.pose)
    sure *= min(max(2.0 - dt / (SURE_INTERVAL * memory), 0.0), 1.0)
    add_lag(fading, sure, target)
    return False, distance, angle


# A pose that is farther from the prediction than this (m, rad) starts a new movement, ...
MAX_JUMP = 0.05, 0.3
# ... plus how far the target may have got at these speeds (m/s, rad/s) since the last pose.
MAX_TARGET_SPEED = 2.0, 6.0
TRUSTED_INTERVALS = 4.0    # usual intervals without a pose for which the velocity is trusted
# Mean distance of the poses from their predictions (m, rad) up to which the velocity is
# trusted; at twice as much it is not trusted at all.
TRUSTED_DISTANCE = 0.01, 0.06
SURE_ERROR = 0.1           # share of these; above it the acceleration is not trusted
ERROR_WEIGHT = 0.2         # of the last pose in that mean
MIN_INTERVAL_S = 1e-4      # between two poses
MAX_CLOCK_DRIFT = 1e-3     # s per s, of the sender's clock against the receiver's


class PoseStream:
    """
    Estimates the target from the poses of a stream.

    Times are seconds on the receiver's monotonic clock, stamps on the sender's.

    Parameters
    ----------
    timeout : float
        Time (s) without a pose after which the stream is stale.
    memory : float
        Time constant (s) of the estimate.

    """

    def __init__(self, timeout: float, memory: float) -> None:
        self.timeout, self.memory = timeout, memory
        self.target, self._filtered = (
            TargetState(np.zeros(12), np.zeros(6), np.zeros(6)) for _ in range(2))
        # See :class:`ik_node.motion.following.follower.Follower`.
        self.out_of_order = self.jumps = 0
        self._jerk, self._work = np.zeros(6), (np.zeros(12), np.zeros(6))
        self.clear()

    def clear(self) -> None:
        """Drop the target."""
        self._received = -inf     # when the last pose was received
        self._shown = -inf        # when the target was there, by the receiver's clock
        self._stamp: float | None = None
        self._offset = inf        # of the receiver's clock against the sender's
        self._interval = 0.0      # usual time between two poses
        self._error = 0.0         # mean distance from the predictions, 1 at TRUSTED_DISTANCE

    @property
    def started(self) -> bool:
        """Return whether a pose was received since the last :meth:`clear`."""
        return self._received > -inf

    def fresh(self, now: float) -> bool:
        """Return whether a pose was received within the timeout."""
        return now - self._received <= self.timeout

    def add(self, pose: np.ndarray, now: float, stamp: float | None) -> PoseStatus:
        """
        Correct the estimate by a pose (12,) that was received `now`.

        The offset between the clocks is that of the message with the shortest delivery time.
        """
        fresh = self.fresh(now)
        if stamp is not None:
            if self._stamp is not None and stamp <= self._stamp and fresh:
                self.out_of_order += 1
                return PoseStatus.OUT_OF_ORDER
            if self._stamp is None or stamp < self._stamp:
                self._offset = inf
            self._offset = min(self._offset + MAX_CLOCK_DRIFT * (now - self._received),
                               now - stamp)
        shown = now if stamp is None else stamp + self._offset
        interval = max(shown - self._shown, MIN_INTERVAL_S)
        jump = tuple(j + speed * interval for j, speed in zip(MAX_JUMP, MAX_TARGET_SPEED)) \
            if fresh else (-1.0, -1.0)
        jumped, *distance = correct(
            Fading(self._filtered, self._jerk, self.memory), self.target, pose, min(interval, 1e9),
            jump, self._sure(0.5), self._work)
        error = max(min(d, far) / near
                    for d, far, near in zip(distance, MAX_JUMP, TRUSTED_DISTANCE))
        self._error = self._error + ERROR_WEIGHT * (error - self._error) if fresh else 0.0
        if not fresh:
            self._interval = 0.0
        elif jumped:
            self.jumps += 1
        elif self._interval:
            self._interval += 0.2 * (min(interval, self.timeout) - self._interval)
        else:
            self._interval = interval
        self._received, self._shown, self._stamp = now, shown, stamp
        return PoseStatus.JUMPED if fresh and jumped else PoseStatus.FOLLOWED

    def prediction(self, now: float) -> tuple[float, float, float]:
        """
        Return for how long (s) to predict the target until now, and shares of its motion.

        They are of its velocity and of its acceleration, which is less sure.

        A target that falls silent is soon assumed to rest where it was seen last.  So is one
        that leaps to and fro, as with two senders that disagree.
        """
        age = now - self._shown
        longest = max(TRUSTED_INTERVALS * self._interval, MIN_INTERVAL_S)
        share = min(max(min(2.0 - age / longest, 2.0 - self._error), 0.0), 1.0)
        return min(age, longest), share, share * self._sure(1.0)

    def _sure(self, share: float) -> float:
        """Return the trust in a derivative of the motion, none above a share of SURE_ERROR."""
        return max(1.0 - self._error / (share * SURE_ERROR), 0.0)


class KnownTarget:
    """A target of which it is known where it will be, in place of a :class:`PoseStream`."""

    out_of_order = jumps = 0

    def __init__(self, target: TargetState, time: float) -> None:
        self.target, self._time = target, time

    def clear(self) -> None:
        """Drop the target."""
        self._time = inf

    @property
    def started(self) -> bool:
        """Return whether there is a target."""
        return self._time < inf

    def fresh(self, _now: float) -> bool:
        """Return whether there is a target."""
        return self.started

    def prediction(self, now: float) -> tuple[float, float, float]:
        """Return as :meth:`PoseStream.prediction`; it is believed."""
        return now - self._time, 1.0, 1.0
