# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Where a new motion begins."""

from dataclasses import replace

from motions import at_rest
import numpy as np
import pytest

from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.motion.change.active_trajectory import (
    ActiveTrajectory,
    choose_start,
    delayed,
    Measurement,
    missed_splice,
    rescheduled,
    SpliceTiming,
)
from ik_node.motion.direct.point_to_point import plan_point_to_point, plan_stop
from ik_node.motion.trajectory.interpolation import state_at
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory

BEGAN, DURATION, LOOK_AHEAD, CYCLE, TOLERANCE = 50.0, 2.0, 0.05, 0.01, 0.02
MEASURED = np.array([0.3, -0.2])
LIMITS = MotionLimits(*(np.full(2, value) for value in (-9.0, 9.0, 2.0, 8.0, 80.0)))
JOINT = ('<joint name="{0}{1}" type="{2}"><parent link="{0}"/><child link="{1}"/><axis xyz="0 0 1"'
         '/><limit lower="-9" upper="9" velocity="2"/></joint>')
CHAIN = make_chain(parse_urdf(
    '<robot name="r"><link name="a"/><link name="b"/><link name="c"/>'
    + JOINT.format('a', 'b', 'revolute') + JOINT.format('b', 'c', 'continuous') + '</robot>'),
    'a', 'c')


def start_of(active, q, qd, now, cycle=CYCLE, tolerance=TOLERANCE, elapsed=None, backdating=0.0,
             age=0.0):
    """Return where a motion starts whose look-ahead is LOOK_AHEAD."""
    return choose_start(CHAIN, active, Measurement(q, qd, age), now,
                        SpliceTiming(LOOK_AHEAD, cycle, elapsed, backdating), tolerance)


@pytest.fixture
def active():
    """Return a motion of two joints over three points."""
    q = np.array([[0.2, 0.1], [0.6, 0.3], [1.0, 0.5]])
    qd = np.array([[0.5, 0.2], [0.5, 0.2], [0.0, 0.0]])
    qdd = np.array([[0.4, 0.0], [-0.4, 0.0], [0.0, 0.0]])
    return ActiveTrajectory(Trajectory(('a', 'b'), MotionState.at_rest(np.zeros(2)),
                                       np.array([0.5, 1.52, DURATION]), q, qd, qdd), BEGAN, LIMITS)


def same(a, b):
    """Tell whether two states are equal."""
    return all(np.allclose(x, y, rtol=0.0, atol=1e-12)
               for x, y in ((a.q, b.q), (a.qd, b.qd), (a.qdd, b.qdd)))


def test_moves(active):
    """A motion is under way until its planned end."""
    assert active.moves(BEGAN) and active.moves(BEGAN + DURATION - 1e-6)
    assert not active.moves(BEGAN + DURATION) and not active.moves(BEGAN + DURATION + 1.0)


@pytest.mark.parametrize('elapsed', [0.0, 0.3, 1.0, 1.5, 1.96, 1.999])
@pytest.mark.parametrize('lag', [0.0, 0.08])
def test_a_moving_arm_starts_on_the_active_trajectory(active, elapsed, lag):
    """The arm follows, if late: the new motion leaves the old one after the lead."""
    measured = state_at(active.trajectory, elapsed - lag).q + 0.9 * TOLERANCE
    measured[1] += 6.0 * np.pi  # whole turns of the continuous joint do not count
    start = start_of(active, measured, np.ones(2), BEGAN + elapsed)
    assert same(start.initial, state_at(active.trajectory, elapsed))
    assert start.times[-1] == LOOK_AHEAD
    assert same(start.splice, state_at(active.trajectory, elapsed + LOOK_AHEAD))
    assert len(start.times) == len(start.states)
    for t, state in zip(start.times, start.states):
        assert same(state, state_at(active.trajectory, elapsed + t))


@pytest.mark.parametrize('cycle, times', [
    (0.04, [0.02, 0.035, 0.05]), (0.02, [0.01, 0.02, 0.03, 0.04, 0.05]), (1.0, [0.02, 0.05])])
def test_each_cycle_has_points_of_the_active_trajectory(active, cycle, times):
    """Its own points, too; and however fast the controller is, not without end."""
    q = state_at(active.trajectory, 1.5).q
    found = start_of(active, q, np.ones(2), BEGAN + 1.5, cycle=cycle).times
    assert np.allclose(found, times, rtol=0.0, atol=1e-9)
    found = start_of(active, q, np.ones(2), BEGAN + 1.5, cycle=1e-4).times
    assert np.diff(found, prepend=0.0).min() >= 0.25e-3


