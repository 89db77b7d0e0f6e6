# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The watch over a motion: by progress, not by duration."""

from dataclasses import replace

from hypothesis import given, settings, strategies as st
from motions import at_rest, limits_of
from nightly import samples
import numpy as np
import pytest
import robots

from ik_node.base.errors import Reason
from ik_node.motion.change.monitor import Monitor, MonitorOptions
from ik_node.motion.direct.point_to_point import plan_point_to_point, StartState
from ik_node.motion.trajectory.interpolation import state_at
from ik_node.motion.trajectory.trajectory import MotionState

OPTIONS = MonitorOptions(joint_tolerance=0.01, start_timeout=1.0, settle_timeout=2.0,
                         state_timeout=0.5)
PERIOD = 0.02


def plan(name, start, goal):
    """Return a chain and a motion on it."""
    chain = robots.chain(name)
    limits = limits_of(chain, 1.0, acceleration=3.0, jerk=30.0)
    start = MotionState.at_rest(np.asarray(start, dtype=float))
    return chain, plan_point_to_point(chain.joint_names, StartState.from_state(start),
                                      np.asarray(goal, dtype=float), limits, 0.1)


START = np.array([0.0, -1.0, 1.0, 0.0, 0.5, 0.0])
GOAL = np.array([1.5, -1.2, 1.3, 0.2, 0.5, -1.0])


def watch(monitor, measured, age=lambda t: 0.0, until=60.0):
    """Return the first verdict and its time when `measured(t)` is seen."""
    for t in np.arange(0.0, until, PERIOD):
        verdict = monitor.observe(t, measured(t), age(t))
        if verdict is not None:
            return verdict, t
    return None, until


@pytest.fixture
def motion():
    """Return chain, trajectory and a fresh monitor."""
    chain, trajectory = plan('ur5', START, GOAL)
    return chain, trajectory, Monitor(chain, trajectory, START, OPTIONS)


def test_reached(motion):
    """An arm that follows has arrived soon after the planned end, not before."""
    _, trajectory, monitor = motion
    verdict, t = watch(monitor, lambda t: state_at(trajectory, t - 0.1).q)
    assert verdict.reason is Reason.REACHED
    assert trajectory.duration <= t < trajectory.duration + 0.3


def test_reached_means_at_rest_within_tolerance(motion):
    """An arm that passes through the tolerance has not arrived."""
    _, trajectory, monitor = motion
    assert monitor.observe(trajectory.duration + 0.1, GOAL + 0.009, 0.0) is None  # just come
    assert monitor.observe(trajectory.duration + 0.2, GOAL + 0.002, 0.0) is None  # moves
    assert monitor.observe(trajectory.duration + 0.3, GOAL + 0.002, 0.0).reason is Reason.REACHED


def test_outside_tolerance_is_not_reached(motion):
    """At rest just outside the tolerance: OFF_TARGET, with joint and distance."""
    _, trajectory, monitor = motion
    off = np.zeros(6)
    off[3] = 0.015
    verdict, t = watch(monitor, lambda t: state_at(trajectory, t).q + off * min(1.0, t))
    assert verdict.reason is Reason.OFF_TARGET
    assert "'wrist_1_joint'" in verdict.sentence and '0.015' in verdict.sentence
    assert t > trajectory.duration + OPTIONS.settle_timeout


def test_not_moving(motion):
    """An arm that has not begun after the start timeout is reported then."""
    _, trajectory, monitor = motion
    assert trajectory.duration > 1.5
    verdict, t = watch(monitor, lambda t: START + 0.0005 * np.sin(40.0 * t))
    assert verdict.reason is Reason.NOT_MOVING
    assert OPTIONS.start_timeout < t < OPTIONS.start_timeout + 0.1
    assert 'controller' in verdict.sentence and f'{t:.1f} s' in verdict.sentence


def test_an_old_measurement_of_a_resting_arm(motion):
    """The time of the measurement counts, not the time without one."""
    chain, trajectory, monitor = motion
    verdict, t = watch(monitor, lambda t: START, lambda t: min(t, 0.4))
    assert verdict.reason is Reason.NOT_MOVING
    assert OPTIONS.start_timeout + 0.4 < t < OPTIONS.start_timeout + 0.5


