# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Conversion between ROS messages and arrays; invalid numbers are refused here.

Quaternions are x, y, z, w: by tf_transformations where it is installed (a ROS machine), else by
transforms3d, which it wraps and which has the order w, x, y, z.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from math import isfinite, sqrt
from typing import TYPE_CHECKING

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import (
    Point,
    PointStamped,
    Pose,
    PoseStamped,
    PoseWithCovarianceStamped,
    Quaternion,
    Transform,
    Vector3,
)
from nav_msgs.msg import Path
import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from ik_node.base.checks import near_one, real_array
from ik_node.base.errors import GoalError, ParameterError, Reason, TrajectoryError
from ik_node.base.se3 import pose, rotation_from_quaternion
from ik_node.base.text import quote, shown
from ik_node.model.chain import Chain
from ik_node.model.joints import outside_limits
from ik_node.motion.joint_path.waypoints import MAX_WAYPOINTS, Waypoints
from ik_node.motion.tool_path.options import require_free_axes
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

try:
    import tf_transformations

    BACKEND = 'tf_transformations'
except ImportError:
    import transforms3d.euler
    import transforms3d.quaternions

    BACKEND = 'transforms3d'


def quaternion_from_rotation(rotation: np.ndarray) -> np.ndarray:
    """Return the unit quaternion x, y, z, w of a rotation matrix (3, 3)."""
    if BACKEND == 'tf_transformations':
        T = np.eye(4)
        T[:3, :3] = rotation
        return np.asarray(tf_transformations.quaternion_from_matrix(T))
    w, x, y, z = transforms3d.quaternions.mat2quat(rotation)
    return np.array([x, y, z, w])


