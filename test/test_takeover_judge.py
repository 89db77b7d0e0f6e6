# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The judge of benchmarks/takeover finds what is a kick, and nothing else."""

import numpy as np
import pytest

from benchmarks.takeover.judge import judge, judge_states, UnseenError

LIMIT = 2.0  # rad/s^2


def commanded(rate):
    """Return times, positions and velocities of two joints that swing just within the limit."""
    t = np.arange(0.0, 4.0, 1.0 / rate)
    return t, np.sin(t)[:, None] * [2.0, -1.0], np.cos(t)[:, None] * [2.0, -1.0]


@pytest.mark.parametrize('rate', [50.0, 100.0, 1000.0])
def test_a_smooth_motion_has_no_faults(rate):
    """Every cycle is judged."""
    t, q, qd = commanded(rate)
    found = judge(t, q, qd, rate, LIMIT)
    assert not found.faults(LIMIT) and found.cycles == len(t) - 1
    assert found.velocity_step == pytest.approx(LIMIT, rel=0.02)


@pytest.mark.parametrize('step', [3e-4, -3e-4])
def test_a_step_is_found(step):
    """One joint is set off by more than is allowed, from some cycle on."""
    t, q, qd = commanded(500.0)
    q[700:, 1] += step
    found = judge(t, q, qd, 500.0, LIMIT)
    assert found.step == pytest.approx(3e-4, rel=0.05) and 'step' in found.faults(LIMIT)[0]


def test_a_cycle_backwards_is_found():
    """Against the velocity before and after it."""
    t, q, qd = commanded(100.0)
    q[50:] -= np.sign(qd[50]) * 0.03
    found = judge(t, q, qd, 100.0, LIMIT)
    assert found.backward == 1 and any('backwards' in word for word in found.faults(LIMIT))


def test_the_acceleration_of_the_reference_is_bounded():
    """By 1.05 of the limit."""
    t, q, qd = commanded(100.0)
    for peak, faults in ((1.04, 0), (1.06, 1)):
        qdd = np.full_like(q, -peak * LIMIT)
        assert len(judge(t, q, qd, 100.0, LIMIT, qdd).faults(LIMIT)) == faults


def test_states_with_gaps():
    """What a controller states is a cycle older than its stamp; around a gap nothing is judged."""
    t, q, qd = commanded(100.0)
    stamps = t + 0.01
    kept = np.r_[0:100, 108:len(t)]
    found = judge_states(stamps[kept], q[kept], qd[kept], 100.0, LIMIT)
    assert not found.faults(LIMIT) and found.cycles == len(kept) - 4
    q[200:] += 0.01
    assert judge_states(stamps[kept], q[kept], qd[kept], 100.0, LIMIT).faults(LIMIT)


@pytest.mark.parametrize('stamps', [[], [1.0], [1.0, 1.5, 2.0]])
def test_nothing_recorded_is_no_good_result(stamps):
    """It is said, instead of an error of numpy or a step of 0."""
    states = np.zeros((len(stamps), 6))
    with pytest.raises(UnseenError, match='too busy'):
        judge_states(np.array(stamps), states, states, 100.0, LIMIT)
