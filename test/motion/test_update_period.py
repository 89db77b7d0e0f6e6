# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""When the controller takes a trajectory, and what a hand-over in motion costs."""

from functools import cache
import math
from types import SimpleNamespace

from hypothesis import given, settings, strategies as st
from motion_checker import Bounds, faults, path_of, state_at
from motions import at_rest
from nightly import samples, usual_first
import numpy as np
import pytest

from ik_node.motion.change.active_trajectory import ActiveTrajectory, rescheduled
from ik_node.motion.direct.point_to_point import plan_point_to_point, plan_stop, StartState
from ik_node.motion.trajectory.controller_rules import UpdatePeriodEstimator
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.validate import validate
from ik_node.simulation.controller import ControllerOptions, SimulatedController

PERIOD, LEAD = 0.01, 0.1
NAMES = 'a', 'b'
LIMITS = MotionLimits(*(np.full(2, value) for value in (-9.0, 9.0, 2.0, 2.0, 20.0)))
FAR, BACK = np.array([6.0, -3.0]), np.array([-1.0, 4.0])


def estimator_of(stamps):
    """Return a estimator that has heard these stamps."""
    estimator = UpdatePeriodEstimator()
    for stamp in stamps:
        estimator.add(stamp, stamp)
    return estimator


@pytest.mark.parametrize('ahead, agree', [
    (0.0, True), (0.004, True), (0.02, False), (-0.02, True), (-0.05, False), (1e9, False)])
def test_clocks_are_compared_by_the_fastest_state(ahead, agree):
    """However long the others took; a few messages are not enough."""
    estimator, rng = UpdatePeriodEstimator(), np.random.default_rng(5)
    for k in range(20):
        assert not (k < 5 and estimator.clocks_agree(0.03))
        sent = 0.01 * k
        took = 0.0005 if k % 7 == 3 else rng.uniform(0.001, 0.2)
        estimator.add(sent + ahead, sent + took)
    assert estimator.clocks_agree(0.03) == agree
    estimator.add(ahead, 0.3)  # back in time: anew
    assert not estimator.clocks_agree(0.03)


def test_delivery_is_the_95th_percentile():
    """One delayed message in a hundred does not count."""
    estimator = UpdatePeriodEstimator()
    assert estimator.delivery == (0.0, 0.0)
    for k in range(200):
        estimator.add(0.01 * k, 0.01 * k + (0.03 if k % 2 else 0.002) + 0.5 * (k % 100 == 50))
    assert np.allclose(estimator.delivery, (0.002, 0.03))


@given(st.floats(1e-3, 0.045), st.floats(0.0, 100.0), st.floats(0.0, 0.4),
       st.sets(st.integers(1, 28), max_size=8), st.integers(0, 10**6))
def test_the_next_update_is_predicted(period, begin, after, lost, seed):
    """Through jitter and lost messages, from the first stamps on."""
    jitter = np.random.default_rng(seed).uniform(-0.04, 0.04, 30) * period
    stamps = [begin + k * period + jitter[k] for k in range(30) if k not in lost]
    time = stamps[-1] + after
    turns = after / period
    expected = begin + period * (29 + math.ceil(turns))
    found = estimator_of(stamps).next_update(time)
    assert found >= time
    room = period * (0.05 + 0.02 * turns)  # the period is known to some per cent
    if room < 0.3 * period and abs(turns - round(turns)) * period > room:
        assert abs(found - expected) <= 2.0 * room


@pytest.mark.fault('joint states', 'stamps that are zero, irregular or begin anew',
                   'no period is derived from them')
@pytest.mark.parametrize('stamps', [
    [], [1.0], [0.0] * 30, [0.1 * k for k in range(30)], np.cumsum([0.001, 0.03] * 15),
    [0.01 * k for k in range(30)] + [0.05]])
def test_without_a_period_it_is_now(stamps):
    """None, one, unset, slow, irregular, or just begun anew."""
    assert estimator_of(stamps).next_update(4.0) == 4.0
    last = max(stamps, default=0.0)
    assert estimator_of(stamps).next_update(last + 0.004) == last + 0.004


def test_an_old_period_is_dropped():
    """Half a second without a stamp: nothing is known of the next update."""
    assert estimator_of([]).period == 0.01 and estimator_of(0.004 * np.arange(9.0, 39.0)).period \
        == pytest.approx(0.004)
    estimator = estimator_of(0.01 * np.arange(30))
    assert estimator.next_update(0.293) == pytest.approx(0.30)
    assert estimator.next_update(0.9) == 0.9


