# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The motion that was last sent to the controller, and where the next one begins."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ik_node.model.chain import Chain
from ik_node.motion.interpolation import state_at
from ik_node.motion.point_to_point import Departure, ON_THE_WAY
from ik_node.motion.trajectory import MotionLimits, MotionState, Trajectory

REST_SPEED = 0.01   # rad/s or m/s; slower is noise of the measurement
LAG = 0.1           # s, how far the measured state may be behind the plan
LAGS = 11           # of them that are tried
APART = 2e-3        # rad or m: motions so far apart can be told from one another
SETTLED = 0.3       # s after the end of a motion a lagging arm has come to rest
SAME_PLACE = 1e-4   # rad or m; so near to its commanded end a resting arm stands there


@dataclass(frozen=True, eq=False)
class Course:
    """
    A trajectory on its way.

    Attributes
    ----------
    began : float
        Monotonic time (s) at which the controller begins it.
    limits : MotionLimits
        Those that it was planned with.
    stamp : int or None
        Its time 0 on the controller's clock (ns); None if it began on arrival, so that it is
        not known exactly where on it the controller is.

    """

    trajectory: Trajectory
    began: float
    limits: MotionLimits
    stamp: int | None = None

    def moves(self, now: float) -> bool:
        """Return whether the planned motion is still under way."""
        return now < self.began + self.trajectory.duration

    @property
    def fastest(self) -> np.ndarray:
        """Return the highest speeds of the joints, (n,): where it begins, and on its points."""
        return np.abs(np.vstack([self.trajectory.start.qd, self.trajectory.qd])).max(axis=0)

    def followed(self, chain: Chain, q: np.ndarray, now: float, tolerance: float) -> bool:
        """
        Return whether the arm, measured at `q` (n,), is where this motion has it.

        A lagging arm may be as far behind as the plan moved within LAG.
        """
        elapsed = now - self.began
        plan = state_at(self.trajectory, elapsed)
        behind = state_at(self.trajectory, elapsed - LAG)
        room = tolerance + np.abs(chain.difference(plan.q, behind.q)) + LAG * np.abs(plan.qd)
        return bool((np.abs(chain.difference(q, plan.q)) <= room).all())


def depart(chain: Chain, course: Course | None, q: np.ndarray, qd: np.ndarray, now: float,
           lead: float, cycle: float, tolerance: float, elapsed: float | None = None,
           past: float = 0.0, age: float = 0.0) -> Departure:
    """
    Decide where a new motion begins.

    During a motion of ours that the arm follows, and until it has come to the end of it:
    on it, `lead` seconds ahead, because the commanded state is continuous and the
    measured one lags.  After it: at its end, if the arm stands there.  Otherwise, and
    whenever the arm is not where our motion has it, at the measured state.

    Parameters
    ----------
    course : Course or None
        The last motion that was sent.
    q, qd : (n,) arrays
        Measured positions (rad or m) and velocities (per s).
    now : float
        Monotonic time (s).
    lead : float
        How long (s) a motion under way is kept.
    cycle : float
        Time (s) between two updates of the controller.
    tolerance : float
        Rad or m, how far a followed motion may be off.
    elapsed : float, optional
        How far (s) the motion under way is by the controller's clock, if it joins by the stamp;
        else it begins on arrival.
    past : float
        How long (s) before the present time 0 is for a controller that joins.
    age : float
        How long (s) ago q and qd were measured.

    """
    moving = bool(np.abs(qd).max() > REST_SPEED)
    settles = course is not None and course.moves(now - SETTLED) \
        and course.followed(chain, q, now - age, tolerance)
    if settles and not moving and not course.moves(now):
        # What was measured may be older than the end.
        return Departure.from_state(MotionState.at_rest(course.trajectory.end))
    if settles:
        if elapsed is None:
            return Departure.from_motion(course.trajectory, now - course.began, lead, cycle)
        # Stamps are in ns; fractions of one would be felt between points that are close.
        return replace(Departure.from_motion(course.trajectory, round(elapsed - past, 9),
                                             lead + past), past=past)
    if moving:
        return Departure.from_state(MotionState(q, qd, np.zeros(len(q))))
    if course is not None and course.followed(chain, q, now, SAME_PLACE):
        return Departure.from_state(MotionState.at_rest(course.trajectory.end))
    return Departure.from_state(MotionState.at_rest(q))


def held(trajectory: Trajectory, rests: list[float]) -> Trajectory:
    """Return a motion from rest with points of rest at times (s); it begins at the last."""
    start = trajectory.start
    times = np.append(rests, trajectory.times + rests[-1])

    def rows(first: np.ndarray, others: np.ndarray) -> np.ndarray:
        return np.vstack([*[first] * len(rests), others])

    return replace(trajectory, times=np.round(times, 9), q=rows(start.q, trajectory.q),
                   qd=rows(start.qd, trajectory.qd), qdd=rows(start.qdd, trajectory.qdd),
                   handover=trajectory.handover + len(rests))


def is_late(chain: Chain, before: Course, after: Course, q: np.ndarray, time: float) -> bool:
    """
    Return whether the arm is still on the motion before, though it should have left it.

    It was measured at `q` (n,) at a monotonic `time` (s).  A lagging arm is compared with
    where it should have been within LAG.
    """
    since = time - after.began - float(after.trajectory.times[after.trajectory.handover - 1])
    if since <= 0.0:
        return False

    def distance(course: Course) -> float:
        return min(float(np.abs(chain.difference(
            q, state_at(course.trajectory, time - course.began - lag).q)).max())
            for lag in np.linspace(0.0, LAG, LAGS))

    new = distance(after)
    return new > APART and distance(before) < 0.3 * new


def postponed(trajectory: Trajectory, course: Course, assumed: float,
              begin: float) -> Trajectory:
    """
    Return a trajectory that leaves `course`, for a controller that begins it at another time.

    The hand-over stays where and when it is on the course.

    Parameters
    ----------
    assumed, begin : float
        Monotonic time (s) of its time 0, as it was planned and as it will be.

    """
    shift = round(begin - assumed, 9)  # times in messages are in ns
    times = np.round(trajectory.times - shift, 9)
    k = int(np.searchsorted(times, ON_THE_WAY))
    if k >= trajectory.handover:  # nothing of the course would be left to follow
        return trajectory
    start = state_at(course.trajectory, assumed - course.began + shift)
    return replace(trajectory, start=start, times=times[k:], q=trajectory.q[k:],
                   qd=trajectory.qd[k:], qdd=trajectory.qdd[k:], handover=trajectory.handover - k)
