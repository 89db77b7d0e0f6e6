# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The clutch: the tip follows a hand only while a button is held.

Poses of the hand are in the frame of WebXR: x to the right, y up, z backwards, as the device was
turned when its session began.  Targets are in the base link, x forward and z up (REP-103), which
has to stand upright.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import atan2, hypot, inf

import numpy as np

from ik_node.base.errors import GoalError
from ik_node.base.se3 import pose, rotation_about, rotation_log

SAMPLE_TIMEOUT_S = 0.2   # older samples, or none for this time, release the clutch
MAX_HAND_SPEED_M_S = 3.0     # m/s
MAX_HAND_RATE_RAD_S = 20.0     # rad/s
FRAME_TIME_S = 1.0 / 60.0  # of two frames that a busy device hands out at once
TRACKING_SHIFT_M, TRACKING_TURN_RAD = 5e-3, 0.05  # of a hand at rest, from sample to sample
SCALE_RANGE = 0.1, 2.0
MIN_LEVEL_PART = 0.3     # of the forward axis: steeper, it has no heading
CLOCK_WINDOW_S = 5.0     # for which the fastest sample tells how the clocks differ
CLOCK_GAP_S = 1.0        # without samples: the device may have slept, and its clock with it
UP_AXIS = np.array([0.0, 0.0, 1.0])
# Axes of WebXR in REP-103: forward is -z, left -x, up y.
R_BASE_HAND = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


@dataclass(frozen=True)
class HandSample:
    """Where a hand is at an instant."""

    time: float           # on the clock of the page, s
    position: np.ndarray  # (3,), in the frame of WebXR, m
    rotation: np.ndarray  # (3, 3)
    held: bool            # whether the button is pressed
    tracked: bool = True  # whether the device knows its position, instead of guessing it
    arm: str = ''         # name of the arm that it leads; '' if there is one only


@dataclass(frozen=True)
class ClutchOptions:
    """How the tip follows; a change counts from the next press on."""

    scale: float = 1.0  # displacement of the tip per displacement of the hand, in SCALE_RANGE
    turns: bool = True  # whether the tip turns with the hand; it keeps its orientation otherwise
    # Direction in the frame of the hand that is the x axis of the base: an angle about the upright
    # axis, from forward to the left, rad.
    heading: float = 0.0


def heading_of(rotation: np.ndarray) -> float:
    """
    Return the heading (rad) in which a device looks, for ClutchOptions.

    Parameters
    ----------
    rotation : (3, 3) array
        Of the device, in the frame of WebXR.

    """
    x, y, _ = R_BASE_HAND @ rotation @ [0.0, 0.0, -1.0]
    if hypot(x, y) < MIN_LEVEL_PART:
        raise GoalError('the device looks up or down, so forward is not known; hold it upright')
    return atan2(y, x)


class SampleClock:
    """
    Tells how late samples are, without a common clock.

    The fastest sample of the last seconds shows how far the clocks are apart: the others are
    late by what they took longer.
    """

    def __init__(self) -> None:
        self._least, self._least_before = inf, inf  # differences of the clocks, s
        self._began = -inf
        self._last = -inf

    def delay(self, time: float, now: float) -> float:
        """Return how late (s) a sample is that was taken at `time` and received `now` (s)."""
        if now - self._last > CLOCK_GAP_S:
            self._least, self._least_before, self._began = inf, inf, now
        self._last = now
        if now - self._began > CLOCK_WINDOW_S:
            self._least_before, self._least, self._began = self._least, inf, now
        self._least = min(self._least, now - time)
        return now - time - min(self._least, self._least_before)


@dataclass(frozen=True)
class Grasp:
    """Where hand and tip were when the button was pressed."""

    hand: HandSample
    T_base_tip: np.ndarray  # (4, 4)
    options: ClutchOptions

    def target(self, hand: HandSample) -> np.ndarray:
        """Return the pose (4, 4) of the tip in the base for a hand that has moved."""
        R = rotation_about(UP_AXIS, -self.options.heading) @ R_BASE_HAND
        shift = R @ (hand.position - self.hand.position)
        turn = R @ hand.rotation @ self.hand.rotation.T @ R.T if self.options.turns else np.eye(3)
        return pose(turn @ self.T_base_tip[:3, :3],
                    self.T_base_tip[:3, 3] + self.options.scale * shift)


