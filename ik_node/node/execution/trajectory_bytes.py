# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Serialized trajectory_msgs/JointTrajectory, directly from the arrays of a trajectory.

In CDR, little endian, as every RMW of ROS 2 sends it (OMG, "DDS Interoperability Wire Protocol",
version 2.5, section 10; "Common Data Representation" in CORBA 3.3, part 2, section 9.3).  Much
faster than to fill a message with Python numbers, which the middleware reads again.
"""

from __future__ import annotations

from functools import lru_cache
from struct import pack

import numpy as np
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import JointTrajectory

from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.ros.messages.conversion import held_end, trajectory_message

CDR_LITTLE_ENDIAN = b'\x00\x01\x00\x00'


def serialized_trajectory(trajectory: Trajectory, stamp: int | None = None) -> bytes:
    """Return what ``trajectory_message`` of ``ros/messages`` returns, serialized."""
    n, count = len(trajectory.joint_names), len(trajectory.times)
    end = held_end(trajectory, stamp)
    points = np.zeros(count + (end is not None), _point_type(n))
    times = np.rint(1e9 * trajectory.times).astype(np.int64)
    for name, values in (('q', trajectory.q), ('qd', trajectory.qd), ('qdd', trajectory.qdd)):
        points[name][:count] = values
        points[f'{name}_size'] = n
    points['sec'][:count], points['nanosec'][:count] = np.divmod(times, 10**9)
    if end is not None:
        points[-1] = points[-2]
        points['sec'][-1], points['nanosec'][-1] = divmod(end, 10**9)
    names = _names(trajectory.joint_names)
    begin = pack('<iI', *divmod(stamp or 0, 10**9)) + names + pack('<I', len(points))
    body = points.tobytes()
    # Numbers of 8 bytes begin at a multiple of 8; all points but the first end at one plus 4.
    padding = bytes(4) if len(begin) % 8 == 0 else b''
    return b''.join((CDR_LITTLE_ENDIAN, begin, body[:4], padding, body[4:]))


@lru_cache(maxsize=1)
def middleware_reads_it() -> bool:
    """Return whether the middleware in use writes this encoding, and reads these bytes."""
    two = Trajectory(('a', 'joint'), MotionState.at_rest(np.zeros(2)), np.array([0.5, 1.25]),
                     *np.arange(12.0).reshape(3, 2, 2))
    message = trajectory_message(two, 1_500_000_000)
    return (serialize_message(message).startswith(CDR_LITTLE_ENDIAN)
            and deserialize_message(serialized_trajectory(two, 1_500_000_000),
                                    JointTrajectory) == message)


@lru_cache(maxsize=8)
def _point_type(n: int) -> np.dtype:
    """Return the layout of a point with n joints, if the one before ends at 8 k + 4."""
    number, size, padding = ('<f8', (n,)), '<u4', '<u4'
    return np.dtype([
        ('q_size', size), ('q', *number),
        ('qd_size', size), ('qd_padding', padding), ('qd', *number),
        ('qdd_size', size), ('qdd_padding', padding), ('qdd', *number),
        ('effort_size', size), ('sec', '<i4'), ('nanosec', '<u4')])


@lru_cache(maxsize=8)
def _names(names: tuple[str, ...]) -> bytes:
    """Return the empty frame and the names, from the byte after the stamp on."""
    text = _string('') + pack('<I', len(names))
    for name in names:
        text += _string(name)
    return text


def _string(text: str) -> bytes:
    """Return a string, filled up to a multiple of 4 bytes."""
    data = text.encode() + b'\0'
    return pack('<I', len(data)) + data + bytes(-len(data) % 4)
