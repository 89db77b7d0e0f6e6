# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A joint_trajectory_controller on perfect hardware, without ROS.

Takes and refuses what the real one (ros2_controllers, jazzy) does, and turns
points into commands as it does; the joints follow their commands at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ik_node.trajectory.acceptance import AcceptanceOptions, refusal, seconds
from ik_node.trajectory.sampler import Point, Sampler
from ik_node.trajectory.trajectory import MotionState


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
    options : AcceptanceOptions
    from_desired : bool
        A new trajectory starts from the last command, acceleration included,
        rather than from the measured state (``interpolate_from_desired_state``).

    """

    def __init__(self, joints: Sequence[str], continuous: np.ndarray, q: np.ndarray,
                 options: AcceptanceOptions = AcceptanceOptions(),
                 from_desired: bool = False) -> None:
        self.joints = tuple(joints)
        self.state = MotionState.at_rest(q)
        self._continuous = continuous
        self._options = options
        self._from_desired = from_desired
        self._command = self.state
        self._command_time = 0.0
        self._sampler: Sampler | None = None
        self._new: Any = None

    def offer(self, message: Any, now: float) -> str | None:
        """
        Take a trajectory_msgs/JointTrajectory at the controller's time `now` (s).

        Returns
        -------
        str or None
            Why it is refused; None if it replaces what the controller does, from
            the next update on.

        """
        why = refusal(message, self.joints, now, self._options)
        if why is None:
            self._new = message
        return why

    def update(self, now: float, period: float) -> MotionState:
        """
        Do one control cycle at time `now` (s); the command is sampled one `period` ahead.

        Returns
        -------
        MotionState
            What the joints measure at `now`: the command of the cycle before.

        """
        self.state = self._command
        if self._new is not None:
            self._sampler = self._begin(self._new, now)
            self._new = None
        if self._sampler is not None:
            self._command = self._sampler.sample(now + period)
        self._command_time = now
        return self.state

    def _begin(self, message: Any, now: float) -> Sampler:
        if self._from_desired:
            command = self._command
            before = Point(self._command_time or now, command.q, command.qd, command.qdd)
        else:
            # Hardware without an acceleration interface, as usual.
            before = Point(now, self.state.q, self.state.qd)
        start = seconds(message.header.stamp) or now
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
