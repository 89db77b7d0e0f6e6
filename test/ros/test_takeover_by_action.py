# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The tests of test_takeover.py with a node that sends trajectories by the action."""

import pytest
import takeovers
from test_takeover import test_no_kick

__all__ = ['test_no_kick']

pytestmark = pytest.mark.real_time

arm = takeovers.arm_by_action
