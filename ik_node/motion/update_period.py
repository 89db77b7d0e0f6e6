# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The rhythm of the controller: when it will take what is sent to it."""

from __future__ import annotations

from collections import deque

import numpy as np

KEPT = 20             # stamps
USUAL = 0.01          # s
SLOWEST = 0.05        # s; a slower rhythm is not that of a controller
SAME = 0.2            # of the period: so regular is a rhythm
MOSTLY = 0.7          # of the steps are regular, or there is no rhythm
AHEAD = 0.005         # s that the controller's clock may be ahead of ours
AGES_KEPT = 200       # joint states whose delivery is looked at
MOST_AGES = 0.95      # share of them that a message is expected to be as quick as
FORGOTTEN = 0.5       # s without a stamp: the rhythm may have changed


class Beat:
    """
    Predicts the updates of a controller from the stamps of its joint states.

    A trajectory begins at the first update after its arrival.  Where the joint
    states have no rhythm, or not that of the controller, the prediction is at most
    one of their periods late; where its `cycle` is known, half of that early or late.

    `cycle` (s) is the time between two of its updates; 0 = as between joint states.
    """

    def __init__(self) -> None:
        self._stamps: deque[float] = deque(maxlen=KEPT)
        self._ages: deque[float] = deque(maxlen=AGES_KEPT)

    def take(self, stamp: float, received: float) -> None:
        """
        Take the stamp of a joint state, and when it was received by our clock (s).

        One that goes back begins anew.
        """
        if self._stamps and stamp <= self._stamps[-1]:
            self._stamps.clear()
            self._ages.clear()
        self._stamps.append(stamp)
        self._ages.append(received - stamp)

    def clocks_agree(self, within: float) -> bool:
        """
        Return whether the controller's clock is ours, to `within` (s).

        By the joint state that took the shortest time; one of the future shows it at once.
        """
        return len(self._ages) >= KEPT // 2 and -AHEAD <= min(self._ages) <= within

    @property
    def delivery(self) -> tuple[float, float]:
        """
        Return how long (s) joint states take to us, the quickest and nearly the slowest.

        If the clocks agree, what goes the other way is taken to be as slow.
        """
        if not self._ages:
            return 0.0, 0.0
        ages = np.sort(self._ages)
        return float(ages[0]), float(ages[int(MOST_AGES * (len(ages) - 1))])

    def next(self, time: float, cycle: float = 0.0) -> float:
        """Return when (s, on the clock of the stamps) the first update after `time` is."""
        period = self._period(cycle)
        if period is None or not 0.0 <= time - self._stamps[-1] < FORGOTTEN:
            return time + 0.5 * cycle
        last = self._stamps[-1]
        return last + float(np.ceil((time - last) / period)) * period

    @property
    def cycle(self) -> float:
        """Return the time (s) between two joint states; a guess if there is no rhythm."""
        return self._period(0.0) or USUAL

    def _period(self, cycle: float) -> float | None:
        steps = np.diff(self._stamps)
        if len(steps) < KEPT // 2:
            return None
        period = float(np.median(steps))
        if not 0.0 < period <= SLOWEST or abs(period - (cycle or period)) > SAME * period:
            return None
        turns = np.rint(steps / period)
        regular = (turns > 0.0) & (np.abs(steps - turns * period) < SAME * period)
        if regular.mean() < MOSTLY:
            return None
        # Lost messages leave whole periods out.
        return float(steps[regular].sum() / turns[regular].sum())
