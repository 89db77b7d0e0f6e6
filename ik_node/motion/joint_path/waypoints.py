# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Joint positions to pass in one motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_node.base.errors import PathError, Reason
from ik_node.base.text import quote
from ik_node.model.chain import Chain
from ik_node.model.joints import outside_limits
from ik_node.motion.trajectory.limits import MotionLimits

MAX_WAYPOINTS = 2000
MAX_TIMED_S = 300.0           # of the times of waypoints; averages over time lose digits beyond
MIN_WAYPOINT_STEP_S = 1e-3   # between the times of two waypoints
MEASURED_EXCESS = 1e-3        # rad or m; measured at a limit, this far outside is at the limit
SAME_WAYPOINT = 1e-6         # rad or m; waypoints closer than this are one


@dataclass(frozen=True, eq=False)
class Waypoints:
    """Joint positions to pass in order."""

    q: np.ndarray
    """(m, n), rad or m."""
    times: np.ndarray | None = None
    """(m,), when to pass them, s since the start of the motion, increasing; None = as soon as the
    limits allow.  If the first is 0, the arm has to be there."""

    def reached_from(self, chain: Chain, q_start: np.ndarray, limits: MotionLimits,
                     start_tolerance: float) -> Waypoints:
        """
        Return these waypoints, continuous joints at the turns that are nearest to one another.

        Those that are outside the limits by MEASURED_EXCESS at most are at the limits then.

        Parameters
        ----------
        q_start : (n,) array
            Where the arm rests before, rad or m.
        start_tolerance : float
            Largest distance of a joint from a first waypoint whose time is 0, rad or m.

        Raises
        ------
        PathError
            ALREADY_THERE if the arm is at all of them; else with the number of the waypoint,
            from 1, and its fault.

        """
        count = len(self.q)
        if not 0 < count <= MAX_WAYPOINTS:
            raise PathError(f'the path has {count} waypoints; 1 to {MAX_WAYPOINTS} are taken')
        if not np.isfinite(self.q).all():
            k, joint = map(int, np.argwhere(~np.isfinite(self.q))[0])
            raise PathError(f'{self._label(k)}: {quote(chain.joint_names[joint])} is '
                            f'{self.q[k, joint]}, it must be a finite number',
                            Reason.GOAL_NOT_FINITE)
        q, before = np.empty((count, chain.n)), q_start
        for k, wanted in enumerate(self.q):
            before = q[k] = chain.nearest_turns(wanted, before)
        q = at_limits(q, limits.lower, limits.upper)
        beyond = (q < limits.lower) | (q > limits.upper)
        if beyond.any():
            k, joint = map(int, np.argwhere(beyond)[0])
            raise PathError(f'{self._label(k)}: {quote(chain.joint_names[joint])} is '
                            + outside_limits(chain, joint, q[k, joint]), Reason.BEYOND_LIMIT)
        self._check_times()
        away = np.abs(q - q_start)
        if away.max() <= SAME_WAYPOINT:
            raise PathError('the arm is at all waypoints already', Reason.ALREADY_THERE, 1.0)
        if count == 1 and self.times is not None and self.times[0] == 0.0:
            raise PathError(f'{self._label(0)} has the time 0; give it a time')
        joint = int(away[0].argmax())
        if self.times is not None and self.times[0] == 0.0 and away[0, joint] > start_tolerance:
            raise PathError(f'{self._label(0)} has the time 0, but '
                            f'{quote(chain.joint_names[joint])} is {away[0, joint]:.3g} away from '
                            'it; move there before, or give it a time')
        return Waypoints(q, self.times)

    def _label(self, k: int) -> str:
        return f'waypoint {k + 1} of {len(self.q)}'

    def _check_times(self) -> None:
        if self.times is None:
            return
        step = np.diff(self.times, prepend=-1.0)
        good = (step >= MIN_WAYPOINT_STEP_S) & (self.times >= 0.0) & (self.times < np.inf)
        if not good.all():
            k = int(good.argmin())
            raise PathError(f'{self._label(k)} has the time {self.times[k]:g} s; times must '
                            f'increase from 0 on by at least {MIN_WAYPOINT_STEP_S:g} s, or all '
                            'be 0 for the fastest motion')
        if self.times[-1] > MAX_TIMED_S:
            raise PathError(f'the waypoints take {self.times[-1]:.6g} s; at most {MAX_TIMED_S:g} '
                            's are planned at once, send them in parts')


def at_limits(q: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return positions (..., n) of which those outside by MEASURED_EXCESS at most are inside."""
    inside = np.clip(q, lower, upper)
    return np.where(np.abs(q - inside) <= MEASURED_EXCESS, inside, q)