def test_a_late_start_is_waited_for(motion):
    """A start within the start timeout is no fault."""
    _, trajectory, monitor = motion
    verdict, _ = watch(monitor, lambda t: state_at(trajectory, t - 0.7).q)
    assert verdict.reason is Reason.REACHED


def test_a_slow_controller_is_waited_for(motion):
    """A controller at a tenth of the speed is waited for while it makes progress."""
    _, trajectory, monitor = motion
    verdict, t = watch(monitor, lambda t: state_at(trajectory, 0.1 * t).q)
    assert verdict.reason is Reason.REACHED
    assert t > 8.0 * trajectory.duration


def test_blocked_in_motion(motion):
    """An arm that stops before the end is reported after the settle timeout."""
    _, trajectory, monitor = motion
    half = 0.5 * trajectory.duration
    verdict, t = watch(monitor, lambda t: state_at(trajectory, min(t, half)).q)
    assert verdict.reason is Reason.OFF_TARGET
    assert "'shoulder_pan_joint'" in verdict.sentence
    assert t == pytest.approx(trajectory.duration + OPTIONS.settle_timeout, abs=0.1)


def test_moved_away_by_others(motion):
    """An arm that drifts away from the end makes no progress."""
    _, trajectory, monitor = motion
    verdict, t = watch(monitor, lambda t: state_at(trajectory, t).q + 0.05 * t)
    assert verdict.reason is Reason.OFF_TARGET
    assert t < trajectory.duration + OPTIONS.settle_timeout + 0.1


def test_state_lost(motion):
    """Without joint states past the end it is not known where the arm is."""
    _, trajectory, monitor = motion
    lost = 0.5 * trajectory.duration
    verdict, t = watch(monitor, lambda t: state_at(trajectory, min(t, lost)).q,
                       lambda t: max(0.0, t - lost))
    assert verdict.reason is Reason.STATE_LOST
    assert f'{t - lost:.1f} s ago' in verdict.sentence
    assert t == pytest.approx(trajectory.duration + OPTIONS.settle_timeout, abs=0.1)


def test_a_short_loss_is_bridged(motion):
    """Joint states that come back in time do no harm."""
    _, trajectory, monitor = motion
    verdict, _ = watch(monitor, lambda t: state_at(trajectory, t).q,
                       lambda t: 0.8 if 0.3 < t < 1.4 else 0.0)
    assert verdict.reason is Reason.REACHED


def test_stale_states_are_no_arrival(motion):
    """Old positions prove nothing, even at the goal."""
    _, trajectory, monitor = motion
    for t in (0.1, 0.2):
        assert monitor.observe(trajectory.duration + t, GOAL, 0.6) is None


def test_a_motion_that_starts_moving_has_begun():
    """After a preemption the arm moves already; a short rest is no fault."""
    chain, trajectory = plan('ur5', START, GOAL)
    moving = replace(trajectory, start=MotionState(START, np.full(6, 0.1), np.zeros(6)))
    monitor = Monitor(chain, moving, START, OPTIONS)
    assert monitor.observe(1.2, START, 0.0) is None


def test_a_tiny_motion_is_reached():
    """A motion smaller than the tolerance is reached at once."""
    chain, trajectory = plan('ur5', START, START + 0.004)
    monitor = Monitor(chain, trajectory, START, OPTIONS)
    verdict, t = watch(monitor, lambda t: START)
    assert verdict.reason is Reason.REACHED and t < trajectory.duration + 0.2


@pytest.mark.parametrize('turns', [0, 1, -3, 40])
def test_whole_turns_of_continuous_joints_do_not_count(turns):
    """A driver may report a continuous joint whole turns away."""
    start = np.array([0.1, 3.0, 3.0, 0.2, 0.3, 0.4])
    goal = start + np.array([0.5, 0.1, 0.2, -0.5, 0.3, 0.9])
    chain, trajectory = plan('kinova', start, goal)
    shift = 2.0 * np.pi * turns * chain.continuous
    assert chain.continuous.any()
    monitor = Monitor(chain, trajectory, start, OPTIONS)
    verdict, t = watch(monitor, lambda t: state_at(trajectory, t).q + shift)
    assert verdict.reason is Reason.REACHED and t < trajectory.duration + 0.2


