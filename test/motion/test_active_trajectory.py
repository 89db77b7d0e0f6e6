# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Where a new motion begins."""

import numpy as np
import pytest

from ik_node.model.chain import make_chain
from ik_node.model.urdf import parse_urdf
from ik_node.motion.active_trajectory import Course, depart, held, is_late, postponed
from ik_node.motion.interpolation import state_at
from ik_node.motion.point_to_point import Departure, plan_point_to_point, plan_stop
from ik_node.motion.trajectory import MotionLimits, MotionState, Trajectory

BEGAN, DURATION, LEAD, CYCLE, TOLERANCE = 50.0, 2.0, 0.05, 0.01, 0.02
MEASURED = np.array([0.3, -0.2])
LIMITS = MotionLimits(*(np.full(2, value) for value in (-9.0, 9.0, 2.0, 8.0, 80.0)))
JOINT = ('<joint name="{0}{1}" type="{2}"><parent link="{0}"/><child link="{1}"/><axis xyz="0 0 1"'
         '/><limit lower="-9" upper="9" velocity="2"/></joint>')
CHAIN = make_chain(parse_urdf(
    '<robot name="r"><link name="a"/><link name="b"/><link name="c"/>'
    + JOINT.format('a', 'b', 'revolute') + JOINT.format('b', 'c', 'continuous') + '</robot>'),
    'a', 'c')


@pytest.fixture
def course():
    """Return a motion of two joints over three points."""
    q = np.array([[0.2, 0.1], [0.6, 0.3], [1.0, 0.5]])
    qd = np.array([[0.5, 0.2], [0.5, 0.2], [0.0, 0.0]])
    qdd = np.array([[0.4, 0.0], [-0.4, 0.0], [0.0, 0.0]])
    return Course(Trajectory(('a', 'b'), MotionState.at_rest(np.zeros(2)),
                             np.array([0.5, 1.52, DURATION]), q, qd, qdd), BEGAN, LIMITS)


def same(a, b):
    """Tell whether two states are equal."""
    return all(np.allclose(x, y, rtol=0.0, atol=1e-12)
               for x, y in ((a.q, b.q), (a.qd, b.qd), (a.qdd, b.qdd)))


def test_moves(course):
    """A motion is under way until its planned end."""
    assert course.moves(BEGAN) and course.moves(BEGAN + DURATION - 1e-6)
    assert not course.moves(BEGAN + DURATION) and not course.moves(BEGAN + DURATION + 1.0)


@pytest.mark.parametrize('elapsed', [0.0, 0.3, 1.0, 1.5, 1.96, 1.999])
@pytest.mark.parametrize('lag', [0.0, 0.08])
def test_during_a_motion_it_begins_on_it_ahead(course, elapsed, lag):
    """The arm follows, if late: the new motion leaves the old one after the lead."""
    measured = state_at(course.trajectory, elapsed - lag).q + 0.9 * TOLERANCE
    measured[1] += 6.0 * np.pi  # whole turns of the continuous joint do not count
    departure = depart(CHAIN, course, measured, np.ones(2), BEGAN + elapsed, LEAD, CYCLE,
                       TOLERANCE)
    assert same(departure.now, state_at(course.trajectory, elapsed))
    assert departure.times[-1] == LEAD
    assert same(departure.handover, state_at(course.trajectory, elapsed + LEAD))
    assert len(departure.times) == len(departure.states)
    for t, state in zip(departure.times, departure.states):
        assert same(state, state_at(course.trajectory, elapsed + t))


@pytest.mark.parametrize('cycle, times', [
    (0.04, [0.02, 0.035, 0.05]), (0.02, [0.01, 0.02, 0.03, 0.04, 0.05]), (1.0, [0.02, 0.05])])
def test_the_present_motion_has_points_in_each_cycle(course, cycle, times):
    """Its own points, too; and however fast the controller is, not without end."""
    q = state_at(course.trajectory, 1.5).q
    found = depart(CHAIN, course, q, np.ones(2), BEGAN + 1.5, LEAD, cycle, TOLERANCE).times
    assert np.allclose(found, times, rtol=0.0, atol=1e-9)
    found = depart(CHAIN, course, q, np.ones(2), BEGAN + 1.5, LEAD, 1e-4, TOLERANCE).times
    assert np.diff(found, prepend=0.0).min() >= 0.25e-3


