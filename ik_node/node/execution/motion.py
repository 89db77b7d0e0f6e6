# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Motions of the arm: plan, send, monitor, stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic

import numpy as np
from rclpy.node import Node

from ik_node.base.errors import IkNodeError, PathError, Reason, TrajectoryError
from ik_node.collision.distances.certificate import Contact
from ik_node.kinematics.arm import forward_kinematics
from ik_node.motion.change.active_trajectory import (
    ActiveTrajectory,
    MAX_START_DELAY_S,
    REST_SPEED,
    SAME_POSITION,
    SETTLING_TIME_S,
)
from ik_node.motion.change.monitor import Monitor, Verdict
from ik_node.motion.change.path_pace import plan_free_stop
from ik_node.motion.direct.point_to_point import require_free_goal, StartState
from ik_node.motion.joint_path.motion_sequence import SequencedMotion, SequenceError, SequencePlan
from ik_node.motion.joint_path.waypoints import Waypoints
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.node.execution.outputs import Late, Output
from ik_node.node.execution.trajectory_sender import SEND_SHARE, TrajectorySender
from ik_node.node.goals.goal_queue import GoalQueue, WATCH_PERIOD_S
from ik_node.node.goals.goal_status import GoalTask
from ik_node.node.goals.plans import (
    after_blocked,
    GoalPlans,
    JOINT_ADVICE,
    keeps_turns,
    LEFT_OUT_TURNS,
    path_options,
    Plan,
    Way,
)
from ik_node.node.goals.preparation import Kernels, Preparation
from ik_node.node.robot.robot import Robot, RobotSlot
from ik_node.node.state.arm_state import ArmState
from ik_node.ros.messages.status_messages import GoalState, JOG_KIND, STREAM_KIND
from ik_node.ros.middleware.clocks import steady_clock
from ik_node.solver.goal import Goal

MAX_ATTEMPTS = 2  # trajectories sent for one goal if the arm does not begin to move
MAX_PLANS = 5  # trajectories sent for one goal if they arrive too late to be joined
MAX_RAMPS = 3  # ramps planned, each further ahead, if they are not ready in time
MAX_LATE_PLANS = 2  # after which the arm is brought to rest first
# An inactive controller may be why.
MANAGED_REASONS = Reason.NOT_MOVING, Reason.REFUSED, Reason.INTERRUPTED
LONG_PATH_POSES = 100  # from which on a path is planned beside the other callbacks, from rest

Ramp = Callable[[StartState, MotionLimits], Trajectory]


