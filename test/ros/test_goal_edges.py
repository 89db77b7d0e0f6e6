# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Where a goal begins to be refused: by its stamp, and by the norm of its quaternion."""

from types import SimpleNamespace

from builtin_interfaces.msg import Time as TimeMessage
from geometry_msgs.msg import Point, Pose, Quaternion
from harness import DOWN
import numpy as np
import pinocchio as pin
import pytest
from rclpy.clock import ClockType
from rclpy.time import Time

from ik_node.errors import GoalError, Reason
from ik_node.node.stamp_check import FUTURE_SLACK, Stamps
from ik_node.ros.messages import matrix_from_pose

NOW = 1_000_000_000_000  # ns
MAX_AGE = 5.0            # s


def checked(nanoseconds, now=NOW, paused=False):
    """Return the time of a stamp (ns), as a node takes it whose clock stands at `now` (ns)."""
    stamp = Time(nanoseconds=nanoseconds).to_msg()
    return stamps(now, paused).checked(stamp, MAX_AGE).nanoseconds


def stamps(now=NOW, paused=False):
    """Return what judges stamps for a node whose clock stands at `now` (ns)."""
    clock = SimpleNamespace(now=lambda: Time(nanoseconds=now, clock_type=ClockType.ROS_TIME))
    return Stamps(SimpleNamespace(get_clock=lambda: clock), lambda: paused)


@pytest.mark.parametrize('age', [MAX_AGE - 0.001, MAX_AGE, 0.0, -FUTURE_SLACK + 0.001,
                                 -FUTURE_SLACK])
def test_a_stamp_that_is_taken(age):
    """Just not too old; just not too far ahead, as clocks of two machines may differ."""
    stamp = NOW - round(1e9 * age)
    assert checked(stamp) == stamp
    assert checked(stamp, paused=True) == stamp


@pytest.mark.parametrize('age, reason, words', [
    (MAX_AGE + 0.001, Reason.GOAL_STALE, '5.0 s old by its stamp, at most 5 s'),
    (MAX_AGE + 1.0, Reason.GOAL_STALE, '6.0 s old by its stamp'),
    (-FUTURE_SLACK - 0.001, Reason.GOAL_FROM_FUTURE, '0.5 s in the future'),
    (-FUTURE_SLACK - 1.0, Reason.GOAL_FROM_FUTURE, '1.5 s in the future'),
])
def test_a_stamp_that_is_refused(age, reason, words):
    """A millisecond beyond."""
    with pytest.raises(GoalError, match=words) as caught:
        checked(NOW - round(1e9 * age))
    assert caught.value.reason is reason


def test_no_stamp():
    """Zero is now, unless the process was stopped: then nobody knows how old the goal is."""
    assert checked(0) == 0
    with pytest.raises(GoalError, match='so it may be old') as caught:
        checked(0, paused=True)
    assert caught.value.reason is Reason.GOAL_STALE


def test_a_stamp_without_a_clock():
    """Simulated time that has not begun: with a stamp or without."""
    for stamp in (0, 1, NOW):
        with pytest.raises(GoalError, match='/clock') as caught:
            checked(stamp, now=0)
        assert caught.value.reason is Reason.CLOCK_STOPPED


def test_a_negative_stamp():
    """Is none that there can be."""
    with pytest.raises(GoalError, match='negative') as caught:
        stamps().checked(TimeMessage(sec=-1), MAX_AGE)
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


@pytest.mark.parametrize('norm', [0.5, 0.89, 0.899, 1.101, 1.11, 2.0])
def test_a_norm_that_is_refused(norm):
    """With what it is."""
    with pytest.raises(GoalError, match=f'norm {norm:g}, it must be 1') as caught:
        matrix_from_pose(pose_of_norm(norm))
    assert caught.value.reason is Reason.GOAL_ORIENTATION_NOT_UNIT
