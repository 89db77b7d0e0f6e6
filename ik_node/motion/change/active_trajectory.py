# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The trajectory that the controller executes, and where the next one starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ik_node.base.errors import TrajectoryError
from ik_node.base.text import quote
from ik_node.collision.distances.certificate import certify, Contact
from ik_node.collision.distances.model import CollisionModel
from ik_node.model.chain import Chain
from ik_node.model.joint_space import JointSpace
from ik_node.motion.direct.point_to_point import LEAD_POINT_SPACING_S, StartState
from ik_node.motion.trajectory import quintic
from ik_node.motion.trajectory.interpolation import segments_from
from ik_node.motion.trajectory.limits import MotionLimits, TipLimits
from ik_node.motion.trajectory.sampling import sample, speed_shares, states_at, TIP_POINT_PERIOD_S
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory

REST_SPEED = 0.01         # rad/s or m/s; a lower measured speed is noise
MAX_LAG_S = 0.1           # how far the measured state may be behind the plan
MAX_LEAD_S, MAX_LATE_S = 0.1, 1.0  # within which it is found how late an arm is
LAG_STEP_S = 0.01         # to which that is found
LIKELY = 2e-3             # rad or m, by which a place is as likely as the nearest one
MAX_START_DELAY_S = 0.3   # of a trajectory without a stamp, and of the arm behind it
# Tried lags; a state may be newer than it seems, too.
TRIED_LAGS_S = np.linspace(-0.01, MAX_LAG_S, 12)
TRIED_DELAYS_S = np.linspace(-0.01, MAX_START_DELAY_S, 32)
SPEED_MARGIN = 0.1        # rad/s or m/s, by which an arm on a ramp may be faster than planned
MIN_SEPARATION = 2e-3     # rad or m by which two motions must differ to be told apart
MIN_START_SEPARATION = 5e-2  # as MIN_SEPARATION, of a motion and the rest from which it begins
RESTING_MOVE = 5e-4       # rad or m; an arm that has moved more has begun, if only slowly
SETTLING_TIME_S = 0.3     # after the end of a motion, until a lagging arm rests
SAME_POSITION = 1e-4      # rad or m; an arm that rests this near to the commanded end is there

Joints = slice | Sequence[int]  # which of n


@dataclass(frozen=True, eq=False)
class ActiveTrajectory:
    """A trajectory that was sent to the controller."""

    trajectory: Trajectory
    began: float          # monotonic time (s) at which the controller starts it
    limits: MotionLimits  # the limits that it was planned with
    # Its time 0 on the controller's clock (ns); None if it started on arrival, so that the exact
    # position of the controller on it is not known.
    stamp: int | None = None

    def moves(self, now: float) -> bool:
        """Return whether the planned motion has not ended."""
        return now < self.began + self.trajectory.duration

    @property
    def leaves_at(self) -> float:
        """Return when (monotonic, s) it leaves the motion before, or begins to move."""
        lead = self.trajectory.lead_points
        return self.began + (float(self.trajectory.times[lead - 1]) if lead else 0.0)

    @cached_property
    def _points(self) -> tuple[np.ndarray, np.ndarray]:
        return self.trajectory.with_start()

    def states(self, times: np.ndarray) -> np.ndarray:
        """
        Return q, qd, qdd (m, 3, n) as commanded at `times` (m,), s since it began.

        Before 0 the start is extrapolated backwards, as the arm still follows the trajectory
        before; after the last point it rests at the end.
        """
        found = np.empty((len(times), 3, self.trajectory.q.shape[1]))
        sample(*self._points, times, found)
        return found

    @cached_property
    def peak_velocity(self) -> np.ndarray:
        """Return the highest speed of each joint, (n,), at the start and at the points."""
        return np.abs(self._points[1][1]).max(axis=0)

    def contact_ahead(self, model: CollisionModel | None, now: float) -> Contact | None:
        """Return what the rest of it would meet in a model; None if it is free, or over."""
        return None if model is None or not self.moves(now) else certify(
            model, *segments_from(self.trajectory, now - self.began))

    def brakes(self, qd: np.ndarray, time: float) -> bool:
        """
        Return whether an arm that moves with `qd` (n,) at a monotonic time (s) is on this ramp.

        It may be behind by MAX_START_DELAY_S: so late may a ramp without a stamp begin.
        """
        behind = np.linspace(0.0, MAX_START_DELAY_S, 16)
        planned = np.abs(self.states(time - self.began - behind)[:, 1]).max(axis=0)
        return bool((np.abs(qd) <= planned + SPEED_MARGIN).all())

    def lag(self, chain: JointSpace, q: np.ndarray, time: float) -> tuple[float, float]:
        """
        Return how late (s) an arm is, measured at `q` (n,), and how far beside (rad or m).

        Of places on the motion that are as likely, by LIKELY, that which is least late or early
        counts, within MAX_LEAD_S and MAX_LATE_S.  `time`: monotonic (s).
        """
        elapsed = time - self.began
        if not 0.0 < elapsed < self.trajectory.duration + SETTLING_TIME_S:
            return 0.0, 0.0
        lags = np.arange(-MAX_LEAD_S, min(elapsed, MAX_LATE_S) + LAG_STEP_S, LAG_STEP_S)
        away = np.abs(chain.difference(self.states(elapsed - lags)[:, 0], q)).max(axis=1)
        likely = np.flatnonzero(away <= away.min() + LIKELY)
        best = likely[np.abs(lags[likely]).argmin()]
        return float(lags[best]), float(away[best])

    def followed(self, chain: JointSpace, q: np.ndarray, now: float, tolerance: float,
                 joints: Joints = slice(None)) -> bool:
        """
        Return whether the arm, measured at `q` (n,), follows this trajectory with some joints.

        A lagging arm may be as far behind as the plan moved within MAX_LAG_S.
        """
        elapsed = now - self.began
        plan, behind = self.states(np.array([elapsed, elapsed - MAX_LAG_S]))
        allowed = (tolerance + np.abs(chain.difference(plan[0], behind[0]))
                   + MAX_LAG_S * np.abs(plan[1]))
        return bool((np.abs(chain.difference(q, plan[0])) <= allowed)[joints].all())


