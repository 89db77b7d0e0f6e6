# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The checks behind the health of the node; docs/reference/diagnostics.md is made from them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from diagnostic_msgs.msg import DiagnosticStatus

WARN, ERROR, STALE = DiagnosticStatus.WARN, DiagnosticStatus.ERROR, DiagnosticStatus.STALE
LEVELS = {WARN: 'WARN', ERROR: 'ERROR', STALE: 'STALE'}
READY = 'ready'  # begins what is said while goals are taken


class Check(Enum):
    """
    What can be wrong, the worst first.

    Attributes
    ----------
    level : bytes
        Of the diagnostics, while it is so.
    refuses : bool
        Whether goals are refused meanwhile.
    threshold : str
        The parameter from which on it is so; empty if there is none.
    when : str
        What is so, for people.
    advice : str
        What to do.

    """

    def __init__(self, level: bytes, refuses: bool, threshold: str, when: str,
                 advice: str) -> None:
        self.level = level
        self.refuses = refuses
        self.threshold = threshold
        self.when = when
        self.advice = advice

    INACTIVE = (WARN, True, '', 'the node is not active', 'ros2 lifecycle set <node> activate')
    DUPLICATE_NAME = (ERROR, True, '', 'another node has the same name',
                      'end all but one, or give them other names')
    CLOCK_STOPPED = (STALE, True, '', 'use_sim_time is set, and /clock has not come',
                     'start the simulation, or set use_sim_time to false')
    STATE_OLD = (STALE, True, 'state.timeout', 'joint states are missing, or older than that',
                 'start the joint state broadcaster, or remap joint_states')
    STATE_INVALID = (ERROR, True, '', 'joint states make no sense (NaN, wrong lengths, '
                     'impossible velocities), or a joint leapt within the last second',
                     'look at what publishes them')
    OUT_OF_LIMITS = (ERROR, True, 'motion.start_tolerance', 'a joint stands so far outside its '
                     'limits', 'bring it back by hand, or raise the threshold')
    NO_MODEL = (WARN, True, '', 'there is no usable robot description',
                'start robot_state_publisher, or set urdf_file')
    NO_LISTENER = (WARN, True, '', 'nobody listens for trajectories',
                   'start the controller, or name it by the parameter controller')
    LOST = (WARN, False, '', 'goals were lost before they came, since the last report',
            'give their publisher a queue of greater depth, or send fewer')
    FAILING = (WARN, False, 'diagnostics.failures', 'so many goals, one after the other, were '
               'begun and not reached', "see ~/status and the controller's log")
    LATE = (WARN, False, 'diagnostics.heartbeat_late', 'callbacks of the node were late by more '
            'than that in the last second', 'give the node more of the processor, or fewer goals')
    SLOW = (WARN, False, 'diagnostics.solve_time', 'one in a hundred solves of the last minute '
            'took longer', 'send goals within reach, or lower solver.max_restarts')
    LEFT_OUT = (WARN, False, '', 'joint state messages were left out since the last report',
                'look at what publishes them')
    LIMIT = (WARN, False, 'markers.limit_margin', 'a joint stands nearer to a limit',
             'move away from it, or lower the threshold')
    SINGULAR = (WARN, False, 'markers.singular_value', 'the smallest singular value of the '
                'Jacobian is below that', 'move away from the singularity, or lower the '
                'threshold')

    def found(self, sentence: str) -> tuple[Check, str]:
        """Return that it is so: `sentence`, and what to do."""
        return self, f'{sentence}; {self.advice}'


def verdict(findings: Sequence[tuple[Check, str]]) -> tuple[bytes, str]:
    """Return level and message: of the worst of what was found, then the rest."""
    if not findings:
        return DiagnosticStatus.OK, READY
    order = [*Check]
    findings = sorted(findings, key=lambda finding: order.index(finding[0]))
    sentences = '. '.join(sentence for _, sentence in findings)
    worst = findings[0][0]
    return worst.level, sentences if worst.refuses else f'{READY}, but {sentences}'
