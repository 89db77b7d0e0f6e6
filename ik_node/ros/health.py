# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""How the node is, once a second on /diagnostics, and whether its process was stopped."""

from __future__ import annotations

from collections import deque
from time import monotonic
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from ik_node.errors import quote
from ik_node.kinematics.arm import singular_values
from ik_node.ros.arm_state import ArmState
from ik_node.ros.gate import Gate
from ik_node.ros.goals import Goals, PAUSE
from ik_node.ros.output import Output
from ik_node.ros.robot import Robot, RobotHolder

CATCH_UP = 3.5  # s after a pause, until what came meanwhile is taken; DDS asks again after 3


class Health:
    """Publishes /diagnostics; its timer is the node's sign of life."""

    def __init__(self, node: Node, holder: RobotHolder, arm: ArmState, output: Output,
                 goals: Goals, gate: Gate) -> None:
        self._node = node
        self._holder = holder
        self._arm = arm
        self._output = output
        self._goals = goals
        self._gate = gate
        self._last_beat = monotonic()
        self._pause_end = 0.0
        self.solve_times: deque[float] = deque(maxlen=1000)
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        node.create_timer(1.0, self._report, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def was_paused(self) -> bool:
        """Return whether the process was stopped until just now."""
        now, robot = monotonic(), self._holder.robot
        # To prepare a robot takes long, too.
        last = self._last_beat if robot is None else max(self._last_beat, robot.since)
        return now - last > PAUSE or now < self._pause_end

    def _report(self) -> None:
        if self.was_paused():
            self._pause_end = monotonic() + CATCH_UP
        self._last_beat = monotonic()
        listeners = self._output.listeners()
        values = {'goals': self._goals.count, **self._goals.status.outcomes}
        if self.solve_times:
            values |= {f'solve_time_ms_p{p}': f'{1e3 * np.percentile(self.solve_times, p):.3f}'
                       for p in (50, 99)}
        values |= {'joint_state_messages_left_out': self._arm.joints.ignored,
                   'controllers_listening': listeners}
        level, message = DiagnosticStatus.OK, 'ready'
        robot = self._holder.robot
        if robot is None:
            level, message = DiagnosticStatus.WARN, 'no robot description'
        else:
            q, age = self._arm.last(robot)
            values['joint_state_age_s'] = f'{age:.3f}'
            if q is None or age > robot.settings['state.timeout']:
                level, message = DiagnosticStatus.STALE, 'joint states are missing or old'
            else:
                values |= _posture_figures(robot, q)
                if not listeners:
                    level = DiagnosticStatus.WARN
                    message = f'nobody listens on {self._output.name}'
        if not self._gate.open:
            level, message = DiagnosticStatus.WARN, 'inactive'
        array = DiagnosticArray()
        array.header.stamp = self._node.get_clock().now().to_msg()
        array.status = [DiagnosticStatus(
            level=level, name=f'{self._node.get_fully_qualified_name()}: health',
            message=message, hardware_id=quote(robot.tree.name) if robot else '',
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()])]
        self._publisher.publish(array)


def _posture_figures(robot: Robot, q: np.ndarray) -> dict[str, Any]:
    chain = robot.chain
    return {'limit_margin': f'{np.minimum(q - chain.lower, chain.upper - q).min():.4f}',
            'smallest_singular_value': f'{singular_values(chain, q)[-1]:.4f}'}