def test_a_known_cycle():
    """If the joint states have another period, the controller begins within its cycle."""
    estimator = estimator_of(0.03 * np.arange(30))
    assert estimator.next_update(0.881) == pytest.approx(0.90)
    assert estimator.period == pytest.approx(0.03)
    assert estimator.next_update(0.881, 0.001) == pytest.approx(0.8815)
    assert estimator.next_update(0.881, 0.031) == pytest.approx(0.90)
    assert estimator_of([]).next_update(4.0, 0.02) == 4.01


def plan(start, goal):
    return plan_point_to_point(NAMES, start, goal, LIMITS, 0.02)


@cache
def first_motion():
    """Return the motion from rest that the others replace."""
    return plan(at_rest(np.zeros(2)), FAR)


def message(trajectory):
    """Return what looks like a JointTrajectory."""
    def stamp(t):
        return SimpleNamespace(sec=int(t), nanosec=round(1e9 * (t % 1.0)))

    return SimpleNamespace(
        header=SimpleNamespace(stamp=stamp(0.0)), joint_names=list(NAMES),
        points=[SimpleNamespace(time_from_start=stamp(t), positions=q, velocities=qd,
                                accelerations=qdd, effort=[])
                for t, q, qd, qdd in zip(trajectory.times.tolist(), trajectory.q.tolist(),
                                         trajectory.qd.tolist(), trajectory.qdd.tolist())])


class Lagging(SimulatedController):
    """Its hardware is some cycles late."""

    def __init__(self, lag, from_desired):
        super().__init__(NAMES, np.zeros(2, dtype=bool), np.zeros(2), ControllerOptions(
            interpolate_from_desired_state=from_desired))
        self._lag, self.commands = lag, []

    def update(self, now, period):
        """Keep what the hardware will do some cycles later."""
        self.commands.append(self._command)
        return super().update(now, period)

    @property
    def command(self):
        """Return what the joints are told."""
        return self._command

    def _sampler_of(self, message, now):
        self.state = self.commands[-1 - self._lag]
        return super()._sampler_of(message, now)


def splice(phase, plan_next, lag=0, from_desired=False, periodic=True, close=True, seed=0,
           period=PERIOD):
    """
    Send a motion, and the next one at a share `phase` of it; return what the joints were told.

    Times of sending and planning are random; the node knows the stamps of the controller's
    joint states, or not.  It sends points for each of its cycles until the hand-over, or not.
    """
    rng = np.random.default_rng(seed)
    controller, estimator = Lagging(lag, from_desired), UpdatePeriodEstimator()
    sent_first = 0.5 + rng.uniform(0.0, period)
    planned_at = sent_first + phase * first_motion().duration
    sent_next = planned_at + rng.uniform(0.002, 0.012)
    active = trajectory = None
    told = []
    k = 0
    while trajectory is None or k * period < sent_next + trajectory.duration + 2.0 * period:
        t = k * period
        k += 1
        if active is None and t >= sent_first:
            began = estimator.next_update(sent_first) if periodic else sent_first
            active = ActiveTrajectory(first_motion(), began, LIMITS)
            controller.offer(message(first_motion()), t)
        if trajectory is None and t >= sent_next:
            begin = estimator.next_update(sent_next) if periodic else sent_next
            trajectory = plan_next(StartState.from_motion(
                first_motion(), planned_at - active.began, LEAD,
                estimator.period if close else LEAD))
            if periodic:
                trajectory = rescheduled(trajectory, active, planned_at, begin)
                validate(trajectory, LIMITS)
            controller.offer(message(trajectory), t)
        controller.update(t, period)
        estimator.add(t, t)
        told.append([controller.command.q, controller.command.qd])
    return np.array(told), trajectory


def kick(told, period=PERIOD):
    """Return the largest acceleration (per s^2) that the commanded positions ask for."""
    return np.abs(np.diff(told[:, 0], 2, axis=0)).max() / period**2