@dataclass(frozen=True, eq=False)
class Measurement:
    """Measured joint positions (rad or m) and velocities (per s), (n,), `age` seconds ago."""

    q: np.ndarray
    qd: np.ndarray
    age: float = 0.0


@dataclass(frozen=True)
class SpliceTiming:
    """When a new motion leaves the active trajectory."""

    look_ahead: float  # how long (s) the active trajectory is kept
    cycle: float       # controller period (s)
    # How far (s) the active trajectory is by the controller's clock, if the controller joins by
    # the stamp; None if it starts on arrival.
    elapsed: float | None = None
    # How long (s) time 0 is before the present, if the controller joins by the stamp.
    backdating: float = 0.0


def choose_start(chain: JointSpace, active: ActiveTrajectory | None, measured: Measurement,
                 now: float, timing: SpliceTiming, tolerance: float) -> StartState:
    """
    Choose where a new motion starts.

    While the arm follows the active trajectory, and until it has settled at its end: on that
    trajectory, `look_ahead` seconds from now, because the commanded state is continuous and
    the measured one lags.  Afterwards: at its end, if the arm rests there.  Otherwise: at
    the measured state.

    Parameters
    ----------
    active : ActiveTrajectory or None
        The last trajectory that was sent.
    now : float
        Monotonic time (s).
    tolerance : float
        Rad or m; largest deviation of an arm that follows its trajectory.

    """
    moving = bool(np.abs(measured.qd).max() > REST_SPEED)
    unsettled = active is not None and active.moves(now - SETTLING_TIME_S) \
        and active.followed(chain, measured.q, now - measured.age, tolerance)
    if unsettled and not moving and not active.moves(now):
        # The measurement may be older than the end of the motion.
        return StartState.from_state(MotionState.at_rest(active.trajectory.end))
    if unsettled:
        if timing.elapsed is None:
            return StartState.from_motion(active.trajectory, now - active.began,
                                          timing.look_ahead, timing.cycle)
        # Whole nanoseconds, as in stamps: rounding would show in the acceleration between
        # close points.
        elapsed = round(timing.elapsed - timing.backdating, 9)
        start = StartState.from_motion(active.trajectory, elapsed,
                                       timing.look_ahead + timing.backdating)
        return replace(start, backdating=timing.backdating)
    if moving:
        return StartState.from_state(MotionState(measured.q, measured.qd,
                                                 np.zeros(len(measured.q))))
    if active is not None and active.followed(chain, measured.q, now, SAME_POSITION):
        return StartState.from_state(MotionState.at_rest(active.trajectory.end))
    return StartState.from_state(MotionState.at_rest(measured.q))


def delayed(trajectory: Trajectory, rest_times: list[float]) -> Trajectory:
    """Return a motion from rest that starts at the last of `rest_times` (s), with points there."""
    start = trajectory.start
    times = np.append(rest_times, trajectory.times + rest_times[-1])

    def rows(first: np.ndarray, others: np.ndarray) -> np.ndarray:
        both = np.empty((len(times), len(first)))
        both[:len(rest_times)], both[len(rest_times):] = first, others
        return both

    return replace(trajectory, times=np.round(times, 9), q=rows(start.q, trajectory.q),
                   qd=rows(start.qd, trajectory.qd), qdd=rows(start.qdd, trajectory.qdd),
                   lead_points=trajectory.lead_points + len(rest_times))


