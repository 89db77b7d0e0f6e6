# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Following a target whose poses come as a stream, or a velocity that is commanded again and again.

Only the latest pose or command counts; none is queued.  Each trajectory that is sent to the
controller ends at rest, so that the arm stops within its limits if no other follows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from ik_node.base.errors import GoalError, ParameterError, TrajectoryError
from ik_node.base.text import quote, shown
from ik_node.collision.distances.certificate import Contact
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.distances.sweeps import near_pairs, NearPairs
from ik_node.kinematics.arm import forward_kinematics, jacobian
from ik_node.kinematics.kernels import pose_row
from ik_node.model.chain import Chain
from ik_node.model.joints import one_per_joint
from ik_node.motion.change.active_trajectory import ActiveTrajectory
from ik_node.motion.constrained.constraint import PathConstraint
from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.following.along_path import STRAIGHT_COURSE, TURNING_COURSE
from ik_node.motion.following.collision_guard import CollisionGuard
from ik_node.motion.following.commanded import (
    CommandedMotion,
    MIN_SPACING_NS,
    nanoseconds,
    Segment,
)
from ik_node.motion.following.constraint_guard import ConstraintGuard, TipGuard
from ik_node.motion.following.cycle import (
    CyclePlan,
    CycleTiming,
    follow_cycle,
    joint_cycle,
)
from ik_node.motion.following.jog import JogCommand, JogCommands
from ik_node.motion.following.options import (
    CycleReport,
    FollowerOutput,
    FollowOptions,
    Phase,
    POSE_AXES,
    PoseStatus,
)
from ik_node.motion.following.path_ahead import course_work
from ik_node.motion.following.pose_stream import KnownTarget, PoseStream, TargetState
from ik_node.motion.following.rates import FollowModel, rates_work, time_to_rates
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.solver.descent.layout import (
    BASE_AXES,
    EXACT_POSE,
    GOAL_SIZE,
    HALF_WIDTHS,
    TIP_AXES,
    TOLERANCE_AXES,
)
from ik_node.solver.goal import checked_pose, FREE_AXIS

FULL_POSE_JOINTS = 6  # of an arm that can hold all axes of the pose
RESTING_SHARE = 1e-3  # of the velocity limits; slower joints stop, each as fast as it can
MAX_RAMP_S = 2.0  # after a jog, within which the tip stays on its path ...
SILENT_RAMP_S = 0.7  # ... and after the timeout of a stream
MAX_CYCLE_S = 0.05  # after a longer pause the arm is where the last plan took it