def test_whole_turns_of_limited_joints_do_count(motion):
    """One turn away, a joint with limits is not at its goal."""
    _, trajectory, monitor = motion
    turn = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 2.0 * np.pi])
    verdict, _ = watch(monitor, lambda t: state_at(trajectory, t).q + turn * min(1.0, t))
    assert verdict.reason is Reason.OFF_TARGET and "'wrist_3_joint'" in verdict.sentence


def noisy(sigma, seed):
    """Return independent errors of measurement, one for each call."""
    random = np.random.default_rng(seed)
    return lambda: sigma * random.standard_normal(6)


@pytest.mark.parametrize('sigma', [1e-4, 3e-4, 1e-3, 2e-3])
@pytest.mark.parametrize('seed', range(5))
def test_noise_does_not_hide_an_arrival(motion, sigma, seed):
    """An arm that stands at the goal has arrived, though no two measurements agree."""
    chain, trajectory, _ = motion
    error = noisy(sigma, seed)
    monitor = Monitor(chain, trajectory, START + error(), OPTIONS)
    verdict, t = watch(monitor, lambda t: state_at(trajectory, t).q + error())
    assert verdict.reason is Reason.REACHED
    assert t < trajectory.duration + 0.8


@pytest.mark.parametrize('sigma', [1e-4, 5e-4])
@pytest.mark.parametrize('seed', range(10))
def test_noise_is_not_taken_for_motion(motion, sigma, seed):
    """A silent controller is detected although its encoders are noisy."""
    chain, trajectory, _ = motion
    error = noisy(sigma, seed)
    monitor = Monitor(chain, trajectory, START + error(), OPTIONS)
    verdict, t = watch(monitor, lambda t: START + error())
    assert verdict.reason is Reason.NOT_MOVING and t < 1.1


def test_an_arm_that_still_creeps_has_not_arrived(motion):
    """The reported error is that of the arm at rest."""
    _, trajectory, monitor = motion
    T = trajectory.duration

    def creeping(t):
        return state_at(trajectory, t).q if t < T else GOAL + 0.008 * np.exp(-(t - T) / 0.2)

    # Within the tolerance from T on; before T it stands exactly on its plan.
    verdict, t = watch(monitor, creeping)
    assert verdict.reason is Reason.REACHED
    assert np.abs(creeping(t) - GOAL).max() < 0.0015


def test_a_measurement_counts_once(motion):
    """Slow joint states that have not changed yet do not mean that the arm rests."""
    _, trajectory, monitor = motion
    T = trajectory.duration
    seen = [monitor.observe(T + 0.3 + age, GOAL + 0.005, age) for age in np.arange(0, 0.4, 0.02)]
    assert seen == [None] * len(seen)


def test_a_measurement_before_the_end_is_no_arrival(motion):
    """Joint states that stopped shortly before the end do not show where it ended."""
    _, trajectory, monitor = motion
    T = trajectory.duration
    for t in np.arange(0.0, T - 0.01, PERIOD):
        assert monitor.observe(t, GOAL, 0.0) is None
    assert monitor.observe(T + 0.3, GOAL, 0.35) is None


def test_noise_is_rarely_taken_for_motion(motion):
    """Even at a tenth of the tolerance; a few measurements may agree by chance."""
    chain, trajectory, _ = motion
    found = 0
    for seed in range(40):
        error = noisy(1e-3, seed)
        monitor = Monitor(chain, trajectory, START + error(), OPTIONS)
        verdict, _ = watch(monitor, lambda t, error=error: START + error(), until=1.2)
        found += verdict is not None and verdict.reason is Reason.NOT_MOVING
    assert found > 30


def test_a_slow_short_motion_is_reached():
    """Less than the tolerance away: an arm without visible motion has arrived."""
    chain = robots.chain('ur5')
    slow = limits_of(chain, 0.002, acceleration=3.0, jerk=30.0)
    trajectory = plan_point_to_point(chain.joint_names, at_rest(START), START + 0.004, slow, 0.1)
    assert trajectory.duration > OPTIONS.start_timeout
    monitor = Monitor(chain, trajectory, START, OPTIONS)
    verdict, _ = watch(monitor, lambda t: START)
    assert verdict.reason is Reason.REACHED


