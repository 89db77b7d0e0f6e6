# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Where a goal begins to be refused: by its stamp, and by the norm of its quaternion."""

from time import time_ns
from types import SimpleNamespace

from builtin_interfaces.msg import Time as TimeMessage
from geometry_msgs.msg import Point, Pose, Quaternion
from harness import DOWN
import numpy as np
import pinocchio as pin
import pytest
from rclpy.clock import ClockType
from rclpy.time import Time

from ik_node.base.errors import GoalError, Reason
from ik_node.node.state.clocks import FUTURE_SLACK_S, message_age, StampCheck
from ik_node.ros.messages.conversion import matrices_from_poses, matrix_from_pose

NOW = 1_000_000_000_000  # ns
MAX_AGE = 5.0            # s


def info(sent=0.0, received=0.0):
    """Return what the middleware says of a message sent and received so long ago (s)."""
    now = time_ns()
    return {'source_timestamp': now - round(1e9 * sent),
            'received_timestamp': now - round(1e9 * received)}


def checked(nanoseconds, now=NOW, sent=0.0, received=0.0, stood_still=0.0, jumped=0.0):
    """
    Return the time of a stamp (ns), as a node takes it whose clock stands at `now` (ns).

    The message was sent and received so long ago (s); the process stood still and simulated
    time jumped meanwhile for so long (s).
    """
    stamp = Time(nanoseconds=nanoseconds).to_msg()
    return stamps(now, stood_still, jumped).checked(
        stamp, MAX_AGE, info(sent, received)).nanoseconds


def stamps(now=NOW, stood_still=0.0, jumped=0.0):
    """Return what judges stamps for a node whose clock stands at `now` (ns)."""
    clock = SimpleNamespace(now=lambda: Time(nanoseconds=now, clock_type=ClockType.ROS_TIME))
    return StampCheck(SimpleNamespace(get_clock=lambda: clock),
                      SimpleNamespace(stood_still=lambda: stood_still),
                      SimpleNamespace(since_stamp=lambda stamp: jumped))


@pytest.mark.parametrize('age', [MAX_AGE - 0.001, MAX_AGE, 0.0, -FUTURE_SLACK_S + 0.001,
                                 -FUTURE_SLACK_S])
def test_a_stamp_that_is_taken(age):
    """Just not too old; just not too far ahead, as clocks of two machines may differ."""
    stamp = NOW - round(1e9 * age)
    assert checked(stamp) == stamp
    assert checked(stamp, stood_still=10.0) == stamp


@pytest.mark.parametrize('age, reason, words', [
    (MAX_AGE + 0.001, Reason.GOAL_STALE, '5.0 s old by its stamp, at most 5 s'),
    (MAX_AGE + 1.0, Reason.GOAL_STALE, '6.0 s old by its stamp'),
    (-FUTURE_SLACK_S - 0.001, Reason.GOAL_FROM_FUTURE, '0.5 s in the future'),
    (-FUTURE_SLACK_S - 1.0, Reason.GOAL_FROM_FUTURE, '1.5 s in the future'),
])
def test_a_stamp_that_is_refused(age, reason, words):
    """A millisecond beyond."""
    with pytest.raises(GoalError, match=words) as caught:
        checked(NOW - round(1e9 * age))
    assert caught.value.reason is reason


@pytest.mark.parametrize('stamp', [0, NOW], ids=['no stamp', 'stamped now'])
def test_a_message_that_waited(stamp):
    """It is as old as the middleware says, whether the process stood still or was busy."""
    assert checked(stamp) == stamp
    assert checked(stamp, sent=MAX_AGE - 0.1, stood_still=10.0) == stamp
    for waited in (dict(sent=6.0, stood_still=10.0), dict(sent=6.0, received=6.0)):
        with pytest.raises(GoalError, match='sent 6.0 s ago, at most 5 s') as caught:
            checked(stamp, **waited)
        assert caught.value.reason is Reason.GOAL_STALE


