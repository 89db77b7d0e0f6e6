# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Trajectories sent so that the controller joins them to the present motion."""

from __future__ import annotations

from functools import partial
from time import monotonic

import numpy as np
from rclpy.node import Node

from ik_node.base.errors import TrajectoryError
from ik_node.motion.change.active_trajectory import (
    ActiveTrajectory,
    choose_start,
    delayed,
    Measurement,
    missed_splice,
    rescheduled,
    SpliceTiming,
)
from ik_node.motion.change.thinning import for_controller, levers_of
from ik_node.motion.constrained_motion import require_kept
from ik_node.motion.direct.point_to_point import (
    LEAD_POINT_SPACING_S,
    require_free,
    StartState,
)
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.motion.trajectory.validate import validate
from ik_node.node.execution.outputs import Output
from ik_node.node.goals.goal import GoalTask
from ik_node.node.robot.robot import Robot, RobotSlot
from ik_node.node.state.arm_state import ArmState, Instant
from ik_node.node.state.team import ALONE, Seat

THINNING_SHARE = 0.5  # of the deviation from a path that is allowed; the planner takes the rest
REPEAT_MARGIN_S = 0.02  # before a motion is left, to get the next one to the controller
SEND_SHARE = 0.5  # of the time until a moving arm leaves its motion, within which to send
MIN_LEAD_CYCLES = 3.0  # controller cycles: to plan, to send, and until it starts


