# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A joint_trajectory_controller on simulated joints, without ROS.

It accepts and rejects the same trajectories as the real one (ros2_controllers, jazzy),
interpolates as it does, and aborts for the same reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ik_node.base.text import quote
from ik_node.motion.action_goal import ActiveGoal, GoalStatus, ResultCode, Tolerances
from ik_node.motion.trajectory.controller_rules import AcceptanceOptions, refusal, seconds
from ik_node.motion.trajectory.interpolation import Point, Sampler
from ik_node.motion.trajectory.trajectory import MotionState
from ik_node.simulation.joints import LaggingPlant, Plant, Sensors

MAX_CATCH_UP_S = 1.0  # of missed cycles that are made up; a longer step is a jump of the clock


@dataclass(frozen=True)
class ControllerOptions(AcceptanceOptions):
    """Parameters of the controller, with the defaults of jazzy."""

    # A new trajectory starts from the last command, with its acceleration, instead of the measured
    # state.
    interpolate_from_desired_state: bool = False
    # A trajectory with a stamp in the future waits while the active one continues (as on master);
    # otherwise it replaces the active one immediately.
    allow_trajectory_replacement: bool = False
    speed_scaling: float = 1.0  # share of the planned speed; 0 = at rest
    silent: bool = False  # accepts nothing, reports nothing and holds, like an inactive controller


@dataclass(frozen=True, eq=False)
class Feedback:
    """Desired and measured state of the last cycle, and their difference in position, (n,)."""

    desired: MotionState
    actual: MotionState
    error: np.ndarray


