# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""No trajectory has more points than the controllers take, and no stop is lost for it."""

from arms_rig import running
from harness import latest, READY, reasons, run_system
import numpy as np
from test_arms import LEFT_ABOVE, RIGHT_ABOVE

from ik_node.base.errors import TrajectoryError
from ik_node.motion.change.active_trajectory import delayed
from ik_node.motion.change.thinning import for_controller
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.ros.messages.conversion import trajectory_message

MOST = 50
FAR = [2.0, 0.8, -0.2, 0.5, 0.6, 1.0]


def test_motions_and_their_stop(tmp_path, probe):
    """A motion whose points are close together is sent with fewer, and can be stopped."""
    with run_system(tmp_path, probe, {
            'controller_max_points': MOST, 'motion.sample_period': 0.002,
            'motion.acceleration_limits': '[0.4]', 'motion.jerk_limits': '[4.0]'}):
        stamp = probe.send_joints(FAR)
        probe.wait(lambda: probe.states and probe.states[-1][1].velocity[0] > 0.3)
        response = probe.call(probe.stop)
        assert response.success, response.message
        assert probe.final(stamp)['reason'] == 'STOPPED'
        probe.wait(lambda: np.abs(probe.states[-1][1].velocity).max() < 1e-3)
        assert np.abs(latest(probe) - FAR).max() > 0.3
        sent = [len(trajectory.points) for trajectory in probe.trajectories]
        assert len(sent) >= 2 and max(sent) <= MOST, sent
        answer = probe.final(probe.send_joints(READY))
        assert answer['state'] == 'reached', answer
        assert max(len(trajectory.points) for trajectory in probe.trajectories) <= MOST


def test_several_arms(tmp_path):
    """The parts of a way round each other, which needs more, have as few, and the same times."""
    with running(tmp_path, {'controller_max_points': MOST, 'motion.velocity_scale': 0.2}) as arms:
        stamp = arms.send_posture(LEFT_ABOVE)
        assert reasons(arms, stamp) == ['ACCEPTED', 'REACHED'], arms.answers(stamp)
        stamp = arms.send_posture(RIGHT_ABOVE)
        arms.wait(lambda: arms.answers(stamp), 40.0)
        assert arms.answers(stamp)[0]['reason'] == 'ACCEPTED', arms.answers(stamp)
        arms.wait(lambda: all(len(sent) == 2 for sent in arms.sent.values()))
        left, right = (sent[-1].points for sent in arms.sent.values())
        assert 10 < len(left) <= MOST
        assert [p.time_from_start for p in left] == [p.time_from_start for p in right]
        arms.wait(lambda: np.abs(arms.positions() - LEFT_ABOVE).max() > 0.1)
        response = arms.call(arms.stopping)
        assert response.success and 'come to rest' in response.message
        assert arms.final(stamp)['reason'] == 'STOPPED'
        assert all(len(message.points) <= MOST for sent in arms.sent.values() for message in sent)


def test_what_is_added_when_it_is_sent():
    """Two points before a motion from rest, and one that holds its end, have room."""
    count, one = 60, np.full(1, 1e9)
    short = Trajectory(('joint',), MotionState.at_rest(np.zeros(1)),
                       np.linspace(0.0, 0.3, count + 1)[1:], *np.zeros((3, count, 1)))
    limits, levers = MotionLimits(-one, one, one, one, one), np.ones((2, 1))
    # Each of its points is needed.
    short.q[:, 0] = np.sin(1e3 * np.arange(count))
    for most in (count + 2, count + 3, count + 4):
        try:
            fewer = for_controller(short, most, levers, 1e-6, limits, lambda _: None)
        except TrajectoryError:
            assert most == count + 2
            continue
        sent = trajectory_message(delayed(fewer, [1e-4, 0.05]), 10**9)
        assert len(sent.points) == count + 3 <= most
    assert for_controller(short, 0, levers, 1e-6, limits) is short
