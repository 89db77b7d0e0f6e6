# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The command ik_doctor: observe a running system, and report problems with their remedies."""

from __future__ import annotations

from dataclasses import asdict
import json
import sys

import rclpy
from rclpy.signals import SignalHandlerOptions

from ik_node.base.system import INTERRUPTED_CODE
from ik_node.base.text import printable
from ik_node.ros.middleware.process import leave
from ik_node.tools.arguments.doctor import parse
from ik_node.tools.doctor import arm_checks as arm, node_checks as checks
from ik_node.tools.doctor.node_checks import Finding, Level, read_model
from ik_node.tools.doctor.observations import Observations
from ik_node.tools.doctor.observer import observe

ALL_CHECKS = {
    'environment': checks.check_environment,
    'node': checks.check_node,
    'lifecycle': checks.check_lifecycle,
    'parameters': checks.check_parameters,
    'description': arm.check_description,
    'limits': arm.check_limits,
    'joint states': arm.check_joint_states,
    'state source': arm.check_sources,
    'collisions': arm.check_collisions,
    'controller': checks.check_controller,
    'QoS': checks.check_qos,
    'clock': checks.check_clock,
    'TF': arm.check_tf,
    'health': checks.check_health,
    'goals': checks.check_goals,
}


def diagnose(seen: Observations) -> dict[str, list[Finding]]:
    """Return the findings of each check."""
    model = read_model(seen)
    return {name: list(check(seen, model)) for name, check in ALL_CHECKS.items()}


def report(found: dict[str, list[Finding]]) -> str:
    """Return the findings, one printable line each."""
    lines = [printable(f'{finding.level.value:8} {name + ":":14} {finding.what}'
                       + (f'; {finding.remedy}' if finding.remedy else ''))
             for name, findings in found.items() for finding in findings]
    problems, warnings = (_count(found, level) for level in (Level.PROBLEM, Level.WARNING))
    return '\n'.join([*lines, f'{problems} problem{"s" * (problems != 1)}, '
                              f'{warnings} warning{"s" * (warnings != 1)}'])


def as_json(seen: Observations, found: dict[str, list[Finding]]) -> str:
    """Return the findings as a JSON object."""
    return json.dumps({
        'node': seen.target, 'problems': _count(found, Level.PROBLEM),
        'warnings': _count(found, Level.WARNING),
        'findings': [{'check': name, **asdict(finding)}
                     for name, findings in found.items() for finding in findings]})


def _count(found: dict[str, list[Finding]], level: Level) -> int:
    return sum(finding.level is level for findings in found.values() for finding in findings)


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    options = parse(sys.argv[1:] if argv is None else argv)
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node, code = None, INTERRUPTED_CODE
    try:
        node, seen = observe(options.node, options.timeout)
        found = diagnose(seen)
        print(as_json(seen, found) if options.json else report(found))
        code = int(_count(found, Level.PROBLEM) > 0)
    except KeyboardInterrupt:
        pass
    leave(node, code)
