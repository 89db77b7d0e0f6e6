# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Following a target whose poses come as a stream.

The last pose wins; none is queued.  What is sent to the controller ends at rest
each time, so that the arm stops within its limits if nothing follows.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import ceil, inf

import numpy as np

from ik_node.errors import GoalError, ParameterError, TrajectoryError
from ik_node.kinematics import kernels
from ik_node.kinematics.kernels import forget_stale, pose_row
from ik_node.model.chain import Chain
from ik_node.model.joint_values import one_per_joint
from ik_node.motion.active_trajectory import Course
from ik_node.motion.following import brake, cycle, rates, target
from ik_node.motion.following.cycle import follow_cycle, plan_states, plan_switches
from ik_node.motion.following.options import AXES, Follow, FollowOptions, Phase, Taken
from ik_node.motion.following.rates import ORIENTATION_ERROR, POSITION_ERROR, SCALED, SMALLEST
from ik_node.motion.following.target import take_pose, TARGET
from ik_node.motion.interpolation import state_at
from ik_node.motion.trajectory import MotionLimits, MotionState, Trajectory
from ik_node.solver.compiled import layout, nullspace, residual
from ik_node.solver.compiled.layout import (
    BASE_AXES,
    EXACT_POSE,
    GOAL_SIZE,
    HALF_WIDTHS,
    TIP_AXES,
    TOLERANCE_AXES,
)
from ik_node.solver.goal import checked_pose, FREE_AXIS

CLOSEST = 1e-4       # s, between two points; a switch of the jerk may lie between two so near ...
OVERSHOOT = 0.5      # ... which costs so much of jerk * CLOSEST in acceleration
MARGIN = 1e-6        # rad or m inside the position limits, for the quintic between two points
LONGEST_CYCLE = 0.05  # s; after a longer pause the arm is where the last plan took it
JUMP = 0.05, 0.3     # m, rad: a pose so far from the prediction begins a new movement ...
FASTEST = 2.0, 6.0   # ... but a target may have got up to such a speed since the last, m/s, rad/s
GAPS = 4.0           # so many usual pauses between two poses their movement is trusted, then less
SHORTEST_GAP = 1e-4  # s, between two poses
KEPT = 1000          # legs, of which the last ones are within the lead
DRIFT = 1e-3         # by which the clocks of sender and receiver may differ, s per s


@dataclass(frozen=True, eq=False)
class Leg:
    """
    What one cycle has decided: the motion from a time on, to its end at rest.

    Attributes
    ----------
    begin : int
        ns.  Fractions of a nanosecond would be felt in the acceleration between two
        points that are CLOSEST to each other.
    joints : (7, n) array
        With the limits of that cycle.
    state : (3, n) array
        At its begin.
    plan : (2, n) array
        See :func:`ik_node.motion.following.cycle.follow_cycle`.

    """

    begin: int
    joints: np.ndarray
    state: np.ndarray
    plan: np.ndarray

    def at(self, time: int) -> np.ndarray:
        """Return the state (3, n) at a time (ns)."""
        states = np.empty((1, *self.state.shape))
        plan_states(self.joints, self.state, self.plan, np.array([1e-9 * (time - self.begin)]),
                    states)
        return states[0]

    def switches(self) -> list[int]:
        """Return when (ns) its jerk switches, the end last."""
        return [self.begin + ceil(1e9 * t)
                for t in plan_switches(self.joints, self.state, self.plan)]


@lru_cache(maxsize=None)
def forget_stale_kernels() -> None:
    """Drop, once in a process, compiled code that is older than its source."""
    forget_stale((follow_cycle, plan_states, plan_switches, take_pose),
                 (kernels, layout, nullspace, residual, brake, cycle, rates, target))


