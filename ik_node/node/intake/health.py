# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Health of the node on /diagnostics."""

from __future__ import annotations

from collections import Counter
from time import monotonic
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import numpy as np

from ik_node.base.errors import GoalError, IkNodeError, Reason, StateError
from ik_node.base.text import quote
from ik_node.kinematics.arm import singular_values
from ik_node.node.intake.context import NodeContext
from ik_node.node.robot.robot import Robot
from ik_node.node.state.clocks import running_time
from ik_node.node.state.health_checks import Check, verdict
from ik_node.ros.middleware.clocks import steady_clock
from ik_node.ros.middleware.process import PeriodicReport

RECENT_TIME_S = 60.0  # for which the time of a solve counts

Findings = list[tuple[Check, str]]


class Health:
    """Publishes /diagnostics."""

    def __init__(self, context: NodeContext) -> None:
        self._node = node = context.node
        self._robot_slot = context.robot_slot
        self._arm = context.arm
        self._output = context.output
        self._goals = context.goals
        self._others = context.others
        self._delay = context.delay
        self._active_flag = context.active_flag
        self._duplicates = context.duplicates
        self._last_report = monotonic()
        self._conversion = context.conversion
        # Goals that the queues of their senders lost, and point clouds that did not come whole.
        self.lost = self.lost_clouds = 0
        self._told: Counter[Check] = Counter()
        self._told_contact: tuple[str, str] | None = None
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        PeriodicReport(node, steady_clock(), self._report, self._readiness)

    # ---- the report ---------------------------------------------------------

    def _readiness(self) -> tuple:
        """Return the state reported at once: whether goals are taken, or a new listener."""
        robot, obstacle = self._robot_slot.robot, None
        try:
            self._active_flag.require()
            self._duplicates.require_none()
            self._arm.startable(self._robot_slot.require())
            running_time(self._node)
        except IkNodeError as error:
            obstacle = error.reason
        # Of the settings what other joints that move do not change.
        return (self._publisher.get_subscription_count(), robot and robot.settings.planning,
                self._output.listeners() > 0, obstacle)

    def _report(self) -> None:
        before, self._last_report = self._last_report, monotonic()
        late = self._delay.latest()
        outcomes = self._goals.status
        values = {'goals': self._goals.count, **outcomes.states, **outcomes.outcomes,
                  'goals_lost': self.lost, 'point_clouds_lost': self.lost_clouds,
                  'joint_state_messages_left_out': self._arm.joints.ignored,
                  'controllers_listening': self._output.listeners(),
                  'heartbeat_late_ms_max': f'{1e3 * late:.1f}'}
        robot = self._robot_slot.robot
        findings = self._since_last() + self._clock_findings()
        if robot is None:
            findings.append(Check.NO_MODEL.found(
                f'no robot description: {self._robot_slot.why()}'))
        else:
            if robot.since > before:
                late = 0.0  # preparing the robot takes long
            values['not_checked'] = robot.not_checked
            findings += self._load(robot, values, late) + self._arm_findings(robot, values)
            if robot.not_checked and robot.collisions is not None:
                findings.append(Check.NOT_CHECKED.found(robot.not_checked))
            if self._others.complaint:
                findings.append(Check.OTHER_JOINTS.found(self._others.complaint))
            if not values['controllers_listening']:
                findings.append(Check.NO_LISTENER.found(
                    f'nobody listens on {self._output.name}'))
        for check, require in ((Check.INACTIVE, self._active_flag.require),
                               (Check.DUPLICATE_NAME, self._duplicates.require_none)):
            try:
                require()
            except IkNodeError as error:
                findings = [(check, str(error))]  # which says what to do
        level, message = verdict([*dict(findings).items()])  # one sentence for each check
        array = DiagnosticArray()
        array.header.stamp = self._node.get_clock().now().to_msg()
        array.status = [DiagnosticStatus(
            level=level, name=f'{self._node.get_fully_qualified_name()}: health',
            message=message, hardware_id=quote(robot.tree.name) if robot else '',
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()])]
        self._publisher.publish(array)

    def _since_last(self) -> Findings:
        """Check what happened since the last report."""
        findings = []
        for check, count, what in (
                (Check.LOST, self.lost, 'goals were lost'),
                (Check.CLOUDS_LOST, self.lost_clouds, 'point clouds did not come whole'),
                (Check.LEFT_OUT, self._arm.joints.ignored,
                 f'joint state messages were left out: {self._arm.joints.complaint}')):
            new, self._told[check] = count - self._told[check], count
            if new:
                findings.append(check.found(f'{new} {what}'))
        return findings

    def _clock_findings(self) -> Findings:
        """Check the clock, as for goals."""
        try:
            running_time(self._node)
        except GoalError as error:
            return [Check.CLOCK_STOPPED.found(str(error))]
        return []

    def _load(self, robot: Robot, values: dict[str, Any], late: float) -> Findings:
        """Check solve time, delays and failed goals."""
        findings, settings, status = [], robot.settings, self._goals.status
        recent = [took for at, took in self._conversion.solves
                  if monotonic() - at < RECENT_TIME_S]
        if recent:
            p50, p99 = np.percentile(recent, (50, 99))
            values |= {'solve_time_ms_p50': f'{1e3 * p50:.3f}',
                       'solve_time_ms_p99': f'{1e3 * p99:.3f}'}
            if p99 > settings.slow_solve:
                findings.append(Check.SLOW.found(
                    f'one in a hundred of the last {len(recent)} solves took {1e3 * p99:.1f} ms '
                    f'or more, the threshold is {1e3 * settings.slow_solve:g} ms'))
        if late > settings.late_callback:
            findings.append(Check.LATE.found(
                f'callbacks were {1e3 * late:.0f} ms late, the threshold is '
                f'{1e3 * settings.late_callback:g} ms'))
        if status.failures >= settings.failed_goals:
            findings.append(Check.FAILING.found(
                f'the last {status.failures} goals that were begun failed, the threshold is '
                f'{settings.failed_goals}'))
        return findings

    def _arm_findings(self, robot: Robot, values: dict[str, Any]) -> Findings:
        """Check the measured state, as for goals."""
        q, age = self._arm.last(robot)
        values['joint_state_age_s'] = f'{age:.3f}'
        try:
            self._arm.startable(robot)
        except StateError as error:
            if error.reason is Reason.START_OUT_OF_LIMITS:
                _posture(robot, q, values)  # for the figures
                return [(Check.OUT_OF_LIMITS, str(error))]  # which says what to do
            if error.reason is Reason.STATE_OTHER_JOINTS:
                return [(Check.STATE_OLD, str(error))]  # which says what to do
            if error.reason in (Reason.STATE_INVALID, Reason.TIME_JUMPED):
                return [Check.STATE_INVALID.found(str(error))]
            if error.reason is Reason.NODE_LATE:
                return [Check.LATE.found(str(error))]
            return [Check.STATE_OLD.found(f'joint states are missing or old: {error}')]
        return self._contact(robot, q, values) + _posture(robot, q, values)

    def _contact(self, robot: Robot, q: np.ndarray, values: dict[str, Any]) -> Findings:
        """Check whether the arm collides where it stands, at q (n,); the log says it once."""
        model = robot.own_collisions
        contact = None if model is None else model.overlap(q)
        values['contact'] = '' if contact is None else str(contact)
        before, self._told_contact = self._told_contact, contact and contact.names
        if contact is None:
            return []
        finding = Check.CONTACT.found(f'where the arm stands, {contact}')
        if contact.names != before:
            self._node.get_logger().warning(f'{finding[1]}; goals at which they do are refused')
        return [finding]