class Motion:
    """
    Plans and monitors one motion at a time; answers go through the goal queue.

    Attributes
    ----------
    preparation : Preparation
        Of what goals to poses do not need.
    plans : GoalPlans
    sender : TrajectorySender

    """

    def __init__(self, node: Node, robot_slot: RobotSlot, arm: ArmState, output: Output,
                 goals: GoalQueue, preparation: Preparation) -> None:
        self._node = node
        self._robot_slot = robot_slot
        self._arm = arm
        self._output = output
        self._goals = goals
        self.preparation = preparation
        self.plans = GoalPlans(robot_slot, preparation)
        self.sender = TrajectorySender(node, robot_slot, arm, output)
        self._sent_for: GoalTask | None = None
        self._ramp: ActiveTrajectory | None = None  # the last one that was the fastest
        self._ramp_timer = node.create_timer(WATCH_PERIOD_S, self._watch_ramp,
                                             clock=steady_clock())
        self._ramp_timer.cancel()
        output.on_end = self._on_end

    # ---- to a goal ----------------------------------------------------------

    def to_joints(self, task: GoalTask) -> None:
        """
        Move to ``task.q_goal`` from the present state.

        Raises
        ------
        IkNodeError
            If there is no motion.

        """
        robot = self._robot_slot.require()
        q, _ = self._arm.measured(robot)
        if not self._occupied(robot, q) and self.is_there(task, robot, q):
            require_free_goal(robot.settings.solver.collisions, task.q_goal)
            self._goals.supersede(task)
            self._note_measured_error(task, robot, q)
            self._goals.end(task, GoalState.REACHED, Reason.ALREADY_THERE,
                            'the arm is there already')
            return
        detour = self.plans.around_obstacles(task)
        task.replan = self.plans.to_joints(task)
        advice = JOINT_ADVICE if detour is None else ''
        self.begin(task, self.plans.to_joints(task, advice), detour)

    def along(self, task: GoalTask, way: Way) -> None:
        """
        Move the tip along a path.

        Parameters
        ----------
        way : sequence of (4, 4) arrays, or callable
            Poses to pass in straight lines; or a function that returns the poses of an arc from
            the start state.

        Raises
        ------
        IkNodeError
            If there is no motion.

        """
        needed = [Kernels.PATHS]
        if path_options(task, self._robot_slot.require()).free_axes:
            needed.append(Kernels.FREE_AXES)
        if any(self.preparation.defer(task, kernels, lambda: self.along(task, way))
               for kernels in needed):
            return
        if callable(way) or len(way) < LONG_PATH_POSES:
            self.begin(task, self.plans.along(task, way))
        else:
            self._plan_beside(task, self.plans.along(task, way))

    def in_sequence(self, task: GoalTask, motions: Sequence[SequencedMotion],
                    on_planned: Callable[[SequencePlan], None]) -> None:
        """
        Move through a sequence, all of which is planned before the arm moves.

        Parameters
        ----------
        on_planned : callable
            Called with each plan that is made, in any thread.

        Raises
        ------
        IkNodeError
            If there is no motion.

        """
        if self.preparation.defer(task, Kernels.PATHS,
                                  lambda: self.in_sequence(task, motions, on_planned)):
            return
        self._plan_beside(task, self.plans.in_sequence(task, motions, on_planned))

    def through_joints(self, task: GoalTask, way: Waypoints) -> None:
        """
        Move the joints through waypoints.

        Raises
        ------
        IkNodeError
            If there is no motion.

        """
        if self.preparation.defer(task, Kernels.PATHS, lambda: self.through_joints(task, way)):
            return
        self._plan_beside(task, self.plans.through_joints(task, way))

    def planned(self, plan: Plan) -> Trajectory:
        """
        Return the motion that would start now, without sending it.

        Raises
        ------
        IkNodeError
            If there is none.

        """
        return plan(self.sender.start_state_now())

    def planned_to_joints(self, task: GoalTask, start: StartState | None = None) -> Future:
        """
        Return the motion to ``task.q_goal``, without sending it.

        It is there at once, or planned around obstacles in another thread until the task ends.

        Parameters
        ----------
        start : StartState, optional
            By default that of a motion that would start now.

        Raises
        ------
        IkNodeError
            If there is none.

        """
        start = start or self.sender.start_state_now()
        detour, planned = self.plans.around_obstacles(task), Future()
        try:
            planned.set_result(
                self.plans.to_joints(task, JOINT_ADVICE if detour is None else '')(start))
        except TrajectoryError as error:
            if detour is None or error.reason is not Reason.COLLISION:
                raise
            self.preparation.require(Kernels.DETOURS)
            planned = in_thread(after_blocked(error, detour), start)
        return planned

    def begin(self, task: GoalTask, plan: Plan, detour: Plan | None = None,
              late: int = 0) -> None:
        """
        Plan from the present state, send the trajectory, and monitor it.

        Waits for a controller that was just discovered.  If the motion would collide, `detour`
        is planned beside.  A plan for a moving arm may take too long; this happened `late` times
        already.

        Raises
        ------
        IkNodeError
            If there is no motion.

        """
        robot = self._robot_slot.require()
        q, qd = self._arm.measured(robot)
        if not self._output.ready(monotonic()):
            self._goals.wait(task, lambda: self.begin(task, plan, detour, late), np.inf)
            return
        if self.waits_for_rest(task, robot, qd):
            self._goals.wait(task, lambda: self.begin(task, plan, detour, late), np.inf)
            return
        self.sender.detect_missed_join(robot, q)
        settings = robot.settings
        at = self._arm.instant()
        start_state = self.sender.start_state(robot, q, qd, at)
        # An arm that did not follow may still start to move.
        stands = start_state.initial.rests and not (start_state.states or robot.diverged)
        in_time = np.inf if stands else at.now + SEND_SHARE * self.sender.handover_time(robot)
        try:
            trajectory = self.sender.send(plan(start_state), robot, start_state, at,
                                          settings.limits, in_time)
        except Late:
            def again() -> None:
                self.begin(task, plan, detour, late + 1)

            from_rest = late + 1 >= MAX_LATE_PLANS
            self._goals.wait(task, (lambda: self._from_rest(task, again)) if from_rest else again,
                             np.inf)
            return
        except PathError as error:
            task.values['path_fraction'] = f'{error.fraction:.4f}'
            if error.reason is not Reason.ALREADY_THERE:
                self._refuse(task, error)
                return
            if self._occupied(robot, q):
                self.ramp_down(robot)
            self._goals.supersede(task)
            self._goals.end(task, GoalState.REACHED, error.reason, str(error))
            return
        except SequenceError as error:
            self._refuse(task, error)
            return
        except TrajectoryError as error:
            if detour is None or error.reason is not Reason.COLLISION:
                raise
            if not self.preparation.defer(task, Kernels.DETOURS,
                                          lambda: self.begin(task, plan, detour)):
                self._plan_beside(task, after_blocked(error, detour))
            return
        self._sent_for, task.sent, task.speed = task, trajectory, settings.speed
        task.attempts += 1
        task.values['duration_s'] = f'{trajectory.duration:.3f}'
        monitor = Monitor(robot.chain, trajectory, q, settings.monitor)
        waited = task.values.get('began_at_rest_because')
        self._goals.under_way(task, lambda: self._judge(task, plan, detour, monitor),
                              f'on its way, {trajectory.duration:.2f} s'
                              + (f'; it had to wait for rest, because {waited}' if waited else ''))

    def _refuse(self, task: GoalTask, error: IkNodeError) -> None:
        """Raise an error of a plan, or refuse the goal by it once its remedies are known."""
        refused, task.refused = task.refused, None
        sought = refused is not None and refused.error is error and refused.may_have_remedies \
            and task.state is None and not (task.alternatives or task.refusals)
        if not sought or self._goals.others_wait:
            raise error
        self._goals.refuse(task, error, in_thread(
            refused.remedies, task.requests, lambda: task.final))

    def _plan_beside(self, task: GoalTask, plan: Plan) -> None:
        """
        Plan a motion in another thread, and begin it when it is planned.

        A moving arm goes on meanwhile.  If there is a motion, the arm is brought to rest, and
        the motion from there is planned.
        """
        robot, task.replan = self._robot_slot.require(), None
        q, qd = self._arm.measured(robot)
        occupied = self._occupied(robot, q)
        start_state = self.sender.start_state(robot, q, qd, self._arm.instant())
        settings, planning = robot.settings, in_thread(plan, start_state)

        def planned(now: StartState) -> Trajectory:
            unchanged = self._robot_slot.robot is robot and robot.settings is settings \
                and _same_rest(start_state, now)
            kept = occupied or unchanged or planning.exception() is not None
            return planning.result() if kept else plan(now)

        def begin_when_planned() -> None:
            if not planning.done():
                self._goals.wait(task, begin_when_planned, np.inf)
            elif occupied and planning.exception() is None:
                self._from_rest(task, lambda: self._plan_beside(task, plan))
            else:  # it raises the exception, if there is one
                self.begin(task, planned)

        begin_when_planned()

    def waits_for_rest(self, task: GoalTask, robot: Robot, qd: np.ndarray) -> bool:
        """
        Return whether a goal has to wait until the present motion ends.

        It has to if the state of the controller on that motion is not known, so that a new
        motion could not continue it.  A stream has no end; it is superseded and comes to rest.
        `qd` (n,) is measured.
        """
        at, active = self._arm.instant(), robot.active
        if active is None or self._arm.elapsed(active, at) is not None:
            return False
        moving = bool(np.abs(qd).max() > REST_SPEED)
        current = self._goals.current
        until = at.now - SETTLING_TIME_S if moving else at.now
        if not active.moves(until) and current in (None, task):
            return False
        if current is not None and (current.ends_alone or current.halt is not None):
            self._goals.supersede(task)
        if 'began_at_rest_because' not in task.values:
            why = self.sender.why_not_joined(at)
            task.values['began_at_rest_because'] = why
            self._node.get_logger().warning(
                f'goal {task.number} waits until the arm rests, because {why}')
        return True

    def _from_rest(self, task: GoalTask, begin: Callable[[], None]) -> None:
        """Bring the arm to rest before a motion that takes too long to plan while it moves."""
        robot = self._robot_slot.require()
        self.ramp_down(robot)
        self._goals.supersede(task)
        active = robot.active

        def when_it_rests() -> None:
            if robot.active is active and active.moves(monotonic() - SETTLING_TIME_S):
                self._goals.wait(task, when_it_rests, np.inf)
            else:
                begin()

        self._goals.wait(task, when_it_rests, np.inf)

    def _occupied(self, robot: Robot, q: np.ndarray) -> bool:
        """Return whether the controller may still have a motion for the arm, measured at `q`."""
        if robot.moves or robot.diverged:
            return True
        return self._goals.current is not None and not (
            robot.active is not None
            and robot.active.followed(robot.chain, q, monotonic(), SAME_POSITION))

    def is_there(self, task: GoalTask, robot: Robot, q: np.ndarray) -> bool:
        """Return whether an arm at `q` (n,) is at the goal."""
        if task.goal is None:
            away = q - task.q_goal if keeps_turns(task, robot) \
                else robot.chain.difference(q, task.q_goal)
            return bool(np.abs(away).max() <= 1e-6)
        T_base_tip, options = forward_kinematics(robot.chain, q), robot.settings.solver.options
        away = np.abs(T_base_tip[:3, 3] - task.goal.T_base_tip[:3, 3]).max()
        if task.goal.is_exact and away > options.position_tolerance:
            return False  # as nearly always
        position, angle = task.goal.error(T_base_tip)
        return position <= options.position_tolerance and angle <= options.orientation_tolerance

    # ---- in motion ----------------------------------------------------------

    def change_speed(self) -> None:
        """
        Continue the active motion at the present speed setting.

        It stays on its path, but for a direct motion of the joints that is to become faster, or
        cannot become slower within its jerk limits: that is planned anew.  If that is impossible,
        the motion goes on as before, and the log says why.
        """
        robot, task = self._robot_slot.robot, self._goals.current
        if robot is None or task is None or not robot.moves or task.paused is not None \
                or task.kind in (STREAM_KIND, JOG_KIND) or robot.active is None \
                or robot.active.trajectory is not task.sent:  # a ramp, or an earlier goal's
            return
        ratio = robot.settings.speed / task.speed
        planners = [self.plans.at_another_speed(task, robot, ratio)]
        if task.replan is not None and task.limits is None:  # else at the speed of its request
            planners.insert(0 if ratio > 1.0 else 1, task.replan)
        why: list[str] = []
        for planner in planners:
            try:
                self._splice(task, robot, planner)
            except IkNodeError as error:
                why.append(str(error))
                continue
            if planner is task.replan:
                task.speed = robot.settings.speed
            return
        self._node.get_logger().warning(
            f'goal {task.number}: the motion under way keeps its speed, because {why[-1]}')

    def _splice(self, task: GoalTask, robot: Robot, plan: Plan) -> None:
        """
        Send another motion to the active goal, which the controller joins to the present one.

        Raises
        ------
        IkNodeError
            If there is none, or it would come too late; the present motion goes on then.

        """
        for attempt in range(MAX_RAMPS):
            at, speed = self._arm.instant(), task.speed
            q, qd = self._arm.fresh(robot)
            start_state = self.sender.start_state(
                robot, q, qd, at, attempt * self.sender.handover_time(robot))
            if start_state.elapsed is None or not start_state.states:
                raise TrajectoryError(f'it cannot be joined: {self.sender.why_not_joined(at)}')
            in_time = at.now + (SEND_SHARE + attempt) * self.sender.handover_time(robot)
            try:
                trajectory = self.sender.send(plan(start_state), robot, start_state, at,
                                              robot.settings.limits, in_time)
                break
            except (Late, IkNodeError) as error:
                task.speed = speed
                if not isinstance(error, Late):
                    raise
        else:
            raise TrajectoryError('it was planned too late')
        self._sent_for, task.sent = task, trajectory
        monitor = Monitor(robot.chain, trajectory, q, robot.settings.monitor)
        again = task.replan or plan  # if the controller does not follow
        self._goals.under_way(task, lambda: self._judge(task, again, None, monitor), '')
        self._goals.status.report(task, GoalState.ACCEPTED, Reason.ACCEPTED,
                                  f'at another speed, {trajectory.duration:.2f} s')

    def _judge(self, task: GoalTask, plan: Plan, detour: Plan | None, monitor: Monitor) -> None:
        robot = self._robot_slot.require()
        q, age = self._arm.last(robot)
        if q is None or self._arm.own_delay(robot):
            return  # joint states are still to be taken
        if task.attempts < MAX_PLANS and (late := self.sender.detect_missed_join(robot, q)):
            # The late trajectory would cause a step; a new one replaces it.
            task.values['late_s'] = f'{late:.3f}'
            self._goals.attempt(task, lambda: self.begin(task, plan, detour))
            return
        verdict = monitor.observe(monotonic() - robot.active.began, q, age)
        if verdict is None:
            return
        off_track = verdict.reason is Reason.OFF_TRACK
        verdict = self._explained(verdict, robot)
        if verdict.reason is Reason.NOT_MOVING and task.attempts < MAX_ATTEMPTS:
            self._node.get_logger().warning(
                f'goal {task.number}: {verdict.sentence} Sending it again')
            robot.abandon()
            self._goals.attempt(task, lambda: self.begin(task, plan, detour))
            return
        self._note_measured_error(task, robot, q)
        if verdict.reason is Reason.REACHED and task.interruption is not None:
            self._goals.end(task, GoalState.FAILED, task.interruption.reason,
                            f'went as far as it could: {task.interruption}')
        elif verdict.reason is Reason.REACHED:
            self._goals.end(task, GoalState.REACHED,
                            Reason.NEAREST if task.nearest else Reason.REACHED,
                            _reached_sentence(task))
        else:
            self._end_failed(task, verdict, off_track, robot)

    def fail(self, task: GoalTask, verdict: Verdict, robot: Robot) -> None:
        """End a goal whose motion is not followed."""
        self._end_failed(task, self._explained(verdict, robot),
                         verdict.reason is Reason.OFF_TRACK, robot)

    def _end_failed(self, task: GoalTask, verdict: Verdict, off_track: bool, robot: Robot
                    ) -> None:
        robot.abandon()
        done = ''
        if off_track:
            # The controller does not check this tolerance, and would continue.
            try:
                done = f'; {self.ramp_down(robot)}'
            except IkNodeError as error:
                done = f'; the motion goes on, because: {error}'
        self._answer_failed(task, verdict, done)

    def _answer_failed(self, task: GoalTask, verdict: Verdict, done: str = '') -> None:
        """End a goal as failed; with what the controller manager says, if there is one."""
        said = self._output.manager.ask() if verdict.reason in MANAGED_REASONS \
            and self._goals.current is task else str

        def end_once_said() -> None:
            told = said()
            if told is not None:
                self._goals.end(task, GoalState.FAILED, verdict.reason,
                                verdict.sentence + (told and f'; {told}') + done)

        if said() is None:
            self._goals.under_way(task, end_once_said, '')
        else:
            end_once_said()

    def _explained(self, verdict: Verdict, robot: Robot) -> Verdict:
        """Return the verdict, or the jump of simulated time that explains a failure."""
        jump = 0.0 if verdict.reason is Reason.REACHED or robot.active is None \
            else self._arm.jumped_since(robot.active.began)
        return verdict if not jump else Verdict(
            Reason.TIME_JUMPED, f'simulated time jumped forward by {jump:.1f} s during the '
            'motion, so the controller was elsewhere on it than planned')

    def _on_end(self, verdict: Verdict) -> None:
        """Handle the result that the controller itself reports, if it does."""
        if verdict.reason is Reason.REACHED:
            return  # decided by the joint states
        robot, task = self._robot_slot.require(), self._sent_for
        verdict = self._explained(verdict, robot)
        robot.abandon()
        if task is None or task.final:
            self._node.get_logger().error(f'after the answer to its goal: {verdict.sentence}')
            return
        q, _ = self._arm.last(robot)
        if q is not None:
            self._note_measured_error(task, robot, q)
        self._answer_failed(task, verdict)

    def _note_measured_error(self, task: GoalTask, robot: Robot, q: np.ndarray) -> None:
        goal = task.goal or Goal(forward_kinematics(robot.chain, task.q_goal))
        position, angle = goal.error(forward_kinematics(robot.chain, q))
        task.values |= self._output.values()
        task.values['measured_position_error_m'] = f'{position:.3e}'
        if task.goal is None or not task.goal.orientation_free:
            task.values['measured_orientation_error_rad'] = f'{angle:.3e}'

    # ---- to rest ------------------------------------------------------------

    def stop(self, reason: Reason, sentence: str,
             stops: Callable[[GoalTask], bool] = lambda _task: True) -> str:
        """
        Ramp down the motion and answer open goals; return a description.

        Those for which `stops` is false go on.  An arm that comes to rest already is left to it.

        Raises
        ------
        StateError, TrajectoryError
            If the state of the arm is not known, or no ramp keeps the limits; open goals
            stay open then.

        """
        current = self._goals.current
        done = self._to_rest() if current is None or stops(current) \
            else 'the goal that was sent after it goes on'
        self._goals.dismiss(GoalState.STOPPED, reason, f'{sentence}; {done}', stops)
        return done

    def _to_rest(self) -> str:
        """Ramp down the motion; return a description.  Raises as :meth:`stop`."""
        done = 'nothing moves'
        robot = self._robot_slot.robot
        current = self._goals.current
        if current is not None and current.halt is not None:
            current.halt()
            done = 'it ramps down'
        elif robot is not None and current is None and robot.moves and self._ramps_down(robot):
            left = robot.active.began + robot.active.trajectory.duration - monotonic()
            done = f'it comes to rest already, at rest in {left:.2f} s'
        elif robot is not None and (robot.moves or robot.diverged or current is not None):
            try:
                done = self.ramp_down(robot)
            except IkNodeError as error:
                if current is None or not current.ends_alone:
                    raise
                done = f'it comes to rest by itself; there is no faster ramp, because: {error}'
        return done

    def _ramps_down(self, robot: Robot) -> bool:
        """Return whether the arm is under way to rest on the fastest ramp, or at its end."""
        q, _ = self._arm.last(robot)
        if q is not None:
            self.sender.detect_missed_join(robot, q)
        return robot.active is not None and robot.active is self._ramp

    def _watch_ramp(self) -> None:
        """
        Repeat the ramp to rest until it begins, and replace it if the controller has not got it.

        So one lost message matters little; what joint states show comes later.
        """
        robot, ramp = self._robot_slot.robot, self._ramp
        if robot is None or self._goals.current is not None or not (robot.moves or (
                ramp is not None and ramp.moves(monotonic() - MAX_START_DELAY_S))):
            self._ramp_timer.cancel()
        elif not self._arm.own_delay(robot):
            missed = False
            try:
                missed = not self._ramps_down(robot) or self.sender.look_whether_ignored(robot)
                if missed:
                    self.ramp_down(robot)
                elif self._output.steady:
                    self.sender.repeat()
            except IkNodeError as error:
                if error.reason is Reason.INACTIVE:  # nothing is sent any more
                    self._ramp_timer.cancel()
                    return
                self._node.get_logger().error(
                    f'the controller has not got the ramp to rest, and there is no other: {error}'
                    if missed else 'it is not known whether the controller has got the ramp to '
                    f'rest: {error}', throttle_duration_sec=1.0)

    def cancel(self, task: GoalTask, sentence: str) -> None:
        """End one goal: the arm comes to rest if it moves for it; others are left alone."""
        if task.final:
            return
        done = 'before it began'
        if self._goals.current is task:
            try:
                done = self._to_rest()
            except IkNodeError as error:
                self._node.get_logger().error(
                    f'{sentence}, but the arm cannot be stopped: {error}')
                return
        self._goals.end(task, GoalState.STOPPED, Reason.STOPPED, f'{sentence}; {done}')

    def stop_if_possible(self, sentence: str) -> None:
        """Stop on behalf of a caller that gets no response; log an error if it fails."""
        try:
            self.stop(Reason.STOPPED, sentence)
        except IkNodeError as error:
            self._node.get_logger().error(f'{sentence}, but the arm cannot be stopped: {error}')

    @property
    def motion_to_recheck(self) -> ActiveTrajectory | None:
        """Return the motion that has to be checked if the scene changes; None without."""
        robot, current = self._robot_slot.robot, self._goals.current
        if robot is None or not robot.moves or (
                current is not None and current.kind in (STREAM_KIND, JOG_KIND)):
            return None  # they look after themselves
        return robot.active

    def brake_before(self, contact: Contact) -> bool:
        """
        Bring the arm to rest before what its motion would meet in a scene that changed.

        Returns whether it can be; a node that was late has to take the joint states first.
        """
        self._ramp = None  # one that is under way may be what is blocked
        try:
            self.stop(Reason.COLLISION, f'the scene changed, and {contact.words} on the way')
        except IkNodeError as error:
            self._node.get_logger().error(
                f'{contact.words}, and the arm cannot be stopped yet, because: {error}',
                throttle_duration_sec=1.0)
            return False
        return True

    def ramp_down(self, robot: Robot, planned: Ramp | None = None) -> str:
        """
        Send a ramp to rest; return a description.

        An arm at rest away from its motion is commanded to hold: the controller may still
        have that motion, and continue it.

        Parameters
        ----------
        planned : callable, optional
            Returns the ramp from a start state within limits; by default the fastest that is
            free.

        """
        limits, fastest = robot.limits_under_way, planned is None
        planned = planned or (lambda start, limits: plan_free_stop(
            robot.settings.solver.collisions, robot.chain.joint_names,
            None if robot.active is None else robot.active.trajectory, start, limits,
            robot.settings.sample_period))
        for attempt in range(MAX_RAMPS):
            at = self._arm.instant()
            q, qd = self._arm.fresh(robot)
            self.sender.detect_missed_join(robot, q)
            start_state = self.sender.start_state(
                robot, q, qd, at, attempt * self.sender.handover_time(robot))
            ramp = planned(start_state, limits)
            in_time = at.now + (SEND_SHARE + attempt) * self.sender.handover_time(robot)
            try:
                ramp = self.sender.send(ramp, robot, start_state, at, limits,
                                        in_time if attempt + 1 < MAX_RAMPS else np.inf,
                                        ramp=True)
                break
            except Late:
                pass
        self._sent_for, self._ramp = None, robot.active if fastest else None
        if fastest:
            self._ramp_timer.reset()
        joined = '' if robot.active.stamp is not None or not start_state.states else \
            f'; it may begin with a step, because {self.sender.why_not_joined(at)}'
        return f'at rest in {ramp.duration:.2f} s{joined}'


def in_thread(call: Callable[..., object], *arguments: object) -> Future:
    """Return the future result of a call that is made in another thread."""
    thread = ThreadPoolExecutor(1, 'plan')
    result = thread.submit(call, *arguments)
    thread.shutdown(wait=False)  # it ends with the call
    return result


def _same_rest(one: StartState, other: StartState) -> bool:
    """Return whether an arm rests at both, and they are the same."""
    rests = all(each.initial.rests and not each.states for each in (one, other))
    return rests and bool(np.abs(one.initial.q - other.initial.q).max() <= SAME_POSITION)


def _reached_sentence(task: GoalTask) -> str:
    off, turned = (task.values.get(f'measured_{name}') for name in (
        'position_error_m', 'orientation_error_rad'))
    where = 'as near as it can be' if task.nearest else 'reached'
    return (f'{where}; the tip is measured {1e3 * float(off):.3f} mm'
            + (f' and {float(turned):.5f} rad' if turned else '') + ' from the goal'
            + (f'; whole turns are left out, {task.values[LEFT_OUT_TURNS]}, as motion.whole_turns '
               'is not set' if LEFT_OUT_TURNS in task.values else ''))
