# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The motion that was last sent to the controller, and where the next one begins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_node.trajectory.point_to_point import Departure
from ik_node.trajectory.trajectory import MotionState, Trajectory

REST_SPEED = 0.01  # rad/s or m/s; slower is noise of the measurement


@dataclass(frozen=True, eq=False)
class Course:
    """A trajectory on its way; ``began`` on the monotonic clock (s)."""

    trajectory: Trajectory
    began: float

    def moves(self, now: float) -> bool:
        """Return whether the planned motion is still under way."""
        return now < self.began + self.trajectory.duration


def depart(course: Course | None, q: np.ndarray, qd: np.ndarray, now: float, lead: float,
           tolerance: float) -> list[Departure]:
    """
    Decide where a new motion begins.

    During a motion of ours: on it, `lead` seconds ahead, because the commanded
    state is continuous and the measured one lags.  After it: at its end, while
    the arm stands within `tolerance` of it, for the same reason.  Otherwise at
    the measured state.

    Parameters
    ----------
    course : Course or None
        The last motion that was sent.
    q, qd : (n,) arrays
        Measured positions (rad or m) and velocities (per s).
    now : float
        Monotonic time (s).

    Returns
    -------
    list of Departure
        The better first.

    """
    if course is not None and course.moves(now):
        return Departure.from_motion(course.trajectory, now - course.began, lead)
    if np.abs(qd).max() > REST_SPEED:
        return [Departure.from_state(MotionState(q, qd, np.zeros(len(q))))]
    if course is not None and np.abs(q - course.trajectory.end).max() <= tolerance:
        return [Departure.from_state(MotionState.at_rest(course.trajectory.end))]
    return [Departure.from_state(MotionState.at_rest(q))]