@pytest.mark.parametrize('elapsed', [0.004, 0.3, 1.5004, 1.96])
@pytest.mark.parametrize('past', [0.002, 0.052])
def test_a_controller_that_joins_samples_the_active_trajectory(active, elapsed, past):
    """Time 0 is in the past; the first point is just after it, the last one the lead ahead."""
    q = state_at(active.trajectory, elapsed).q
    # Where the motion is says the stamp, though another clock says something else.
    start = start_of(active, q, np.ones(2), BEGAN + elapsed + 0.003,
                     elapsed=elapsed, backdating=past)
    assert start.backdating == past and start.times[0] == 1e-4
    assert abs(start.times[-1] - past - LOOK_AHEAD) <= 1e-3
    assert same(start.initial, state_at(active.trajectory, round(elapsed - past, 9)))
    for t, state in zip(start.times, start.states):
        assert same(state, state_at(active.trajectory, round(elapsed - past, 9) + t))
    stop = plan_stop(('a', 'b'), start, LIMITS, 0.02)
    for t in np.linspace(1e-4, start.times[-1], 200):  # wherever the controller begins
        now = state_at(stop, t)
        before = state_at(active.trajectory, round(elapsed - past, 9) + t)
        assert np.abs(now.q - before.q).max() < 1e-9 and np.abs(now.qd - before.qd).max() < 1e-6


def test_a_measurement_is_compared_with_the_plan_at_its_time(active):
    """An arm at the speed of the motion, seen late, is not elsewhere."""
    q = state_at(active.trajectory, 0.75).q
    assert not start_of(active, q, np.ones(2), BEGAN + 1.0, tolerance=1e-3).states
    assert start_of(active, q, np.ones(2), BEGAN + 1.0, tolerance=1e-3, age=0.25).states


@pytest.mark.parametrize('rests', [[0.01], [1e-4, 0.05]])
def test_a_start_from_rest_is_delayed(active, rests):
    """It stands until the last of the times, and moves as before afterwards."""
    later = delayed(active.trajectory, rests)
    for t in np.linspace(0.0, DURATION, 50):
        assert same(state_at(later, rests[-1] + t), state_at(active.trajectory, t))
    assert same(state_at(later, 0.9 * rests[-1]), active.trajectory.start)
    assert later.lead_points == len(rests)


@pytest.mark.parametrize('speed', [1.0, 4.0])
@pytest.mark.parametrize('lag', [-0.008, 0.0, 0.005, 0.0137, 0.05, 0.096])
def test_a_missed_splice_point_is_noticed(active, lag, speed):
    """By an arm that is on the motion that it should have left; not by one that lags."""
    now = BEGAN + 1.0
    way = active.trajectory
    active = replace(active, trajectory=replace(
        way, q=speed * way.q, qd=speed * way.qd, qdd=speed * way.qdd))
    start = start_of(active, state_at(active.trajectory, 1.0).q, np.ones(2), now,
                     elapsed=1.0, backdating=0.002)
    after = ActiveTrajectory(plan_stop(('a', 'b'), start, LIMITS, 0.02), now - 0.002, LIMITS,
                             10**9)

    def noticed(motion, since):
        q = state_at(motion.trajectory, now + since - motion.began - lag).q
        return missed_splice(CHAIN, active, after, q, now + since)

    assert not any(noticed(after, since) for since in np.linspace(0.0, 1.0, 500))
    assert not noticed(active, 0.5 * LOOK_AHEAD) and noticed(active, LOOK_AHEAD + 0.35)


@pytest.mark.parametrize('late', [0.0, 0.1])
@pytest.mark.parametrize('elapsed', [0.2, 0.6, 1.0, 1.4])
def test_an_arm_that_does_not_brake_is_noticed(active, late, elapsed):
    """Not one that gets its ramp late, until when it is on its motion, and begins it then."""
    now = BEGAN + elapsed
    start = start_of(active, state_at(active.trajectory, elapsed).q, np.ones(2), now)
    ramp = ActiveTrajectory(plan_stop(('a', 'b'), start, LIMITS, 0.02), now, LIMITS)
    for since in np.linspace(0.0, 2.0, 100):
        begun = state_at(ramp.trajectory, since - late) if since > late \
            else state_at(active.trajectory, elapsed + since)
        assert ramp.brakes(begun.qd, now + since)
    end = min(LOOK_AHEAD + 0.6, DURATION - elapsed - 0.2)
    lost = state_at(active.trajectory, elapsed + end).qd
    assert not ramp.brakes(lost, now + end)


@pytest.mark.parametrize('lag, scale, stamp', [
    (0.0, 1.0, 10**9), (0.1, 1.0, 10**9), (0.05, 0.3, 10**9), (0.3, 1.0, None), (0.2, 0.3, None)])
