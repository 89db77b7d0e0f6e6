# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Where a new motion begins."""

import numpy as np
import pytest

from ik_node.trajectory.course import Course, depart
from ik_node.trajectory.sampler import state_at
from ik_node.trajectory.trajectory import MotionState, Trajectory

BEGAN, DURATION, LEAD, TOLERANCE = 50.0, 2.0, 0.05, 0.02
MEASURED = np.array([0.3, -0.2])


@pytest.fixture
def course():
    """Return a motion of two joints over three points."""
    q = np.array([[0.2, 0.1], [0.6, 0.3], [1.0, 0.5]])
    qd = np.array([[0.5, 0.2], [0.5, 0.2], [0.0, 0.0]])
    qdd = np.array([[0.4, 0.0], [-0.4, 0.0], [0.0, 0.0]])
    return Course(Trajectory(('a', 'b'), MotionState.at_rest(np.zeros(2)),
                             np.array([0.5, 1.52, DURATION]), q, qd, qdd), BEGAN)


def same(a, b):
    """Tell whether two states are equal."""
    return all(np.allclose(x, y, rtol=0.0, atol=1e-12)
               for x, y in ((a.q, b.q), (a.qd, b.qd), (a.qdd, b.qdd)))


def test_moves(course):
    """A motion is under way until its planned end."""
    assert course.moves(BEGAN) and course.moves(BEGAN + DURATION - 1e-6)
    assert not course.moves(BEGAN + DURATION) and not course.moves(BEGAN + DURATION + 1.0)


@pytest.mark.parametrize('elapsed', [0.0, 0.3, 1.0, 1.5, 1.96, 1.999])
def test_during_a_motion_it_begins_on_it_ahead(course, elapsed):
    """The measured state plays no part; the new motion leaves the old one after the lead."""
    departures = depart(course, MEASURED, np.ones(2), BEGAN + elapsed, LEAD, TOLERANCE)
    for departure in departures:
        assert same(departure.now, state_at(course.trajectory, elapsed))
        assert departure.times[-1] == LEAD
        assert same(departure.handover, state_at(course.trajectory, elapsed + LEAD))
        assert len(departure.times) == len(departure.states)
        for t, state in zip(departure.times, departure.states):
            assert same(state, state_at(course.trajectory, elapsed + t))


def test_the_smooth_way_comes_before_the_exact_one(course):
    """First with the lead as one piece, then with the points of the present motion in it."""
    smooth, exact = depart(course, MEASURED, np.ones(2), BEGAN + 1.5, LEAD, TOLERANCE)
    assert smooth.times.tolist() == [LEAD]
    assert np.allclose(exact.times, [0.02, LEAD], rtol=0.0, atol=1e-9)
    for departure in depart(course, MEASURED, np.ones(2), BEGAN + 1.0, LEAD, TOLERANCE):
        assert departure.times.tolist() == [LEAD]


@pytest.mark.parametrize('offset', [0.0, 0.019, -0.019])
def test_after_a_motion_it_begins_at_its_end(course, offset):
    """While the arm stands within tolerance of the commanded end, that is the start."""
    q = course.trajectory.end + offset
    departure, = depart(course, q, np.zeros(2), BEGAN + 5.0, LEAD, TOLERANCE)
    assert same(departure.now, MotionState.at_rest(course.trajectory.end))
    assert len(departure.times) == 0 and same(departure.handover, departure.now)


def test_elsewhere_it_begins_at_the_measured_rest(course):
    """Away from the end, or without a motion before, the measured posture is the start."""
    away = course.trajectory.end + np.array([0.0, 0.021])
    for before, q in ((course, away), (None, MEASURED)):
        departure, = depart(before, q, np.array([0.009, -0.009]), BEGAN + 5.0, LEAD, TOLERANCE)
        assert same(departure.now, MotionState.at_rest(q))
        assert same(departure.handover, departure.now)


@pytest.mark.parametrize('qd', [(0.3, 0.0), (0.0, -0.3)])
def test_moved_by_somebody_else_it_begins_in_motion(course, qd):
    """An arm that moves, by no motion of ours, is met where and as fast as it is."""
    for before in (course, None):
        q = course.trajectory.end
        departure, = depart(before, q, np.array(qd), BEGAN + 5.0, LEAD, TOLERANCE)
        assert same(departure.now, MotionState(q, np.array(qd), np.zeros(2)))
        assert len(departure.times) == 0
