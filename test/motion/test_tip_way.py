# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""How far the tip has come, against Pinocchio and finer samples."""

from motion_checker import dense, path_of
from motions import at_rest, limits_of
import numpy as np
import pytest
import robots

from ik_node.motion.direct.point_to_point import plan_point_to_point
from ik_node.motion.trajectory.sampling import passing_times, TipWay

START, GOAL = np.array([0.0, 0.3, -0.4, 0.0, 1.0, 0.0]), np.array([1.2, 0.6, -0.1, 0.5, 0.4, 2.0])
PERIOD = 0.05  # s


ARM = robots.chain('six_axis_arm')
ORACLE = robots.reference('six_axis_arm')


@pytest.fixture(scope='module')
def trajectory():
    """Return a motion of about a second."""
    limits = limits_of(ARM, acceleration=5.0, jerk=50.0)
    return plan_point_to_point(ARM.joint_names, at_rest(START), GOAL, limits, PERIOD)


def tip_position(q):
    """Return where Pinocchio has the tip, m."""
    return ORACLE.pose(ARM.base_link, ARM.tip_link, robots.positions(ARM, q))[:3, 3]


def between(trajectory):
    """Return times (k,) and joint positions (k, n) between the points, too."""
    times, values = dense(path_of(trajectory), 51)
    return times.ravel(), values[0].reshape(times.size, -1)


def test_time_and_way_that_are_left(trajectory):
    """Within a percent of the way; all of it before the start, nothing after the end."""
    way = TipWay(ARM, trajectory)
    times, q = between(trajectory)
    tips = np.array([tip_position(each) for each in q])
    lengths = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(tips, axis=0), axis=1)))
    for elapsed in (-0.1, 0.0, 0.3, 0.7, trajectory.duration, 9.0):
        time, left = way.left(elapsed)
        expected = lengths[-1] - np.interp(elapsed, times, lengths)
        assert left == pytest.approx(expected, abs=1e-2 * lengths[-1])
        assert time == pytest.approx(np.clip(trajectory.duration - elapsed, 0.0,
                                             trajectory.duration))


def test_when_points_are_passed(trajectory):
    """In their order, also a point that comes twice; the last at the end."""
    way = TipWay(ARM, trajectory)
    times, q = between(trajectory)
    wanted = np.array([0.3, 0.6, 0.6]) * trajectory.duration
    points = [tip_position(q[np.abs(times - time).argmin()]) for time in wanted]
    passed = way.passed_at(np.array([*points, points[-1]]))
    assert passed[:3] == pytest.approx(wanted, abs=PERIOD)
    assert passed[3] == trajectory.duration


@pytest.mark.parametrize(('points', 'expected'), [
    ([1, 0, 1, 0], [2.0, 4.0, 6.0, 8.0]), ([0.5, 1, 0, 0.5, 1, 0.5, 0], [1, 2, 4, 5, 6, 7, 8]),
    ([1, 1, 0, 1, 0], [2, 2, 4, 6, 8])])
def test_places_that_are_passed_again(points, expected):
    """There and back twice, 2 s each way: each visit is the one that the order says."""
    times = np.linspace(0.0, 8.0, 200)
    positions = np.abs((times + 2.0) % 4.0 - 2.0)[:, None] / 2.0
    found = passing_times(times, positions, np.array(points, dtype=float)[:, None])
    assert np.allclose(found, expected, atol=0.05)
