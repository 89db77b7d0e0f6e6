# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Estimate of the controller's update period from the stamps of its joint states."""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from math import ceil
from statistics import median

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