class Follower:
    """
    Turns a stream of poses, or of jog commands, into motion of the arm; call :meth:`begin` first.

    The commanded state keeps the limits of position, velocity, acceleration and jerk at
    every instant.  Limits that the state at the start exceeds are not exceeded further.

    All times are seconds on the receiver's monotonic clock.

    Parameters
    ----------
    chain : Chain
    limits : MotionLimits
    options : FollowOptions
    collisions : CollisionModel, optional
        The arm slides along what it would come too near to, or stops before it, and goes on when
        the target leads elsewhere.
    constraints : sequence of PathConstraint
        Within which the arm stays, likewise; from outside of one it never goes farther out.

    Raises
    ------
    ParameterError
        If a limit or an option does not suit the chain.

    """

    # With a collision model, and with constraints.
    _compiled: ClassVar[set[tuple[bool, bool]]] = set()

    def __init__(self, chain: Chain, limits: MotionLimits,
                 options: FollowOptions = FollowOptions(),
                 collisions: CollisionModel | None = None,
                 constraints: Sequence[PathConstraint] = ()) -> None:
        self.chain, self.options, self._collisions = chain, options, collisions
        self._constraints, self._tip_speed = tuple(constraints), limits.tip.speed
        limits.require_positive()
        bias = one_per_joint(chain, options.bias, 'the bias')
        if (bias < 0.0).any():
            raise ParameterError(f'the bias is {shown(list(bias))}; it must not be negative')
        preferred = one_per_joint(chain, options.preferred, 'the preferred positions') \
            if options.preferred else chain.middle
        self._full_limits = limits.for_streams()
        self._gap_limits = self._full_limits if options.joins \
            else limits.for_streams(options.look_ahead)
        goal = np.zeros(GOAL_SIZE)
        goal[HALF_WIDTHS:TOLERANCE_AXES] = [FREE_AXIS if axis in options.free else 0.0
                                            for axis in POSE_AXES]
        goal[TOLERANCE_AXES] = (EXACT_POSE if not options.free
                                else TIP_AXES if options.frame == 'tip' else BASE_AXES)
        self._model = FollowModel(
            chain.table, self._full_limits, np.array(preferred, dtype=float),
            np.where(self._locked(), 0.0, bias), goal, float(options.gain),
            float(options.metres_per_radian), float(chain.reach), self._locked())
        jogged = goal.copy()
        if chain.n >= FULL_POSE_JOINTS:
            jogged[HALF_WIDTHS:TOLERANCE_AXES], jogged[TOLERANCE_AXES] = 0.0, EXACT_POSE
        self._jog_model = self._model._replace(goal=jogged)
        # At the end of a jog nothing else moves.
        self._ramp_model = self._jog_model._replace(bias=np.zeros(chain.n))
        self._work = rates_work(chain.n, len(chain.table) - 1)
        self._course = course_work(chain.n)
        self._near = near_pairs(chain.n, ConstraintGuard(chain, constraints).count
                                if constraints else 0)
        self._report = CycleReport()  # of the last cycle
        self._decided = False  # whether that was begun
        self._shown: CycleReport | None = None  # of that, if there was a target
        self._jog, self._ramp = (
            JogCommands(options.timeout, options.gain, options.metres_per_radian,
                        float(chain.reach)) for _ in range(2))
        self._compile()
        self._poses: PoseStream | KnownTarget = PoseStream(options.timeout, options.memory)
        self.begin(MotionState.at_rest(chain.middle), 0.0)

    def _locked(self) -> np.ndarray:
        """Return which joints are not moved, (n,) bool."""
        names = self.chain.joint_names
        unknown = [name for name in self.options.locked if name not in names]
        if unknown:
            raise ParameterError(f'the locked joint {quote(unknown[0])} is not in the chain, '
                                 f'whose joints are {", ".join(map(quote, names))}')
        return np.array([name in self.options.locked for name in names])

    def _compile(self) -> None:
        """Compile or load all kernels before the first cycle, once per process."""
        guarded = self._collisions is not None, bool(self._constraints)
        if guarded in self._compiled:
            return
        self._poses = PoseStream(self.options.timeout, self.options.memory)
        self.begin(MotionState.at_rest(self.chain.middle), 0.0)
        self.feed(np.eye(4), 0.0)
        self.step(0.01)
        self.trajectory(0.01)
        self.jog(JogCommand(rates=np.ones(self.chain.n)), 0.01)
        self.step(0.02)
        rest = Segment(0, self._model.limits, self._commanded.state,
                       CyclePlan(*np.zeros((2, self.chain.n))))
        TipGuard(self.chain, self._tip_speed).warm_up(rest)
        if self._guard is not None:
            self._guard.warm_up(rest)
        self._compiled.add(guarded)

    @property
    def out_of_order(self) -> int:
        """Return how many poses were ignored because a later one had come."""
        return self._poses.out_of_order

    @property
    def jumps(self) -> int:
        """
        Return how many poses were too far from the one before to be its movement.

        Many show that two senders share the topic.
        """
        return self._poses.jumps

    @property
    def commanded_q(self) -> np.ndarray:
        """Return the joint positions (n,) that are commanded last, rad or m."""
        return self._commanded.state[0]

    @property
    def commanded_qd(self) -> np.ndarray:
        """Return the joint velocities (n,) that are commanded last, rad/s or m/s."""
        return self._commanded.state[1]

    def begin(self, state: MotionState, time: float,
              before: ActiveTrajectory | None = None) -> None:
        """
        Forget all targets and start at a time (s) from a state, at rest or in motion.

        Parameters
        ----------
        before : ActiveTrajectory, optional
            The trajectory that the arm leaves then; its state at that time is used.

        Raises
        ------
        TrajectoryError
            If the state is not of n finite numbers each.

        """
        rows = np.array([state.q, state.qd, state.qdd], dtype=float)
        if rows.shape != (3, self.chain.n) or not np.isfinite(rows).all():
            raise TrajectoryError(f'following cannot begin at q {shown(list(state.q))}, '
                                  f'qd {shown(list(state.qd))}, '
                                  f'qdd {shown(list(state.qdd))}; each must be '
                                  f'{self.chain.n} finite numbers')
        self._set_limits(rows)
        self._commanded = CommandedMotion(self._model.limits, rows, nanoseconds(time), before)
        self._set_guard()
        self.halt()

    def take_over(self, other: Follower) -> None:
        """Continue the motion of another follower of the same chain, with its target."""
        self._commanded, self._poses, self._course, self._report = (
            other._commanded, other._poses, other._course, other._report)
        self._poses.timeout, self._poses.memory = self.options.timeout, self.options.memory
        self._jog.take_over(other._jog)
        self._ramp.take_over(other._ramp)
        self._set_limits(self._commanded.state)
        self._set_guard()

    def use_collisions(self, collisions: CollisionModel) -> None:
        """Continue with another collision model of the same chain."""
        self._collisions = collisions
        self._set_guard()

    def _set_limits(self, state: np.ndarray) -> None:
        """
        Set the limits of the motion from a state (3, n).

        A joint that could not stop before its position limit otherwise gets all of its
        acceleration.
        """
        limits = self._gap_limits
        stop = Segment(0, limits, state, CyclePlan(*np.zeros((2, self.chain.n))))
        end = stop.states_at(stop.switches[-1:])[0, 0]
        limits = limits._replace(acceleration=np.where(
            (limits.lower <= end) & (end <= limits.upper), limits.acceleration,
            self._full_limits.acceleration))
        self._model, self._jog_model, self._ramp_model = (
            model._replace(limits=limits)
            for model in (self._model, self._jog_model, self._ramp_model))

    def _set_guard(self) -> None:
        self._guard = None if self._collisions is None \
            else CollisionGuard(self._collisions, self._commanded.state[0], self._near)
        self._keeper = ConstraintGuard(self.chain, self._constraints) if self._constraints \
            else None
        self._tip = TipGuard(self.chain, self._tip_speed) if self._tip_speed < np.inf else None

    def halt(self) -> None:
        """Drop the target and the command: further cycles ramp down to rest."""
        self._poses.clear()
        self._jog.clear()
        self._ramp.clear()

    def feed(self, T_base_goal: np.ndarray, now: float,
             stamp: float | None = None) -> PoseStatus:
        """
        Add a pose of the target.

        Parameters
        ----------
        T_base_goal : (4, 4) array
            Desired pose of the tip in the base frame (m).
        now : float
            When it was received (s).
        stamp : float, optional
            When the target was there, by the sender's clock (s).  The offset between the
            clocks is that of the message with the shortest delivery time.

        Raises
        ------
        GoalError
            If the pose is not finite or not rigid, or a time is not finite.

        """
        row = pose_row(checked_pose(T_base_goal))
        if not np.isfinite(now) or not (stamp is None or np.isfinite(stamp)):
            raise GoalError(f'a pose of the stream came at {now} s with the stamp {stamp} s; '
                            'both must be finite')
        return self._poses.add(row, now, stamp)

    def lead(self, target: TargetState, time: float) -> None:
        """Follow, in place of a stream, a target that is known to be there at a time (s)."""
        self._poses = KnownTarget(target, time)

    def jog(self, command: JogCommand, now: float) -> None:
        """
        Move at a velocity until `timeout` after the last command; zeros bring the arm to rest.

        An axis without velocity is held.  With less than six joints that is not possible for all
        of them: then the free axes of the options are free.

        Parameters
        ----------
        command : JogCommand
        now : float
            When it was received (s).

        Raises
        ------
        GoalError
            If it does not have a velocity for each joint, or the time is not finite.

        """
        if command.rates is not None and len(command.rates) != self.chain.n:
            raise GoalError(f'a jog of joints has {len(command.rates)} velocities; the arm has '
                            f'{self.chain.n} joints')
        if not np.isfinite(now):
            raise GoalError(f'a jog came at {now} s; the time must be finite')
        self._jog.add(command, now)

    def fresh(self, now: float) -> bool:
        """Return whether a pose or a command was received within the timeout."""
        return self._poses.fresh(now) or self._jog.fresh(now)

    def step(self, now: float) -> FollowerOutput:
        """
        Decide the motion up to the state that is commanded `look_ahead` seconds from now.

        Call it at a steady rate of at least 50 Hz, and more than once per `look_ahead`.  Times
        before now, or more than MAX_CYCLE_S before the new state, are not decided anew: the
        arm did then what was sent last.
        """
        commanded, fresh = self._commanded, self.fresh(now)
        head, self._decided = nanoseconds(now + self.options.look_ahead), False
        if head <= commanded.head:
            self._shown = self._report if fresh else None
            return self._output(self._shown)
        commanded.advance(max(commanded.head, nanoseconds(now),
                              head - nanoseconds(MAX_CYCLE_S)))
        plan = CyclePlan(*np.zeros((2, self.chain.n)))
        report = contact = None
        leaves = False
        duration = 1e-9 * (head - commanded.head)
        if self._jog.started:
            report = self._jog_cycle(self._jog, now, duration, plan)
        elif fresh:
            self._ramp.clear()
            report = self._pose_cycle(now, duration, plan)
        elif self._poses.started and self._stays_on_line(now):
            report = self._jog_cycle(self._ramp, now, duration, plan)
        if report is not None:
            self._report = report
        decision = Segment(commanded.head, self._model.limits, commanded.state, plan)
        if self._guard is not None:
            contact = self._guard.contact(decision)
        if contact is None and self._keeper is not None:
            leaves = not self._keeper.kept(decision)
        self._decided = contact is None and not leaves
        if self._decided:
            commanded.append(decision)
            if report is not None and self._guard is not None:
                contact = self._guard.held_by()
        commanded.advance(head)
        self._shown = report if fresh else None
        return self._output(self._shown, contact, leaves)

    def take_back(self, contact: Contact) -> FollowerOutput:
        """
        Take the decision of the last step back, which leads to a contact.

        What was decided before it goes on to rest.
        """
        if self._decided:
            self._commanded.drop()
        self._decided = False
        return self._output(self._shown, contact)

    def _pose_cycle(self, now: float, duration: float, plan: CyclePlan) -> CycleReport:
        """Write the plan of a cycle towards the target of the stream; return the report."""
        until_now, target_share, swerve_share = self._poses.prediction(now)
        near, pace = self._look(duration)
        timing = CycleTiming(until_now + 1e-9 * self._commanded.head - now, target_share,
                             duration, pace, swerve_share=swerve_share)
        return self._follow(self._model, self._poses.target, timing, plan, near)

    def _follow(self, model: FollowModel, target: TargetState, timing: CycleTiming,
                plan: CyclePlan, near: NearPairs) -> CycleReport:
        """Write the plan of a cycle towards a target; return the report."""
        state = self._commanded.state
        return self._paced(lambda timing: CycleReport(*follow_cycle(
            model, target, timing, state, plan, near, self._work, self._course)), timing, plan)

    def _paced(self, cycle: Callable[[CycleTiming], CycleReport], timing: CycleTiming,
               plan: CyclePlan) -> CycleReport:
        """Write the plan of a cycle, as slow as the limit of the tip needs; return the report."""
        return cycle(timing) if self._tip is None else self._tip.paced(cycle, timing, Segment(
            self._commanded.head, self._model.limits, self._commanded.state, plan))

    def _stays_on_line(self, now: float) -> bool:
        """Return whether the tip brakes on its line after a stream, as after a jog that ends."""
        if not self._ramp.started:
            q, qd, _ = self._commanded.state
            for twist in (jacobian(self.chain, q) @ qd, np.zeros(6)):
                self._ramp.add(JogCommand(twist), now)
        return self._ramp.started and self._ramp.silence(now) <= SILENT_RAMP_S

    def _jog_cycle(self, jog: JogCommands, now: float, duration: float,
                   plan: CyclePlan) -> CycleReport | None:
        """Write the plan of a cycle of a jog; return the report, None of the fastest stop."""
        state, moving, rates = self._commanded.state, jog.moving(now), jog.command.rates
        if not moving and (rates is not None or jog.silence(now) > MAX_RAMP_S or (
                np.abs(state[1]) <= RESTING_SHARE * self._model.limits.velocity).all()):
            return None
        near, pace = self._look(duration)
        look = time_to_rates(self.options.gain, duration) + 0.5 * duration
        if rates is not None:
            rates = np.where(self._model.locked, 0.0, rates)
            return self._paced(lambda timing: CycleReport(*joint_cycle(
                self._jog_model, rates, timing, state, plan, near, self._work)),
                CycleTiming(0.0, 0.0, duration, pace), plan)
        q = state[0] + look * (state[1] + 0.5 * look * state[2])
        target = jog.target(forward_kinematics(self.chain, q), jacobian(self.chain, q) @ (
            state[1] + look * state[2]), now)
        model = self._jog_model if moving else self._ramp_model
        if jog.closes_in(self._report.smallest):
            model = model._replace(overrun=0.0)
        # The target is where it will be at the time for which the rates are chosen.
        timing = CycleTiming(-look, float(moving), duration, pace,
                             TURNING_COURSE if jog.command.in_tip else STRAIGHT_COURSE)
        return self._follow(model, target, timing, plan, near)

    def _look(self, duration: float) -> tuple[NearPairs, float]:
        """Return what the arm is near to when it reaches the rates of a cycle, and its pace."""
        pace = min((each.pace for each in (self._guard, self._keeper, self._tip)
                    if each is not None), default=1.0)
        if self._guard is None and self._keeper is None:
            return self._near, pace
        q, qd, qdd = self._commanded.state
        look = time_to_rates(self.options.gain, duration) + 0.5 * duration
        q_ahead = q + look * (qd + 0.5 * look * qdd)
        self._near.count[0] = 0
        if self._guard is not None:
            self._guard.look(q_ahead.copy() if self._keeper is not None else q_ahead)
        if self._keeper is not None:
            self._keeper.look(q_ahead, self._near)
        if self.options.locked:
            self._near.gradients[:, self._model.locked] = 0.0
        return self._near, pace

    def _output(self, report: CycleReport | None, contact: Contact | None = None,
                leaves: bool = False) -> FollowerOutput:
        state = MotionState(*self._commanded.state)
        if report is not None:
            return FollowerOutput(Phase.FOLLOWING, state, *report, contact, leaves)
        started = self._poses.started or self._jog.started
        return FollowerOutput(Phase.STALE if started else Phase.WAITING, state)

    def motion_from(self, start: StartState) -> Trajectory:
        """Return all that is commanded since :meth:`begin` at a start state, until rest."""
        commanded = self._commanded
        times = commanded.point_times(nanoseconds(start.splice_time))[1:]
        return start.continued(self.chain.joint_names, 1e-9 * np.array(times),
                               commanded.states_at(times))

    def trajectory(self, now: float) -> Trajectory:
        """
        Return the trajectory for a joint_trajectory_controller, with time 0 now.

        It passes the state of the last :meth:`step` and continues with the fastest stop.  For
        a controller that joins the active trajectory by the stamp, the points commanded until
        the splice point come first, counted by ``lead_points``.  For one that starts at time
        0, or a few milliseconds sooner or later, that state is the first point; the
        controller closes the gap within the look-ahead.

        From the first point on the motion keeps the limits, jerk included, as the controller
        interpolates.  Exception: if two jerk switches are less than MIN_STREAM_SPACING_S
        apart, the second point is delayed to that distance, and in between the jerk keeps its
        limit only on average.

        Raises
        ------
        TrajectoryError
            If the state of the last step is not ahead of now.

        """
        zero, commanded = nanoseconds(now), self._commanded
        if commanded.head - zero < MIN_SPACING_NS:
            raise TrajectoryError(f'the commanded state is {1e-9 * (commanded.head - zero):.4f} '
                                  's ahead; raise the look-ahead (stream.lead), or call step() '
                                  'first')
        times = commanded.point_times(zero + MIN_SPACING_NS if self.options.joins
                                      else commanded.head)
        states = commanded.states_at([zero, *times])
        states[-1, 1:] = 0.0
        q, qd, qdd = states[1:].swapaxes(0, 1)
        return Trajectory(self.chain.joint_names, MotionState(*states[0]),
                          1e-9 * (np.array(times) - zero), q, qd, qdd,
                          max(bisect_right(times, commanded.last_begin), 1))