@pytest.mark.parametrize('elapsed', [0.004, 0.3, 1.5004, 1.96])
@pytest.mark.parametrize('past', [0.002, 0.052])
def test_a_controller_that_joins_finds_the_present_motion(course, elapsed, past):
    """Time 0 is in the past; the first point is just after it, the last one the lead ahead."""
    q = state_at(course.trajectory, elapsed).q
    # Where the motion is says the stamp, though another clock says something else.
    departure = depart(CHAIN, course, q, np.ones(2), BEGAN + elapsed + 0.003, LEAD, CYCLE,
                       TOLERANCE, elapsed, past)
    assert departure.past == past and departure.times[0] == 1e-4
    assert abs(departure.times[-1] - past - LEAD) <= 1e-3
    assert same(departure.now, state_at(course.trajectory, round(elapsed - past, 9)))
    for t, state in zip(departure.times, departure.states):
        assert same(state, state_at(course.trajectory, round(elapsed - past, 9) + t))
    stop = plan_stop(('a', 'b'), departure, LIMITS, 0.02)
    for t in np.linspace(1e-4, departure.times[-1], 200):  # wherever the controller begins
        now = state_at(stop, t)
        before = state_at(course.trajectory, round(elapsed - past, 9) + t)
        assert np.abs(now.q - before.q).max() < 1e-9 and np.abs(now.qd - before.qd).max() < 1e-6


def test_a_measurement_is_compared_with_its_time(course):
    """An arm at the speed of the motion, seen late, is not elsewhere."""
    q = state_at(course.trajectory, 0.75).q
    assert not depart(CHAIN, course, q, np.ones(2), BEGAN + 1.0, LEAD, CYCLE, 1e-3).states
    assert depart(CHAIN, course, q, np.ones(2), BEGAN + 1.0, LEAD, CYCLE, 1e-3, age=0.25).states


@pytest.mark.parametrize('rests', [[0.01], [1e-4, 0.05]])
def test_a_start_from_rest_is_held(course, rests):
    """It stands until the last of the times, and moves as before afterwards."""
    later = held(course.trajectory, rests)
    for t in np.linspace(0.0, DURATION, 50):
        assert same(state_at(later, rests[-1] + t), state_at(course.trajectory, t))
    assert same(state_at(later, 0.9 * rests[-1]), course.trajectory.start)
    assert later.handover == len(rests)


@pytest.mark.parametrize('lag', [0.0, 0.05])
def test_a_takeover_that_came_late_is_noticed(course, lag):
    """By an arm that is on the motion that it should have left; not by one that lags."""
    now = BEGAN + 1.0
    departure = depart(CHAIN, course, state_at(course.trajectory, 1.0).q, np.ones(2), now, LEAD,
                       CYCLE, TOLERANCE, 1.0, 0.002)
    after = Course(plan_stop(('a', 'b'), departure, LIMITS, 0.02), now - 0.002, LIMITS)

    def noticed(motion, since):
        q = state_at(motion.trajectory, now + since - motion.began - lag).q
        return is_late(CHAIN, course, after, q, now + since)

    assert not any(noticed(after, since) for since in np.linspace(0.0, 1.0, 50))
    assert not noticed(course, 0.5 * LEAD) and noticed(course, LEAD + 0.35)


@pytest.mark.parametrize('qd', [(0.0, 0.0), (0.3, -0.1)])
def test_an_arm_that_is_elsewhere_is_met_where_it_is(course, qd):
    """Held, blocked or taken over during our motion: nothing is built on the plan."""
    departure = depart(CHAIN, course, MEASURED, np.array(qd), BEGAN + 1.5, LEAD, CYCLE,
                       TOLERANCE)
    assert same(departure.now, MotionState(MEASURED, np.array(qd), np.zeros(2)))