def missed_splice(chain: JointSpace, before: ActiveTrajectory | None, after: ActiveTrajectory,
                  q: np.ndarray, time: float, joints: Joints = slice(None)) -> bool:
    """
    Return whether the arm is still on the trajectory that it should have left.

    It was measured at `q` (n,) at a monotonic `time` (s); only some `joints` count.  For a
    lagging arm, the plan of the last MAX_LAG_S counts, and that of MAX_START_DELAY_S without a
    stamp: then neither when it began is known, nor how old `q` is.  Without a trajectory `before`
    it is to begin at rest; it may do so slowly, if the controller scales its speed.
    """
    lags = TRIED_LAGS_S if after.stamp is not None else TRIED_DELAYS_S
    if time <= after.leaves_at:
        return False

    def distance(active: ActiveTrajectory) -> float:
        # From the straight ways between the tried lags: a fast arm is far from them themselves.
        away = chain.difference(q, active.states(time - active.began - lags)[:, 0])
        away = away[:, joints]
        ways = away[:-1] - away[1:]
        shares = (away[:-1] * ways).sum(axis=1) / np.maximum((ways**2).sum(axis=1), 1e-12)
        away = away[:-1] - np.clip(shares, 0.0, 1.0)[:, None] * ways
        return float(np.abs(away).max(axis=1).min())

    new = distance(after)
    if before is not None:
        return new > MIN_SEPARATION and distance(before) < 0.3 * new
    moved = float(np.abs(chain.difference(q, after.trajectory.start.q))[joints].max())
    return new > MIN_START_SEPARATION and moved < RESTING_MOVE


def rescheduled(trajectory: Trajectory, active: ActiveTrajectory, assumed: float,
                begin: float) -> Trajectory:
    """
    Shift time 0 of a trajectory that leaves `active`; the splice point stays where it is.

    For a controller that starts it at another time than planned.

    Parameters
    ----------
    assumed, begin : float
        Monotonic time (s) of its time 0, as planned and as it will be.

    """
    shift = round(begin - assumed, 9)  # times in messages are in ns
    times = np.round(trajectory.times - shift, 9)
    k = int(np.searchsorted(times, LEAD_POINT_SPACING_S))
    if k >= trajectory.lead_points:  # no point of the active trajectory would be left
        return trajectory
    start = MotionState(*active.states(np.array([assumed - active.began + shift]))[0])
    return replace(trajectory, start=start, times=times[k:], q=trajectory.q[k:],
                   qd=trajectory.qd[k:], qdd=trajectory.qdd[k:],
                   lead_points=trajectory.lead_points - k)


SPEED_SLACK = 1e-3  # of the speed limits of the tip, between the points


def joined_to(trajectory: Trajectory, start_state: StartState, tolerance: float) -> Trajectory:
    """
    Return a trajectory as it starts from where the arm rests, and ends where it ended.

    The difference of the starts fades over its duration by a quintic, so that the controller
    interpolates the checked motion.

    Parameters
    ----------
    start_state : StartState
        Of the arm.
    tolerance : float
        Largest difference of the starts, rad or m.

    Raises
    ------
    TrajectoryError
        If it starts elsewhere or in motion, or the arm moves.

    """
    if start_state.states or not start_state.initial.rests:
        raise TrajectoryError('the arm moves; a trajectory is executed from rest')
    q = start_state.initial.q
    if not trajectory.start.rests:
        raise TrajectoryError('the trajectory starts in motion; it must start at rest')
    away = q - trajectory.start.q
    k = int(np.abs(away).argmax())
    if abs(away[k]) > tolerance:
        raise TrajectoryError(
            f'the trajectory starts with {quote(trajectory.joint_names[k])} at '
            f'{trajectory.start.q[k]:.4g}, but the arm has it at {q[k]:.4g}; plan again from '
            'where the arm is')
    fading = quintic.coefficients(trajectory.duration, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    shares = [derivative(fading, trajectory.times[:, None]) for derivative in
              (quintic.position, quintic.velocity, quintic.acceleration)]
    for share in shares:
        share[-1] = 0.0  # it ends exactly where it ended, at rest
    return replace(trajectory, start=MotionState.at_rest(q),
                   q=trajectory.q + shares[0] * away, qd=trajectory.qd + shares[1] * away,
                   qdd=trajectory.qdd + shares[2] * away)


def require_tip_speed(chain: Chain, limits: TipLimits, trajectory: Trajectory) -> None:
    """
    Check that the tip keeps its speed limits, every TIP_POINT_PERIOD_S at least.

    Raises
    ------
    TrajectoryError
        With the time and how much faster it would be.

    """
    if not limits.limits_speed:
        return
    count = int(np.ceil(trajectory.duration / TIP_POINT_PERIOD_S)) + 1
    times = np.union1d(np.linspace(0.0, trajectory.duration, count), trajectory.times)
    q, qd, _ = np.array(states_at(trajectory, times)).swapaxes(0, 1)
    shares = speed_shares(chain, limits, q, qd)
    k = int(shares.argmax())
    if shares[k] > 1.0 + SPEED_SLACK:
        raise TrajectoryError(f'after {times[k]:.2f} s the tip would have {shares[k]:.3g} times '
                              'the speed that motion.tool_speed or motion.tool_turn allows; '
                              'plan more slowly')