@dataclass
class Clutch:
    """
    Turns the samples of one hand into targets for the tip.

    It is released by the button, and by anything that makes the pose of the hand doubtful; then
    the button has to be let go and pressed again.
    """

    options: ClutchOptions = field(default_factory=ClutchOptions)  # for the next press
    timeout: float = SAMPLE_TIMEOUT_S  # older samples, or none for this time (s), release it
    notice: str = ''  # why the clutch was released or not taken; '' while all is well
    delay: float = 0.0  # how late the last sample was, s
    _clock: SampleClock = field(default_factory=SampleClock)
    _grasp: Grasp | None = None
    _fresh: bool = False  # whether the next press counts
    _last: HandSample | None = None
    _received: float = -inf  # time of the last sample that was used (s)

    @property
    def holding(self) -> bool:
        """Return whether the tip follows the hand."""
        return self._grasp is not None

    def presses(self, sample: HandSample) -> bool:
        """Return whether a sample is a press that takes the clutch, unless it is refused."""
        return sample.held and self._fresh and not self.holding

    def take(self, sample: HandSample, now: float, T_base_tip: np.ndarray | None = None,
             refusal: str = '') -> np.ndarray | None:
        """
        Take a sample, and return the target.

        Parameters
        ----------
        now : float
            When it was received, on any steady clock, s.
        T_base_tip : (4, 4) array, optional
            Where the tip is; needed when the sample is a press.
        refusal : str
            Why the clutch may not be taken now; '' if it may.

        Returns
        -------
        (4, 4) array or None
            Pose of the tip in the base; None while the clutch is not held.

        """
        self.delay = self._clock.delay(sample.time, now)
        if not sample.held:
            self._grasp, self._fresh = None, True
            return None
        if self.presses(sample):
            self._fresh = False
            self.notice = refusal or self._doubt(sample)
            if self.notice or T_base_tip is None:
                return None
            self._grasp = Grasp(sample, T_base_tip, self.options)
        elif self._grasp is None or sample.time <= self._last.time:
            return None
        else:
            doubt = self._doubt(sample) or self._doubt_since(self._last, sample)
            if doubt:
                self.release(doubt)
                return None
        self._last, self._received = sample, now
        return self._grasp.target(sample)

    def check(self, now: float) -> None:
        """Release the clutch if samples have stopped; to be called now and then, at a time (s)."""
        if now - self._received > self.timeout:
            self.release(f'nothing came from the device for {self.timeout:g} s')

    def release(self, why: str) -> None:
        """Release the clutch until the next press, if it is held; say why."""
        if self.holding:
            self._grasp, self.notice = None, f'{why}; press again to go on'

    def _doubt(self, sample: HandSample) -> str:
        if not sample.tracked:
            return 'the device has lost its position'
        if self.delay > self.timeout:
            return f'the connection is slow: a pose of the hand came {self.delay:.1f} s late'
        return ''

    def _doubt_since(self, before: HandSample, sample: HandSample) -> str:
        dt = sample.time - before.time
        if dt > self.timeout:
            return f'the device told nothing of the hand for {dt:.1f} s'
        dt = max(dt, FRAME_TIME_S)
        shift = float(np.linalg.norm(sample.position - before.position))
        if shift > MAX_HAND_SPEED_M_S * dt + TRACKING_SHIFT_M:
            return f'the tracked hand jumped by {shift:.2f} m'
        angle = float(np.linalg.norm(rotation_log(sample.rotation @ before.rotation.T)))
        if angle > MAX_HAND_RATE_RAD_S * dt + TRACKING_TURN_RAD:
            return f'the tracked hand jumped by {angle:.1f} rad'
        return ''