@pytest.mark.parametrize('sent, received, stood_still, age', [
    (0.01, 0.0, 0.0, 0.01), (3.0, 2.9, 0.0, 3.0), (3.0, 0.0, 3.0, 3.0),
    (-3600.0, 0.1, 0.0, 0.1),  # the clock of the sender is an hour ahead
    (3600.0, 0.1, 0.0, 0.1), (3600.0, 0.1, 2.0, 2.1), (-0.2, -0.1, 0.0, 0.0)])
def test_the_age_of_a_message(sent, received, stood_still, age):
    """By the stamp of its sender, unless that cannot be by our clock."""
    assert message_age(info(sent, received), stood_still) == pytest.approx(age, abs=0.05)


def test_the_age_of_a_message_without_stamps_of_the_middleware():
    """As old as it can be."""
    assert message_age({'source_timestamp': 0, 'received_timestamp': 0}, 2.0) == 2.0


def test_a_stamp_from_before_a_jump_of_time():
    """The jump is no age."""
    stamp = NOW - 20_000_000_000
    assert checked(stamp, jumped=19.0) == stamp
    with pytest.raises(GoalError, match='6.0 s old by its stamp'):
        checked(stamp, jumped=14.0)


def test_a_stamp_without_a_clock():
    """Simulated time that has not begun: with a stamp or without."""
    for stamp in (0, 1, NOW):
        with pytest.raises(GoalError, match='/clock') as caught:
            checked(stamp, now=0)
        assert caught.value.reason is Reason.CLOCK_STOPPED


def test_a_negative_stamp():
    """Is none that there can be."""
    with pytest.raises(GoalError, match='negative') as caught:
        stamps().checked(TimeMessage(sec=-1), MAX_AGE, info())
    assert caught.value.reason is Reason.GOAL_STALE


def pose_of_norm(norm):
    """Return a pose that points down by a quaternion of some norm."""
    x, y, z, w = (norm * number for number in DOWN)
    return Pose(position=Point(x=0.4, z=0.4), orientation=Quaternion(x=x, y=y, z=z, w=w))


@pytest.mark.parametrize('norm', [0.901, 0.91, 1.0, 1.09, 1.099])
def test_a_norm_that_is_normalised(norm):
    """The rotation is that of the unit quaternion."""
    T = matrix_from_pose(pose_of_norm(norm))
    assert np.abs(T[:3, :3] - pin.Quaternion(np.array(DOWN)).matrix()).max() < 1e-12
    assert T[:3, 3].tolist() == [0.4, 0.0, 0.4]


def test_many_poses_are_as_one_by_one():
    """And the first that is wrong is refused in the same words."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(50, 7))
    numbers[:, 3:] *= rng.uniform(0.95, 1.05, (50, 1)) / np.linalg.norm(
        numbers[:, 3:], axis=1, keepdims=True)
    poses = [Pose(position=Point(x=x, y=y, z=z), orientation=Quaternion(x=a, y=b, z=c, w=d))
             for x, y, z, a, b, c, d in numbers.tolist()]
    np.testing.assert_allclose(matrices_from_poses(poses), [*map(matrix_from_pose, poses)],
                               atol=1e-14)
    assert matrices_from_poses([]).shape == (0, 4, 4)
    poses[7].orientation = Quaternion(w=0.5)
    poses[3].position.y = float('nan')
    with pytest.raises(GoalError, match='position.y'):
        matrices_from_poses(poses)
    with pytest.raises(GoalError, match='norm 0.5'):
        matrices_from_poses(poses[5:])


@pytest.mark.parametrize('norm', [0.5, 0.89, 0.899, 1.101, 1.11, 2.0])
def test_a_norm_that_is_refused(norm):
    """With what it is."""
    with pytest.raises(GoalError, match=f'norm {norm:g}, it must be 1') as caught:
        matrix_from_pose(pose_of_norm(norm))
    assert caught.value.reason is Reason.GOAL_ORIENTATION_NOT_UNIT
