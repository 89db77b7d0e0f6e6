# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A moving arm is taken over without a kick, behind links that are late.

What is looked at is what the controller commands in each of its cycles; see takeovers.py.
"""

from nightly import usual_first
import pytest
import takeovers
from takeovers import ACCELERATION, EACH, KINDS, measured_in_time, taken_over, TRIED

pytestmark = pytest.mark.real_time

arm = takeovers.arm_by_topic


@pytest.mark.parametrize('setting', usual_first(3, [(s,) for s in TRIED]), ids=lambda s: s.name)
@pytest.mark.fault('goals', 'in motion, a new goal, stream or stop of each kind over a link that '
                   'is late by up to 50 ms', 'the command has no step beyond velocity x cycle, '
                   'and none goes backwards')
def test_no_kick(arm, setting):
    """Whatever takes a motion over, whenever, and however late it is told."""
    commanded = measured_in_time(lambda: taken_over(arm, setting, KINDS * EACH))
    assert not commanded.judged(setting).faults(ACCELERATION)
