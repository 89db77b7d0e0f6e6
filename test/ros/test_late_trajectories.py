# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A moving arm whose node ends, or whose trajectories come late."""

from harness import READY
from nightly import usual_first
import numpy as np
import pytest
from rig import Setting
import takeovers
from takeovers import (
    ACCELERATION,
    ALL,
    AWAY,
    EACH,
    JERK,
    MAX_UNSEEN_S,
    measured_in_time,
    SELECTED,
    taken_over,
)

pytestmark = pytest.mark.real_time

arm = takeovers.arm


@pytest.mark.parametrize('setting', usual_first(
    1, [(s,) for s in (ALL if EACH > 1 else SELECTED[1:4:2])]), ids=lambda s: s.name)
def test_a_signal_in_motion(arm, setting):
    """A node that is ended by a signal brings the arm to rest without a kick."""
    rng = np.random.default_rng(int(setting.rate))

    def measure():
        arm.probe.final(arm.probe.send_joints(READY))  # it may have ended where this goes
        arm.set(setting)
        for _ in range(max(1, EACH // 10)):
            stamp = arm.away(rng)
            arm.probe.wait(lambda stamp=stamp: arm.probe.answers(stamp), what='an answer')
            arm.probe.spin_for(rng.uniform(0.25, 0.7))
            arm.end()
            arm.probe.spin_for(0.5)
            arm.start()
        return arm.set(Setting())

    commanded = measured_in_time(measure)
    assert np.abs(commanded.cycles[:, 1]).max() > 0.2, 'the arm never moved'
    assert not np.any(commanded.cycles[-1, 1])
    assert not commanded.judged(setting).faults(ACCELERATION)


def test_a_delay_that_nothing_tells_of(arm):
    """Only trajectories are late: a start from rest begins with a step that is bounded."""
    setting = Setting(100.0, late=(0.05,))
    commanded = taken_over(arm, setting, ['joints', 'pose', 'stop'])
    found = commanded.judged(setting)
    late = commanded.behind + 2.0 / setting.rate  # it waits for a cycle, and is a cycle ahead
    assert setting.late[0] < late < 0.2
    assert found.step < found.allowed + JERK * late**3 / 6.0
    assert not found.backward


@pytest.mark.fault('goals', 'in motion, a goal whose trajectory is half a second on its way',
                   'what is seen to be late is planned again, and does no harm when it arrives')
def test_a_trajectory_that_is_very_late(arm):
    """The goal is planned again, and the newer trajectory takes the place of the late one."""
    setting = Setting(100.0, late=(0.0, 0.6, 0.0, 0.0, 0.0, 0.0))  # others come with the second

    def measure():
        arm.set(setting)
        arm.probe.send_joints(AWAY)
        arm.probe.spin_for(0.5)
        stamp = arm.probe.send_joints(READY)
        answer = arm.probe.final(stamp)
        assert answer['state'] == 'reached' and float(answer['late_s']) > 0.02
        return arm.set(Setting())

    commanded = measured_in_time(measure)
    # It may arrive just before it is seen that the newest is late as well.
    unseen = MAX_UNSEEN_S * np.abs(commanded.cycles[:, 1]).max()
    assert commanded.judged(setting).step < unseen
    assert np.abs(commanded.cycles[-1, 0] - READY).max() < 1e-3