def quaternion_from_rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Return the unit quaternion x, y, z, w of fixed-axis roll, pitch, yaw (rad, REP-103)."""
    if BACKEND == 'tf_transformations':
        return np.asarray(tf_transformations.quaternion_from_euler(roll, pitch, yaw))
    w, x, y, z = transforms3d.euler.euler2quat(roll, pitch, yaw, 'sxyz')
    return np.array([x, y, z, w])


def quaternions_after(first: np.ndarray, then: np.ndarray) -> np.ndarray:
    """Return ``first * then``: one quaternion (4,) with each of many (N, 4), x, y, z, w."""
    x, y, z, w = first
    return then @ np.array([[w, z, -y, -x], [-z, w, x, -y], [y, -x, w, -z], [x, y, z, w]])


HELD_END_S = 0.5  # of a stamped trajectory that is shorter; delivery may take as long


@lru_cache(maxsize=None)
def message_class(name: str) -> type:
    """Return the class of a type of messages, such as 'geometry_msgs/Point'."""
    package, _, kind = name.partition('/')
    found: type = getattr(import_module(f'{package}.msg'), kind)
    return found


def matrix_from_pose(message: Pose, what: str = 'the goal') -> np.ndarray:
    """
    Return a geometry_msgs/Pose as a matrix (4, 4); the quaternion is normalised.

    Parameters
    ----------
    what : str
        What the pose belongs to, for the sentence of an error.

    Raises
    ------
    GoalError
        GOAL_NOT_FINITE, GOAL_ORIENTATION_UNSET for a zero quaternion (the
        default of the message), GOAL_ORIENTATION_NOT_UNIT for a norm outside 0.9 .. 1.1.

    """
    p, o = message.position, message.orientation
    xyz, (x, y, z, w) = (p.x, p.y, p.z), (o.x, o.y, o.z, o.w)
    norm = sqrt(x * x + y * y + z * z + w * w)
    if not (isfinite(sum(xyz)) and isfinite(norm)):
        _check_finite('position', p, 'xyz', what)
        _check_finite('orientation', o, 'xyzw', what)
    if norm == 0.0:
        raise GoalError(f'the orientation of {what} is not set (all zeros); no rotation is '
                        'w: 1.0', Reason.GOAL_ORIENTATION_UNSET)
    if not near_one(norm):
        raise GoalError(f'the quaternion of {what} has norm {norm:.4g}, it must be 1; are its '
                        'numbers in the order x, y, z, w?', Reason.GOAL_ORIENTATION_NOT_UNIT)
    R = rotation_from_quaternion((x / norm, y / norm, z / norm, w / norm))
    return pose(R, xyz)


def matrices_from_poses(messages: Sequence[Pose]) -> np.ndarray:
    """Return many geometry_msgs/Pose as matrices (N, 4, 4); errors as :func:`matrix_from_pose`."""
    numbers = np.array([(p.x, p.y, p.z, o.x, o.y, o.z, o.w) for p, o in (
        (message.position, message.orientation) for message in messages)]).reshape(-1, 7)
    norms = np.linalg.norm(numbers[:, 3:], axis=1)
    good = np.isfinite(numbers).all(axis=1) & near_one(norms)
    if not good.all():
        matrix_from_pose(messages[int(np.argmin(good))])  # raises the error
    T = np.zeros((len(numbers), 4, 4))
    T[:, :3, :3] = rotation_from_quaternion(numbers[:, 3:] / norms[:, None])
    T[:, :3, 3], T[:, 3, 3] = numbers[:, :3], 1.0
    return T


def quaternion_norm(o: Quaternion) -> float:
    """Return the norm of a geometry_msgs/Quaternion; 1 for an orientation."""
    return sqrt(o.x * o.x + o.y * o.y + o.z * o.z + o.w * o.w)


def position_from_point(message: Point) -> np.ndarray:
    """
    Return a geometry_msgs/Point as an array (3,), m.

    Raises
    ------
    GoalError
        GOAL_NOT_FINITE.

    """
    _check_finite('point', message, 'xyz')
    return np.array([message.x, message.y, message.z])


def tolerance_from_covariance(covariance: Sequence[float]) -> tuple[float, ...]:
    """
    Return the tolerance (6,), m and rad, of a goal whose covariance has its squares.

    From FREE_TOLERANCE_RAD on a rotation is free, as an infinite position is.

    Raises
    ------
    GoalError
        GOAL_TOLERANCE if a variance is negative or NaN, or there is a covariance of two axes.

    """
    # A program that moves an arm has no need of the solver.
    from ik_node.solver.goal import EXACT_TOLERANCE, FREE_AXIS, FREE_TOLERANCE_RAD
    matrix = np.array(covariance, dtype=float).reshape(6, 6)
    variance = matrix.diagonal()
    if not (variance >= 0.0).all():
        raise GoalError(f'the variances of the goal are {variance.tolist()}; each must be the '
                        'square of a tolerance, 0 (exact) to infinite (free)',
                        Reason.GOAL_TOLERANCE)
    if (matrix[~np.eye(6, dtype=bool)] != 0.0).any():
        raise GoalError('the covariance of the goal has entries beside its diagonal; they must be '
                        '0, because each axis has a tolerance of its own', Reason.GOAL_TOLERANCE)
    if not variance.any():
        return EXACT_TOLERANCE
    tolerance = np.sqrt(variance)
    tolerance[3:][tolerance[3:] >= FREE_TOLERANCE_RAD] = FREE_AXIS
    if (tolerance == FREE_AXIS).all():
        raise GoalError('all six axes of the goal are free; leave at least one tolerance finite',
                        Reason.GOAL_TOLERANCE)
    return tuple(tolerance.tolist())


def _check_finite(field: str, owner: Point | Quaternion, names: str,
                  what: str = 'the goal') -> None:
    for name in names:
        if not isfinite(getattr(owner, name)):
            raise GoalError(f'{field}.{name} of {what} is {getattr(owner, name)}, '
                            'it must be a finite number')


def joints_from_state(message: JointState, chain: Chain, q: np.ndarray) -> np.ndarray:
    """
    Return the goal (n,) that a sensor_msgs/JointState names; joints left out stay at `q`.

    Without names, as many positions as the chain has joints are for all, in its order.

    Raises
    ------
    GoalError
        GOAL_JOINTS if names and positions do not fit, BEYOND_LIMIT if a position is
        outside the limits of its joint.

    """
    names, positions = list(message.name), list(message.position)
    if not names and len(positions) == chain.n:
        names = list(chain.joint_names)
    if not names or len(names) != len(positions) or len(set(names)) != len(names):
        raise GoalError(f'the joint goal has {len(names)} names ({len(set(names))} different) and '
                        f'{len(positions)} positions; give one position to each name, or '
                        f'{chain.n} without names', Reason.GOAL_JOINTS)
    goal = np.array(q)
    for name, position in zip(names, positions):
        if name not in chain.joint_names:
            raise GoalError(f'the joint {quote(name)} is not one of '
                            f'{", ".join(map(quote, chain.joint_names))}', Reason.GOAL_JOINTS)
        if not isfinite(position):
            raise GoalError(f'the goal of joint {quote(name)} is {position}, it must be a finite '
                            'number', Reason.GOAL_NOT_FINITE)
        k = chain.joint_names.index(name)
        if not chain.lower[k] <= position <= chain.upper[k]:
            raise GoalError(f'the goal of joint {quote(name)} is '
                            + outside_limits(chain, k, position), Reason.BEYOND_LIMIT)
        goal[k] = position
    return np.clip(goal, chain.lower, chain.upper)


def way_points_from_message(message: JointTrajectory, chain: Chain, q: np.ndarray) -> Waypoints:
    """
    Return the waypoints of a trajectory_msgs/JointTrajectory; joints left out stay at `q`.

    Positions and times are read, velocities, accelerations and efforts are not.  Times that are
    all 0 are none.  Without names, positions are for all joints of the chain, in its order.

    Raises
    ------
    GoalError
        GOAL_JOINTS if names and positions do not fit, GOAL_NOT_FINITE, both with the number of
        the waypoint from 1; PATH_INVALID if there are none, or more than MAX_WAYPOINTS.

    """
    names, points = list(message.joint_names), message.points
    if not 0 < len(points) <= MAX_WAYPOINTS:
        raise GoalError(f'the path has {len(points)} waypoints; 1 to {MAX_WAYPOINTS} are taken',
                        Reason.PATH_INVALID)
    names = names or list(chain.joint_names)
    unknown = [name for name in names if name not in chain.joint_names]
    if unknown or len(set(names)) != len(names):
        raise GoalError(f'the path is for {", ".join(map(quote, names))}; give each joint once, '
                        f'of {", ".join(map(quote, chain.joint_names))}', Reason.GOAL_JOINTS)
    for k, point in enumerate(points, 1):
        if len(point.positions) != len(names):
            raise GoalError(f'waypoint {k} of {len(points)} has {len(point.positions)} '
                            f'positions for {len(names)} joints', Reason.GOAL_JOINTS)
        for name, position in zip(names, point.positions):
            if not isfinite(position):
                raise GoalError(f'waypoint {k} of {len(points)}: {quote(name)} is {position}, '
                                'it must be a finite number', Reason.GOAL_NOT_FINITE)
    rows = np.tile(np.clip(q, chain.lower, chain.upper), (len(points), 1))
    rows[:, [chain.joint_names.index(name) for name in names]] = [
        point.positions for point in points]
    times = np.array([point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec
                      for point in points])
    return Waypoints(rows, times if times.any() else None)


def way_points_message(joint_names: Sequence[str], q: np.ndarray,
                       times: np.ndarray | None = None) -> JointTrajectory:
    """
    Return waypoints as a trajectory_msgs/JointTrajectory, not yet stamped.

    Parameters
    ----------
    joint_names : sequence of str
        n joints; none: all, in the order of the chain.
    q : (m, n) array
        Rad or m.
    times : (m,) array, optional
        s.

    """
    message = JointTrajectory(joint_names=list(joint_names))
    for k, row in enumerate(q):
        sec, nanosec = divmod(0 if times is None else round(1e9 * float(times[k])), 10**9)
        message.points.append(JointTrajectoryPoint(
            positions=[*map(float, row)], time_from_start=Duration(sec=sec, nanosec=nanosec)))
    return message


def make_point(xyz: Sequence[float]) -> Point:
    """Return a position as a geometry_msgs/Point."""
    x, y, z = xyz
    return Point(x=x, y=y, z=z)


def make_pose(xyz: Sequence[float], quaternion: Sequence[float]) -> Pose:
    """Return a position and a quaternion x, y, z, w as a geometry_msgs/Pose."""
    x, y, z, w = quaternion
    return Pose(position=make_point(xyz), orientation=Quaternion(x=x, y=y, z=z, w=w))


def quaternion_of(o: Quaternion) -> tuple[float, float, float, float]:
    """Return a geometry_msgs/Quaternion as x, y, z, w."""
    return o.x, o.y, o.z, o.w


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


def pose_within(stamped: PoseStamped, position_tolerance: ArrayLike,
                orientation_tolerance: ArrayLike) -> PoseWithCovarianceStamped:
    """
    Return the goal of a pose within tolerances, not yet stamped.

    Parameters
    ----------
    stamped : PoseStamped
    position_tolerance : float or (3,) array
        Half-widths along x, y, z of the pose, m; infinite = free.
    orientation_tolerance : float or (3,) array
        Largest rotations about x, y, z of the pose, rad; pi or more = free.

    Raises
    ------
    GoalError
        GOAL_TOLERANCE if they are not one or three numbers each, or negative.

    """
    tolerance = np.empty(6)
    for part, given, what in ((slice(0, 3), position_tolerance, 'position'),
                              (slice(3, 6), orientation_tolerance, 'orientation')):
        values = real_array(given)
        if values is None or values.shape not in ((), (1,), (3,)) or not (values >= 0.0).all():
            raise GoalError(f'the {what} tolerance is {shown(given, 80)}; give one number for all '
                            'axes, or three, none of them negative', Reason.GOAL_TOLERANCE)
        tolerance[part] = values
    message = PoseWithCovarianceStamped(header=stamped.header)
    message.pose.pose = stamped.pose
    message.pose.covariance = np.diag(tolerance**2).ravel()
    return message


def point_stamped(p: np.ndarray, frame: str) -> PointStamped:
    """Return a position (3,), m, as geometry_msgs/PointStamped, not yet stamped."""
    x, y, z = map(float, p)
    message = PointStamped(point=Point(x=x, y=y, z=z))
    message.header.frame_id = frame
    return message


def line_to(end: Pose, frame: str) -> Path:
    """Return the path of one straight line, from where the tip is; not yet stamped."""
    message = Path(poses=[PoseStamped(pose=end)])
    message.header.frame_id = frame
    return message


def free_path(path: Path, axes: Sequence[str]) -> MultiDOFJointTrajectory:
    """
    Return a path that leaves axes of its poses free, not yet stamped.

    Parameters
    ----------
    path : Path
        Its poses are in its frame.
    axes : sequence of str
        Of motion.tool_path.options.ROTATION_AXES.

    """
    return MultiDOFJointTrajectory(header=path.header, joint_names=[*axes], points=[
        MultiDOFJointTrajectoryPoint(transforms=[_transform_of(each.pose)])
        for each in path.poses])


def _transform_of(pose: Pose) -> Transform:
    p = pose.position
    return Transform(translation=Vector3(x=p.x, y=p.y, z=p.z), rotation=pose.orientation)


def _pose_of(transform: Transform) -> PoseStamped:
    p = transform.translation
    return PoseStamped(pose=Pose(position=Point(x=p.x, y=p.y, z=p.z),
                                 orientation=transform.rotation))


def path_and_free_axes(message: MultiDOFJointTrajectory) -> tuple[Path, tuple[str, ...]]:
    """
    Return the poses of a path, and the axes of them that it leaves free, as :func:`free_path`.

    Raises
    ------
    GoalError
        GOAL_TOLERANCE if one is no such axis, or comes twice; PATH_INVALID if a point has not
        one transform, or has more than that.

    """
    try:
        require_free_axes(message.joint_names)
    except ParameterError as error:
        raise GoalError(str(error), Reason.GOAL_TOLERANCE) from None
    path = Path(header=message.header)
    for k, point in enumerate(message.points, 1):
        where = f'point {k} of {len(message.points)} of the path'
        if len(point.transforms) != 1:
            raise GoalError(f'{where} has {len(point.transforms)} transforms; give it one, the '
                            'pose of the tip', Reason.PATH_INVALID)
        when = point.time_from_start
        if point.velocities or point.accelerations or when.sec or when.nanosec:
            raise GoalError(f'{where} has a velocity, an acceleration or a time; leave them out: '
                            'the limits of the tip and the joints say how fast it is passed',
                            Reason.PATH_INVALID)
        path.poses.append(_pose_of(point.transforms[0]))
    return path, tuple(message.joint_names)


def chunk_message(path: Path, times: Sequence[float], openings: Sequence[float] | None = None
                  ) -> MultiDOFJointTrajectory:
    """
    Return poses of the tip at times (s) from the stamp on, with openings of a gripper if given.

    Its points have a transform for the tip, and one for the gripper, of which x is the opening.
    """
    message = MultiDOFJointTrajectory(header=path.header, joint_names=[
        'tip', *['gripper'] * (openings is not None)])
    for k, (stamped, time) in enumerate(zip(path.poses, times)):
        sec, nanosec = divmod(round(1e9 * float(time)), 10**9)
        point = MultiDOFJointTrajectoryPoint(time_from_start=Duration(sec=sec, nanosec=nanosec),
                                             transforms=[_transform_of(stamped.pose)])
        if openings is not None:
            point.transforms.append(Transform(translation=Vector3(x=float(openings[k]))))
        message.points.append(point)
    return message


def chunk_from_message(message: MultiDOFJointTrajectory
                       ) -> tuple[Path, np.ndarray, np.ndarray | None]:
    """
    Return the poses of a chunk, their times (k,) from the stamp on, s, and openings (k,), if any.

    Raises
    ------
    GoalError
        PATH_INVALID if a point has not one or two transforms, as many as the first, or has more
        than transforms and a time; GOAL_NOT_FINITE if an opening is not finite.

    """
    path, times, openings = Path(header=message.header), [], []
    count = len(message.points[0].transforms) if message.points else 1
    for k, point in enumerate(message.points, 1):
        where = f'point {k} of {len(message.points)} of the chunk'
        if len(point.transforms) != count or count not in (1, 2):
            raise GoalError(f'{where} has {len(point.transforms)} transforms; give each one, the '
                            'pose of the tip, or each two, the second with the opening of the '
                            'gripper as x', Reason.PATH_INVALID)
        if point.velocities or point.accelerations:
            raise GoalError(f'{where} has a velocity or an acceleration; leave them out: they '
                            'follow from the poses and their times', Reason.PATH_INVALID)
        path.poses.append(_pose_of(point.transforms[0]))
        times.append(point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec)
        openings += [each.translation.x for each in point.transforms[1:]]
    if not np.isfinite(openings).all():
        raise GoalError('an opening of the gripper is not finite', Reason.GOAL_NOT_FINITE)
    return path, np.array(times), np.array(openings) if count == 2 else None


def trajectory_message(trajectory: Trajectory, stamp: int | None = None) -> JointTrajectory:
    """
    Return the trajectory_msgs/JointTrajectory of a trajectory.

    `stamp` (ns) is when its time 0 is; without one it starts on arrival.  Positions,
    velocities and accelerations on every point, and once more those of the last at
    :func:`held_end`.
    """
    message = JointTrajectory(joint_names=list(trajectory.joint_names))
    if stamp is not None:
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    for t, q, qd, qdd in zip(trajectory.times, trajectory.q.tolist(), trajectory.qd.tolist(),
                             trajectory.qdd.tolist()):
        sec, nanosec = divmod(round(float(t) * 1e9), 10**9)
        message.points.append(JointTrajectoryPoint(
            positions=q, velocities=qd, accelerations=qdd,
            time_from_start=Duration(sec=sec, nanosec=nanosec)))
    held = held_end(trajectory, stamp)
    if held is not None:
        end = message.points[-1]
        sec, nanosec = divmod(held, 10**9)
        message.points.append(JointTrajectoryPoint(
            positions=end.positions, velocities=end.velocities,
            accelerations=end.accelerations,
            time_from_start=Duration(sec=sec, nanosec=nanosec)))
    return message


def held_end(trajectory: Trajectory, stamp: int | None) -> int | None:
    """
    Return until when (ns from its start) a message holds the end of a trajectory, or None.

    A stamped one that is shorter than HELD_END_S holds its end for so long: controllers refuse
    what has ended on arrival.
    """
    short = stamp is not None and trajectory.duration < HELD_END_S
    return round(1e9 * (trajectory.duration + HELD_END_S)) if short else None


def trajectory_from_message(message: JointTrajectory, chain: Chain, q: np.ndarray) -> Trajectory:
    """
    Return the trajectory of a trajectory_msgs/JointTrajectory; its stamp is not read.

    Parameters
    ----------
    q : (n,) array
        Where it starts if its first point is not at time 0.

    Raises
    ------
    TrajectoryError
        If it has other joints than the chain, no points, times that do not increase, or a point
        without position, velocity or acceleration of each joint.

    """
    names = list(message.joint_names)
    if sorted(names) != sorted(chain.joint_names):
        given, needed = (', '.join(map(quote, each)) for each in (names, chain.joint_names))
        raise TrajectoryError(f'the trajectory is for {given or "no joint"}; it must be for '
                              f'{needed}')
    for k, point in enumerate(message.points):
        for field in ('positions', 'velocities', 'accelerations'):
            if len(getattr(point, field)) != chain.n:
                raise TrajectoryError(f'point {k} of the trajectory has '
                                      f'{len(getattr(point, field))} {field}; each point needs '
                                      f'positions, velocities and accelerations of {chain.n} '
                                      'joints')
    order = [names.index(name) for name in chain.joint_names]
    times = np.array([point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec
                      for point in message.points])
    states = np.array([(point.positions, point.velocities, point.accelerations)
                       for point in message.points]).reshape(-1, 3, chain.n)[:, :, order]
    start = MotionState.at_rest(q)
    if len(times) and times[0] == 0.0:
        start, times, states = MotionState(*states[0]), times[1:], states[1:]
    if not len(times):
        raise TrajectoryError('the trajectory has no points after its start')
    if not (np.diff(times, prepend=0.0) > 0.0).all():
        raise TrajectoryError('the times of the trajectory do not increase from 0 on')
    return Trajectory(chain.joint_names, start, times, *states.swapaxes(0, 1))
