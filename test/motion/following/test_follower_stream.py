# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What following does with a stream that is not as it should be, and with its controllers."""

from types import SimpleNamespace

from following import (
    Checker,
    circle,
    distances,
    follower,
    HOMES,
    limits_of,
    run,
    shifted,
    stream,
    tip,
)
from nightly import samples, usual_first
import numpy as np
import pytest
import robots

from ik_node.base.errors import GoalError, ParameterError, Reason, TrajectoryError
from ik_node.motion.following.follower import Follower
from ik_node.motion.following.options import FollowOptions, Phase, PoseStatus
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import MotionState
from ik_node.simulation.controller import ControllerOptions, SimulatedController

PERIOD = 0.01
LEAD = FollowOptions.look_ahead


def test_the_same_stream_gives_the_same_bits():
    """It depends neither on a clock nor on chance."""
    target = circle(tip('panda', HOMES['panda']))
    messages = stream(target, 250.0, 1.0, np.random.default_rng(1), 0.008, 0.1)
    first, second = ([step.state.q for _, step in run(follower('panda'), messages, 1.0, PERIOD)]
                     for _ in range(2))
    assert np.array_equal(first, second)


def test_late_poses_are_ignored_and_counted():
    """A pose older than the last one does not move the arm."""
    made, clean = follower('ur5'), follower('ur5')
    target = circle(tip('ur5', HOMES['ur5']))
    for i in range(100):
        now = PERIOD * i
        for one in (made, clean):
            assert one.feed(target(now), now, now) is PoseStatus.FOLLOWED
        if i % 10 == 9:
            assert made.feed(target(now - 0.05), now, now - 0.05) is PoseStatus.OUT_OF_ORDER
        assert np.array_equal(made.step(now).state.q, clean.step(now).state.q)
    assert made.out_of_order == 10 and clean.out_of_order == 0


def test_a_sender_that_restarts_is_followed():
    """Stamps that fall back are out of order only until the stream is stale."""
    made = follower('ur5')
    goal = tip('ur5', HOMES['ur5'])
    assert made.feed(goal, 0.0, 1000.0) is PoseStatus.FOLLOWED
    assert made.feed(goal, 0.05, 3.0) is PoseStatus.OUT_OF_ORDER
    assert made.feed(goal, 0.11, 3.06) is PoseStatus.FOLLOWED
    assert made.feed(goal, 0.12, 3.07) is PoseStatus.FOLLOWED
    made.step(0.12)
    assert made.step(0.13).phase is Phase.FOLLOWING


def test_the_clocks_may_differ():
    """A sender whose clock is an hour ahead is followed as closely."""
    target = circle(tip('ur5', HOMES['ur5']))
    made, shifted_clock = follower('ur5'), follower('ur5')
    for i in range(300):
        now = PERIOD * i
        made.feed(target(now), now, now)
        shifted_clock.feed(target(now), now, now + 3600.0)
        a, b = made.step(now).state, shifted_clock.step(now).state
    assert np.allclose(a.q, b.q, atol=1e-6)


def test_two_senders_are_noticed_and_do_not_jerk_the_arm():
    """Alternating between two places is counted as jumps; the limits hold, feed-forward is off."""
    limits = limits_of(robots.chain('ur5'))
    made = follower('ur5', limits=limits)
    checker = Checker(MotionState.at_rest(HOMES['ur5']), limits)
    here = tip('ur5', HOMES['ur5'])
    there = shifted(here, 0.0, 0.3, 0.0)
    taken = []
    for i in range(500):
        now = PERIOD * i
        taken.append(made.feed((here, there)[i % 2], now, now))
        step = made.step(now)
        checker.see(now + LEAD, step.state)
    assert taken[0] is PoseStatus.FOLLOWED and set(taken[1:]) == {PoseStatus.JUMPED}
    assert made.jumps == 499
    y = tip('ur5', step.state.q)[1, 3]
    assert here[1, 3] - 0.01 < y < there[1, 3] + 0.01


@pytest.mark.fault('goals', 'two senders of a stream, a little apart, on a busy machine',
                   'the arm stays between them')