class Follower:
    """
    Turns a stream of poses into motion of the arm; call :meth:`begin` first.

    The commanded state keeps the limits of position, velocity, acceleration and jerk
    at every instant.  Limits that the state at the begin breaks are not broken further.

    All times are seconds on one monotonic clock, the receiver's.

    Parameters
    ----------
    chain : Chain
    limits : MotionLimits
    options : FollowOptions

    Attributes
    ----------
    out_of_order, jumps : int
        Poses that were ignored because a later one had come; poses too far from the
        one before to be its movement (many: two senders share the topic).

    Raises
    ------
    ParameterError
        If a limit or an option does not suit the chain.

    """

    def __init__(self, chain: Chain, limits: MotionLimits,
                 options: FollowOptions = FollowOptions()) -> None:
        self.chain, self.options = chain, options
        n = chain.n
        for name in ('velocity', 'acceleration', 'jerk'):
            values = getattr(limits, name)
            if not ((values > 0.0) & (values < inf)).all():
                raise ParameterError(f'the {name} limits are {list(values)}; following needs '
                                     'positive, finite ones')
        bias = one_per_joint(chain, options.bias, 'the bias')
        if (bias < 0.0).any():
            raise ParameterError(f'the bias is {list(bias)}; it must not be negative')
        preferred = one_per_joint(chain, options.preferred, 'the preferred positions') \
            if options.preferred else chain.middle
        # Between two points so near to each other the jerk may switch; this is its price.
        room = np.minimum(OVERSHOOT * limits.jerk * CLOSEST, 0.5 * limits.acceleration)
        self._joints = np.array([limits.lower + MARGIN, limits.upper - MARGIN,
                                 0.999 * limits.velocity, limits.acceleration - room,
                                 limits.jerk, preferred, bias])
        self._settings = np.array([options.gain, options.metres_per_radian, chain.reach,
                                   options.tool_speed])
        self._goal = np.zeros(GOAL_SIZE)
        self._goal[HALF_WIDTHS:TOLERANCE_AXES] = [FREE_AXIS if axis in options.free else 0.0
                                                  for axis in AXES]
        self._goal[TOLERANCE_AXES] = (EXACT_POSE if not options.free
                                      else TIP_AXES if options.frame == 'tip' else BASE_AXES)
        self._found = np.zeros(4)
        self._wanted, self._pose, self._error = np.zeros(n), np.zeros(12), np.zeros(6)
        self._target = np.zeros(TARGET)
        self._compile()
        self.out_of_order = self.jumps = 0
        self.begin(MotionState.at_rest(chain.middle), 0.0)

    def _compile(self) -> None:
        """Have all that is compiled ready before the first cycle."""
        forget_stale_kernels()
        self.begin(MotionState.at_rest(self.chain.middle), 0.0)
        self.feed(np.eye(4), 0.0)
        self.step(0.01)
        self.trajectory(0.01)
        self.trajectory(0.01, joining=True)

    def begin(self, state: MotionState, time: float, before: Course | None = None) -> None:
        """
        Forget all targets; the arm is to be in a state, at rest or in motion, at a time (s).

        `before` is the motion that it leaves then, in the state that it has on it.

        Raises
        ------
        TrajectoryError
            If the state is not of n finite numbers each.

        """
        made = np.array([state.q, state.qd, state.qdd], dtype=float)
        if made.shape != (3, self.chain.n) or not np.isfinite(made).all():
            raise TrajectoryError(f'following cannot begin at q {list(state.q)}, '
                                  f'qd {list(state.qd)}, qdd {list(state.qdd)}; each must be '
                                  f'{self.chain.n} finite numbers')
        self._before, self._head = before, _ns(time)
        if before is not None:
            made = _state_on(before, self._head)
        self._state = made
        self._legs = deque([Leg(self._head, self._joints, made, np.zeros((2, self.chain.n)))],
                           maxlen=KEPT)
        self.halt()

    def take_over(self, other: Follower) -> None:
        """Go on where another follower of the same chain is, target and all."""
        for name in ('out_of_order', 'jumps', '_before', '_state', '_head', '_legs', '_target',
                     '_taken', '_shown', '_stamp', '_offset', '_gap'):
            setattr(self, name, getattr(other, name))

    def halt(self) -> None:
        """Let go of the target: further cycles ramp down to rest."""
        self._taken = -inf      # when the last pose was taken
        self._shown = -inf      # when the target was there, on the receiver's clock
        self._stamp: float | None = None
        self._offset = inf      # of the receiver's clock against the sender's
        self._gap = 0.0         # the usual pause between two poses

    def feed(self, T_base_goal: np.ndarray, now: float, stamp: float | None = None) -> Taken:
        """
        Take a pose of the target.

        Parameters
        ----------
        T_base_goal : (4, 4) array
            Where the tip is to be, in the base link (m).
        now : float
            s, when it was received.
        stamp : float, optional
            s on the sender's clock, when the target was there.  The offset between the
            clocks is that of the message that took the shortest time.

        Raises
        ------
        GoalError
            If the pose is not finite or not rigid, or a time is not finite.

        """
        row = pose_row(checked_pose(T_base_goal))
        if not np.isfinite(now) or not (stamp is None or np.isfinite(stamp)):
            raise GoalError(f'a pose of the stream came at {now} s with the stamp {stamp} s; '
                            'both must be finite')
        if stamp is not None:
            if self._stamp is not None and stamp <= self._stamp and self.fresh(now):
                self.out_of_order += 1
                return Taken.OUT_OF_ORDER
            if self._stamp is None or stamp < self._stamp:
                self._offset = inf
            self._offset = min(self._offset + DRIFT * (now - self._taken), now - stamp)
        shown = now if stamp is None else stamp + self._offset
        gap = max(shown - self._shown, SHORTEST_GAP)
        fresh = self.fresh(now)
        jump = tuple(j + f * gap for j, f in zip(JUMP, FASTEST)) if fresh else (-1.0, -1.0)
        jumped = take_pose(self._target, row, min(gap, 1e9), self.options.memory, jump,
                           self._pose, self._error)
        if not fresh:
            self._gap = 0.0
        elif jumped:
            self.jumps += 1
        else:
            self._gap += 0.2 * (min(gap, self.options.timeout) - self._gap) if self._gap else gap
        self._taken, self._shown, self._stamp = now, shown, stamp
        return Taken.JUMPED if fresh and jumped else Taken.FOLLOWED

    def fresh(self, now: float) -> bool:
        """Return whether a pose came within the timeout."""
        return now - self._taken <= self.options.timeout

    def step(self, now: float) -> Follow:
        """
        Go on to the state that is commanded `lead` seconds from now.

        Call it at a steady rate of 50 Hz or more, and faster than once in `lead`: what
        was to be done before now, or was not decided anew for more than LONGEST_CYCLE, was
        done as the trajectory sent last has it.
        """
        fresh = self.fresh(now)
        head = _ns(now + self.options.lead)
        if head <= self._head:
            return self._report(Phase.FOLLOWING if fresh else self._lost())
        self._go_to(max(self._head, _ns(now), head - _ns(LONGEST_CYCLE)))
        plan = np.zeros((2, self.chain.n))
        if fresh:
            # A target that fell silent is soon thought to stand where it was seen last.
            age, longest = now - self._shown, max(GAPS * self._gap, SHORTEST_GAP)
            moves = min(max(2.0 - age / longest, 0.0), 1.0)
            follow_cycle(self.chain.table, self._joints, self._settings, self._goal,
                         self._target, min(age, longest) + 1e-9 * self._head - now, moves,
                         1e-9 * (head - self._head), self._state, plan, self._wanted,
                         self._found)
        self._legs.append(Leg(self._head, self._joints, self._state, plan))
        self._go_to(head)
        return self._report(Phase.FOLLOWING if fresh else self._lost())

    def _lost(self) -> Phase:
        return Phase.WAITING if self._taken == -inf else Phase.STALE

    def _report(self, phase: Phase) -> Follow:
        state = MotionState(*self._state)
        if phase is not Phase.FOLLOWING:
            return Follow(phase, state)
        found = self._found
        return Follow(phase, state, found[POSITION_ERROR], found[ORIENTATION_ERROR],
                      found[SMALLEST], found[SCALED])

    def _go_to(self, head: int) -> None:
        self._state, self._head = self._legs[-1].at(head), head

    def trajectory(self, now: float, joining: bool = False) -> Trajectory:
        """
        Return what to send to a joint_trajectory_controller, its time 0 being now.

        It goes through the state of the last :meth:`step`, and from there on is the fastest
        stop.  That state is its first point for a controller that begins at time 0, a few
        milliseconds sooner or later: it has the whole lead to close the gap.  If the
        controller joins a motion under way, by its stamp, what is commanded until then
        comes before it; ``handover`` of the points are of trajectories before.

        From the first point on the motion keeps the limits, jerk included, as the
        controller interpolates.  But where a switch of the jerk would be a point less
        than CLOSEST after another, the point is CLOSEST after it, and between these two
        the jerk keeps its limit only in the mean.

        Raises
        ------
        TrajectoryError
            If the last step was for a time that is not ahead of now.

        """
        zero, closest = _ns(now), _ns(CLOSEST)
        if self._head - zero < closest:
            raise TrajectoryError(f'the commanded state is {1e-9 * (self._head - zero):.4f} s '
                                  'ahead; raise the lead, or call step() first')
        last = self._legs[-1]
        times = _spaced(self._instants(zero + closest if joining else self._head), closest)
        states = np.array([self._commanded(t) for t in times])
        states[-1, 1:] = 0.0
        return Trajectory(self.chain.joint_names, MotionState(*self._commanded(zero)),
                          1e-9 * (np.array(times) - zero), states[:, 0], states[:, 1],
                          states[:, 2], max(sum(t <= last.begin for t in times), 1))

    def _instants(self, first: int) -> list[int]:
        """Return when (ns) the jerk of the commanded motion switches, from `first` to the end."""
        found = [*self._legs[-1].switches()]
        found += [self._head, max(*found, self._head + _ns(CLOSEST))]
        for leg, after in pairwise(self._legs):
            if after.begin > first:
                found += [*(t for t in leg.switches() if t < after.begin), after.begin]
        begin = self._legs[0].begin
        if self._before is not None and first < begin:
            began, course = _ns(self._before.began), self._before.trajectory
            found += [began + t for t in map(_ns, [0.0, *course.times]) if began + t < begin]
        elif self._before is None:
            first = max(first, begin)
        return [first, *(t for t in sorted(found) if t > first)]

    def _commanded(self, time: int) -> np.ndarray:
        """Return the state (3, n) that is commanded for a time (ns)."""
        for leg in reversed(self._legs):
            if leg.begin <= time:
                return leg.at(time)
        if self._before is None:
            return leg.state
        return _state_on(self._before, time)


def _state_on(course: Course, time: int) -> np.ndarray:
    """
    Return the state (3, n) on a motion at a time (ns).

    Seconds of a machine that has run for a day are known to 1e-11 s, after months to 1e-9;
    between points CLOSEST to one another that makes a difference in acceleration.
    """
    state = state_at(course.trajectory, 1e-9 * (time - _ns(course.began)))
    return np.array([state.q, state.qd, state.qdd])


def _ns(time: float) -> int:
    return round(1e9 * time)


def _spaced(instants: list[int], closest: int) -> list[int]:
    """Return sorted instants (ns), each postponed until it is `closest` after the one before."""
    times = instants[:1]
    for t in instants[1:]:
        if t > times[-1]:
            times.append(max(t, times[-1] + closest))
    return times