def test_a_closed_path_is_not_reached_at_rest(motion):
    """It ends where it began, and nothing has moved: the controller is silent."""
    chain, there, _ = motion
    back = plan_point_to_point(chain.joint_names, at_rest(GOAL), START,
                               limits_of(chain, 9.0, 90.0, 9e3), 0.01)
    closed = replace(back, start=there.start, times=np.append(0.1, 0.1 + back.times),
                     q=np.vstack([GOAL, back.q]), qd=np.vstack([np.zeros(6), back.qd]),
                     qdd=np.vstack([np.zeros(6), back.qdd]))
    assert closed.duration < OPTIONS.start_timeout
    verdict, _ = watch(Monitor(chain, closed, START, OPTIONS), lambda t: START)
    assert verdict.reason is Reason.NOT_MOVING
    verdict, _ = watch(Monitor(chain, closed, START, OPTIONS), lambda t: state_at(closed, t).q)
    assert verdict.reason is Reason.REACHED


# ---- the path ---------------------------------------------------------------

TOLERANCE = np.full(6, 0.05)
TRACKED = replace(OPTIONS, path_tolerance=TOLERANCE)


@pytest.fixture
def tracked(motion):
    """Return the trajectory, and a monitor that watches its path."""
    chain, trajectory, _ = motion
    return trajectory, Monitor(chain, trajectory, START, TRACKED)


@pytest.mark.parametrize('joint, offset', [
    (joint, sign * size) for joint, size in enumerate([0.3, 0.08, 0.08, 0.08, 0.06, 0.3])
    for sign in (-1.0, 1.0)])
def test_off_track(tracked, joint, offset):
    """A joint pushed off the path is reported at once, by name, distance and tolerance."""
    trajectory, monitor = tracked
    off = offset * np.eye(6)[joint]
    begin = 0.4 * trajectory.duration
    verdict, t = watch(monitor, lambda t: state_at(trajectory, t).q + off * (t > begin))
    assert verdict.reason is Reason.OFF_TRACK
    assert '0.05 are allowed' in verdict.sentence and 'off track' in verdict.sentence
    assert t < begin + 0.1
    if joint not in (0, 5):  # where these are off, others may as well be ahead
        assert repr(robots.chain('ur5').joint_names[joint]) in verdict.sentence


@pytest.mark.parametrize('joint, name', [(0, 'shoulder_pan_joint'), (5, 'wrist_3_joint')])
def test_a_blocked_joint_is_off_track(tracked, joint, name):
    """One joint stands while the others follow: it is named, long before the end."""
    trajectory, monitor = tracked

    def measured(t):
        q = state_at(trajectory, t).q.copy()
        q[joint] = START[joint]
        return q

    verdict, t = watch(monitor, measured)
    assert verdict.reason is Reason.OFF_TRACK and repr(name) in verdict.sentence
    assert t < 0.6 * trajectory.duration


@pytest.mark.parametrize('joint, offset', [(1, 0.045), (3, -0.045)])
def test_inside_the_tolerance_is_on_track(tracked, joint, offset):
    """Less than the tolerance aside is no fault."""
    trajectory, monitor = tracked
    bump = offset * np.eye(6)[joint]
    verdict, _ = watch(monitor, lambda t: state_at(trajectory, t).q
                       + bump * (0.3 < t < 0.8 * trajectory.duration))
    assert verdict.reason is Reason.REACHED


def test_a_repeated_outlier_is_no_violation(tracked):
    """Slow joint states: the same measurement is observed several times."""
    trajectory, monitor = tracked
    for t in np.arange(0.0, 1.0, PERIOD):
        monitor.observe(t, state_at(trajectory, t).q, 0.0)
    for age in np.arange(0.0, 0.3, PERIOD):
        assert monitor.observe(1.0 + age, state_at(trajectory, 1.0).q
                               + 0.3 * np.eye(6)[1], age) is None


