# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Which joint trajectories a joint_trajectory_controller accepts.

The checks of ros2_controllers' joint_trajectory_controller (jazzy), in the same order.  The
node checks its own trajectories before it publishes them, the simulated controller all
that it receives.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from statistics import median
from typing import Any

import numpy as np

from ik_node.base.text import quote

FLOAT_EPSILON = float(np.finfo(np.float32).eps)
POINT_FIELDS = ('positions', 'velocities', 'accelerations')


@dataclass(frozen=True)
class AcceptanceOptions:
    """Parameters of the controller, with the defaults of jazzy."""

    allow_partial_joints_goal: bool = False  # accept trajectories for some of the joints only
    # Accept trajectories that do not end at rest (the default on humble).
    allow_nonzero_velocity_at_trajectory_end: bool = False
    allow_integration_in_goal_trajectories: bool = False  # accept points without positions


def seconds(stamp: Any) -> float:
    """Return a builtin_interfaces Time or Duration in seconds."""
    return stamp.sec + 1e-9 * stamp.nanosec


def refusal(message: Any, joints: Sequence[str], now: float,
            options: AcceptanceOptions = AcceptanceOptions()) -> str | None:
    """
    Return why a controller would reject a trajectory.

    Parameters
    ----------
    message : trajectory_msgs/JointTrajectory, or anything with its fields
    joints : sequence of str
        The controller's joints.
    now : float
        The controller's time (s).
    options : AcceptanceOptions

    Returns
    -------
    str or None
        A sentence about the first rule that is broken; None if it is accepted.

    """
    names, points = message.joint_names, message.points
    if not options.allow_partial_joints_goal and len(names) != len(joints):
        return (f'the trajectory has {len(names)} joints, the controller has {len(joints)} '
                f'({", ".join(map(quote, joints))})')
    if not names:
        return 'the trajectory names no joints'
    if not points:
        return 'the trajectory has no points'
    for name in names:
        if name not in joints:
            return (f'the joint {quote(name)} is not one of the controller '
                    f'({", ".join(map(quote, joints))})')
    if not options.allow_nonzero_velocity_at_trajectory_end:
        for name, velocity in zip(names, points[-1].velocities):
            if abs(velocity) > FLOAT_EPSILON:
                return (f'the velocity of the last point is not zero but {velocity:g} for '
                        f'joint {quote(name)}')
    start = seconds(message.header.stamp)
    end = start + seconds(points[-1].time_from_start)
    if start != 0.0 and end < now:
        return f'the trajectory ended {now - end:.3f} s ago (its stamp is {start:.3f})'
    return _refusal_of_points(points, len(names), options)


def _refusal_of_points(points: Sequence[Any], count: int,
                       options: AcceptanceOptions) -> str | None:
    before = None
    for i, point in enumerate(points):
        time = point.time_from_start.sec * 10**9 + point.time_from_start.nanosec
        if before is not None and time <= before:
            return f'time_from_start does not increase between the points {i - 1} and {i}'
        before = time
        integrated = options.allow_integration_in_goal_trajectories
        if integrated and not any(len(getattr(point, field)) for field in POINT_FIELDS):
            return f'point {i} has neither position, velocity nor acceleration'
        for field in POINT_FIELDS:
            size = len(getattr(point, field))
            optional = integrated or field != 'positions'
            if size != count and not (optional and size == 0):
                return f'point {i} has {size} {field} for {count} joints'
        if len(point.effort):
            return f'point {i} has effort, which a position controller does not take'
    return None


STAMP_HISTORY = 20            # stamps that the estimate uses
DEFAULT_PERIOD_S = 0.01       # if the stamps are not periodic
MAX_PERIOD_S = 0.05           # a longer period is not that of a controller
PERIOD_TOLERANCE = 0.2        # largest deviation of a regular step, as a share of the period
MIN_REGULAR_SHARE = 0.7       # of the steps; with fewer the stamps are not periodic
MAX_CLOCK_LEAD_S = 0.005      # that the controller's clock may be ahead of ours
AGE_HISTORY = 200             # joint states whose delivery time is kept
SLOW_DELIVERY_QUANTILE = 0.95
MAX_STAMP_AGE_S = 0.5         # without a stamp; the period may have changed


