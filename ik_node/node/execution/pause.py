# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Pause a motion on its path, and go on with it."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
import traceback

from rclpy.node import Node
from std_srvs.srv import SetBool

from ik_node.base.errors import GoalError, IkNodeError, Reason, TrajectoryError
from ik_node.motion.change.monitor import Monitor
from ik_node.motion.change.path_pace import PathStop
from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.requests import PauseRequest, ResumeRequest
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.node.execution.motion import Motion
from ik_node.node.goals.goal_queue import GoalQueue
from ik_node.node.goals.goal_status import GoalTask, Paused
from ik_node.node.goals.preparation import within_torques
from ik_node.node.robot.robot import Robot, RobotSlot
from ik_node.node.state.arm_state import ArmState
from ik_node.ros.messages.status_messages import GoalState, JOG_KIND, STREAM_KIND


class Pause:
    """
    The service ``~/pause``: true brings a motion to rest on its path, false goes on with it.

    The goal stays open.  A newer goal, ``~/stop`` and the end of the node end it as ever.
    """

    def __init__(self, node: Node, robot_slot: RobotSlot, arm: ArmState, motion: Motion,
                 goals: GoalQueue) -> None:
        self._node = node
        self._robot_slot = robot_slot
        self._arm = arm
        self._motion = motion
        self._goals = goals
        node.create_service(SetBool, '~/pause', self._on_call)

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
        if task is not None and task.paused is not None:
            task.paused = replace(task.paused, goes_on=False)
            return 'it rests already' if task.paused.rests else 'it is coming to rest'
        if task is None or not robot.moves:
            raise GoalError('no goal is on its way, so nothing can be paused',
                            Reason.CALL_INVALID)
        if task.kind in (STREAM_KIND, JOG_KIND):
            raise GoalError(f'a {task.kind} is paused by its sender: send the same pose again and '
                            'again, or no velocity', Reason.CALL_INVALID)
        found: list[tuple[Trajectory, PathStop]] = []

        def on_path(start: StartState, limits: MotionLimits) -> Trajectory:
            found.append(self._path_stop(robot, task, start, limits))
            return found[-1][1].trajectory

        done = self._motion.ramp_down(robot, on_path)
        active, stop = found[-1]
        task.paused = Paused(active, stop.place)
        q, _ = self._arm.last(robot)
        monitor = Monitor(robot.chain, robot.active.trajectory, q, robot.settings.monitor)
        self._goals.under_way(task, lambda: self._judge(task, monitor), '')
        self._tell(task, Reason.PAUSED, f'paused: {done}')
        return done

    def _path_stop(self, robot: Robot, task: GoalTask, start: StartState,
                   limits: MotionLimits) -> tuple[Trajectory, PathStop]:
        """Return the motion of a robot, and its ramp to rest on the path."""
        if robot.active is None or start.elapsed is None:
            raise TrajectoryError('where the controller is on the motion is not known, so it '
                                  'cannot be paused; ~/stop ends it')
        active, settings = robot.active.trajectory, robot.settings
        return active, settings.plan(PauseRequest(start, active, limits, settings.sample_period),
                                     task.requests)

    def _judge(self, task: GoalTask, monitor: Monitor) -> None:
        """Look whether the arm comes to rest."""
        robot = self._robot_slot.require()
        q, age = self._arm.last(robot)
        if q is None or self._arm.own_delay(robot):
            return  # joint states are still to be taken
        verdict = monitor.observe(monotonic() - robot.active.began, q, age)
        if verdict is None:
            return
        if verdict.reason is not Reason.REACHED:
            task.paused = None
            self._motion.fail(task, verdict, robot)
            return
        goes_on, task.paused = task.paused.goes_on, replace(task.paused, rests=True)
        self._goals.under_way(task, lambda: None, '')
        if goes_on:
            try:
                self._go_on(task)
            except IkNodeError as error:
                self._tell(task, Reason.PAUSED, f'it stays paused, because: {error}')

    # ---- and on -------------------------------------------------------------

    def _resume(self) -> str:
        task = self._goals.current
        if task is None or task.paused is None:
            raise GoalError('nothing is paused', Reason.CALL_INVALID)
        if not task.paused.rests:
            task.paused = replace(task.paused, goes_on=True)
            return 'it goes on as soon as it rests'
        return self._go_on(task)

    def _go_on(self, task: GoalTask) -> str:
        robot, paused = self._robot_slot.require(), task.paused

        def plan(start: StartState) -> Trajectory:
            settings = robot.settings
            limits = task.limits or settings.planning
            return within_torques(robot, task, lambda share: settings.plan(ResumeRequest(
                start, paused.trajectory, paused.place, limits.slowed(share),
                settings.sample_period), task.requests))

        task.paused = None
        try:
            self._motion.begin(task, plan)
        except IkNodeError:
            task.paused = paused
            raise
        sentence = f'goes on, {task.sent.duration:.2f} s'
        self._tell(task, Reason.ACCEPTED, sentence)
        return sentence

    def _tell(self, task: GoalTask, reason: Reason, sentence: str) -> None:
        self._goals.status.report(task, GoalState.ACCEPTED, reason, sentence)
