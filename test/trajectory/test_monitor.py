# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The watch over a motion: by progress, not by duration."""

from dataclasses import replace

import numpy as np
import pytest
import robots

from ik_node.errors import Reason
from ik_node.trajectory.monitor import Monitor, MonitorOptions
from ik_node.trajectory.point_to_point import Departure, plan_point_to_point
from ik_node.trajectory.sampler import state_at
from ik_node.trajectory.trajectory import MotionLimits, MotionState

OPTIONS = MonitorOptions(joint_tolerance=0.01, start_timeout=1.0, settle_timeout=2.0,
                         state_timeout=0.5)
PERIOD = 0.02


def plan(name, start, goal):
    """Return a chain and a motion on it."""
    chain = robots.chain(name)
    n = chain.n
    limits = MotionLimits(chain.lower, chain.upper, np.full(n, 1.0), np.full(n, 3.0),
                          np.full(n, 30.0))
    start = MotionState.at_rest(np.asarray(start, dtype=float))
    return chain, plan_point_to_point(chain.joint_names, [Departure.from_state(start)],
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


def test_within_tolerance_and_standing(motion):
    """Arrived means within the tolerance and standing still, not passing by."""
    _, trajectory, monitor = motion
    assert monitor.observe(trajectory.duration + 0.1, GOAL + 0.009, 0.0) is None  # just come
    assert monitor.observe(trajectory.duration + 0.2, GOAL + 0.002, 0.0) is None  # moves
    assert monitor.observe(trajectory.duration + 0.3, GOAL + 0.002, 0.0).reason is Reason.REACHED


def test_outside_tolerance_is_not_reached(motion):
    """Standing just outside the tolerance ends as OFF_TARGET, by joint and distance."""
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


def test_a_late_start_is_waited_for(motion):
    """A controller that begins within the start timeout is not blamed."""
    _, trajectory, monitor = motion
    verdict, _ = watch(monitor, lambda t: state_at(trajectory, t - 0.7).q)
    assert verdict.reason is Reason.REACHED


def test_a_slow_controller_is_waited_for(motion):
    """A controller at a tenth of the speed is waited for while it makes progress."""
    _, trajectory, monitor = motion
    verdict, t = watch(monitor, lambda t: state_at(trajectory, 0.1 * t).q)
    assert verdict.reason is Reason.REACHED
    assert t > 8.0 * trajectory.duration


def test_blocked_half_way(motion):
    """An arm that stops on its way is reported after the settle timeout."""
    _, trajectory, monitor = motion
    half = 0.5 * trajectory.duration
    verdict, t = watch(monitor, lambda t: state_at(trajectory, min(t, half)).q)
    assert verdict.reason is Reason.OFF_TARGET
    assert "'shoulder_pan_joint'" in verdict.sentence
    assert t == pytest.approx(trajectory.duration + OPTIONS.settle_timeout, abs=0.1)


def test_taken_away_by_somebody_else(motion):
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


def test_a_motion_that_begins_moving_needs_no_sign():
    """After a preemption the arm moves already; standing shortly is no fault."""
    chain, trajectory = plan('ur5', START, GOAL)
    moving = replace(trajectory, start=MotionState(START, np.full(6, 0.1), np.zeros(6)))
    monitor = Monitor(chain, moving, START, OPTIONS)
    assert monitor.observe(1.2, START, 0.0) is None


def test_a_tiny_motion_is_not_called_standing():
    """A motion smaller than the tolerance is simply reached."""
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
    """A joint with limits is not where it is wanted one turn on."""
    _, trajectory, monitor = motion
    turn = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 2.0 * np.pi])
    verdict, _ = watch(monitor, lambda t: state_at(trajectory, t).q + turn * min(1.0, t))
    assert verdict.reason is Reason.OFF_TARGET and "'wrist_3_joint'" in verdict.sentence