@pytest.mark.parametrize('offset', [0.0, 0.9e-4, -0.9e-4])
def test_after_a_motion_it_begins_at_its_end(course, offset):
    """While the arm stands at the commanded end, that is the start."""
    q = course.trajectory.end + offset
    departure = depart(CHAIN, course, q, np.zeros(2), BEGAN + 5.0, LEAD, CYCLE, TOLERANCE)
    assert same(departure.now, MotionState.at_rest(course.trajectory.end))
    assert len(departure.times) == 0 and same(departure.handover, departure.now)


def test_elsewhere_it_begins_at_the_measured_rest(course):
    """Away from the end, or without a motion before, the measured posture is the start."""
    away = course.trajectory.end + np.array([0.0, 0.002])
    for before, q in ((course, away), (None, MEASURED)):
        departure = depart(CHAIN, before, q, np.array([0.009, -0.009]), BEGAN + 5.0, LEAD,
                           CYCLE, TOLERANCE)
        assert same(departure.now, MotionState.at_rest(q))
        assert same(departure.handover, departure.now)


@pytest.mark.parametrize('after, off, there', [
    (0.1, 0.01, True), (0.1, 0.05, False), (0.4, 0.01, False)])
def test_of_an_arm_that_is_just_coming_there_it_begins_at_the_end(course, after, off, there):
    """There it is held for the lead; elsewhere, and long after, it begins where the arm is."""
    q, qd = course.trajectory.end - off, np.array([0.2, 0.1])
    departure = depart(CHAIN, course, q, qd, BEGAN + DURATION + after, LEAD, CYCLE, TOLERANCE)
    begin = MotionState.at_rest(course.trajectory.end) if there \
        else MotionState(q, qd, np.zeros(2))
    assert all(same(state, begin) for state in (departure.now, *departure.states))
    assert len(departure.times) == (10 if there else 0)


@pytest.mark.parametrize('qd', [(0.3, 0.0), (0.0, -0.3)])
def test_moved_by_somebody_else_it_begins_in_motion(course, qd):
    """An arm that moves, by no motion of ours, is met where and as fast as it is."""
    for before in (course, None):
        q = course.trajectory.end
        departure = depart(CHAIN, before, q, np.array(qd), BEGAN + 5.0, LEAD, CYCLE, TOLERANCE)
        assert same(departure.now, MotionState(q, np.array(qd), np.zeros(2)))
        assert len(departure.times) == 0


@pytest.mark.parametrize('lag', [0.0, 0.05])
@pytest.mark.parametrize('since', [-0.02, -0.011, -0.0032, -0.0004, 0.0, 0.004])
def test_a_stop_finds_a_way_when_the_hand_over_is_yet_to_come(lag, since):
    """A new goal in motion was sent to begin in a moment; the stop comes before or just after."""
    names, period = ('a', 'b'), 0.02
    first = Course(plan_point_to_point(
        names, Departure.from_state(MotionState.at_rest(np.zeros(2))), np.array([3.0, 1.0]),
        LIMITS, period), BEGAN, LIMITS)

    def leads(course, now):
        q = state_at(first.trajectory, now - BEGAN - lag).q
        return depart(CHAIN, course, q, np.ones(2), now, LEAD, CYCLE, TOLERANCE)

    for at in np.linspace(0.1, first.trajectory.duration - 0.1, 40):
        planned = BEGAN + at
        begins = planned + 0.025
        turned = plan_point_to_point(names, leads(first, planned), np.array([0.5, 1.5]), LIMITS,
                                     period)
        second = Course(postponed(turned, first, planned, begins), begins, LIMITS)
        way = leads(second, begins + since)
        assert way.states  # on the course, not from where the arm is measured
        if since <= 0.0:  # there, but for what the jerk, 80 at most, can change meanwhile
            before, now = state_at(first.trajectory, begins + since - BEGAN), way.now
            assert np.abs(now.qd - before.qd).max() <= 80.0 * since**2 + 1e-7
            assert np.abs(now.q - before.q).max() <= 80.0 * abs(since)**3 / 3.0 + 1e-7
        stop = plan_stop(names, way, LIMITS, period)
        assert stop.duration < LEAD + 0.5 + 2.0 / 8.0 + 8.0 / 80.0
