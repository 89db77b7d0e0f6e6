# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arm goes there: node and controller as real processes, a fresh pair for each test."""

from harness import DOWN, FORWARD, latest, seconds, stamp_of, tip
import numpy as np
import pinocchio as pin
import pytest

NODE_LIMITS = {}  # those of the node by default


@pytest.fixture(scope='module')
def sim():
    """Have joint states as often as real arms send them: a kick is looked for."""
    return {'rate': 100.0}


def test_goal_is_reached(system):
    """The arm goes where the goal says, by an independent reading of its joint states."""
    stamp = system.send((0.4, 0.2, 0.4), DOWN)
    answer = system.final(stamp)
    assert [a['state'] for a in system.answers(stamp)] == ['accepted', 'reached']
    reached = tip(latest(system))
    assert np.linalg.norm(reached.translation - [0.4, 0.2, 0.4]) < 2e-6
    goal = pin.Quaternion(np.array(DOWN)).matrix()
    assert np.linalg.norm(pin.log3(goal.T @ reached.rotation)) < 2e-6
    assert float(answer['measured_position_error_m']) < 2e-6
    assert float(answer['solve_time_ms']) > 0.0
    assert answer['level'] == 0


def wait_until_fast(system):
    """Wait until the arm is well on its way."""
    system.wait(lambda: system.states and np.abs(system.states[-1][1].velocity).max() > 0.4)


def test_trajectory_is_as_promised(system, recorded):
    """Points carry everything, start from where the arm is now, end at rest."""
    sent = 1e-9 * system.get_clock().now().nanoseconds
    before = latest(system)
    system.final(system.send((0.4, -0.2, 0.5), FORWARD))
    message, = system.trajectories
    looked_at = recorded.count
    assert not recorded.faults() and recorded.count == looked_at + 1
    assert message.joint_names == [f'joint_{k}' for k in range(1, 7)]
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


@pytest.mark.fault('goals', 'a new goal while the arm moves',
                   'it goes on from the motion without a step in velocity')
def test_new_goal_starts_from_the_moving_state(system):
    """A goal during motion replaces the old one without a step in velocity."""
    first = system.send((0.3, 0.4, 0.3), DOWN)
    wait_until_fast(system)
    second = system.send((0.4, -0.3, 0.5), DOWN)
    assert system.final(second)['state'] == 'reached'
    assert [a['state'] for a in system.answers(first)] == ['accepted', 'superseded']
    first_point = system.trajectories[-1].points[0]
    assert np.abs(first_point.velocities).max() > 0.1, 'the arm was not moving at hand-over'
    t = np.array([stamp_of(message) for _, message in system.states])
    qd = np.array([message.velocity[:6] for _, message in system.states])
    # What is measured was told one update before, whose times a Python process keeps roughly.
    # The limit is 2; a busy machine adds to it, a hand-over beside the motion more (15 and up).
    acceleration = np.abs(qd[4:] - qd[1:-3]) / (t[3:-1] - t[:-4])[:, None]
    assert acceleration.max() < 6.0, f'a kick at hand-over of {acceleration.max()}'
    assert np.linalg.norm(tip(latest(system)).translation - [0.4, -0.3, 0.5]) < 1e-5


def test_rejected_goal_leaves_the_motion_alone(system):
    """A goal that cannot be taken does not disturb the one under way."""
    first = system.send((0.3, 0.4, 0.3), DOWN)
    system.wait(lambda: system.trajectories)
    assert system.final(system.send((5, 0, 0)))['reason'] == 'OUT_OF_REACH'
    assert system.final(first)['state'] == 'reached'
    assert len(system.trajectories) == 1


def test_stop_ramps_down(system):
    """~/stop brings the arm to rest within its limits, and the goal is answered STOPPED."""
    stamp = system.send((0.3, 0.4, 0.3), DOWN)
    wait_until_fast(system)
    response = system.call(system.stop)
    assert response.success and 'at rest' in response.message
    answer = system.final(stamp)
    assert (answer['state'], answer['reason']) == ('stopped', 'STOPPED')
    ramp = system.trajectories[1]
    assert np.abs(ramp.points[0].velocities).max() > 0.1
    assert seconds(ramp.points[-1].time_from_start) < 2.0
    system.spin_for(seconds(ramp.points[-1].time_from_start) + 0.2)
    assert np.abs(np.array(system.states[-1][1].velocity)).max() == 0.0
    assert np.abs(latest(system) - ramp.points[-1].positions).max() < 1e-6
    goal = pin.SE3(pin.Quaternion(np.array(DOWN)).matrix(), np.array([0.3, 0.4, 0.3]))
    assert np.linalg.norm(tip(latest(system)).translation - goal.translation) > 0.05
