# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Brings the arm to rest: at a stop, before a motion that cannot be joined, before a collision."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import numpy as np

from ik_node.base.errors import IkNodeError, Reason
from ik_node.collision.distances.certificate import Contact
from ik_node.motion.change.active_trajectory import (
    ActiveTrajectory,
    MAX_START_DELAY_S,
    REST_SPEED,
    SAME_POSITION,
    SETTLING_TIME_S,
)
from ik_node.motion.change.path_pace import plan_free_stop, StopWishes
from ik_node.motion.constrained.proof import is_kept
from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.node.execution.context import MotionContext
from ik_node.node.execution.outputs import Late
from ik_node.node.execution.trajectory_sender import SEND_SHARE
from ik_node.node.goals.goal import GoalTask, Steps
from ik_node.node.goals.queue import WATCH_PERIOD_S
from ik_node.node.robot.robot import Robot
from ik_node.ros.messages.status_messages import GoalState, JOG_KIND, STREAM_KIND
from ik_node.ros.middleware.clocks import steady_clock

MAX_RAMPS = 3  # ramps planned, each further ahead, if they are not ready in time

Ramp = Callable[[StartState, MotionLimits], Trajectory]


class Ramps:
    """Plans and sends ramps to rest, and watches whether the controller gets them."""

    def __init__(self, context: MotionContext) -> None:
        self._node = context.node
        self._robot_slot = context.robot_slot
        self._arm = context.arm
        self._output = context.output
        self._goals = context.goals
        self._sender = context.sender
        self._seat = context.seat
        self._ramp: ActiveTrajectory | None = None  # the last one that was the fastest
        self._ramp_timer = self._node.create_timer(WATCH_PERIOD_S, self._watch_ramp,
                                                   clock=steady_clock())
        self._ramp_timer.cancel()

    # ---- before a motion ----------------------------------------------------

    def occupied(self, robot: Robot, q: np.ndarray) -> bool:
        """Return whether the controller may still have a motion for the arm, measured at `q`."""
        if robot.moves or robot.diverged:
            return True
        return self._goals.current is not None and not (
            robot.active is not None
            and robot.active.followed(robot.chain, q, monotonic(), SAME_POSITION))

    def must_rest_first(self, task: GoalTask, robot: Robot, qd: np.ndarray) -> bool:
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
        if current is not None and (current.execution.ends_alone
                                    or current.execution.halt is not None):
            self._goals.supersede(task)
        if 'began_at_rest_because' not in task.values:
            why = self._sender.why_not_joined(at)
            task.values['began_at_rest_because'] = why
            self._node.get_logger().warning(
                f'goal {task.number} waits until the arm rests, because {why}')
        return True

    def come_to_rest(self, task: GoalTask) -> Steps:
        """Bring the arm to rest before a motion that takes too long to plan while it moves."""
        robot = self._robot_slot.require()
        yield from self._arm.until_taken(robot)
        self.ramp_down(robot)
        self._goals.supersede(task)
        active = robot.active
        yield
        while robot.active is active and active.moves(monotonic() - SETTLING_TIME_S):
            yield

    # ---- at a stop ----------------------------------------------------------

    def stop(self, reason: Reason, sentence: str,
             stops: Callable[[GoalTask], bool] = lambda _task: True) -> str:
        """
        Ramp down the motion and answer open goals; return a description.

        Those for which `stops` is false go on.  An arm that comes to rest already is left to it.

        Raises
        ------
        StateError, TrajectoryError
            If the state of the arm is not known, or no ramp keeps the limits; the active goal
            stays open then, but no other motion is sent for it.

        """
        return self._goals.stop(self._to_rest, reason, sentence, stops)

    def _to_rest(self) -> str:
        """Ramp down the motion; return a description.  Raises as :meth:`stop`."""
        done = 'nothing moves'
        robot = self._robot_slot.robot
        current = self._goals.current
        if current is not None and current.execution.halt is not None:
            current.execution.halt()
            done = 'it ramps down'
        elif robot is not None and current is None and robot.moves and self._ramps_down(robot):
            left = robot.active.began + robot.active.trajectory.duration - monotonic()
            done = f'it comes to rest already, at rest in {left:.2f} s'
        elif robot is not None and (robot.moves or robot.diverged or current is not None):
            try:
                done = self.ramp_down(robot)
            except IkNodeError as error:
                if current is not None:
                    current.execution.is_to_stop = True
                if current is None or not current.execution.ends_alone:
                    raise
                done = f'it comes to rest by itself; there is no faster ramp, because: {error}'
        return done

    def _ramps_down(self, robot: Robot) -> bool:
        """Return whether the arm is under way to rest on the fastest ramp, or at its end."""
        q, _ = self._arm.last(robot)
        if q is not None:
            self._sender.detect_missed_join(robot, q)
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
                missed = not self._ramps_down(robot) or self._sender.look_whether_ignored(robot)
                if missed:
                    self.ramp_down(robot)
                elif self._output.steady:
                    self._sender.repeat()
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
        robot = self._robot_slot.robot
        if robot is None or not robot.moves or self.streams:
            return None  # they look after themselves
        return robot.active

    @property
    def streams(self) -> bool:
        """Return whether the arm follows a stream or a jog."""
        current = self._goals.current
        return current is not None and current.kind in (STREAM_KIND, JOG_KIND)

    @property
    def motion_of_goal(self) -> ActiveTrajectory | None:
        """Return the motion of a goal, as :attr:`motion_to_recheck`, but for ramps to rest."""
        return None if self._sender.sent_for is None else self.motion_to_recheck

    def brake_before(self, contact: Contact, why: str) -> bool:
        """
        Bring the arm to rest before what its motion would meet, and say why it would.

        Returns whether it can be; a node that was late has to take the joint states first.
        """
        self._ramp = None  # one that is under way may be what is blocked
        try:
            self.stop(Reason.COLLISION, f'{why}, and {contact.words} on the way')
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
        current = self._goals.current
        constraints = () if current is None else current.plan.constraints
        planned = planned or (lambda start, limits: plan_free_stop(
            robot.own_collisions, robot.chain.joint_names,
            None if robot.active is None else robot.active.trajectory, start, limits,
            robot.settings.sample_period,
            StopWishes(
                lambda ramp: is_kept(robot.chain, constraints, ramp, ends_within=False),
                lambda ramp: self._seat.contact(ramp, monotonic() - start.backdating) is None)))
        for attempt in range(MAX_RAMPS):
            at = self._arm.instant()
            here = self._arm.fresh(robot)
            self._sender.detect_missed_join(robot, here.q)
            start_state = self._sender.start_state(
                robot, *here, at, attempt * self._sender.handover_time(robot))
            ramp = planned(start_state, limits)
            in_time = at.now + (SEND_SHARE + attempt) * self._sender.handover_time(robot)
            try:
                ramp = self._sender.send(ramp, robot, start_state, at, limits,
                                         in_time if attempt + 1 < MAX_RAMPS else np.inf)
                break
            except Late:
                pass
        self._ramp = robot.active if fastest else None
        if fastest:
            self._ramp_timer.reset()
        joined = '' if robot.active.stamp is not None or not start_state.states else \
            f'; it may begin with a step, because {self._sender.why_not_joined(at)}'
        return f'at rest in {ramp.duration:.2f} s{joined}'
