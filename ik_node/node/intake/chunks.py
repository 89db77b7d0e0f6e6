# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Chunks: goals of poses at given times, each of which goes on where the one before is."""

from __future__ import annotations

from time import monotonic

from builtin_interfaces.msg import Time
import numpy as np
from trajectory_msgs.msg import MultiDOFJointTrajectory

from ik_node.base.errors import GoalError, Reason
from ik_node.motion.chunk import MAX_CHUNK_S, TimedPoses
from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.node.execution.context import MotionContext
from ik_node.node.execution.gripper import Gripper
from ik_node.node.execution.motion import Motion
from ik_node.node.goals import plans
from ik_node.node.goals.conversion import GoalConversion
from ik_node.node.goals.goal import GoalTask, Planner, Steps
from ik_node.node.goals.preparation import Kernels, Preparation
from ik_node.node.robot.robot import Robot
from ik_node.ros.messages.conversion import chunk_from_message
from ik_node.ros.messages.goal_kinds import CHUNK_KIND
from ik_node.ros.messages.status_messages import GoalState, STREAM_PAUSE_S
from ik_node.ros.middleware.clocks import both_clocks, nanoseconds_of
from ik_node.solver.goal import Goal

LONG_S = 3.0              # from now to the last pose; what is longer is planned beside
PLANNING_S = 0.02         # to plan the motion along a chunk, ...
PLANNING_SHARE = 0.03     # ... and by its length
MEMORY_SHARE = 0.3        # of the last planning time in what is expected of the next
PLANNING_MARGIN = 1.5     # of what is expected


class Chunks:
    """
    Follows chunks, and passes the openings that they have to the gripper.

    After ~/stop or another goal the next chunk is taken only after a pause, so that a sender that
    goes on does not undo it.
    """

    def __init__(self, context: MotionContext, conversion: GoalConversion,
                 preparation: Preparation, motion: Motion, gripper: Gripper) -> None:
        self._clock = context.node.get_clock()
        self._robot_slot, self._arm = context.robot_slot, context.arm
        self._goals = context.goals
        self._conversion, self._preparation = conversion, preparation
        self._motion, self._gripper = motion, gripper
        self._latest: GoalTask | None = None  # that was not refused at once ...
        self._goes_on_until = 0.0  # ... and until when (monotonic, s) what comes belongs to it
        # The last that was under way, and its poses by monotonic time (s).
        self._followed: tuple[GoalTask, TimedPoses] | None = None
        self._planning_time = PLANNING_S  # s, expected

    def begin(self, message: MultiDOFJointTrajectory, task: GoalTask, robot: Robot) -> Steps:
        """Begin a goal; return its steps."""
        path, times, openings = chunk_from_message(message)
        poses = self._conversion.path(path, robot)
        chunk = TimedPoses.checked(self._zero(message.header.stamp, task) + times, poses)
        now = monotonic()
        self._require_taken(chunk, now)
        last = float(chunk.times[-1])
        if last < now:
            raise GoalError(f'all poses of the chunk are past, the last by {now - last:.2f} s; '
                            'their times count from the stamp on', Reason.GOAL_STALE)
        if last > now + MAX_CHUNK_S:
            raise GoalError(f'the chunk ends {last - now:.1f} s from now; it may end within '
                            f'{MAX_CHUNK_S:g} s', Reason.PATH_INVALID)
        task.plan.goal = Goal(poses[-1])
        task.values['late_poses'] = int((chunk.times < now).sum())
        self._latest, self._goes_on_until = task, last + STREAM_PAUSE_S
        task.execution.planning_time = max(PLANNING_S + PLANNING_SHARE * (last - now),
                                           PLANNING_MARGIN * self._planning_time)
        return self._follow(task, chunk, openings)

    def _zero(self, stamp: Time, task: GoalTask) -> float:
        """Return a stamp by the monotonic clock (s); without one, when the message came."""
        if not stamp.sec and not stamp.nanosec:
            return monotonic() if task.sent_at is None else 1e-9 * task.sent_at.received
        now, now_stamp = both_clocks(self._clock)
        return now + 1e-9 * (nanoseconds_of(stamp) - now_stamp)

    def _require_taken(self, chunk: TimedPoses, now: float) -> None:
        """Raise a GoalError if a chunk belongs to those that were ended."""
        before = self._latest
        if before is None or not before.final or now > self._goes_on_until \
                or before.superseded_by in ('', CHUNK_KIND) \
                and not self._goals.precedence.why_late(before.sent_at):
            return
        self._goes_on_until = max(self._goes_on_until, float(chunk.times[-1]) + STREAM_PAUSE_S)
        raise GoalError('a stop, or another goal, has ended the chunks before it; others are '
                        f'taken when none has come until {STREAM_PAUSE_S:g} s after the end of '
                        'the last one', Reason.STOPPED)

    def _follow(self, task: GoalTask, chunk: TimedPoses, openings: np.ndarray | None) -> Steps:
        """Move along a chunk, after what the one before has until its first time."""
        yield from self._preparation.until_loaded(task, Kernels.STREAMS)
        robot = self._robot_slot.require()
        whole = chunk
        if self._followed is not None and self._goals.current is self._followed[0]:
            whole = chunk.after(self._followed[1], monotonic())
        is_new, is_long = True, chunk.times[-1] - monotonic() > LONG_S
        begins = monotonic()

        def zero(start: StartState) -> float:
            nonlocal begins
            # From rest it is sent when it is planned, and begins when the controller has it.
            begins = monotonic() - start.backdating if start.states else monotonic() \
                + (2.0 * task.execution.planning_time if is_long else self._planning_time) \
                + self._arm.delivery()
            return begins

        planner = self._timed(plans.along_chunk(task, robot, whole, zero))
        if is_long:  # a stop is not to wait for its plan; a moving arm comes to rest for it
            planner = yield from self._motion.plan_beside(task, planner)
            while monotonic() < begins - self._arm.delivery():
                yield
        for _ in self._motion.execute(task, planner):
            if task.state is GoalState.ACCEPTED and is_new:
                is_new, self._followed = False, (task, whole)
                if openings is not None:
                    self._gripper.follow(task, chunk.times, openings)
            yield

    def _timed(self, planner: Planner) -> Planner:
        """Return a planner from which it is learnt how long it takes, also if that is too long."""
        def plan(start: StartState) -> Trajectory:
            begun = monotonic()
            try:
                return planner(start)
            finally:
                self._planning_time += MEMORY_SHARE * (monotonic() - begun - self._planning_time)

        return plan