def test_a_missed_start_is_noticed(active, lag, scale, stamp):
    """By an arm that stays at rest; not by one that begins late or slowly."""
    way = active.trajectory
    way = replace(way, q=4.0 * way.q, qd=4.0 * way.qd, qdd=4.0 * way.qdd)
    after = ActiveTrajectory(delayed(way, [0.02]), BEGAN, LIMITS, stamp)
    rest = way.start.q

    def noticed(q, since):
        return missed_splice(CHAIN, None, after, q, BEGAN + since)

    assert not noticed(rest, 0.02) and noticed(rest, 0.8)
    for since in np.linspace(0.0, DURATION, 50):
        behind = scale * (since - 0.02 - lag)
        assert not noticed(state_at(way, behind).q if behind > 0.0 else rest, since)


@pytest.mark.parametrize('qd', [(0.0, 0.0), (0.3, -0.1)])
def test_an_arm_off_its_trajectory_starts_at_the_measured_state(active, qd):
    """Held, blocked or taken over during our motion: nothing is built on the plan."""
    start = start_of(active, MEASURED, np.array(qd), BEGAN + 1.5)
    assert same(start.initial, MotionState(MEASURED, np.array(qd), np.zeros(2)))


@pytest.mark.parametrize('offset', [0.0, 0.9e-4, -0.9e-4])
def test_after_a_motion_it_starts_at_its_end(active, offset):
    """While the arm stands at the commanded end, that is the start."""
    q = active.trajectory.end + offset
    start = start_of(active, q, np.zeros(2), BEGAN + 5.0)
    assert same(start.initial, MotionState.at_rest(active.trajectory.end))
    assert len(start.times) == 0 and same(start.splice, start.initial)


def test_away_from_the_end_it_starts_at_the_measured_rest(active):
    """Away from the end, or without a motion before, the measured posture is the start."""
    away = active.trajectory.end + np.array([0.0, 0.002])
    for before, q in ((active, away), (None, MEASURED)):
        start = start_of(before, q, np.array([0.009, -0.009]), BEGAN + 5.0)
        assert same(start.initial, MotionState.at_rest(q))
        assert same(start.splice, start.initial)


@pytest.mark.parametrize('after, off, there', [
    (0.1, 0.01, True), (0.1, 0.05, False), (0.4, 0.01, False)])
def test_a_settling_arm_starts_at_the_commanded_end(active, after, off, there):
    """There it is held for the lead; elsewhere, and long after, it begins where the arm is."""
    q, qd = active.trajectory.end - off, np.array([0.2, 0.1])
    start = start_of(active, q, qd, BEGAN + DURATION + after)
    begin = MotionState.at_rest(active.trajectory.end) if there \
        else MotionState(q, qd, np.zeros(2))
    assert all(same(state, begin) for state in (start.initial, *start.states))
    assert len(start.times) == (10 if there else 0)


@pytest.mark.parametrize('qd', [(0.3, 0.0), (0.0, -0.3)])
def test_an_arm_moved_by_others_starts_in_motion(active, qd):
    """An arm that moves, by no motion of ours, is met where and as fast as it is."""
    for before in (active, None):
        q = active.trajectory.end
        start = start_of(before, q, np.array(qd), BEGAN + 5.0)
        assert same(start.initial, MotionState(q, np.array(qd), np.zeros(2)))
        assert len(start.times) == 0


@pytest.mark.parametrize('lag', [-0.008, 0.0, 0.005, 0.0137, 0.05, 0.096])
@pytest.mark.parametrize('since', [-0.02, -0.011, -0.0032, -0.0004, 0.0, 0.004])
def test_a_stop_around_a_splice_point_starts_on_the_trajectory(lag, since):
    """A new goal in motion was sent to begin in a moment; the stop comes before or just after."""
    names, period = ('a', 'b'), 0.02
    first = ActiveTrajectory(plan_point_to_point(
        names, at_rest(np.zeros(2)), np.array([3.0, 1.0]),
        LIMITS, period), BEGAN, LIMITS)

    def leads(active, now):
        q = state_at(first.trajectory, now - BEGAN - lag).q
        return start_of(active, q, np.ones(2), now)

    for at in np.linspace(0.1, first.trajectory.duration - 0.1, 40):
        planned = BEGAN + at
        begins = planned + 0.025
        turned = plan_point_to_point(names, leads(first, planned), np.array([0.5, 1.5]), LIMITS,
                                     period)
        second = ActiveTrajectory(rescheduled(turned, first, planned, begins), begins, LIMITS)
        way = leads(second, begins + since)
        assert way.states  # on the active, not from where the arm is measured
        if since <= 0.0:  # there, but for what the jerk, 80 at most, can change meanwhile
            before, now = state_at(first.trajectory, begins + since - BEGAN), way.initial
            assert np.abs(now.qd - before.qd).max() <= 80.0 * since**2 + 1e-7
            assert np.abs(now.q - before.q).max() <= 80.0 * abs(since)**3 / 3.0 + 1e-7
        stop = plan_stop(names, way, LIMITS, period)
        assert stop.duration < LOOK_AHEAD + 0.5 + 2.0 / 8.0 + 8.0 / 80.0
