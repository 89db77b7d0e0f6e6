# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The speed of a motion under way is changed by motion.velocity_scale; judged by joint states."""

from harness import (
    FINAL,
    latest,
    lent,
    off_line,
    path_of,
    pose,
    READY,
    reasons,
    stamp_of,
    tip,
    way,
)
import motion_checker
from nightly import usual_first
import numpy as np
import pytest

AWAY = [READY[0] + 1.5, READY[1] + 0.2, READY[2] - 0.1, *READY[3:]]


@pytest.fixture(scope='module')
def sim():
    """Have joint states as often as real arms send them: tests look at speeds."""
    return {'rate': 100.0}


@pytest.fixture
def system(shared_system):
    with lent(shared_system) as probe:
        probe.wait(lambda: probe.states, what='joint states')
        yield probe


def under_way(system, share):
    """Wait until the first joint is some way on its way to AWAY."""
    system.wait(lambda: abs(system.states[-1][1].position[0] - READY[0])
                > share * abs(AWAY[0] - READY[0]), what='the way')


def speeds(system, since):
    """Return the speeds of the first joint in the joint states that came since, rad/s."""
    return np.array([abs(state.velocity[0]) for _, state in system.states[since:]])


@pytest.mark.parametrize(('before', 'after'), usual_first(1, [(0.24, 0.06), (0.06, 0.24)]))
def test_a_joint_goal(system, before, after):
    """Slower or faster from then on, to the same end; slower, it stays on its way."""
    system.change('/ik_node', motion__velocity_scale=before)
    stamp = system.send_joints(AWAY)
    under_way(system, 0.1)
    top = speeds(system, 0).max()
    count = len(system.trajectories)
    system.change('/ik_node', motion__velocity_scale=after)
    system.wait(lambda: len(system.trajectories) > count, what='the other speed')
    under_way(system, 0.6)
    since = len(system.states)
    under_way(system, 0.7)
    later = speeds(system, since)
    assert system.final(stamp)['state'] == 'reached'
    assert reasons(system, stamp) == ['ACCEPTED', 'ACCEPTED', 'REACHED']
    assert np.abs(latest(system) - AWAY).max() < 1e-5
    if after > before:
        assert later.max() > 2.0 * top
    else:
        assert later.max() < 1.1 * after / before * top
    if after < before and len(system.trajectories) == count + 1:  # none was late
        first, other = map(motion_checker.path_of, system.trajectories[count - 1:])
        planned = np.array([q for q, _, _ in motion_checker.states_at(
            first, np.linspace(first.times[0], first.times[-1], 2000))])
        for q, _, _ in motion_checker.states_at(
                other, np.linspace(other.times[0], other.times[-1], 50)):
            assert np.abs(planned - q).max(axis=1).min() < 2e-3


def test_a_line_becomes_slower_and_faster_again(system):
    """The tip stays on it, and the goal is one and the same."""
    begin = tip(READY)
    end = begin.translation + [0.0, 0.3, -0.1]
    message = path_of(pose(begin.translation), pose(end))
    system.change('/ik_node', motion__velocity_scale=0.3, motion__tool_speed=0.15)
    stamp = system.send_goal('path', message)
    changes = []
    for scale in (0.06, 0.3):
        start = tip(system.states[-1][1].position).translation
        system.wait(lambda start=start: np.linalg.norm(
            tip(system.states[-1][1].position).translation - start)
            > 0.15 * np.linalg.norm(end - begin.translation), what='the way')
        asked, count = len(system.states), len(system.trajectories)
        system.change('/ik_node', motion__velocity_scale=scale)
        system.wait(lambda count=count: len(system.trajectories) > count, what='the speed')
        changes.append((asked, len(system.states)))
    assert system.final(stamp)['state'] == 'reached'
    points, _ = way(system)
    assert off_line(points, begin.translation, end).max() < 2e-4
    along = np.linalg.norm(points - begin.translation, axis=1)
    share = along / along[-1]
    times = np.array([stamp_of(state) for _, state in system.states])[:len(share)]
    pace, index = np.gradient(share, times), np.arange(len(share))
    (slower, slow), (faster, fast) = changes
    assert max(slow - slower, fast - faster) < 500  # joint states, at 100 Hz
    before = np.median(pace[(share > 0.05) & (index < slower)])
    meanwhile = np.median(pace[(slow + faster) // 2:faster])
    after = np.median(pace[(index > fast) & (share < 0.9)])
    assert meanwhile < 0.3 * before and after > 2.0 * meanwhile


def test_as_by_a_slider(system):
    """Many changes in a row: one answer, at the goal; the last speed counts."""
    system.change('/ik_node', motion__velocity_scale=0.2)
    stamp = system.send_joints(AWAY)
    under_way(system, 0.05)
    for scale in (0.18, 0.15, 0.1, 0.14, 0.2, 0.3, 0.4):
        system.change('/ik_node', motion__velocity_scale=scale)
    answer = system.final(stamp)
    assert answer['state'] == 'reached' and np.abs(latest(system) - AWAY).max() < 1e-5
    assert sum(each['state'] in FINAL for each in system.answers(stamp)) == 1


def test_nothing_moves(system):
    """Then it counts for the next motion, and nothing is sent."""
    count = len(system.trajectories)
    system.change('/ik_node', motion__velocity_scale=0.2)
    system.spin_for(0.2)
    assert len(system.trajectories) == count