@pytest.mark.parametrize('pause', [0.01, 0.02, 0.03])
def test_two_senders_do_not_drive_the_arm_beyond_them(pause):
    """Poses that alternate at uneven times are no movement; nor when both fall silent."""
    made = follower('ur5')
    rng = np.random.default_rng(0)
    here = tip('ur5', HOMES['ur5'])
    senders, sent, due, heights = (here, shifted(here, z=-0.1)), 0, 0.0, []
    for i in range(4000):
        now = PERIOD * i
        while due <= now:
            made.feed(senders[sent % 2], due, due)
            sent += 1
            silent = sent % 100 == 0
            due += 0.6 if silent else 0.005 + abs(rng.normal(0.0, pause))
        heights.append(tip('ur5', made.step(now).state.q)[2, 3] - here[2, 3])
    assert -0.105 < min(heights) and max(heights) < 0.005


def after_silence(poses, timeout=2.0):
    """Feed (time, pose), then nothing; return how far the tip is from the last, and the end."""
    made = follower('ur5', FollowOptions(timeout=timeout))
    far = []
    for i in range(int((poses[-1][0] + timeout + 1.0) / PERIOD)):
        now = PERIOD * i
        while poses and poses[0][0] <= now:
            time, last = poses.pop(0)
            made.feed(last, time, time)
        step = made.step(now)
        if not poses:
            far.append(distances(tip('ur5', step.state.q), last)[0])
    assert step.state.rests
    return far


@pytest.mark.fault('goals', 'a stream that is silent, long before stream.timeout',
                   'the target is thought to stand where it was seen last')
def test_a_silent_target_is_assumed_at_rest_where_it_was_seen():
    """It is predicted for a short time only, and the arm comes to rest there."""
    target = circle(tip('ur5', HOMES['ur5']))
    far = after_silence([(0.005 * i, target(0.005 * i)) for i in range(400)])
    assert max(far) < 0.06 and far[-1] < 1e-4


@pytest.mark.fault('goals', 'a last pose of a stream, far from all others',
                   'the arm is not carried past it')
def test_a_last_pose_that_seems_a_fast_movement_is_not_extrapolated():
    """The last pose of a second sender, late: as if the target had moved at 4 m/s."""
    here = tip('ur5', HOMES['ur5'])
    far = after_silence([*((0.005 * i, here) for i in range(200)), (1.02, shifted(here, z=-0.09))])
    assert max(far) < 0.1 and far[-1] < 0.03


@pytest.mark.parametrize('bad, reason', [
    (np.full((4, 4), np.nan), Reason.GOAL_NOT_FINITE),
    (np.diag([1.0, 1.0, np.inf, 1.0]), Reason.GOAL_NOT_FINITE),
    (np.diag([2.0, 1.0, 1.0, 1.0]), Reason.GOAL_ORIENTATION_NOT_UNIT),
    (np.diag([-1.0, 1.0, 1.0, 1.0]), Reason.GOAL_ORIENTATION_NOT_UNIT),
    (np.eye(3), Reason.GOAL_NOT_FINITE),
])
def test_bad_poses_are_refused_and_change_nothing(bad, reason):
    """The last good pose stays the target."""
    made, clean = follower('ur5'), follower('ur5')
    goal = shifted(tip('ur5', HOMES['ur5']), 0.1)
    for one in (made, clean):
        one.feed(goal, 0.0, 0.0)
    with pytest.raises(GoalError) as caught:
        made.feed(bad, 0.01, 0.01)
    assert caught.value.reason is reason
    with pytest.raises(GoalError):
        made.feed(goal, 0.01, np.nan)
    assert np.array_equal(made.step(0.02).state.q, clean.step(0.02).state.q)


@pytest.mark.parametrize('change', [
    {'look_ahead': -0.1}, {'timeout': 0.0}, {'gain': np.nan}, {'memory': 0.0}, {'frame': 'tool'},
    {'free': ('w',)}, {'free': ('x', 'y', 'z', 'rx', 'ry', 'rz')}])
def test_invalid_options_are_refused(change):
    """With the option's name and value."""
    with pytest.raises(ParameterError, match=next(iter(change))):
        FollowOptions(**change)


@pytest.mark.parametrize('name', ['velocity', 'acceleration', 'jerk'])
@pytest.mark.parametrize('value', [0.0, -1.0, np.inf, np.nan])
def test_invalid_limits_are_refused(name, value):
    """Following needs them all."""
    chain = robots.chain('ur5')
    limits = vars(limits_of(chain)) | {name: np.full(6, value)}
    with pytest.raises(ParameterError, match=name):
        Follower(chain, MotionLimits(**limits))


