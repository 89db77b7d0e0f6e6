# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arm goes there: node and controller as real processes."""

from harness import DOWN, FORWARD, latest, NAMES, seconds, tip
import numpy as np
import pinocchio as pin

NODE_LIMITS = {}  # those of the node by default


def test_goal_is_reached(arm):
    """The arm goes where the goal says, by an independent reading of its joint states."""
    stamp = arm.send((0.4, 0.2, 0.4), DOWN)
    answer = arm.final(stamp)
    assert [a['state'] for a in arm.answers(stamp)] == ['accepted', 'reached']
    reached = tip(latest(arm))
    assert np.linalg.norm(reached.translation - [0.4, 0.2, 0.4]) < 2e-6
    goal = pin.Quaternion(np.array(DOWN)).matrix()
    assert np.linalg.norm(pin.log3(goal.T @ reached.rotation)) < 2e-6
    assert float(answer['measured_position_error_m']) < 2e-6
    assert float(answer['solve_time_ms']) > 0.0
    assert answer['level'] == 0


def test_trajectory_is_as_promised(arm, recorded):
    """Points carry everything, start from where the arm is now, end at rest."""
    sent = 1e-9 * arm.get_clock().now().nanoseconds
    before = latest(arm)
    arm.final(arm.send((0.4, -0.2, 0.5), FORWARD))
    message, = arm.trajectories
    looked_at = recorded.count
    assert not recorded.faults() and recorded.count == looked_at + 1
    assert message.joint_names == NAMES
    stamp = message.header.stamp
    assert -0.05 < stamp.sec + 1e-9 * stamp.nanosec - sent < 2.0
    times = [seconds(point.time_from_start) for point in message.points]
    assert times[0] > 0.0 and min(np.diff(times)) >= 0.0009
    for point in message.points:
        for field in (point.positions, point.velocities, point.accelerations):
            assert len(field) == 6 and np.isfinite(field).all()
        assert np.abs(point.accelerations).max() <= 2.0
    assert np.abs(np.array(message.points[0].positions) - before).max() < 0.01
    assert not np.any(message.points[-1].velocities)
    assert not np.any(message.points[-1].accelerations)
