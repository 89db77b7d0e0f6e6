# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Goals of several arms on their way: planned beside the executor, sent, watched, answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic

import numpy as np
from rclpy.node import Node

from ik_node.base.errors import IkNodeError, Reason, StateError, TrajectoryError
from ik_node.base.text import quote
from ik_node.collision.distances.certificate import Contact
from ik_node.collision.distances.model import CollisionModel
from ik_node.motion.change.active_trajectory import (
    ActiveTrajectory,
    delayed,
    Measurement,
    REST_SPEED,
    SAME_POSITION,
    SETTLING_TIME_S,
)
from ik_node.motion.change.monitor import Monitor
from ik_node.motion.change.path_pace import plan_free_stop
from ik_node.motion.direct.point_to_point import require_free, StartState
from ik_node.motion.tree_motion import carried_out, POINT_PERIOD_S
from ik_node.node.arms.arms_robot import ArmsOptions, ArmsRobot, PlannedMotion
from ik_node.node.execution.outputs import TopicOutput
from ik_node.node.execution.several_outputs import SeveralOutputs
from ik_node.node.execution.supervisor import told_by_manager
from ik_node.node.execution.trajectory_sender import REPEAT_MARGIN_S, SEND_SHARE
from ik_node.node.goals.answers import numbers
from ik_node.node.goals.goal import GoalTask, Steps
from ik_node.node.goals.queue import GoalQueue, START_GRACE_S, STARTUP_REASONS
from ik_node.node.state.arm_state import OtherJoints, require_near_limits
from ik_node.node.state.team import TeamModels, TeamSeat
from ik_node.ros.messages.joint_states import JointStates
from ik_node.ros.messages.status_messages import GoalState
from ik_node.ros.middleware.clocks import both_clocks, steady_clock
from ik_node.ros.middleware.process import in_thread
from ik_node.solver.goal import Goal

STEP_WATCH_PERIOD_S = 0.02
MAX_DEVIATIONS = 3        # consecutive measurements off the plan, after which all arms stop
STOP_HANDOVER_S = 0.1     # until a stop leaves the motion; doubled if it is planned too late
MAX_STOP_PLANS = 3
LAST_FLUSH_S = 1.0        # for the last messages of a process that ends

Goals = dict[str, Goal]


class RunningMotion:
    """A motion that was sent to all controllers, and what watches it."""

    def __init__(self, active: ActiveTrajectory, monitor: Monitor) -> None:
        self.active, self.monitor = active, monitor
        self.deviations, self.judged = 0, -np.inf


def _may_come(error: IkNodeError, robot: ArmsRobot) -> bool:
    """Return whether what is missing may still be on its way, shortly after the start."""
    return error.reason in STARTUP_REASONS and monotonic() < robot.since + START_GRACE_S


class ArmsQueue(GoalQueue):
    """Goals that a newer one does not supersede once they are begun."""

    outdated = 'before it was begun'

    def occupy(self, task: GoalTask) -> None:
        """Make a goal the active one before it is accepted."""
        self.precedence.began(task.sent_at)
        self._current = task
        self._timer.reset()


