# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The pace of a motion under way: pause it on its path, go on with it, change its speed."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
import traceback

from std_srvs.srv import SetBool

from ik_node.base.errors import GoalError, IkNodeError, Reason, TrajectoryError
from ik_node.motion.change.monitor import Monitor, Verdict
from ik_node.motion.change.path_pace import PathStop
from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.requests import PauseRequest, ResumeRequest
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.node.execution.context import MotionContext
from ik_node.node.execution.motion import Motion
from ik_node.node.execution.outputs import Late
from ik_node.node.execution.ramps import MAX_RAMPS, Ramps
from ik_node.node.execution.supervisor import Supervisor
from ik_node.node.execution.trajectory_sender import SEND_SHARE
from ik_node.node.goals import plans
from ik_node.node.goals.goal import GoalTask, Paused, Planner, Steps
from ik_node.node.robot.robot import Robot
from ik_node.ros.messages.goal_kinds import CHUNK_KIND
from ik_node.ros.messages.status_messages import GoalState, JOG_KIND, STREAM_KIND

UNPACED_KINDS = STREAM_KIND, JOG_KIND, CHUNK_KIND  # whose times are those of their senders


class Pace:
    """
    The service ``~/pause``: true brings a motion to rest on its path, false goes on with it.

    The goal stays open.  A newer goal, ``~/stop`` and the end of the node end it as ever.  A
    motion also goes on at another speed when that is set.
    """

    def __init__(self, context: MotionContext, ramps: Ramps, supervisor: Supervisor,
                 motion: Motion) -> None:
        self._node = context.node
        self._robot_slot = context.robot_slot
        self._arm = context.arm
        self._goals = context.goals
        self._sender = context.sender
        self._ramps = ramps
        self._supervisor = supervisor
        self._motion = motion
        self._node.create_service(SetBool, '~/pause', self._on_call)

    def _on_call(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        try:
            response.message = self._pause() if request.data else self._resume()
            response.success = True
        except IkNodeError as error:
            response.message = str(error)
        except Exception as error:  # noqa: BLE001 - a request never goes without an answer
            self._node.get_logger().error(traceback.format_exc())
            response.message = f'internal error: {type(error).__name__}: {error}'
        return response

    # ---- to rest ------------------------------------------------------------

    def _pause(self) -> str:
        robot, task = self._robot_slot.require(), self._goals.current
        if task is not None and task.execution.paused is not None:
            task.execution.paused = replace(task.execution.paused, goes_on=False)
            return 'it rests already' if task.execution.paused.rests else 'it is coming to rest'
        if task is None or not robot.moves:
            raise GoalError('no goal is on its way, so nothing can be paused',
                            Reason.CALL_INVALID)
        if task.kind in UNPACED_KINDS:
            raise GoalError(f'a {task.kind} is paused by its sender: send the same pose again and '
                            'again, or no velocity', Reason.CALL_INVALID)
        if robot.active is None or robot.active.trajectory is not task.execution.trajectory:
            raise GoalError('the goal is being planned again, and what moves is not its motion; '
                            'pause it when it is on its way, or stop it', Reason.CALL_INVALID)
        found: list[tuple[Trajectory, PathStop]] = []

        def on_path(start: StartState, limits: MotionLimits) -> Trajectory:
            found.append(self._path_stop(robot, task, start, limits))
            return found[-1][1].trajectory

        done = self._ramps.ramp_down(robot, on_path)
        active, stop = found[-1]
        task.execution.paused = Paused(active, stop.place)
        q, _ = self._arm.last(robot)
        monitor = Monitor(robot.chain, robot.active.trajectory, q, robot.settings.monitor)
        self._goals.attempt(task, lambda: self._until_it_goes_on(task, monitor))
        self._tell(task, Reason.PAUSED, f'paused: {done}')
        return done

    def _path_stop(self, robot: Robot, task: GoalTask, start: StartState,
                   limits: MotionLimits) -> tuple[Trajectory, PathStop]:
        """Return the motion of a robot, and its ramp to rest on the path."""
        if robot.active is None or start.elapsed is None:
            raise TrajectoryError('where the controller is on the motion is not known, so it '
                                  'cannot be paused; ~/stop ends it')
        active, settings = robot.active.trajectory, robot.settings_under_way
        return active, settings.plan(plans.kept(task, robot, PauseRequest(
            start, active, limits, settings.sample_period)), task.requests)

    def _until_it_goes_on(self, task: GoalTask, monitor: Monitor) -> Steps:
        """Watch until the arm is at rest, and go on if that was asked for meanwhile."""
        self._goals.under_way(task, '')
        verdict = None
        while verdict is None:
            yield
            robot = self._robot_slot.require()
            q, age = self._arm.last(robot)
            if robot.active is None:
                verdict = Verdict(Reason.INTERRUPTED, 'the ramp to rest was given up')
            elif q is not None and not self._arm.own_delay(robot):  # else they are to be taken
                verdict = monitor.observe(monotonic() - robot.active.began, q, age)
        execution = task.execution
        if verdict.reason is not Reason.REACHED:
            execution.paused = None
            yield from self._supervisor.fail(task, verdict, robot)
            return
        goes_on, execution.paused = execution.paused.goes_on, replace(execution.paused, rests=True)
        if goes_on:
            try:
                steps, _ = self._go_on(task)
            except IkNodeError as error:
                self._tell(task, Reason.PAUSED, f'it stays paused, because: {error}')
            else:
                yield from steps
                return
        while True:
            yield

    # ---- and on -------------------------------------------------------------

    def _resume(self) -> str:
        task = self._goals.current
        if task is None or task.execution.paused is None:
            raise GoalError('nothing is paused', Reason.CALL_INVALID)
        if not task.execution.paused.rests:
            task.execution.paused = replace(task.execution.paused, goes_on=True)
            return 'it goes on as soon as it rests'
        steps, sentence = self._go_on(task)
        self._goals.attempt(task, lambda: steps)
        return sentence

    def _go_on(self, task: GoalTask) -> tuple[Steps, str]:
        """Begin the rest of a motion that was paused; return the steps left, and a sentence."""
        robot, paused = self._robot_slot.require(), task.execution.paused

        def planner(start: StartState) -> Trajectory:
            settings = robot.settings
            limits = task.plan.limits or settings.planning
            return plans.within_torques(robot, task, lambda share: settings.plan(plans.kept(
                task, robot, ResumeRequest(start, paused.trajectory, paused.place,
                                           limits.slowed(share), settings.sample_period)),
                task.requests))

        steps, before = self._motion.execute(task, planner), task.execution.trajectory
        task.execution.paused = None
        try:
            next(steps, None)
        except IkNodeError:
            task.execution.paused = paused
            raise
        if task.final:
            return steps, 'the goal has ended'
        sent = task.execution.trajectory
        sentence = 'goes on as soon as the controller is ready' if sent is before else \
            f'goes on, {sent.duration:.2f} s'
        self._tell(task, Reason.ACCEPTED, sentence)
        return steps, sentence

    # ---- speed --------------------------------------------------------------

    def change_speed(self) -> None:
        """
        Continue the active motion at the present speed setting.

        It stays on its path, but for a direct motion of the joints that is to become faster, or
        cannot become slower within its jerk limits: that is planned anew.  If that is impossible,
        the motion goes on as before, and the log says why.
        """
        robot, task = self._robot_slot.robot, self._goals.current
        if robot is None or task is None or not robot.moves or task.execution.paused is not None \
                or task.kind in UNPACED_KINDS or robot.active is None \
                or robot.active.trajectory is not task.execution.trajectory:
            return  # also on a ramp, or the motion of an earlier goal
        ratio = robot.settings.speed / task.execution.speed
        planners = [plans.at_another_speed(task, robot, ratio)]
        if task.plan.replan is not None and task.plan.limits is None:
            # With limits it keeps the speed of its request.
            planners.insert(0 if ratio > 1.0 else 1, task.plan.replan)
        why: list[str] = []
        for planner in planners:
            try:
                self._splice(task, robot, planner)
            except IkNodeError as error:
                why.append(str(error))
                continue
            if planner is task.plan.replan:
                task.execution.speed = robot.settings.speed
            return
        self._node.get_logger().warning(
            f'goal {task.number}: the motion under way keeps its speed, because {why[-1]}')

    def _splice(self, task: GoalTask, robot: Robot, planner: Planner) -> None:
        """Send another motion to the active goal, which joins the present one."""
        for attempt in range(MAX_RAMPS):
            at, speed = self._arm.instant(), task.execution.speed
            here = self._arm.fresh(robot)
            start_state = self._sender.start_state(
                robot, *here, at, attempt * self._sender.handover_time(robot))
            if start_state.elapsed is None or not start_state.states:
                raise TrajectoryError(f'it cannot be joined: {self._sender.why_not_joined(at)}')
            in_time = at.now + (SEND_SHARE + attempt) * self._sender.handover_time(robot)
            try:
                trajectory = self._sender.send(planner(start_state), robot, start_state, at,
                                               robot.settings.limits, in_time, task)
                break
            except (Late, IkNodeError) as error:
                task.execution.speed = speed
                if not isinstance(error, Late):
                    raise
        else:
            raise TrajectoryError('it was planned too late')
        execution = task.execution
        execution.trajectory = trajectory
        execution.monitor = Monitor(robot.chain, trajectory, here.q, robot.settings.monitor)
        execution.planner, execution.detour = task.plan.replan or planner, None
        self._goals.under_way(task, '')
        self._tell(task, Reason.ACCEPTED, f'at another speed, {trajectory.duration:.2f} s')

    def _tell(self, task: GoalTask, reason: Reason, sentence: str) -> None:
        self._goals.status.report(task, GoalState.ACCEPTED, reason, sentence)