@settings(max_examples=samples(usual=15, nightly=60), deadline=None)
@given(st.floats(0.0, 1.0), st.booleans(), st.integers(0, 10**6))
def test_a_splice_keeps_the_limits(phase, stops, seed):
    """From any phase, to a new goal or to a stop: as if it had been one motion."""
    if stops:
        def plan_next(start):
            return plan_stop(NAMES, start, LIMITS, 0.02)
    else:
        def plan_next(start):
            return plan(start, BACK)
    told, trajectory = splice(phase, plan_next, seed=seed)
    # The controller takes up the motion without the acceleration that it had.
    assert kick(told) <= 1.5 * LIMITS.acceleration[0]
    step = np.diff(told[:, 0], axis=0) / PERIOD - 0.5 * (told[1:, 1] + told[:-1, 1])
    assert np.abs(step).max() < 5e-3, 'positions and velocities tell different stories'
    assert np.abs(told[-1, 0] - trajectory.end).max() < 1e-9 and not told[-1, 1].any()
    assert stops or np.allclose(trajectory.end, BACK, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize('lag, from_desired', usual_first(2, [
    (0, False), (3, True), (1, False), (3, False), (10, False), (0, True)]))
def test_the_estimate_and_close_points_are_needed(lag, from_desired):
    """Without them a splice at full speed leaves the trajectory."""
    phases = np.linspace(0.02, 0.98, samples(usual=5, nightly=17))

    def kicks(**named):
        return (kick(splice(phase, lambda at: plan(at, BACK), lag, from_desired, seed=seed,
                            **named)[0]) for seed, phase in enumerate(phases))

    # Whether the controller begins where the arm is measured, or at its last command,
    # which it dates back by one cycle.
    assert max(kicks()) < 1.02 * LIMITS.acceleration[0]
    assert any(each > 10.0 for each in kicks(periodic=False))
    if lag > 0 or from_desired:
        assert any(each > 10.0 for each in kicks(close=False))


@pytest.mark.parametrize('from_desired', [False, True])
@pytest.mark.parametrize('period', usual_first(2, [0.02, 0.002, 0.004, 0.001]))
def test_splices_for_slow_and_fast_controllers(period, from_desired):
    """With an arm that lags by three cycles: none leaves the trajectory."""
    for seed, phase in enumerate(np.linspace(0.05, 0.95, samples(usual=2, nightly=5))):
        told, _ = splice(phase, lambda at: plan(at, BACK), 3, from_desired, seed=seed,
                         period=period)
        assert kick(told, period) < 1.02 * LIMITS.acceleration[0]


@settings(max_examples=50, deadline=None)
@given(st.floats(0.0, 1.0), st.floats(-0.02, 0.08), st.floats(0.001, 0.05))
def test_a_rescheduled_motion_keeps_its_splice_point(phase, delay, cycle):
    """The same states at the same times of the active trajectory, within the limits."""
    active = ActiveTrajectory(first_motion(), 50.0, LIMITS)
    assumed = 50.0 + phase * first_motion().duration
    first = plan(StartState.from_motion(first_motion(), assumed - 50.0, LEAD, cycle), BACK)
    later = rescheduled(first, active, assumed, assumed + delay)
    k = len(first.times) - len(later.times)
    assert first.lead_points - later.lead_points == k and later.lead_points > 0
    assert np.abs(later.times + delay - first.times[k:]).max() < 1e-9
    assert np.array_equal(later.q, first.q[k:]) and np.array_equal(later.qdd, first.qdd[k:])
    old = path_of(first_motion())
    expected = state_at(old, assumed + delay - 50.0)
    for ours, theirs in zip((later.start.q, later.start.qd, later.start.qdd), expected):
        assert np.abs(ours - theirs).max() < 1e-7  # one solves for its quintics
    validate(later, LIMITS)
    bounds = Bounds(LIMITS.lower, LIMITS.upper, LIMITS.velocity, LIMITS.acceleration, None)
    assert not faults(later, bounds, goal=BACK)


def test_goals_that_come_faster_than_splice_points():
    """Each motion is replaced by the next just after it began."""
    rng = np.random.default_rng(1)
    bounds = Bounds(LIMITS.lower, LIMITS.upper, LIMITS.velocity, LIMITS.acceleration, None)
    for _ in range(samples(usual=20, nightly=300)):
        active = ActiveTrajectory(first_motion(), 0.0, LIMITS)
        now = rng.uniform(0.0, first_motion().duration)
        for _ in range(5):
            planned = now + rng.uniform(0.0, 0.5 * LEAD)
            now = planned + rng.uniform(0.003, 0.03)
            begin = (now // PERIOD + 1.0) * PERIOD
            following = plan(StartState.from_motion(
                active.trajectory, planned - active.began, LEAD, PERIOD), rng.uniform(-6, 6, 2))
            following = rescheduled(following, active, planned, begin)
            validate(following, LIMITS)
            assert not faults(following, bounds)
            active = ActiveTrajectory(following, begin, LIMITS)


def test_a_motion_without_lead_points_is_not_rescheduled():
    """From rest, or after the splice point, it is unchanged."""
    active = ActiveTrajectory(first_motion(), 0.0, LIMITS)
    assert rescheduled(first_motion(), active, 9.0, 9.01) is first_motion()
    second = plan(StartState.from_motion(first_motion(), 1.0, LEAD, PERIOD), BACK)
    assert rescheduled(second, active, 1.0, 1.0 + LEAD) is second
