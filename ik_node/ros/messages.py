# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Between ROS messages and arrays; hostile numbers end here."""

from __future__ import annotations

from math import isfinite, sqrt

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Pose, PoseStamped
import numpy as np
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ik_node.errors import GoalError, Reason
from ik_node.ros.rotations import quaternion_from_rotation, rotation_from_quaternion
from ik_node.se3 import pose
from ik_node.trajectory.trajectory import Trajectory

NORM_RANGE = 0.9, 1.1


def matrix_from_pose(message: Pose) -> np.ndarray:
    """
    Return a geometry_msgs/Pose as a matrix (4, 4); the quaternion is normalised.

    Raises
    ------
    GoalError
        GOAL_NOT_FINITE, GOAL_ORIENTATION_UNSET for a zero quaternion (the
        default of the message), GOAL_ORIENTATION_NOT_UNIT for a norm outside 0.9 .. 1.1.

    """
    p, o = message.position, message.orientation
    for field, owner, names in (('position', p, 'xyz'), ('orientation', o, 'xyzw')):
        for name in names:
            if not isfinite(getattr(owner, name)):
                raise GoalError(f'{field}.{name} of the goal is {getattr(owner, name)}, '
                                'it must be a finite number')
    norm = sqrt(o.x * o.x + o.y * o.y + o.z * o.z + o.w * o.w)
    if norm == 0.0:
        raise GoalError('the orientation of the goal is not set (all zeros); no rotation is '
                        'w: 1.0', Reason.GOAL_ORIENTATION_UNSET)
    if not NORM_RANGE[0] <= norm <= NORM_RANGE[1]:
        raise GoalError(f'the quaternion of the goal has norm {norm:.4g}, it must be 1; are its '
                        'numbers in the order x, y, z, w?', Reason.GOAL_ORIENTATION_NOT_UNIT)
    R = rotation_from_quaternion((o.x / norm, o.y / norm, o.z / norm, o.w / norm))
    return pose(R, np.array([p.x, p.y, p.z]))


def fill_pose(message: Pose, T: np.ndarray) -> None:
    """Write a matrix (4, 4) into a geometry_msgs/Pose."""
    p, o = message.position, message.orientation
    p.x, p.y, p.z = (float(value) for value in T[:3, 3])
    o.x, o.y, o.z, o.w = (float(value) for value in quaternion_from_rotation(T[:3, :3]))


def pose_stamped(T: np.ndarray, frame: str) -> PoseStamped:
    """Return a matrix (4, 4) as geometry_msgs/PoseStamped, not yet stamped."""
    message = PoseStamped()
    message.header.frame_id = frame
    fill_pose(message.pose, T)
    return message


def trajectory_message(trajectory: Trajectory) -> JointTrajectory:
    """
    Return the trajectory_msgs/JointTrajectory of a trajectory.

    Stamp 0 (start on arrival); positions, velocities and accelerations on every point.
    """
    message = JointTrajectory(joint_names=list(trajectory.joint_names))
    for t, q, qd, qdd in zip(trajectory.times, trajectory.q.tolist(), trajectory.qd.tolist(),
                             trajectory.qdd.tolist()):
        sec, nanosec = divmod(round(float(t) * 1e9), 10**9)
        message.points.append(JointTrajectoryPoint(
            positions=q, velocities=qd, accelerations=qdd,
            time_from_start=Duration(sec=sec, nanosec=nanosec)))
    return message