def test_separate_outliers_are_no_violation(tracked):
    """Only several in a row are."""
    trajectory, monitor = tracked
    verdict, _ = watch(monitor, lambda t: state_at(trajectory, t).q
                       + 0.3 * np.eye(6)[1] * (round(t / PERIOD) % 5 in (0, 1)
                                               and t < trajectory.duration))
    assert verdict.reason is Reason.REACHED


def test_a_single_outlier_is_no_violation(tracked):
    """One measurement, or two, far off are noise."""
    trajectory, monitor = tracked
    verdict, _ = watch(monitor, lambda t: state_at(trajectory, t).q
                       + 0.3 * np.eye(6)[1] * (0.99 < t < 1.03))
    assert verdict.reason is Reason.REACHED


@settings(max_examples=samples(usual=15, nightly=40), deadline=None)
@given(late=st.floats(0.0, 0.9), speed=st.floats(0.1, 1.0), pause=st.floats(0.0, 1.0),
       wobble=st.floats(0.0, 0.02))
def test_late_slow_or_paused_is_on_track(late, speed, pause, wobble):
    """However late and slow the arm follows its path, it is not off track."""
    chain, trajectory = plan('ur5', START, GOAL)
    monitor = Monitor(chain, trajectory, START, TRACKED)

    def progress(t):
        s = speed * max(0.0, t - late)
        return s if s < 0.5 * trajectory.duration else max(0.5 * trajectory.duration, s - pause)

    verdict, _ = watch(monitor, lambda t: state_at(trajectory, progress(t)).q
                       + wobble * np.sin(3.0 * t), until=90.0)
    assert verdict is None or verdict.reason is not Reason.OFF_TRACK


def test_a_lagging_arm_after_a_splice_is_on_track():
    """The new plan begins at the command, which the arm has not reached yet."""
    chain, first = plan('ur5', START, GOAL)
    now, lag = 0.7, 0.25
    limits = limits_of(chain, 1.0, acceleration=3.0, jerk=30.0)
    second = plan_point_to_point(chain.joint_names, StartState.from_motion(first, now, 0.1, 0.01),
                                 START, limits, 0.02)
    q_sent = state_at(first, now - lag).q
    assert np.abs(q_sent - second.start.q).max() > 2.0 * TOLERANCE[0]
    monitor = Monitor(chain, second, q_sent, TRACKED)
    verdict, _ = watch(monitor, lambda t: state_at(second, t - lag).q if t > lag
                       else state_at(first, now + t - lag).q)
    assert verdict.reason is Reason.REACHED


def test_joints_without_tolerance_are_not_checked(motion):
    """An infinite tolerance is none; the others keep theirs."""
    chain, trajectory, _ = motion
    free = TOLERANCE.copy()
    free[1] = np.inf
    monitor = Monitor(chain, trajectory, START, replace(OPTIONS, path_tolerance=free))
    bump = np.eye(6)[1] * 0.5
    verdict, _ = watch(monitor, lambda t: state_at(trajectory, t).q
                       + bump * (0.3 < t < 0.8 * trajectory.duration))
    assert verdict.reason is Reason.REACHED


def test_without_path_tolerance_the_path_is_not_checked(motion):
    """Only the end counts then."""
    _, trajectory, monitor = motion
    verdict, _ = watch(monitor, lambda t: state_at(trajectory, t).q
                       + 0.5 * (0.3 < t < 0.8 * trajectory.duration))
    assert verdict.reason is Reason.REACHED


@pytest.mark.parametrize('turns', [0, 2, -1])
def test_whole_turns_are_on_track(turns):
    """A continuous joint that is reported whole turns away is on its path."""
    start = np.array([0.1, 3.0, 3.0, 0.2, 0.3, 0.4])
    goal = start + np.array([0.5, 0.1, 0.2, -0.5, 0.3, 0.9])
    chain, trajectory = plan('kinova', start, goal)
    shift = 2.0 * np.pi * turns * chain.continuous
    monitor = Monitor(chain, trajectory, start + shift, TRACKED)
    verdict, _ = watch(monitor, lambda t: state_at(trajectory, t).q + shift)
    assert verdict.reason is Reason.REACHED