class ArmsMotion:
    """
    Brings goals to the controllers one after the other.

    A goal that comes during a motion waits until the arms rest; a newer one takes its place.

    Parameters
    ----------
    node : Node
    states : JointStates
    goals : ArmsQueue
    outputs : callable
        Returns the output of a controller by its name.
    options : ArmsOptions
    seats : sequence of TeamSeat
        The arms, which may move by themselves.
    models : TeamModels
        With the objects that the arms know.

    """

    def __init__(self, node: Node, states: JointStates, goals: ArmsQueue,
                 outputs: Callable[[str], TopicOutput], options: ArmsOptions,
                 seats: Sequence[TeamSeat], models: TeamModels) -> None:
        self._node, self._states, self._goals = node, states, goals
        self._outputs, self._seats, self._models = outputs, seats, models
        self._options, self._monitoring = options.motion, options.monitor
        self._others = OtherJoints(node, states, options.collision_other_joints)
        self._given: ArmsRobot | None = None  # as it was made
        self._looked_at: ArmsRobot | None = None  # of which it is known whether it collides
        self._robot: ArmsRobot | None = None  # with joints beside the arms where they are
        self._beside: CollisionModel | None = None
        self._among: CollisionModel | None = None  # that of the robot, with objects of the arms
        self._meets: Contact | None = None
        self._motion: RunningMotion | None = None
        self._last: ActiveTrajectory | None = None
        self._left: ActiveTrajectory | None = None  # the motion that the last ramp leaves
        self._rests_at = -np.inf
        self._guard = node.create_guard_condition(goals.go_on)
        self._timer = node.create_timer(STEP_WATCH_PERIOD_S, self._watch, clock=steady_clock())

    @property
    def busy(self) -> bool:
        """Return whether the arms move, or a motion is planned."""
        return self._goals.current is not None or monotonic() < self._rests_at

    def stop(self, stops: Callable[[GoalTask], bool]) -> str:
        """
        Bring all arms to rest, and answer the goals; return what was done.

        Goals for which `stops` is false go on.

        Raises
        ------
        IkNodeError
            If no stop can be planned; the motion and its goal go on then.

        """
        return self._goals.stop(self._stop_motion, Reason.STOPPED, 'stopped by ~/stop', stops,
                                ' before it began')

    def close(self) -> None:
        """Stop, and see the last messages out."""
        self._goals.dismiss(GoalState.STOPPED, Reason.SHUTDOWN,
                            f'the node was shut down; {self._rest()}')
        self._goals.status.flush(LAST_FLUSH_S)

    # ---- from a goal to the controllers -------------------------------------

    def to_goals(self, task: GoalTask, robot: ArmsRobot, goals: Goals) -> Steps:
        """Bring the tips to their goals, once the arms rest."""
        while (q := self._start_of(robot)) is None:
            yield
        self._goals.occupy(task)
        try:
            yield from self._move(task, goals, q)
        except Exception as error:
            if not isinstance(error, IkNodeError):
                self._rest()  # nobody would judge it
            raise
        finally:
            self._guard.trigger()  # a goal that waits begins

    def _move(self, task: GoalTask, goals: Goals, q: np.ndarray) -> Steps:
        """Plan a motion of the arms from where they rest, send it, and watch it to its end."""
        basis = self._robot
        planning = in_thread(basis.planned, goals, q)
        planning.add_done_callback(lambda _: self._guard.trigger())
        while not planning.done():
            yield
        try:
            plan = planning.result()
        except IkNodeError as error:
            if error.reason is not Reason.ALREADY_THERE:
                raise
            self._goals.end(task, GoalState.REACHED, error.reason, str(error))
            return
        while not self._send(task, plan, basis):
            yield
        while not task.final:
            yield
            self._look()
            self._others.warn()
            if self._meets is None:
                yield from self._judge(task)
            else:
                yield from self._brake(task)

    def use(self, robot: ArmsRobot) -> None:
        """Take a robot, beside whose arms there are other joints."""
        if robot is not self._given:
            self._given, self._among, self._beside = robot, None, robot.collisions
            self._robot = robot
            self._output = SeveralOutputs(
                {name: self._outputs(name) for name in robot.controllers}, robot.controllers)

    def _look(self) -> None:
        """
        Take joints beside the arms where they are now, and objects that the arms know.

        Look what the motion would meet.
        """
        given = self._given
        if given is None:
            return
        self._beside = self._others.look(given, given.tree.tree, given.collisions) or self._beside
        model = self._models.whole()
        if model is not None and model is not self._among:
            self._among, self._robot = model, given.with_collisions(model)
            self._meets = self._motion and self._motion.active.contact_ahead(model, monotonic())

    @property
    def beside(self) -> CollisionModel | None:
        """Return the model of the robot with joints beside the arms where they are."""
        return self._beside

    def _brake(self, task: GoalTask) -> Steps:
        """Bring all arms to rest before what they would meet, as soon as that is possible."""
        motion = self._motion
        try:
            done = self._stop_motion()
        except IkNodeError as error:
            self._node.get_logger().error(
                f'{self._meets.words}, and the arms cannot be stopped yet, because: {error}',
                throttle_duration_sec=1.0)
            return
        if self._left is None:  # it had nearly ended: nothing was sent
            self._motion = motion
            yield from self._judge(task)
            return
        self._goals.end(task, GoalState.STOPPED, Reason.COLLISION,
                        f'the scene changed, and {self._meets.words} on the way; {done}')

    def _start_of(self, robot: ArmsRobot) -> np.ndarray | None:
        """Return where a motion of the arms starts, (n,); None if that is not known yet."""
        for seat in self._seats:
            seat.require_no_open_end()
        if self.busy or any(seat.busy for seat in self._seats):
            return None
        self.use(robot)
        self._look()
        self._others.warn()
        try:
            return self._start(self._robot)
        except IkNodeError as error:
            if not _may_come(error, robot):
                raise
        return None

    def _start(self, robot: ArmsRobot) -> np.ndarray:
        """Return where the arms rest, (n,); at the end of the last motion, if they are there."""
        tree = robot.tree
        q, qd = self._measured(robot)
        if np.abs(qd).max() > REST_SPEED:
            joint = tree.joint_names[int(np.abs(qd).argmax())]
            raise StateError(f'the joint {quote(joint)} moves, though not by this node; motions '
                             'of several arms begin at rest', Reason.TRAJECTORY_INVALID)
        if self._last is not None and self._last.trajectory.joint_names == tree.joint_names \
                and np.abs(tree.difference(q, self._last.trajectory.end)).max() <= SAME_POSITION:
            return self._last.trajectory.end
        require_near_limits(tree, q, self._options.start_tolerance)
        return np.clip(q, tree.lower, tree.upper)

    def _measured(self, robot: ArmsRobot) -> tuple[np.ndarray, np.ndarray]:
        return self._states.state(robot.tree.joint_names, monotonic(),
                                  self._monitoring.state_timeout)

    def _send(self, task: GoalTask, plan: PlannedMotion, basis: ArmsRobot) -> bool:
        """
        Send a motion to all controllers with one stamp, once all of them listen.

        `basis` is the robot for which it was planned.  Returns False if it is to be tried again.
        """
        robot, (trajectory, result), delay = self._robot, plan, self._options.start_delay
        try:
            if not self._output.ready(monotonic()):
                return False
            q, _ = self._measured(robot)
            moved = np.abs(robot.tree.difference(q, trajectory.start.q))
            if moved.max() > self._options.start_tolerance:
                raise StateError(f'{quote(robot.tree.joint_names[int(moved.argmax())])} has moved '
                                 f'by {moved.max():.3g} while the motion was planned',
                                 Reason.TRAJECTORY_INVALID)
            self._look()
            if self._robot is not basis:
                require_free(self._robot.collisions, trajectory,
                             ': a joint beside the arms has moved')
            # All controllers hold the start until the delay has passed, so that it does not
            # matter which of them hears first.
            whole = delayed(trajectory, [delay])
        except IkNodeError as error:
            if not _may_come(error, robot):
                raise
            return False
        began, stamp = both_clocks(self._node.get_clock())
        self._last = ActiveTrajectory(whole, began, robot.limits, stamp)
        self._motion = RunningMotion(self._last, Monitor(robot.tree, whole, q,
                                                         self._monitoring))
        self._meets = None
        try:
            self._output.send(whole, stamp, began + 0.5 * delay)
        except IkNodeError as missed:  # the others must not begin alone
            self._goals.end(task, GoalState.REJECTED, missed.reason, f'{missed}; {self._rest()}')
            return True
        begin = stamp + round(1e9 * delay)
        task.values |= {
            'q': numbers(trajectory.end), 'duration_s': f'{trajectory.duration:.3f}',
            'begin': f'{begin // 10**9}.{begin % 10**9:09d}',
            'solve_time_ms': f'{1e3 * result.time:.3f}',
            'position_error_m': f'{result.position_error:.3e}',
            'orientation_error_rad': f'{result.orientation_error:.3e}'}
        self._goals.under_way(
            task, f'{len(robot.controllers)} controllers begin together in {delay:g} s, and move '
            f'for {trajectory.duration:.2f} s')
        return True

    # ---- while they move ----------------------------------------------------

    def _watch(self) -> None:
        if self._left is not None:
            self._watch_ramp(self._left)
        if self._motion is None:
            self._look()
            self._warn_of_contact()

    def _warn_of_contact(self) -> None:
        """Say once of a robot, as soon as its joint states are known, if it collides already."""
        robot = self._given
        if robot is None or robot is self._looked_at:
            return
        try:
            q, _ = self._measured(robot)
        except StateError:
            return
        self._looked_at = robot
        contact = None if robot.collisions is None else robot.collisions.overlap(q)
        if contact is not None:
            self._node.get_logger().warning(
                f'where the arms stand, {contact}; goals at which they do are refused')

    def _watch_ramp(self, left: ActiveTrajectory) -> None:
        """Repeat the ramp until it begins, then replace it if a controller has not got it."""
        now, who = monotonic(), ''
        if now > self._rests_at:
            self._left = None
            return
        try:
            if now < self._last.leaves_at - REPEAT_MARGIN_S:
                self._output.send(self._last.trajectory, self._last.stamp)
                return
            motion, missing = self._carried_out(self._last, left)
            who = ', '.join(map(quote, missing))
            if missing:
                self._node.get_logger().warning(
                    f'{who} had not got the ramp to rest; {self._ramp_down(motion)}')
        except IkNodeError as error:
            self._node.get_logger().error(
                f'{who} has not got the ramp to rest, and there is no other: {error}' if who
                else f'the ramp to rest is not repeated: {error}', throttle_duration_sec=1.0)

    def _carried_out(self, active: ActiveTrajectory, before: ActiveTrajectory | None
                     ) -> tuple[ActiveTrajectory, list[str]]:
        """Return what the controllers carry out, and who is not on `active`."""
        robot, now = self._robot, monotonic()
        names = robot.tree.joint_names
        q = np.array([self._states.positions[name] for name in names])
        qd = self._states.velocities_or_nan(names)
        measured = {name: Measurement(q, qd, self._states.age(joints, now))
                    for name, joints in robot.controllers.items()}
        return carried_out(robot.tree, robot.controllers, active, before, measured, now,
                           self._options.step_tolerance)

    def _judge(self, task: GoalTask) -> Steps:
        motion, names, now = self._motion, self._robot.tree.joint_names, monotonic()
        age = self._states.age(names, now)
        q = np.array([self._states.positions[name] for name in names])
        off = self._off_step(motion, q, now - age)
        if off:
            done = self._rest()
            yield from self._fail(task, Reason.OFF_TRACK, f'{off}; {done}')
            return
        verdict = motion.monitor.observe(now - motion.active.began, q, age)
        if verdict is None:
            return
        self._motion = None
        if verdict.reason is Reason.REACHED:
            self._goals.end(task, GoalState.REACHED, verdict.reason, verdict.sentence)
        else:
            yield from self._fail(task, verdict.reason, verdict.sentence)

    def _fail(self, task: GoalTask, reason: Reason, sentence: str) -> Steps:
        """End a goal as failed, with what the controller managers say of the controllers."""
        told = yield from told_by_manager(self._output)
        self._goals.end(task, GoalState.FAILED, reason, sentence + (told and f'; {told}'))

    def _off_step(self, motion: RunningMotion, q: np.ndarray, measured_at: float) -> str:
        """Return which joint is not where it should be at the time, '' if all are."""
        tree, active = self._robot.tree, motion.active
        if measured_at <= motion.judged:
            return ''
        motion.judged = measured_at
        good = active.followed(tree, q, measured_at, self._options.step_tolerance)
        motion.deviations = 0 if good else motion.deviations + 1
        if motion.deviations < MAX_DEVIATIONS:
            return ''
        plan = active.states(np.array([measured_at - active.began]))[0, 0]
        away = np.abs(tree.difference(q, plan))
        joint = tree.joint_names[int(away.argmax())]
        return (f'out of step: {quote(joint)} of {quote(self._robot.owner_of(joint))} is '
                f'{away.max():.3g} from where it should be')

    def _rest(self) -> str:
        """Give the motion up, and bring all arms to rest if possible; return what was done."""
        try:
            return self._stop_motion()
        except IkNodeError as error:
            active, self._motion = self._motion.active, None
            self._rests_at = active.began + active.trajectory.duration + SETTLING_TIME_S
            return f'no stop could be planned, so the motion goes on to its end: {error}'

    def _stop_motion(self) -> str:
        """Bring all arms to rest from what they carry out.  Returns, raises as _ramp_down."""
        if self._motion is None:
            return 'nothing was moving'
        return self._ramp_down(self._carried_out(self._motion.active, None)[0])

    def _ramp_down(self, active: ActiveTrajectory) -> str:
        """Bring all arms to rest together from their motion; return what was done."""
        for attempt in range(MAX_STOP_PLANS):
            now, stamp = both_clocks(self._node.get_clock())
            elapsed = round(1e-9 * (stamp - active.stamp), 9)
            handover = STOP_HANDOVER_S * 2**attempt
            if elapsed + handover >= active.trajectory.duration:
                self._motion = self._left = None
                self._rests_at = now + active.trajectory.duration - elapsed + SETTLING_TIME_S
                return 'the motion had nearly ended'
            start = StartState.from_motion(active.trajectory, elapsed, handover)
            ramp = plan_free_stop(self._robot.collisions, self._robot.tree.joint_names,
                                  active.trajectory, start, active.limits, POINT_PERIOD_S)
            ramp = self._robot.for_controllers(ramp, active.limits, ramp=True)
            if monotonic() < now + SEND_SHARE * handover:
                break
        if monotonic() >= now + handover:  # the arms are beyond the point where they would leave
            raise TrajectoryError(f'it was not planned within {handover:g} s')
        self._motion = None
        stamp = active.stamp + round(1e9 * elapsed)
        self._left, self._last = active, ActiveTrajectory(ramp, now, active.limits, stamp)
        self._rests_at = now + ramp.duration + SETTLING_TIME_S
        done = f'all arms come to rest in {ramp.duration:.2f} s'
        try:
            self._output.send(ramp, stamp)
        except IkNodeError as missed:
            return f'{done}, but {missed}'
        return done
