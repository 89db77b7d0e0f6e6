# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A joint_trajectory_controller on simulated joints, without ROS.

Takes and refuses what the real one (ros2_controllers, jazzy) does, turns
points into commands as it does, and gives up where it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ik_node.motion.action_goal import ActiveGoal, GoalStatus, ResultCode, Tolerances
from ik_node.motion.controller_rules import AcceptanceOptions, refusal, seconds
from ik_node.motion.interpolation import Point, Sampler
from ik_node.motion.trajectory import MotionState
from ik_node.simulation.joints import LaggingPlant, Plant, Sensors
from ik_node.text import quote

LONGEST_STEP = 0.1  # s that the joints go on after a pause of the process or a jump of the clock


@dataclass(frozen=True)
class ControllerOptions(AcceptanceOptions):
    """
    The controller's switches, with the defaults of jazzy.

    Attributes
    ----------
    interpolate_from_desired_state : bool
        A new trajectory starts from the last command, acceleration included,
        rather than from the measured state.
    allow_trajectory_replacement : bool
        A trajectory with a stamp ahead waits while the present one goes on (as
        on master); otherwise it replaces the present one at once.
    speed_scaling : float
        Share of the planned speed, 0 = stands.
    silent : bool
        Takes nothing, says nothing, and holds, as an inactive controller does.

    """

    interpolate_from_desired_state: bool = False
    allow_trajectory_replacement: bool = False
    speed_scaling: float = 1.0
    silent: bool = False


@dataclass(frozen=True, eq=False)
class Feedback:
    """Desired and measured state of the last cycle, and their difference in position, (n,)."""

    desired: MotionState
    actual: MotionState
    error: np.ndarray


