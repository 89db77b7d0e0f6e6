# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Where a planned motion starts: at a state, or at a splice point on the active trajectory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_node.motion.trajectory.limits import MIN_POINT_SPACING_S
from ik_node.motion.trajectory.point_times import merge_close, subdivide
from ik_node.motion.trajectory.sampling import states_at
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory

LEAD_POINT_SPACING_S = 1e-4  # smallest time between points that repeat the active trajectory


@dataclass(frozen=True, eq=False)
class StartState:
    """
    Where a planned motion starts.

    Attributes
    ----------
    initial : MotionState
        The commanded state at time 0.
    times : (k,) array
        Times (s) at which the arm still follows the active trajectory; empty at rest.
    states : tuple of MotionState, length k
        States of the active trajectory at these times; the last is the splice point.
    backdating : float
        How long (s) time 0 is before the present, for a controller that joins the active
        trajectory by the stamp; 0 if it starts on arrival.
    elapsed : float or None
        Time (s) of the active trajectory at time 0; None if it is not followed.

    """

    initial: MotionState
    times: np.ndarray
    states: tuple[MotionState, ...]
    backdating: float = 0.0
    elapsed: float | None = None

    @staticmethod
    def from_state(state: MotionState) -> StartState:
        """Start at once from a state."""
        return StartState(state, np.empty(0), ())

    @staticmethod
    def from_motion(trajectory: Trajectory, elapsed: float, look_ahead: float,
                    cycle: float = np.inf) -> StartState:
        """
        Follow the active trajectory for `look_ahead` seconds more, then start.

        The points of the active trajectory until then are kept.  A controller that joins
        by the stamp samples between them, so the first is LEAD_POINT_SPACING_S after time
        0.  A controller that starts on arrival begins at the measured state or at its last
        command; it gets at least two points per `cycle`, so that its first command is on
        the trajectory again.

        Parameters
        ----------
        elapsed : float
            Time (s) since `trajectory` began; negative if it is about to.
        look_ahead : float
            Time (s) until the splice point, to within MIN_POINT_SPACING_S.
        cycle : float
            Controller period (s); infinite if the controller joins by the stamp.

        """
        ahead = np.round(np.append(0.0, trajectory.times) - elapsed, 9)
        ahead = ahead[(ahead > 0.0) & (ahead < look_ahead + MIN_POINT_SPACING_S)]
        # The jerk switches at the points: splice at a point rather than just beside it.
        if len(ahead) and ahead[-1] > max(look_ahead - MIN_POINT_SPACING_S, MIN_POINT_SPACING_S):
            splice = float(ahead[-1])
        else:
            splice = round(look_ahead, 9)
        first = [LEAD_POINT_SPACING_S] if np.isinf(cycle) else []
        knots = [0.0, *merge_close([*first, *ahead[ahead < splice].tolist()], splice,
                                   LEAD_POINT_SPACING_S)]
        period = 0.5 * max(cycle, MIN_POINT_SPACING_S)
        times = np.round(subdivide(knots, [period] * (len(knots) - 1)), 9)
        initial, *states = [MotionState(*state) for state in states_at(
            trajectory, elapsed + np.append(0.0, times))]
        return StartState(initial, times, tuple(states), elapsed=elapsed)

    @property
    def splice(self) -> MotionState:
        """Return the state from which the new motion is planned."""
        return self.states[-1] if self.states else self.initial

    @property
    def splice_time(self) -> float:
        """Return the time (s) of the splice point."""
        return float(self.times[-1]) if len(self.times) else 0.0

    def continued(self, joint_names: tuple[str, ...], times: np.ndarray,
                  states: np.ndarray) -> Trajectory:
        """Return the points until the splice, then the states (k, 3, n) at times (k,), s."""
        lead = np.array([(state.q, state.qd, state.qdd) for state in self.states])
        q, qd, qdd = np.concatenate([lead.reshape(-1, *states.shape[1:]), states]).swapaxes(0, 1)
        qd[-1] = qdd[-1] = 0.0
        return Trajectory(joint_names, self.initial, np.concatenate([self.times, times]), q, qd,
                          qdd, len(self.times))