def test_a_start_that_is_not_finite_is_refused():
    """Nothing can be commanded from it."""
    with pytest.raises(TrajectoryError):
        follower('ur5', q=np.append(HOMES['ur5'][:5], np.nan))


def test_a_late_step_continues_from_the_last_trajectory():
    """After a pause of the process the arm has come to rest by what was sent last."""
    made = follower('ur5')
    target = circle(tip('ur5', HOMES['ur5']))
    for i in range(200):
        made.feed(target(PERIOD * i), PERIOD * i, PERIOD * i)
        made.step(PERIOD * i)
    last = made.trajectory(PERIOD * 199)
    step = made.step(PERIOD * 199 + 5.0)
    assert step.phase is Phase.STALE and step.state.rests
    assert np.allclose(step.state.q, last.end, atol=1e-9)
    # and with a fresh pose it begins there, rather than make up for the pause
    now = PERIOD * 199 + 8.0
    made.feed(target(now), now, now)
    assert np.allclose(made.step(now).state.q, last.end, atol=1e-3)


def message(trajectory, stamp):
    """Return a JointTrajectory."""
    def split(t):
        return SimpleNamespace(sec=int(t), nanosec=round(1e9 * (t - int(t))))
    points = [SimpleNamespace(time_from_start=split(t), positions=q, velocities=qd,
                              accelerations=qdd, effort=())
              for t, q, qd, qdd in zip(trajectory.times, trajectory.q, trajectory.qd,
                                       trajectory.qdd)]
    return SimpleNamespace(header=SimpleNamespace(stamp=split(stamp)),
                           joint_names=trajectory.joint_names, points=points)


@pytest.mark.parametrize('from_desired', [False, True])
@pytest.mark.parametrize('rate', usual_first(1, [100.0, 500.0]))
@pytest.mark.parametrize('latency, stamped, most', [(0.0, False, 3.5), (0.009, True, 1.05),
                                                    (0.003, False, 10.0)])
def test_both_kinds_of_controllers_move_smoothly(from_desired, rate, latency, stamped, most):
    """
    Trajectories at 100 Hz, each late by a random time, to a controller of 500 or 1000 Hz.

    Stamped ones are joined, and do not feel that they are late; the others have the lead to
    make up for it.
    """
    name, tick = 'ur5', 0.002 if rate == 100.0 else 0.001
    chain = robots.chain(name)
    limits = limits_of(chain, 0.5)
    target = circle(tip(name, HOMES[name]))
    made = follower(name, FollowOptions(joins=stamped), limits)
    controller = SimulatedController(
        chain.joint_names, chain.continuous, HOMES[name],
        ControllerOptions(interpolate_from_desired_state=from_desired))
    random = np.random.default_rng(2)
    dies = samples(usual=2.5, nightly=5.0)
    messages = stream(target, rate, dies + 1.0, random)
    arrival, waiting, states = np.inf, 0, []
    for i in range(int((dies + 1.0) / tick)):
        now = i * tick
        while waiting < len(messages) and messages[waiting][0] <= now < dies:
            made.feed(messages[waiting][2], now, messages[waiting][1])
            waiting += 1
        if i % round(PERIOD / tick) == 0 and now < dies:
            made.step(now)
            sent = message(made.trajectory(now), now if stamped else 0.0)
            arrival = now + latency * random.random()
        if now >= arrival:
            assert controller.offer(sent, now) is None
            arrival = np.inf
        states.append(controller.update(now, tick))
    q, qd = (np.array([getattr(state, field) for state in states]) for field in ('q', 'qd'))
    # what the joints measure moves as its velocity says, and that without steps
    assert np.abs(np.diff(q, axis=0)).max() <= 1.05 * tick * limits.velocity.max()
    assert np.abs(np.diff(qd, axis=0)).max() < most * tick * limits.acceleration.max()
    assert np.abs(np.diff(q, axis=0) / tick).max() < limits.velocity.max()
    errors = [distances(tip(name, q[i]), target(i * tick))[0]
              for i in range(int((dies - 1.0) / tick), int(dies / tick), 10)]
    assert max(errors) < 2.5e-3
    assert not states[-1].qd.any()