class SimulatedController:
    """
    Parameters
    ----------
    joints : sequence of str
        The controller's joints.
    continuous : (n,) array of bool
        Joints that turn without limit.
    q : (n,) array
        Posture at start.
    options : ControllerOptions
        May be set while it runs.
    plant : Plant, optional
        The joints; without it they follow their commands at once.
    sensors : Sensors, optional
        Without them it is measured exactly.

    Attributes
    ----------
    state : MotionState
        What was measured in the last cycle.
    feedback : Feedback or None
        Of the last cycle, while a trajectory is followed.
    complaint : str
        Why the controller gave up a trajectory last; a topic's sender is not told.

    """

    def __init__(self, joints: Sequence[str], continuous: np.ndarray, q: np.ndarray,
                 options: ControllerOptions = ControllerOptions(),
                 plant: Plant | None = None, sensors: Sensors | None = None) -> None:
        self.joints = tuple(joints)
        self.options = options
        self.plant = LaggingPlant(q) if plant is None else plant
        self.state = self.plant.state
        self.feedback: Feedback | None = None
        self.complaint = ''
        self._sensors = Sensors(0) if sensors is None else sensors
        self._continuous = continuous
        self._defaults = self._tolerances = Tolerances.none(len(self.joints))
        self._command = MotionState.at_rest(q)
        self._command_time = self._last = 0.0
        # Seconds of the time of day are too many for times between close points.
        self._origin = 0        # s; path and points count from here
        self._path_time = 0.0   # falls behind the clock where the speed is scaled
        self._sampler: Sampler | None = None
        self._watched = False   # whether tolerances apply: not while the arm just holds
        self._new: tuple[Any, ActiveGoal | None] | None = None
        self._later = self._new
        self._goal: ActiveGoal | None = None

    @property
    def tolerances(self) -> Tolerances:
        """Return the default tolerances; setting them replaces those of the last goal too."""
        return self._defaults

    @tolerances.setter
    def tolerances(self, tolerances: Tolerances) -> None:
        self._defaults = tolerances
        if self._goal is None:
            self._tolerances = tolerances

    def offer(self, message: Any, now: float, goal: ActiveGoal | None = None) -> str | None:
        """
        Take a trajectory_msgs/JointTrajectory at the controller's time `now` (s).

        Parameters
        ----------
        goal : ActiveGoal, optional
            That of an action.  It ends the one before; a message from the topic
            does not, and the goal is judged by the new path from then on.

        Returns
        -------
        str or None
            Why it is refused; None if it replaces what the controller does, from
            the next update on.

        """
        if self.options.silent:
            return 'the controller is not active'
        why = refusal(message, self.joints, now, self.options)
        if why is None:
            self._new = message, goal
            if goal is not None:
                self._end_goal(GoalStatus.ABORTED, ResultCode.INVALID_GOAL,
                               'Current goal preempted by new incoming action.')
                self._goal = goal
                self._tolerances = self._defaults.of_goal(goal.goal, self.joints)
        return why

    @property
    def busy(self) -> bool:
        """Return whether there is a trajectory that has not come to its end."""
        return self._new is not None or self._later is not None or (
            self._sampler is not None and self._path_time < self._sampler.end_time)

    def leave(self, text: str) -> None:
        """Give an action's goal up, because another controller takes over."""
        self._end_goal(GoalStatus.ABORTED, ResultCode.INVALID_GOAL, text)

    def is_judging(self, goal: ActiveGoal) -> bool:
        """Return whether the trajectory that is followed is that of the goal, or in its place."""
        waits = self._later is not None and self._later[1] is goal
        return goal is self._goal and not waits

    def cancel(self, goal: ActiveGoal) -> None:
        """Give an action's goal up and hold at the measured position at once."""
        if goal is self._goal:
            self._end_goal(GoalStatus.CANCELED, ResultCode.SUCCESSFUL, '')
            self._new = self._later = None
            self._hold()

    def update(self, now: float, period: float) -> MotionState:
        """
        Do one control cycle at time `now` (s); the command is sampled one `period` ahead.

        A process that comes late makes up for the cycles that it missed: a real controller
        keeps its time.

        Returns
        -------
        MotionState
            What the joints measure at `now`, after the command of the cycle before.

        """
        while 1.5 * period < now - self._last <= LONGEST_STEP:
            self._cycle(self._last + period, period, takes=False)
        return self._cycle(now, period, takes=True)

    def _cycle(self, now: float, period: float, takes: bool) -> MotionState:
        elapsed = min(max(now - self._last, 0.0), LONGEST_STEP)
        scale = self.options.speed_scaling
        self.plant.step(MotionState(self._command.q, scale * self._command.qd,
                                    scale**2 * self._command.qdd), elapsed)
        self.state = self._sensors.measure(self.plant.state)
        if self.options.silent:
            self._fall_silent()
        self._path_time += max(now - self._last, 0.0) * scale  # a clock may be set back
        self._last = now
        started = takes and self._take_new(now)
        self.feedback = None
        if self._sampler is not None:
            desired = self._sampler.sample(self._path_time)
            self.feedback = Feedback(desired, self.state, self._error(desired))
            command = self._sampler.sample(self._path_time + period)
            if self._within_tolerance(self.feedback.error, started):
                self._command = command
        self._command_time = now
        return self.state

    def _take_new(self, now: float) -> bool:
        """Begin what has come, if it is time; return whether something has begun."""
        new, self._new = self._new, None
        if new is not None and self.options.allow_trajectory_replacement \
                and seconds(new[0].header.stamp) > now:
            self._later = new
            return False
        if new is None and self._later is not None \
                and seconds(self._later[0].header.stamp) <= now:
            new = self._later
        if new is None:
            return False
        self._later = None
        self._origin = int(now)
        self._sampler = self._begin(new[0], now - self._origin)
        self._path_time = now - self._origin
        self._watched = True
        return True

    def _error(self, desired: MotionState) -> np.ndarray:
        error = desired.q - self.state.q
        return np.where(self._continuous, np.remainder(error + np.pi, 2.0 * np.pi) - np.pi, error)

    def _within_tolerance(self, error: np.ndarray, started: bool) -> bool:
        """Judge the cycle, end the goal if it is over; on a violation hold and return False."""
        if not self._watched:
            return True
        goal = self._goal if self._goal is not None and self.is_judging(self._goal) else None
        late = self._path_time - self._sampler.end_time
        if late < 0.0 or started:
            outside = _violations(error, self._tolerances.path)
            if outside.any():
                self._give_up(goal, ResultCode.PATH_TOLERANCE_VIOLATED,
                              'Aborted due to path tolerance violation', error, outside)
                return False
        if late < 0.0:
            return True
        outside = _violations(error, self._tolerances.goal)
        if not outside.any():
            if goal is not None:
                self._end_goal(GoalStatus.SUCCEEDED, ResultCode.SUCCESSFUL,
                               'Goal successfully reached!')
                self._watched = False
        elif 0.0 < self._tolerances.goal_time < late:
            self._give_up(goal, ResultCode.GOAL_TOLERANCE_VIOLATED, 'Aborted due to '
                          f'goal_time_tolerance exceeding by {late:f} seconds', error, outside)
            return False
        return True

    def _give_up(self, goal: ActiveGoal | None, code: ResultCode, text: str, error: np.ndarray,
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
        """Stay at the measured position, at once."""
        self._sampler = None
        self._watched = False
        self._command = MotionState.at_rest(self.state.q)

    def _fall_silent(self) -> None:
        self._end_goal(GoalStatus.ABORTED, ResultCode.INVALID_GOAL,
                       'Current goal cancelled during deactivate transition.')
        self._new = self._later = None
        if self._sampler is not None:
            self._hold()

    def _begin(self, message: Any, now: float) -> Sampler:
        if self.options.interpolate_from_desired_state:
            command = self._command
            before = Point(self._command_time - self._origin if self._command_time else now,
                           command.q, command.qd, command.qdd)
        else:
            # Hardware without an acceleration interface, as usual.
            before = Point(now, self.state.q, self.state.qd)
        stamp = message.header.stamp
        start = stamp.sec - self._origin + 1e-9 * stamp.nanosec if seconds(stamp) else now
        columns = [self.joints.index(name) for name in message.joint_names]

        def full(values: Sequence[float], rest: np.ndarray) -> np.ndarray | None:
            """Put the values in the controller's order; joints left out hold."""
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
