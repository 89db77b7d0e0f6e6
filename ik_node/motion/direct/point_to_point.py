# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Time-optimal, jerk-limited trajectories from any state to rest.

Points lie where the jerk switches, so that the controller's quintic between two points is
the planned motion itself, and at regular times in between, for controllers that interpolate
otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain as chain_of

import numpy as np

from ik_node.base.errors import GoalError, Reason, TrajectoryError
from ik_node.collision.distances.certificate import certify
from ik_node.collision.distances.check import CheckWork
from ik_node.collision.distances.model import CollisionModel
from ik_node.model.chain import Chain
from ik_node.motion.direct.ruckig_motion import (
    jerk_switches,
    JointMotion,
    motion_to_goal,
    motion_to_rest,
    sample_peaks,
)
from ik_node.motion.trajectory.constant_jerk import write_constant_jerk
from ik_node.motion.trajectory.limits import MIN_POINT_SPACING_S, MotionLimits, VELOCITY_MARGIN
from ik_node.motion.trajectory.sampling import (
    compiled_segments,
    speed_shares,
    states_at,
    tip_rates,
)
from ik_node.motion.trajectory.tip_speed import tip_peaks
from ik_node.motion.trajectory.trajectory import merge_close, MotionState, subdivide, Trajectory
from ik_node.motion.trajectory.validate import JERK_SLACK, validate

LEAD_POINT_SPACING_S = 1e-4  # smallest time between points that repeat the active trajectory


@dataclass(frozen=True, eq=False)
class StartState:
    """Where a planned motion starts."""

    initial: MotionState
    """The commanded state at time 0."""
    times: np.ndarray
    """(k,), times (s) at which the arm still follows the active trajectory; empty at rest."""
    states: tuple[MotionState, ...]
    """k of them, states of the active trajectory at these times; the last is the splice point."""
    backdating: float = 0.0
    """How long (s) time 0 is before the present, for a controller that joins the active trajectory
    by the stamp; 0 if it starts on arrival."""
    elapsed: float | None = None
    """Time (s) of the active trajectory at time 0; None if it is not followed."""

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


EXACT_PERIODS = 5          # between points where the quintic is exact; one elsewhere
MIN_STEPS = 3              # so that their jerks can be chosen to end at rest where it is planned
MAX_PLANS = 8              # of a motion of few milliseconds, each slower
MIN_JERK_SHARE = 0.5       # of the jerk limits; a stop takes no longer than it has to
SPEED_SHARES = 1.0, 0.999, 0.98  # of the limits; what is spread may add to velocities
MAX_SAMPLED_POINTS = 500   # a longer motion gets points further apart than asked for
MAX_SLOWDOWNS = 12         # searches for the velocity at which the tip keeps its limits
GOOD_TIP_SHARE = 0.985     # of the tip's limit; the search ends when it is reached
MIN_VELOCITY_SHARE = 1e-6  # of the velocity limits, for joints that do not move

Candidate = Callable[[MotionLimits], list[JointMotion]]


def plan_point_to_point(joint_names: tuple[str, ...], start: StartState, q_goal: np.ndarray,
                        limits: MotionLimits, period: float,
                        chain: Chain | None = None) -> Trajectory:
    """
    Plan the fastest motion to rest at `q_goal` with all joints arriving together.

    If the direct motion would leave the joint limits (a joint moves fast towards its
    limit), the arm is first brought to rest, then moved.  If the tip would be too fast,
    the velocities of all joints are lowered by one factor.

    Parameters
    ----------
    start : StartState
        Where the arm is and how it moves.
    q_goal : (n,) array
        Rad or m, inside the limits.
    limits : MotionLimits
        Until the arm could have been brought to rest, the tip may be as fast as on the
        fastest stop.
    period : float
        Largest time between points (s) that only approximate a motion; here they may be
        EXACT_PERIODS times as far apart.
    chain : Chain, optional
        Needed only if the speed of the tip is limited.

    Returns
    -------
    Trajectory
        Valid by :func:`ik_node.motion.trajectory.validate.validate`.

    Raises
    ------
    TrajectoryError
        If no motion within the limits was found.

    """
    state = start.splice

    def direct(those: MotionLimits) -> list[JointMotion]:
        return [_tip_limited_motion(state, q_goal, those, chain)]

    def stop_first(those: MotionLimits) -> list[JointMotion]:
        stop = motion_to_rest(state, those)
        rest = MotionState.at_rest(np.array(stop.at_time(stop.duration)[0]))
        return [stop, _tip_limited_motion(rest, q_goal, those, chain)]

    candidates = [direct] if state.rests else [direct, stop_first]
    return _first_valid(joint_names, candidates, start, limits, period)


