# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""No trajectory has more points than the controller takes, and no stop is lost for it."""

from harness import latest, READY, run_system
import numpy as np

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
