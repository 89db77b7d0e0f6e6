# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Watches the motion to a goal, or sees that there is none, and gives the final answer."""

from __future__ import annotations

from collections.abc import Generator
from time import monotonic

import numpy as np

from ik_node.base.errors import IkNodeError, PathError, Reason
from ik_node.kinematics.arm import forward_kinematics
from ik_node.motion.change.monitor import Verdict
from ik_node.motion.joint_path.motion_sequence import SequenceError
from ik_node.node.execution.context import MotionContext
from ik_node.node.execution.outputs import Output
from ik_node.node.execution.ramps import Ramps
from ik_node.node.goals.goal import GoalTask, Steps
from ik_node.node.goals.plans import LEFT_OUT_TURNS
from ik_node.node.robot.robot import Robot
from ik_node.ros.messages.status_messages import GoalState
from ik_node.ros.middleware.process import in_thread
from ik_node.solver.goal import Goal

MAX_ATTEMPTS = 2  # trajectories sent for one goal if the arm does not begin to move
MAX_PLANS = 5  # trajectories sent for one goal if they arrive too late to be joined
# An inactive controller may be why.
MANAGED_REASONS = Reason.NOT_MOVING, Reason.REFUSED, Reason.INTERRUPTED


class Supervisor:
    """Judges motions by the joint states, and by what the controller reports."""

    def __init__(self, context: MotionContext, ramps: Ramps) -> None:
        self._node = context.node
        self._robot_slot = context.robot_slot
        self._arm = context.arm
        self._output = context.output
        self._goals = context.goals
        self._sender = context.sender
        self._ramps = ramps

    def supervise(self, task: GoalTask) -> Steps:
        """Watch a motion until its goal has the answer, or it is to be planned again."""
        execution = task.execution
        while True:
            yield
            robot = self._robot_slot.require()
            q, age = self._arm.last(robot)
            if q is None or self._arm.own_delay(robot):
                continue  # joint states are still to be taken
            if robot.active is None:  # its motion was given up meanwhile
                if execution.attempts < MAX_PLANS:
                    return
                yield from self._answer_failed(task, Verdict(
                    Reason.INTERRUPTED, 'the motion was given up again and again'))
                return
            if execution.attempts < MAX_PLANS \
                    and (late := self._sender.detect_missed_join(robot, q)):
                # The late trajectory would cause a step; a new one replaces it.
                task.values['late_s'] = f'{late:.3f}'
                return
            verdict = execution.monitor.observe(monotonic() - robot.active.began, q, age)
            if verdict is not None:
                break
        off_track = verdict.reason is Reason.OFF_TRACK
        verdict = self._explained(verdict, robot)
        if verdict.reason is Reason.NOT_MOVING and execution.attempts < MAX_ATTEMPTS:
            self._node.get_logger().warning(
                f'goal {task.number}: {verdict.sentence} Sending it again')
            robot.abandon()
            return
        self.note_measured_error(task, robot, q)
        interruption = task.plan.interruption
        if verdict.reason is Reason.REACHED and interruption is not None:
            self._goals.end(task, GoalState.FAILED, interruption.reason,
                            f'went as far as it could: {interruption}')
        elif verdict.reason is Reason.REACHED:
            self._goals.end(task, GoalState.REACHED,
                            Reason.NEAREST if task.plan.nearest else Reason.REACHED,
                            _reached_sentence(task))
        else:
            yield from self._end_failed(task, verdict, off_track, robot)

    def refuse(self, task: GoalTask, error: PathError | SequenceError, robot: Robot,
               q: np.ndarray) -> None:
        """
        Refuse a goal once its remedies are known, or by raising the error of its plan.

        A path that is no motion is done: the arm, measured at `q` (n,), comes to rest there.
        """
        refused, task.plan.refused = task.plan.refused, None
        if isinstance(error, PathError):
            task.values['path_fraction'] = f'{error.fraction:.4f}'
        if error.reason is Reason.ALREADY_THERE and isinstance(error, PathError):
            if self._ramps.occupied(robot, q):
                self._ramps.ramp_down(robot)
            self._goals.supersede(task)
            self._goals.end(task, GoalState.REACHED, error.reason, str(error))
            return
        sought = refused is not None and refused.error is error and refused.may_have_remedies \
            and task.state is None and not (task.alternatives or task.refusals)
        if not sought or self._goals.others_wait:
            raise error
        self._goals.refuse(task, error, in_thread(
            refused.remedies, task.requests, lambda: task.final))

    def fail(self, task: GoalTask, verdict: Verdict, robot: Robot) -> Steps:
        """End a goal whose motion is not followed."""
        yield from self._end_failed(task, self._explained(verdict, robot),
                                    verdict.reason is Reason.OFF_TRACK, robot)

    def _end_failed(self, task: GoalTask, verdict: Verdict, off_track: bool, robot: Robot
                    ) -> Steps:
        robot.abandon()
        done = ''
        if off_track:
            # The controller does not check this tolerance, and would continue.
            try:
                done = f'; {self._ramps.ramp_down(robot)}'
            except IkNodeError as error:
                done = f'; the motion goes on, because: {error}'
        yield from self._answer_failed(task, verdict, done)

    def _answer_failed(self, task: GoalTask, verdict: Verdict, done: str = '') -> Steps:
        """End a goal as failed; with what the controller manager says, if there is one."""
        told = ''
        if verdict.reason in MANAGED_REASONS and self._goals.current is task:
            told = yield from told_by_manager(self._output)
        self._goals.end(task, GoalState.FAILED, verdict.reason,
                        verdict.sentence + (told and f'; {told}') + done)

    def _explained(self, verdict: Verdict, robot: Robot) -> Verdict:
        """Return the verdict, or the jump of simulated time that explains a failure."""
        jump = 0.0 if verdict.reason is Reason.REACHED or robot.active is None \
            else self._arm.jumped_since(robot.active.began)
        return verdict if not jump else Verdict(
            Reason.TIME_JUMPED, f'simulated time jumped forward by {jump:.1f} s during the '
            'motion, so the controller was elsewhere on it than planned')

    def on_end(self, verdict: Verdict) -> None:
        """Handle the result that the controller itself reports, if it does."""
        if verdict.reason is Reason.REACHED:
            return  # decided by the joint states
        robot, task, current = self._robot_slot.require(), self._sender.sent_for, \
            self._goals.current
        if task is None and current is not None and current.execution.paused is not None:
            task, current.execution.paused = current, None  # it was on its ramp to that
        verdict = self._explained(verdict, robot)
        robot.abandon()
        if task is None or task.final:
            self._node.get_logger().error(f'after the answer to its goal: {verdict.sentence}')
            return
        q, _ = self._arm.last(robot)
        if q is not None:
            self.note_measured_error(task, robot, q)
        self._goals.attempt(task, lambda: self._answer_failed(task, verdict))

    def note_measured_error(self, task: GoalTask, robot: Robot, q: np.ndarray) -> None:
        """Note in a goal how far the tip of an arm at `q` (n,) is from it."""
        goal = task.plan.goal or Goal(forward_kinematics(robot.chain, task.plan.q_goal))
        position, angle = goal.error(forward_kinematics(robot.chain, q))
        task.values |= self._output.values()
        task.values['measured_position_error_m'] = f'{position:.3e}'
        if task.plan.goal is None or not task.plan.goal.orientation_free:
            task.values['measured_orientation_error_rad'] = f'{angle:.3e}'


def told_by_manager(output: Output) -> Generator[None, None, str]:
    """Return what the controller manager says of an output, once it does; '' if nothing."""
    said = output.manager.ask()
    while (told := said()) is None:
        yield
    return told


def _reached_sentence(task: GoalTask) -> str:
    off, turned = (task.values.get(f'measured_{name}') for name in (
        'position_error_m', 'orientation_error_rad'))
    where = 'as near as it can be' if task.plan.nearest else 'reached'
    return (f'{where}; the tip is measured {1e3 * float(off):.3f} mm'
            + (f' and {float(turned):.5f} rad' if turned else '') + ' from the goal'
            + (f'; whole turns are left out, {task.values[LEFT_OUT_TURNS]}, as motion.whole_turns '
               'is not set' if LEFT_OUT_TURNS in task.values else ''))