def warm_up(chain: Chain, limits: MotionLimits) -> None:
    """Load or compile all kernels of motions between joint positions, and of what joins them."""
    q = chain.middle
    start = StartState.from_state(MotionState.at_rest(q))
    motion = plan_point_to_point(chain.joint_names, start, q, limits, 0.1, chain)
    StartState.from_motion(motion, 0.0, 0.5 * motion.duration)
    _, lengths, c = compiled_segments(motion)
    tip_rates(chain, q[None], q[None])
    tip_peaks(chain, lengths, c)


def plan_stop(joint_names: tuple[str, ...], start: StartState, limits: MotionLimits,
              period: float) -> Trajectory:
    """
    Plan the fastest ramp to rest, each joint by itself.

    It is not refused for its jerk.  Parameters and errors as in :func:`plan_point_to_point`.
    """
    return _first_valid(joint_names, [lambda those: [motion_to_rest(start.splice, those)]], start,
                        limits, period, any_jerk=True)


def _first_valid(joint_names: tuple[str, ...], candidates: list[Candidate], start: StartState,
                 limits: MotionLimits, period: float, any_jerk: bool = False) -> Trajectory:
    """
    Return the trajectory of the first candidate that keeps the limits.

    With `any_jerk` the one with the least jerk, if it is too large in all.
    """
    best, least, error = None, np.inf, None
    for candidate in candidates:
        jerk, speeds, stretch = 1.0, [*SPEED_SHARES], 1.0
        for attempt in range(MAX_PLANS):
            slower = limits if jerk == speeds[0] == 1.0 else replace(
                limits.scaled(speeds[0], speeds[0]), jerk=jerk * limits.jerk)
            try:
                times, states, peaks = _points_of(candidate(slower), start, period,
                                                  limits.min_spacing, stretch)
            except TrajectoryError as this:
                error = this
                break
            trajectory = start.continued(joint_names, times, states)
            try:
                validate(trajectory, limits)
            except TrajectoryError as this:
                error = this
                speeds.pop(0)
                if not speeds:
                    break
                continue
            ratio = float((peaks / limits.jerk).max())
            if ratio <= 1.0 + JERK_SLACK:
                return trajectory
            if ratio < least:
                best, least = trajectory, ratio
            stretch *= float(np.cbrt(ratio))  # each jerk from rest becomes smaller by the ratio
            if not start.splice.rests:
                jerk = max(jerk / ratio ** (1 + attempt), MIN_JERK_SHARE)
    if best is None:
        raise error or TrajectoryError('no motion could be planned')
    if not any_jerk:
        raise TrajectoryError(f'no motion was found that keeps the jerk limits; it would be '
                              f'{least:.4g} times as large (send the goal when the arm rests)')
    return best


def _tip_limited_motion(state: MotionState, q_goal: np.ndarray, limits: MotionLimits,
                        chain: Chain | None) -> JointMotion:
    """Return the motion to `q_goal` on which the tip keeps its speed limits."""
    motion = motion_to_goal(state, q_goal, limits)
    if not limits.tip.limits_speed:
        return motion
    stop = motion_to_rest(state, limits)
    stop_share = max(1.0, speed_shares(chain, limits.tip, *sample_peaks(stop)[1:]).max())
    times, q, qd = sample_peaks(motion, stop.duration)
    # Scale the velocities that are reached: a short motion never comes to its limits.
    reached = np.clip(np.abs(qd).max(0), MIN_VELOCITY_SHARE * limits.velocity, limits.velocity)
    slow, fast = (0.0, 0.0), (np.inf, np.inf)  # (velocity scale, share of the tip's limit)
    scale, best = 1.0, None
    for _ in range(MAX_SLOWDOWNS):
        allowed = np.where(times < stop.duration, stop_share, 1.0)
        share = (1.0 + VELOCITY_MARGIN) * float(np.max(
            speed_shares(chain, limits.tip, q, qd) / allowed))
        if share <= 1.0:
            best, slow = motion, (scale, share)
            if share > GOOD_TIP_SHARE or scale == 1.0:
                break
        else:
            fast = scale, share
        scale = _next_scale(slow, fast)
        motion = motion_to_goal(state, q_goal, replace(limits, velocity=scale * reached))
        times, q, qd = sample_peaks(motion, stop.duration)
    if best is None:
        raise TrajectoryError(f'no motion was found on which the tip keeps {limits.tip}; it is '
                              f'{share:.3g} times as fast')
    return best