def _posture(robot: Robot, q: np.ndarray, values: dict[str, Any]) -> Findings:
    """Check the distance of `q` (n,) to limits and singularities."""
    findings, chain, settings = [], robot.chain, robot.settings
    margins = np.minimum(q - chain.lower, chain.upper - q)
    k = int(margins.argmin())
    margin, joint = margins[k], quote(chain.joint_names[k])
    smallest = singular_values(chain, q)[-1]
    values |= {'limit_margin': f'{margin:.4f}', 'limit_margin_joint': joint,
               'smallest_singular_value': f'{smallest:.4f}'}
    thresholds = settings.thresholds
    unit = 'rad' if chain.revolute[k] else 'm'
    preferred = settings.solver.preferred
    if np.abs(chain.difference(q, preferred)).max() <= settings.monitor.joint_tolerance:
        return []  # at home it stands as was asked for
    if margin < thresholds.limit_margin:
        findings.append(Check.LIMIT.found(
            f'joint {joint} stands {margin:.3g} {unit} from its limit, the threshold is '
            f'{thresholds.limit_margin:g} {unit}'))
    if smallest < thresholds.singular_value:
        findings.append(Check.SINGULAR.found(
            f'the arm is near a singularity: the smallest singular value is {smallest:.2g}, the '
            f'threshold is {thresholds.singular_value:g}'))
    return findings