class UpdatePeriodEstimator:
    """
    Predicts the updates of a controller from the stamps of its joint states.

    A trajectory begins at the first update after its arrival.  If the joint states are not
    published in step with the controller, the prediction is late by at most one of their
    periods, or, if the controller period is known, early or late by half of that.

    `cycle` (s) is the controller period; 0 = the period of the joint states.
    """

    def __init__(self) -> None:
        self._stamps: deque[float] = deque(maxlen=STAMP_HISTORY)
        self._ages: deque[float] = deque(maxlen=AGE_HISTORY)
        # since the last stamp: by cycle, and the ages in ascending order
        self._estimates: dict[float, float | None] = {}
        self._sorted: list[float] | None = None

    def add(self, stamp: float, received: float) -> None:
        """
        Add the stamp of a joint state, and when it was received by our clock (s).

        A stamp that is not newer than the last one clears the history.
        """
        if self._stamps and stamp <= self._stamps[-1]:
            self._stamps.clear()
            self._ages.clear()
        self._estimates.clear()
        self._sorted = None
        self._stamps.append(stamp)
        self._ages.append(received - stamp)

    def clocks_agree(self, within: float) -> bool:
        """
        Return whether the controller's clock agrees with ours, to `within` (s).

        Judged by the joint state with the shortest delivery time; a stamp from the future
        shows a disagreement at once.
        """
        return (len(self._ages) >= STAMP_HISTORY // 2
                and -MAX_CLOCK_LEAD_S <= self._in_order()[0] <= within)

    @property
    def delivery(self) -> tuple[float, float]:
        """
        Return the delivery time (s) of joint states, the shortest and nearly the longest.

        If the clocks agree, messages in the other direction are assumed to take as long.
        """
        if not self._ages:
            return 0.0, 0.0
        ages = self._in_order()
        return ages[0], ages[int(SLOW_DELIVERY_QUANTILE * (len(ages) - 1))]

    def next_update(self, time: float, cycle: float = 0.0) -> float:
        """Return the first update after `time`, both s on the clock of the stamps."""
        period = self._estimate(cycle)
        if period is None or not 0.0 <= time - self._stamps[-1] < MAX_STAMP_AGE_S:
            return time + 0.5 * cycle
        last = self._stamps[-1]
        return last + ceil((time - last) / period) * period

    @property
    def period(self) -> float:
        """Return the time (s) between joint states; DEFAULT_PERIOD_S if not periodic."""
        return self._estimate(0.0) or DEFAULT_PERIOD_S

    def _in_order(self) -> list[float]:
        if self._sorted is None:
            self._sorted = sorted(self._ages)
        return self._sorted

    def _estimate(self, cycle: float) -> float | None:
        if cycle not in self._estimates:
            self._estimates[cycle] = self._regular_period(cycle)
        return self._estimates[cycle]

    def _regular_period(self, cycle: float) -> float | None:
        # Lists: for so few numbers they are faster than arrays.
        steps = [after - before for before, after in pairwise(self._stamps)]
        if len(steps) < STAMP_HISTORY // 2:
            return None
        period = median(steps)
        if not 0.0 < period <= MAX_PERIOD_S \
                or abs(period - (cycle or period)) > PERIOD_TOLERANCE * period:
            return None
        # The count is more than 1 where messages were lost.
        counted = [(step, round(step / period)) for step in steps]
        regular = [(step, count) for step, count in counted
                   if count > 0 and abs(step - count * period) < PERIOD_TOLERANCE * period]
        if len(regular) < MIN_REGULAR_SHARE * len(steps):
            return None
        return sum(step for step, _ in regular) / sum(count for _, count in regular)