class SimulatedController:
    """
    Samples trajectories and commands simulated joints, one control cycle at a time.

    Parameters
    ----------
    joints : sequence of str
        The controller's joints.
    continuous : (n,) array of bool
        Joints without limits.
    q : (n,) array
        Joint positions at the start.
    options : ControllerOptions
        May be changed while it runs.
    plant : Plant, optional
        The joints; by default they follow their commands immediately.
    sensors : Sensors, optional
        By default measurements are exact.

    """

    def __init__(self, joints: Sequence[str], continuous: np.ndarray, q: np.ndarray,
                 options: ControllerOptions = ControllerOptions(),
                 plant: Plant | None = None, sensors: Sensors | None = None) -> None:
        self.joints = tuple(joints)
        self.options = options
        self.plant = LaggingPlant(q) if plant is None else plant
        self.state = self.plant.state  # measured state of the last cycle
        # Feedback of the last cycle, while a trajectory is executed.
        self.feedback: Feedback | None = None
        # Why the controller aborted a trajectory last; publishers on the topic get no answer.
        self.complaint = ''
        self._sensors = Sensors(0) if sensors is None else sensors
        self._continuous = continuous
        self._defaults = self._tolerances = Tolerances.none(len(self.joints))
        self._command = MotionState.at_rest(q)
        self._due: float | None = None  # path time at which the command is; None if it holds
        self._command_time = self._last = 0.0
        # Path time and points count from here: seconds since 1970 would be too coarse.
        self._origin = 0        # s
        self._path_time = 0.0   # falls behind the clock if the speed is scaled
        self._sampler: Sampler | None = None
        self._monitored = False  # whether tolerances apply; not while the arm holds
        self._received: tuple[Any, ActiveGoal | None] | None = None
        self._deferred: tuple[Any, ActiveGoal | None] | None = None
        self._goal: ActiveGoal | None = None

    @property
    def tolerances(self) -> Tolerances:
        """Return the default tolerances; setting them also overrides the last goal's."""
        return self._defaults

    @tolerances.setter
    def tolerances(self, tolerances: Tolerances) -> None:
        self._defaults = tolerances
        if self._goal is None:
            self._tolerances = tolerances

    def offer(self, message: Any, now: float, goal: ActiveGoal | None = None) -> str | None:
        """
        Receive a trajectory_msgs/JointTrajectory at the controller's time `now` (s).

        Parameters
        ----------
        goal : ActiveGoal, optional
            The goal of an action.  It ends the previous goal.  A message from the topic does
            not; that goal is then judged by the new trajectory.

        Returns
        -------
        str or None
            Why it is rejected; None if it is accepted and starts at the next update.

        """
        if self.options.silent:
            return 'the controller is not active'
        why = refusal(message, self.joints, now, self.options)
        if why is None:
            self._received = message, goal
            if goal is not None:
                self._end_goal(GoalStatus.ABORTED, ResultCode.INVALID_GOAL,
                               'Current goal preempted by new incoming action.')
                self._goal = goal
                self._tolerances = self._defaults.of_goal(goal.goal, self.joints)
        return why

    @property
    def busy(self) -> bool:
        """Return whether a trajectory is being executed or waits to be."""
        return self._received is not None or self._deferred is not None or (
            self._sampler is not None and self._path_time < self._sampler.end_time)

    def leave(self, text: str) -> None:
        """Abort the goal of an action, because another controller takes over."""
        self._end_goal(GoalStatus.ABORTED, ResultCode.INVALID_GOAL, text)

    def is_judging(self, goal: ActiveGoal) -> bool:
        """Return whether the goal is judged by the active trajectory: its own has started."""
        waits = any(each is not None and each[1] is goal
                    for each in (self._received, self._deferred))
        return goal is self._goal and not waits

    def cancel(self, goal: ActiveGoal) -> None:
        """Cancel the goal of an action and hold at the measured position."""
        if goal is self._goal:
            self._end_goal(GoalStatus.CANCELED, ResultCode.SUCCESSFUL, '')
            self._received = self._deferred = None
            self._hold()

    def update(self, now: float, period: float) -> MotionState:
        """
        Run one control cycle at time `now` (s); the command is sampled one `period` ahead.

        A process that is late makes up the cycles that it missed, up to MAX_CATCH_UP_S: a real
        controller would have run them.  After a longer step, and after a step back, the clock
        has jumped and nothing was simulated meanwhile: the arm continues its trajectory from
        where it was, so that it never moves faster than commanded.

        Returns
        -------
        MotionState
            Measured state at `now`: joints that follow immediately are where their trajectory is
            at that time, though a cycle may come early or late.

        """
        step = now - self._last
        if step > MAX_CATCH_UP_S:
            self._last = now - period
        while 1.5 * period < now - self._last:
            self._cycle(self._last + period, period, receives=False)
        return self._cycle(now, period, receives=True)

    def _cycle(self, now: float, period: float, receives: bool) -> MotionState:
        elapsed = max(now - self._last, 0.0)  # a clock may be set back
        scale = self.options.speed_scaling
        command = self._command if self._due is None else \
            self._sampler.sample(self._due + scale * (elapsed - period))
        self.plant.step(MotionState(command.q, scale * command.qd, scale**2 * command.qdd),
                        elapsed)
        self.state = self._sensors.measure(self.plant.state)
        if self.options.silent:
            self._fall_silent()
        self._path_time += elapsed * scale
        self._last = now
        started = receives and self._start_received(now)
        self.feedback = None
        if self._sampler is not None:
            desired = self._sampler.sample(self._path_time)
            self.feedback = Feedback(desired, self.state, self._error(desired))
            command = self._sampler.sample(self._path_time + period)
            if self._within_tolerance(self.feedback.error, started):
                self._command, self._due = command, self._path_time + period
        self._command_time = now
        return self.state

    def _start_received(self, now: float) -> bool:
        """Start the received trajectory when it is due; return whether one has started."""
        new, self._received = self._received, None
        if new is not None and self.options.allow_trajectory_replacement \
                and seconds(new[0].header.stamp) > now:
            self._deferred = new
            return False
        if new is None and self._deferred is not None \
                and seconds(self._deferred[0].header.stamp) <= now:
            new = self._deferred
        if new is None:
            return False
        self._deferred = None
        self._origin = int(now)
        self._sampler = self._sampler_of(new[0], now - self._origin)
        self._path_time = now - self._origin
        self._monitored = True
        return True

    def _error(self, desired: MotionState) -> np.ndarray:
        error = desired.q - self.state.q
        return np.where(self._continuous, np.remainder(error + np.pi, 2.0 * np.pi) - np.pi, error)

    def _within_tolerance(self, error: np.ndarray, started: bool) -> bool:
        """Check the tolerances, end a goal that is over; hold and return False on a violation."""
        if not self._monitored:
            return True
        goal = self._goal if self._goal is not None and self.is_judging(self._goal) else None
        late = self._path_time - self._sampler.end_time
        if late < 0.0 or started:
            outside = _violations(error, self._tolerances.path)
            if outside.any():
                self._abort(goal, ResultCode.PATH_TOLERANCE_VIOLATED,
                            'Aborted due to path tolerance violation', error, outside)
                return False
        if late < 0.0:
            return True
        outside = _violations(error, self._tolerances.goal)
        if not outside.any():
            if goal is not None:
                self._end_goal(GoalStatus.SUCCEEDED, ResultCode.SUCCESSFUL,
                               'Goal successfully reached!')
                self._monitored = False
        elif 0.0 < self._tolerances.goal_time < late:
            self._abort(goal, ResultCode.GOAL_TOLERANCE_VIOLATED, 'Aborted due to '
                        f'goal_time_tolerance exceeding by {late:f} seconds', error, outside)
            return False
        return True

    def _abort(self, goal: ActiveGoal | None, code: ResultCode, text: str, error: np.ndarray,
               outside: np.ndarray) -> None:
        k = int(np.argmax(np.where(outside, np.abs(error), 0.0)))
        self.complaint = f'{text}: joint {quote(self.joints[k])} is {abs(error[k]):.4g} off'
        if goal is not None:
            self._end_goal(GoalStatus.ABORTED, code, text)
        self._hold()

    def _end_goal(self, status: GoalStatus, code: ResultCode, text: str) -> None:
        if self._goal is not None:
            self._goal.end(status, code, text)
            self._goal = None

    def _hold(self) -> None:
        """Hold at the measured position."""
        self._sampler = self._due = None
        self._monitored = False
        self._command = MotionState.at_rest(self.state.q)

    def _fall_silent(self) -> None:
        self._end_goal(GoalStatus.ABORTED, ResultCode.INVALID_GOAL,
                       'Current goal cancelled during deactivate transition.')
        self._received = self._deferred = None
        if self._sampler is not None:
            self._hold()

    def _sampler_of(self, message: Any, now: float) -> Sampler:
        if self.options.interpolate_from_desired_state:
            command = self._command
            before = Point(self._command_time - self._origin if self._command_time else now,
                           command.q, command.qd, command.qdd)
        else:
            # Most hardware has no acceleration interface.
            before = Point(now, self.state.q, self.state.qd)
        stamp = message.header.stamp
        start = stamp.sec - self._origin + 1e-9 * stamp.nanosec if seconds(stamp) else now
        columns = [self.joints.index(name) for name in message.joint_names]

        def full(values: Sequence[float], rest: np.ndarray) -> np.ndarray | None:
            """Return the values in the controller's order; joints that are left out hold."""
            if not len(values):
                return None
            row = rest.copy()
            row[columns] = values
            return row

        zero = np.zeros(len(self.joints))
        points = [Point(start + seconds(point.time_from_start),
                        full(point.positions, self._command.q), full(point.velocities, zero),
                        full(point.accelerations, zero)) for point in message.points]
        return Sampler(points, before, self._continuous)


def _violations(error: np.ndarray, tolerance: np.ndarray) -> np.ndarray:
    return (tolerance > 0.0) & (np.abs(error) > tolerance)
