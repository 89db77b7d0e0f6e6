# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The content of ``~/status``."""

from diagnostic_msgs.msg import DiagnosticStatus
import pytest

from ik_node.base.errors import Reason
from ik_node.client.answers import Answer
from ik_node.ros.messages.status_messages import GoalState, level_of, plain_values

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


def test_numbers_are_numbers():
    """And several of them lists, also of an arm of one joint; names and stamps are texts."""
    assert plain_values({
        'goal': '12', 'stamp': '1700000000.000000001', 'id': '7-12', 'q': '0.500000000',
        'duration_s': '1.250', 'measured_position_error_m': '2.300e-07', 'detour': 'true',
        'named_pose': '7', 'limiting_joint': '1e5', 'remedy_start_joints': 'a 1',
        'remedy_start': '0.5 -1', 'late_s': 'nan', 'tracking_error': '-3'}) == {
        'goal': 12, 'stamp': '1700000000.000000001', 'id': '7-12', 'q': [0.5],
        'duration_s': 1.25, 'measured_position_error_m': 2.3e-7, 'detour': True,
        'named_pose': '7', 'limiting_joint': '1e5', 'remedy_start_joints': ['a', '1'],
        'remedy_start': [0.5, -1.0], 'late_s': 'nan', 'tracking_error': -3}


def test_remedies_of_an_answer():
    answer = Answer.of({'state': 'rejected', 'reason': 'BEYOND_LIMIT', 'goal': '3',
                        'remedy_limit_joint': 'joint_2', 'remedy_limit': '2.3000',
                        'remedy_shift_m': '0.1 0 -0.2'})
    assert answer.remedies == {'remedy_limit_joint': 'joint_2', 'remedy_limit': 2.3,
                               'remedy_shift_m': [0.1, 0.0, -0.2]}


@pytest.mark.parametrize('kind, state, reason, level', [
    ('jog', GoalState.STOPPED, Reason.STREAM_ENDED, OK),
    ('stream', GoalState.STOPPED, Reason.STREAM_ENDED, OK),
    ('stream', GoalState.SUPERSEDED, Reason.SUPERSEDED, OK),
    ('pose', GoalState.SUPERSEDED, Reason.SUPERSEDED, WARN),
    ('stream', GoalState.STOPPED, Reason.STOPPED, WARN),
    ('stream', GoalState.FAILED, Reason.OFF_TRACK, ERROR),
    ('pose', GoalState.REACHED, Reason.REACHED, OK)])
def test_levels(kind, state, reason, level):
    """That a stream ends is no warning; that somebody stops it, or it fails, is one."""
    assert level_of(state, reason, kind) == level
