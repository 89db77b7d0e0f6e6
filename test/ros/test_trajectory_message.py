# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What is sent to the controller for a planned trajectory."""

from builtin_interfaces.msg import Duration
from hypothesis import given, strategies as st
import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
import robots
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ik_node.base.errors import TrajectoryError
from ik_node.motion.trajectory.controller_rules import refusal
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.node.execution.outputs import middleware_reads_it, serialized_trajectory
from ik_node.ros.messages.conversion import trajectory_from_message, trajectory_message

NAMES = 'shoulder', 'elbow'
Q_END = 0.3, -0.7
STAMP_S = 100


def at_rest(duration, points=3):
    """Return a trajectory that stays at Q_END."""
    rest = np.zeros((points, 2))
    return Trajectory(NAMES, MotionState.at_rest(np.array(Q_END)),
                      duration * np.arange(1, points + 1) / points, rest + Q_END, rest, rest)


@pytest.mark.parametrize('duration', [0.002, 0.006, 0.4, 0.5 - 1e-10])
def test_a_short_trajectory_is_not_over_when_it_arrives(duration):
    """A controller takes it up to 0.5 s late, and holds its end."""
    message = trajectory_message(at_rest(duration), STAMP_S * 10**9)
    assert refusal(message, NAMES, STAMP_S + 0.5) is None
    assert len(message.points) == 4
    last = message.points[-1]
    assert tuple(last.positions) == Q_END
    assert not any(last.velocities) and not any(last.accelerations)


@pytest.mark.parametrize('duration, stamp', [(0.006, None), (0.7, STAMP_S * 10**9)])
def test_others_are_sent_as_they_are(duration, stamp):
    """Without a stamp a trajectory begins on arrival; a long one is not over then."""
    message = trajectory_message(at_rest(duration), stamp)
    assert len(message.points) == 3
    assert message.points[-1].time_from_start.nanosec == round(1e9 * duration)


NUMBERS = st.floats(allow_nan=False)
NAMES_IN_MESSAGES = st.text(st.characters(exclude_characters='\0', exclude_categories=('Cs',)))


@given(names=st.lists(NAMES_IN_MESSAGES, min_size=1, max_size=8),
       points=st.integers(1, 4), stamp=st.none() | st.integers(1, 2**31 * 10**9 - 1),
       data=st.data())
def test_the_serialized_trajectory_is_read_as_the_message(names, points, stamp, data):
    """By the middleware itself, for any names, numbers, stamps and counts of points."""
    shape = points, len(names)
    q, qd, qdd = (np.array(data.draw(st.lists(NUMBERS, min_size=points * len(names),
                                              max_size=points * len(names)))).reshape(shape)
                  for _ in range(3))
    times = np.cumsum(data.draw(st.lists(st.floats(1e-6, 100.0), min_size=points,
                                         max_size=points)))
    trajectory = Trajectory(tuple(names), MotionState.at_rest(q[0]), times, q, qd, qdd)
    message = trajectory_message(trajectory, stamp)
    read = deserialize_message(serialized_trajectory(trajectory, stamp), JointTrajectory)
    assert read == message


def test_the_bytes_equal_those_of_the_middleware():
    """Byte by byte, but for the padding, which is zero here and random there."""
    trajectory = at_rest(0.7)
    own = serialized_trajectory(trajectory)
    theirs = serialize_message(trajectory_message(trajectory))
    assert middleware_reads_it()
    assert len(own) <= len(theirs)
    assert all(a == b or a == 0 for a, b in zip(own, theirs))
    assert sum(a != b for a, b in zip(own, theirs)) <= 40


CHAIN = robots.chain('six_axis_arm')


def message_of(points=3, names=CHAIN.joint_names, first=0.0):
    """Return a message whose joint k starts at k + 0.1, with the joints in another order."""
    made = JointTrajectory(joint_names=[*names][::-1])
    for k in range(points):
        sec, nanosec = divmod(round(1e9 * (first + 0.25 * k)), 10**9)
        made.points.append(JointTrajectoryPoint(
            positions=[joint + 0.1 + 0.01 * k for joint in range(CHAIN.n)][::-1],
            velocities=[0.0] * CHAIN.n, accelerations=[0.0] * CHAIN.n,
            time_from_start=Duration(sec=sec, nanosec=nanosec)))
    return made


def test_a_message_is_read():
    """In the order of the joints of the chain; its point at time 0 is the start."""
    here = np.full(CHAIN.n, 0.3)
    read = trajectory_from_message(message_of(), CHAIN, here)
    assert read.joint_names == CHAIN.joint_names
    assert read.times.tolist() == [0.25, 0.5]
    assert read.start.q == pytest.approx(np.arange(CHAIN.n) + 0.1)
    assert read.end == pytest.approx(np.arange(CHAIN.n) + 0.12)
    later = trajectory_from_message(message_of(first=0.1), CHAIN, here)
    assert np.array_equal(later.start.q, here) and len(later.times) == 3


@pytest.mark.parametrize('message, words', [
    (message_of(names=NAMES), "is for 'elbow', 'shoulder'; it must be for 'joint_1'"),
    (JointTrajectory(), 'is for no joint'),
    (message_of(1), 'no points after its start'),
    (message_of(0), 'no points after its start'),
    (message_of(first=-0.5), 'do not increase from 0 on'),
])
def test_a_message_that_does_not_fit(message, words):
    """It is refused with a sentence."""
    with pytest.raises(TrajectoryError, match=words):
        trajectory_from_message(message, CHAIN, np.zeros(CHAIN.n))


@pytest.mark.parametrize('field', ['positions', 'velocities', 'accelerations'])
def test_a_point_that_lacks_something(field):
    """It is named."""
    message = message_of()
    setattr(message.points[1], field, [0.0] * (CHAIN.n - 1))
    with pytest.raises(TrajectoryError, match=f'point 1 of the trajectory has 5 {field}'):
        trajectory_from_message(message, CHAIN, np.zeros(CHAIN.n))