def _next_scale(slow: tuple[float, float], fast: tuple[float, float]) -> float:
    """Interpolate between two (velocity scale, share of the tip's limit); one is too fast."""
    (a, low), (b, high) = slow, fast
    middle = (0.5 * (1.0 + GOOD_TIP_SHARE) - low) / (high - low)
    return a + (b - a) * (middle if a == 0.0 else float(np.clip(middle, 0.2, 0.8)))


def _points_of(motions: list[JointMotion], start: StartState, period: float,
               spacing: float, stretch: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return the points of consecutive motions after the splice.

    Those from rest take `stretch` times as long.

    Returns
    -------
    times : (k,) array
        s.
    states : (k, 3, n) array
        q, qd, qdd.
    peaks : (n,) array
        Largest jerk of each joint.

    """
    begin, splice = start.splice_time, start.splice
    state = np.array([splice.q, splice.qd, splice.qdd])
    times, states, peaks = [], [], np.zeros(len(splice.q))
    period = max(period, sum(motion.duration for motion in motions) / MAX_SAMPLED_POINTS)
    for motion in motions:
        knots = [0.0, *merge_close(jerk_switches(motion),
                                   max(motion.duration, MIN_STEPS * spacing), spacing)]
        knots = _three_steps(knots, spacing)
        instants = subdivide(knots, [EXACT_PERIODS * period] * (len(knots) - 1))
        if instants[0] > period + spacing:  # some drivers refuse a first point far from the arm
            instants.insert(0, period)
        scale = 1.0 if state[1:].any() else stretch
        here = np.round(begin + scale * np.array([0.0, *instants]), 9)
        planned = [motion.at_time(t)[2] for t in ((here[1:] - here[0]) / scale).tolist()]
        points = np.empty((len(here), *state.shape))
        points[0] = state
        # Without the nesting, numbers are read in half of the time.
        points[1:, 2] = np.fromiter(chain_of.from_iterable(planned), float).reshape(
            len(planned), -1) / scale**2
        end = np.array(motion.at_time(motion.duration)[0])
        peaks = np.maximum(peaks, write_constant_jerk(here, end, points))
        times.append(here[1:])
        states.append(points[1:])
        begin, state = here[-1], points[-1]
    return np.concatenate(times), np.concatenate(states), peaks


def _three_steps(knots: list[float], spacing: float) -> list[float]:
    """Return knots (s) with three steps at least: of the longest parts, or all of one length."""
    parts = MIN_STEPS + 2 - len(knots)
    if parts < 2:
        return knots
    k = int(np.argmax(np.diff(knots)))
    if knots[k + 1] - knots[k] < parts * spacing:
        return np.linspace(0.0, knots[-1], MIN_STEPS + 1).tolist()
    return [*knots[:k], *np.linspace(knots[k], knots[k + 1], parts + 1).tolist(), *knots[k + 2:]]


def require_free(model: CollisionModel | None, trajectory: Trajectory, advice: str = '',
                 allowed: np.ndarray | None = None, work: CheckWork | None = None) -> None:
    """
    Check that a trajectory is proved to keep the margin of a collision model, if there is one.

    Parameters
    ----------
    advice : str
        What to do otherwise, for the error.
    allowed, work : optional
        As for :func:`ik_node.collision.distances.certificate.certify`.

    Raises
    ------
    TrajectoryError
        COLLISION: with what, when and how near.

    """
    contact = None if model is None else certify(model, *compiled_segments(trajectory),
                                                 allowed, work)
    if contact is not None:
        raise TrajectoryError(
            f'{contact.words} after {contact.time:.2f} s of the motion of '
            f'{trajectory.duration:.2f} s{advice}', Reason.COLLISION)


def require_free_goal(model: CollisionModel | None, q: np.ndarray) -> None:
    """
    Check that joint positions `q` (n,) that are a goal keep the margin, if there is a model.

    Also where an arm starts in contact: the solver accepts no such posture for a pose, either.

    Raises
    ------
    GoalError
        COLLISION: with what, and how near.

    """
    if model is not None and not model.check_many(q[None])[0]:
        raise GoalError(f'at the goal, {model.describe(q)}', Reason.COLLISION)
