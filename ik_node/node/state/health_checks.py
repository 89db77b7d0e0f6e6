# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The checks of the node's health: one table, from which the documentation is generated."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from diagnostic_msgs.msg import DiagnosticStatus

LEVEL_WARN = DiagnosticStatus.WARN
LEVEL_ERROR = DiagnosticStatus.ERROR
LEVEL_STALE = DiagnosticStatus.STALE
LEVEL_NAMES = {LEVEL_WARN: 'WARN', LEVEL_ERROR: 'ERROR', LEVEL_STALE: 'STALE'}
READY_TEXT = 'ready'  # the message starts with it while goals are accepted


class Check(Enum):
    """What can be wrong, most severe first."""

    def __init__(self, level: bytes, refuses: bool, threshold: str, when: str,
                 advice: str) -> None:
        self.level = level      # level of the diagnostics message
        self.refuses = refuses  # whether goals are refused
        # Name of the parameter that is the threshold; empty if there is none.
        self.threshold = threshold
        self.when = when      # condition, for the documentation
        self.advice = advice  # what to do

    INACTIVE = (
        LEVEL_WARN, True, '', 'the node is not active', 'ros2 lifecycle set <node> activate')
    DUPLICATE_NAME = (
        LEVEL_ERROR, True, '', 'another node has the same name',
        'end all but one, or give them other names')
    CLOCK_STOPPED = (
        LEVEL_STALE, True, '', 'use_sim_time is set, and nothing has arrived on /clock',
        'start the simulation, or set use_sim_time to false')
    STATE_OLD = (
        LEVEL_STALE, True, 'state.timeout', 'joint states are missing, or older than that',
        'start the joint state broadcaster, or remap joint_states')
    STATE_INVALID = (
        LEVEL_ERROR, True, '', 'joint states are invalid (NaN, wrong lengths, impossible '
        'velocities), or a joint leapt within the last second', 'look at what publishes them')
    OUT_OF_LIMITS = (
        LEVEL_ERROR, True, 'motion.start_tolerance', 'a joint is farther outside its limits',
        'bring it back by hand, or raise the threshold')
    NO_MODEL = (
        LEVEL_WARN, True, '', 'there is no usable robot description',
        'start robot_state_publisher, or set urdf_file')
    NO_LISTENER = (
        LEVEL_WARN, True, '', 'no controller listens for trajectories',
        'start the controller, or name it by the parameter controller')
    LOST = (
        LEVEL_WARN, False, '', 'goals were lost in transit since the last report',
        'give their publisher a queue of greater depth, or send fewer')
    CLOUDS_LOST = (
        LEVEL_WARN, False, '', 'messages on ~/scene_points did not come whole since the last '
        'report', 'publish them reliably, or fewer points; the arm is not kept off what they show')
    CONTACT = (
        LEVEL_WARN, False, '', 'two links or objects overlap where the arm stands',
        'correct the URDF or the scene, or let them touch; else jog the arm out of it')
    NOT_CHECKED = (
        LEVEL_WARN, False, '', 'a link that has geometry is not checked for collisions, or none '
        'has any', 'nothing keeps these links from a collision: correct the URDF, or set '
        'mesh_paths')
    FAILING = (
        LEVEL_WARN, False, 'diagnostics.failures', 'this many consecutive goals failed after they '
        'were begun', "see ~/answers and the controller's log")
    LATE = (
        LEVEL_WARN, False, 'diagnostics.heartbeat_late', 'callbacks of the node were later than '
        'that in the last second', 'give the node more of the processor, or fewer goals')
    SLOW = (
        LEVEL_WARN, False, 'diagnostics.solve_time', 'the 99th percentile of the solve time in '
        'the last minute is longer', 'send goals within reach, or lower solver.max_restarts')
    LEFT_OUT = (
        LEVEL_WARN, False, '', 'joint state messages were ignored since the last report',
        'look at what publishes them')
    OTHER_JOINTS = (
        LEVEL_WARN, False, 'collision.other_joints', 'joints beside the arm carry links, and no '
        'joint state has said where they are, or none since they moved',
        'publish their states, or set collision.other_joints')
    LIMIT = (
        LEVEL_WARN, False, 'markers.limit_margin', 'a joint is closer to a limit, and the arm is '
        'not at home', 'move away from it, or lower the threshold')
    SINGULAR = (
        LEVEL_WARN, False, 'markers.singular_value', 'the smallest singular value of the Jacobian '
        'is below that, and the arm is not at home', 'move away from the singularity, or lower '
        'the threshold')

    def found(self, sentence: str) -> tuple[Check, str]:
        """Return a finding: this check, and `sentence` with the advice."""
        return self, f'{sentence}; {self.advice}'


def verdict(findings: Sequence[tuple[Check, str]]) -> tuple[bytes, str]:
    """Return the level of the most severe finding, and the message with all findings."""
    if not findings:
        return DiagnosticStatus.OK, READY_TEXT
    order = [*Check]
    findings = sorted(findings, key=lambda finding: order.index(finding[0]))
    sentences = '. '.join(sentence for _, sentence in findings)
    worst = findings[0][0]
    return worst.level, sentences if worst.refuses else f'{READY_TEXT}, but {sentences}'
