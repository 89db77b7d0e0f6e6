# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The test of test_takeover.py with a node that sends trajectories by the action."""

from nightly import usual_first
import pytest
import takeovers
from takeovers import ACCELERATION, EACH, KINDS, measured_in_time, taken_over, TRIED

pytestmark = pytest.mark.real_time

arm = takeovers.arm_by_action


@pytest.mark.parametrize('setting', usual_first(1, [(s,) for s in TRIED]), ids=lambda s: s.name)
def test_no_kick_by_action(arm, setting):
    """Only the way of the trajectories is another one."""
    commanded = measured_in_time(lambda: taken_over(arm, setting, KINDS * EACH))
    assert not commanded.judged(setting).faults(ACCELERATION)
