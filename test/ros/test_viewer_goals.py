# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The line that the page shows for a goal."""

from importlib.util import find_spec

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
import pytest

pytestmark = pytest.mark.skipif(find_spec('viser') is None,
                                reason='viser is not installed (extra "viewer")')
FAR = {'position_error_m': '1.234e-01', 'orientation_error_rad': '3.000e-01'}


@pytest.mark.parametrize('state, reason, numbers, line', [
    ('accepted', 'ACCEPTED', {'duration_s': '1.482'}, '… moving, takes 1.5 s'),
    ('accepted', 'ACCEPTED', {}, '… moving'),
    ('reached', 'REACHED', {'duration_s': '1.482'}, '✓ reached in 1.5 s'),
    ('reached', 'NEAREST', {'duration_s': '1.482'}, '✓ nearest pose reached in 1.5 s'),
    ('reached', 'ALREADY_THERE', {}, '✓ already there'),
    ('rejected', 'OUT_OF_REACH', FAR, '✗ rejected: out of reach by 0.12 m'),
    ('rejected', 'INNER_VOID', FAR, '✗ rejected: too close to the base by 0.12 m'),
    ('rejected', 'ORIENTATION_OUT_OF_REACH', FAR,
     '✗ rejected: orientation out of reach by 0.30 rad'),
    ('rejected', 'OUT_OF_REACH', {'position_error_m': 'odd'}, '✗ rejected: it is so'),
    ('failed', 'OFF_TRACK', {'duration_s': '1.482'}, '✗ failed: it is so'),
    ('superseded', 'SUPERSEDED', {}, '– replaced by a newer goal'),
    ('stopped', 'STOPPED', {}, '– stopped'),
    ('stopped', 'STREAM_ENDED', {}, '– stream ended'),
])
def test_summary(state, reason, numbers, line):
    """The line says how a goal ended, with rounded numbers and their units."""
    from ik_node.ui.viewer.panels.panels import summary
    assert summary(DiagnosticStatus(message='it is so; and more', values=[
        KeyValue(key=key, value=value)
        for key, value in {'state': state, 'reason': reason, **numbers}.items()])) == line