class TrajectorySender:
    """Finds the start state of the next motion, sends it, and sees whether it was joined."""

    def __init__(self, node: Node, robot_slot: RobotSlot, arm: ArmState, output: Output,
                 seat: Seat) -> None:
        self._node = node
        self._seat = seat
        self._robot_slot = robot_slot
        self._arm = arm
        self._output = output
        # The motion before, None at rest, and the present one, until it is seen to be missed.
        self._left: tuple[ActiveTrajectory | None, ActiveTrajectory] | None = None
        self.sent_for: GoalTask | None = None  # whose trajectory is the last; None: a ramp's

    def start_state_now(self) -> StartState:
        """
        Return the start state of a motion that would start now.

        Raises
        ------
        StateError
            If the state of the arm is not known.

        """
        robot = self._robot_slot.require()
        return self.start_state(robot, *self._arm.measured(robot), self._arm.instant())

    def start_state(self, robot: Robot, q: np.ndarray, qd: np.ndarray, at: Instant,
                    more: float = 0.0) -> StartState:
        """
        Return the start state of a new motion; q and qd (n,) are measured.

        A moving arm keeps its motion for the handover time, the delivery and `more` (s).
        """
        age = self._arm.measured_ago(robot)
        active, lead = robot.active, self.handover_time(robot) + more
        tolerance = robot.settings.monitor.joint_tolerance
        elapsed = None if active is None else self._arm.elapsed(active, at)
        timing = SpliceTiming(lead, self._arm.cycle) if elapsed is None else SpliceTiming(
            lead + self._arm.delivery(), self._arm.cycle, elapsed, round(self._arm.past, 9))
        return choose_start(robot.chain, active, Measurement(q, qd, age), at.now, timing,
                            tolerance)

    def handover_time(self, robot: Robot) -> float:
        """Return how long (s) a moving arm keeps its motion, without the delivery time."""
        return max(robot.settings.handover_time, MIN_LEAD_CYCLES * self._arm.cycle)

    def send(self, trajectory: Trajectory, robot: Robot, start_state: StartState, at: Instant,
             limits: MotionLimits, before: float = np.inf, task: GoalTask | None = None
             ) -> Trajectory:
        """
        Send a trajectory planned `at` an instant; return it as it was sent.

        One that is for no `task` is a ramp to rest, which is sent also if it needs more points
        than the controller takes, or meets another arm: that one brakes.

        Raises
        ------
        OtherArmError
            If it would meet another arm that is under way.
        TrajectoryError
            If it would meet one that rests, or the controller cannot take it.

        """
        settings, chain, seat = robot.settings, robot.chain, ALONE if task is None else self._seat
        trajectory = for_controller(
            trajectory, settings.controller_max_points, levers_of(chain, chain.reach),
            THINNING_SHARE * settings.paths.least_deviation, limits,
            None if task is None else partial(_require, robot, task))
        if start_state.backdating:
            begin = at.now - start_state.backdating
            stamp = at.stamp - round(1e9 * start_state.backdating)
            before -= self._arm.delivery(len(trajectory.times)) - self._arm.delivery()
            seat.require_apart(trajectory, begin)
            self._output.send(trajectory, stamp, before)
        elif start_state.initial.rests and not start_state.states and self._arm.clocks_agree():
            lead = self._arm.delivery(len(trajectory.times))
            # At its last command the controller continues from there.
            stays = robot.active is not None \
                and np.array_equal(start_state.initial.q, robot.active.trajectory.end)
            past = self._arm.past if stays else 0.0
            lead, at = lead + 2.0 * seat.proof_time, self._arm.instant()
            trajectory = delayed(trajectory, [LEAD_POINT_SPACING_S, past + lead] if past
                                 else [lead])
            seat.require_apart(trajectory, at.now - past)
            if seat.proof_time > 0.0:  # it is proved for this very time
                before = min(before, at.now + lead)
            begin, stamp = at.now - past, at.stamp - round(1e9 * past)
            self._output.send(trajectory, stamp, before)
        else:
            begin, stamp = self._arm.next_update(len(trajectory.times)), None
            if robot.active is not None:
                later = rescheduled(trajectory, robot.active, at.now, begin)
                try:
                    validate(later, limits)
                    trajectory = later
                except TrajectoryError:
                    pass  # accept a deviation of a few milliseconds from the motion before
            seat.require_apart(trajectory, begin, False)
            self._output.send(trajectory, before=before)
            # If sending took longer than expected, the motion starts later.
            starts = self._arm.next_update()
            if starts > begin:
                begin = starts
                seat.forget_proof()
        previous = robot.active
        robot.active = ActiveTrajectory(trajectory, begin, limits, stamp)
        robot.diverged = False
        self._left, self.sent_for = None, task
        if start_state.states and start_state.backdating:
            self._left = previous, robot.active
        elif start_state.initial.rests and not start_state.states:
            self._left = None, robot.active
        return trajectory

    def repeat(self) -> None:
        """
        Send the present motion once more, as long as the controller is to leave another for it.

        To a controller that has it the same points with the same stamp change nothing.
        """
        before, active = self._left or (None, None)
        if before is None or active.stamp is None \
                or active is not self._robot_slot.require().active:
            return
        if monotonic() < active.leaves_at - REPEAT_MARGIN_S:
            self._output.send(active.trajectory, active.stamp)

    def why_not_joined(self, at: Instant) -> str:
        """Return why a new motion cannot be joined to the present one."""
        if at.stamp is None:
            return 'the stamps of the joint states do not show that the controller has our clock'
        if self._robot_slot.require().active.stamp is None:
            return 'the present motion was sent without a stamp'
        jump = self._arm.jumped_since(self._robot_slot.require().active.began)
        return f'simulated time jumped forward by {jump:.1f} s' if jump \
            else 'the clock was set in motion'

    def detect_missed_join(self, robot: Robot, q: np.ndarray) -> float:
        """
        Detect a controller that has not received a trajectory it should have begun by now.

        The arm, last measured at `q` (n,), is then still at rest, or on the previous motion, which
        becomes the present one again.  Returns how late (s) the trajectory is; 0 if it is not.
        """
        before, active = self._left or (None, None)
        if active is not robot.active or active is None \
                or self._arm.jumped_since(active.began):
            return 0.0
        time = monotonic() - self._arm.measured_ago(robot)
        if not missed_splice(robot.chain, before, active, q, time):
            return 0.0
        self._left = None
        if before is None:
            robot.abandon()
            self._node.get_logger().warning(
                'the arm rests though it should have begun to move: the controller has not got '
                'its trajectory. It is sent again')
            return time - active.began
        late = time - active.leaves_at
        self._arm.was_late(late)
        robot.active = before
        self._node.get_logger().warning(
            f'{late:.3f} s after the arm should have left its motion before, it is still on it; '
            'the controller gets its trajectories late. A new motion begins later for a minute')
        return late

    def look_whether_ignored(self, robot: Robot) -> bool:
        """Return whether the arm does not brake on a ramp without a stamp, and forget that."""
        if robot.active.stamp is not None:
            return False  # where the arm is says more
        _, qd = self._arm.fresh(robot)
        if robot.active.brakes(qd, monotonic() - self._arm.measured_ago(robot)):
            return False
        robot.abandon()
        self._node.get_logger().warning(
            'the arm does not brake: the controller has not got the ramp to rest. Another one '
            'begins where the arm is measured')
        return True


def _require(robot: Robot, task: GoalTask, trajectory: Trajectory) -> None:
    """Raise a TrajectoryError if a trajectory would collide, or leaves a path constraint."""
    require_free(robot.settings.solver.collisions, trajectory)
    require_kept(robot.chain, task.plan.constraints, trajectory)
