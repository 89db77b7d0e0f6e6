# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Requests of MoveIt: what they have in common, and the goals of a MotionPlanRequest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf, isfinite
from typing import Any, NamedTuple

from geometry_msgs.msg import Point, Pose, Quaternion
import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from ik_node.base.errors import ConstraintError, GoalError, IkNodeError, Reason, StateError
from ik_node.base.se3 import inverse
from ik_node.base.text import quote
from ik_node.kinematics.arm import forward_kinematics
from ik_node.kinematics.links import link_pose, path_between
from ik_node.motion.constrained.constraint import (
    ANGLES_OF_AXES,
    FREE_ROTATION_RAD,
    PathConstraint,
    ROTATION_VECTOR,
)
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.node.goals.conversion import GoalConversion
from ik_node.node.robot.robot import Robot, RobotSlot
from ik_node.node.robot.settings import StartOptions
from ik_node.node.scene.scene_changes import SceneChanges
from ik_node.node.state.arm_state import ArmState
from ik_node.node.state.frames import NotYet
from ik_node.ros.messages.conversion import (
    joints_from_state,
    matrix_from_pose,
    quaternion_norm,
)
from ik_node.solver.goal import FREE_TOLERANCE_RAD, Goal

PARAMETERIZATIONS = {0: ANGLES_OF_AXES, 1: ROTATION_VECTOR}  # of orientation constraints
FRAME_REASONS = Reason.FRAME_MISSING, Reason.FRAME_UNKNOWN


class RequestError(Exception):
    """A request has no answer: the name of an error code of MoveIt, and a sentence."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class MoveItRequests:
    """
    Reads what requests of MoveIt have in common.

    Each method raises a :class:`RequestError` if a request cannot be answered.
    """

    def __init__(self, robot_slot: RobotSlot, arm: ArmState, conversion: GoalConversion,
                 changes: SceneChanges, options: StartOptions) -> None:
        self._robot_slot = robot_slot
        self.changes = changes  # of what came before a request
        self._arm = arm
        self._conversion = conversion
        self._group, self.prefix = options.moveit_group, options.frame_prefix

    def robot(self, group: str | None = None) -> Robot:
        """Return the robot, whose arm must be the group that is named, unless that is None."""
        if self._group and group is not None and group != self._group:
            raise RequestError('INVALID_GROUP_NAME', f'the group {quote(group)} is not that of '
                               f'moveit.group, {quote(self._group)}')
        try:
            return self._robot_slot.require()
        except IkNodeError as error:
            raise RequestError('FAILURE', str(error)) from None

    def pose(self, header: Header, pose: Pose, robot: Robot) -> np.ndarray:
        """Return ``T_base_pose`` (4, 4) of a pose in the frame of a header."""
        try:
            return self._conversion.pose(header, pose, robot)
        except (NotYet, StateError) as error:
            raise RequestError('FRAME_TRANSFORM_FAILURE', str(error)) from None
        except IkNodeError as error:
            code = 'FRAME_TRANSFORM_FAILURE' if error.reason in FRAME_REASONS \
                else 'INVALID_GOAL_CONSTRAINTS'
            raise RequestError(code, str(error)) from None

    def frame(self, header: Header, robot: Robot) -> np.ndarray:
        """Return ``T_base_frame`` (4, 4) of a header."""
        here = Pose()
        here.orientation.w = 1.0
        return self.pose(header, here, robot)

    def tip_in_link(self, link: str, robot: Robot) -> np.ndarray:
        """
        Return ``T_link_tip`` (4, 4) of a link fixed to the tip link.

        The tip is the tool centre point, if there is a tool; '' and the parameter tool.frame
        stand for it.
        """
        tree, tip = robot.tree, robot.chain.tip_link
        if link in ('', robot.settings.tool_frame) and link not in tree.links:
            return np.eye(4)
        if link not in tree.links \
                or any(joint.moves for joint, _ in path_between(tree, tip, link)):
            raise RequestError('INVALID_LINK_NAME', f'{quote(link)} is not a link that is fixed '
                               f'to the tip {quote(tip)}')
        return link_pose(tree, tip, link, {}) @ robot.chain.T_link_tool

    def positions(self, robot: Robot, state: Any) -> dict[str, float]:
        """Return the measured positions, replaced by a moveit_msgs/RobotState where given."""
        joints = state.joint_state
        if state.attached_collision_objects or state.multi_dof_joint_state.joint_names:
            raise RequestError('INVALID_ROBOT_STATE', 'attached objects and joints of several '
                               'axes in a robot state are not read; attach objects by '
                               'attached_collision_object')
        if len(joints.name) != len(joints.position) or len({*joints.name}) < len(joints.name):
            raise RequestError('INVALID_ROBOT_STATE', f'the robot state has {len(joints.name)} '
                               f'joint names ({len({*joints.name})} different) and '
                               f'{len(joints.position)} positions')
        # Joint states may be of several robots.
        given = {name: position for name, position in zip(joints.name, joints.position)
                 if name in robot.joint_names}
        for name, position in given.items():
            if not isfinite(position):
                raise RequestError('INVALID_ROBOT_STATE', f'the robot state has the position '
                                   f'{position} for {quote(name)}; it must be a finite number')
        return {**self.measured(robot), **given}

    def measured(self, robot: Robot) -> Mapping[str, float]:
        """Return the positions of the joints of the robot that are known, by name."""
        return {name: position for name, position in self._arm.joints.positions.items()
                if name in robot.joint_names}

    def joint_vector(self, robot: Robot, positions: Mapping[str, float]) -> np.ndarray:
        """Return the positions (n,) of the joints of the chain."""
        missing = [name for name in robot.chain.joint_names if name not in positions]
        if missing:
            raise RequestError('INVALID_ROBOT_STATE', 'neither the request nor joint states have '
                               'the position of ' + ', '.join(map(quote, missing)))
        return np.array([positions[name] for name in robot.chain.joint_names])


def read_path_constraints(requests: MoveItRequests, robot: Robot, constraints: Any,
                          what: str = ' of the path') -> tuple[PathConstraint, ...]:
    """
    Return the path constraints of a moveit_msgs/Constraints; `what` they are for.

    Those of the position and the orientation are kept, the others refused.
    """
    for kind in ('joint_constraints', 'visibility_constraints'):
        if getattr(constraints, kind):
            raise RequestError('INVALID_GOAL_CONSTRAINTS',
                               f'{kind.replace("_", " ")}{what} are not kept; leave them out')
    try:
        return (*(_position_kept(requests, robot, each)
                  for each in constraints.position_constraints),
                *(kept for each in constraints.orientation_constraints
                  for kept in _orientation_kept(requests, robot, each)))
    except ConstraintError as error:
        raise RequestError('INVALID_GOAL_CONSTRAINTS', str(error)) from None


def _position_kept(requests: MoveItRequests, robot: Robot, constraint: Any) -> PathConstraint:
    """Return that a point of a link stays in a box, a sphere or a cylinder."""
    region = constraint.constraint_region
    if len(region.primitives) != 1 or len(region.primitive_poses) != 1 or region.meshes:
        raise RequestError('INVALID_GOAL_CONSTRAINTS', 'a position constraint of the path has '
                           f'{len(region.primitives)} primitives and {len(region.meshes)} '
                           'meshes; one primitive is kept')
    shape, T_tip_point = region.primitives[0], np.eye(4)
    T_tip_link = inverse(requests.tip_in_link(constraint.link_name, robot))
    T_tip_point[:3, 3] = T_tip_link[:3, :3] @ _offset(constraint) + T_tip_link[:3, 3]
    place = region.primitive_poses[0]
    if not quaternion_norm(place.orientation):  # as programs leave it for a sphere
        place = Pose(position=place.position, orientation=Quaternion(w=1.0))
    size = list(shape.dimensions)
    kinds = {(shape.BOX, 3): lambda: {'position': tuple(0.5 * edge for edge in size)},
             (shape.SPHERE, 1): lambda: {'distance': size[0]},
             (shape.CYLINDER, 2): lambda: {'position': (inf, inf, 0.5 * size[0]),
                                           'axis_distance': size[1]}}
    if (shape.type, len(size)) not in kinds:
        raise RequestError('INVALID_GOAL_CONSTRAINTS', 'a position constraint of the path has a '
                           f'primitive of type {shape.type} with {len(size)} dimensions; boxes, '
                           'spheres and cylinders are kept')
    return PathConstraint(requests.pose(constraint.header, place, robot),
                          T_tip_point=T_tip_point, **kinds[shape.type, len(size)]())


def _orientation_kept(requests: MoveItRequests, robot: Robot,
                      constraint: Any) -> tuple[PathConstraint, ...]:
    """Return that the orientation of a link stays within tolerances; () if all are free."""
    widths = tuple(getattr(constraint, f'absolute_{axis}_axis_tolerance') for axis in 'xyz')
    if all(width >= FREE_ROTATION_RAD for width in widths):
        return ()
    # From Galactic on; the first is the default.
    angles = PARAMETERIZATIONS.get(getattr(constraint, 'parameterization', 0))
    if angles is None:
        raise RequestError('INVALID_GOAL_CONSTRAINTS', 'an orientation constraint of the path has '
                           f'the parameterization {constraint.parameterization}, which is '
                           'unknown')
    return (PathConstraint(
        requests.pose(constraint.header, Pose(orientation=constraint.orientation), robot),
        rotation=widths, angles=angles,
        T_tip_point=inverse(requests.tip_in_link(constraint.link_name, robot))),)


STRAIGHT_PLANNER, ARC_PLANNER = 'LIN', 'CIRC'  # of the Pilz industrial motion planner
ARC_POINT_NAME = 'interim'  # of the path constraint with a point on the arc
WIDE_TOLERANCE_M, WIDE_TOLERANCE_RAD = 2e-3, 0.02  # from which on a tolerance is made use of
MAX_ANGLE_RAD = 0.6  # of a tolerance; wider ones are aimed for exactly, or are free axes
ANGLE_SHARE = 0.5  # of the cube of the widest angle, for the neglected part of their composition
SAME_AXES = 1e-6  # of each entry of the rotation between two frames


class WantedMotion(NamedTuple):
    """The request."""

    robot: Robot
    q_start: np.ndarray  # (n,), where the motion is to start
    # Joint positions (n,), or poses of the tip; the first that can be reached counts.
    goals: list[np.ndarray | Goal]
    limits: MotionLimits  # to plan with
    detour_time: float    # processor time (s) for the search for a detour
    straight: bool        # whether the tip goes along a straight line to a pose
    # (3,), a position (m, in the base link) on the arc along which the tip goes
    through: np.ndarray | None
    constraints: tuple[PathConstraint, ...]  # that the motion keeps

    def follows_path(self, goal: np.ndarray | Goal) -> bool:
        """Return whether the tip goes to a goal along a line or an arc."""
        return (self.straight or self.through is not None) and _is_pose(goal)


def read_request(requests: MoveItRequests, request: Any) -> WantedMotion:
    """
    Read a moveit_msgs/MotionPlanRequest.

    Constraints that are not kept are refused.  The exact position and orientation is aimed for,
    which is within each tolerance; then, if it cannot be reached, within wide tolerances.
    An orientation tolerance of pi is a free axis.
    """
    robot = requests.robot(request.group_name)
    q_start = requests.joint_vector(robot, requests.positions(robot, request.start_state))
    if list(getattr(request.trajectory_constraints, 'constraints', [])):
        raise RequestError('INVALID_GOAL_CONSTRAINTS', 'trajectory constraints are not kept; '
                           'leave them out')
    through = None
    constraints: tuple[PathConstraint, ...] = ()
    if request.planner_id == ARC_PLANNER:
        through = _arc_point(requests, robot, request.path_constraints)
    else:
        constraints = read_path_constraints(requests, robot, request.path_constraints)
    if not request.goal_constraints:
        raise RequestError('INVALID_GOAL_CONSTRAINTS', 'the request has no goal constraints')
    straight = request.planner_id == STRAIGHT_PLANNER
    goals = []
    for each in request.goal_constraints:
        goals.append(_goal(requests, robot, q_start, each))
        if not straight and through is None:
            goals += _wider_goals(requests, robot, each, goals[-1])
    if (straight or through is not None) and not all(map(_is_pose, goals)):
        raise RequestError('INVALID_GOAL_CONSTRAINTS', 'a motion along a line or an arc needs '
                           'position and orientation of its end')
    allowed = request.allowed_planning_time
    detour_time = robot.settings.detour_time
    return WantedMotion(
        robot, q_start, goals, scaled_limits(robot, request),
        min(detour_time, allowed) if allowed > 0.0 else detour_time,
        straight or robot.settings.straight, through, constraints)


def scaled_limits(robot: Robot, request: Any) -> MotionLimits:
    """
    Return the limits of the node, scaled as a request of MoveIt asks for.

    As in MoveIt, a factor that is not above 0 and at most 1 counts as 1.
    """
    velocity, acceleration = (
        factor if 0.0 < factor <= 1.0 else 1.0 for factor in
        (getattr(request, f'max_{what}_scaling_factor', 0.0) for what in
         ('velocity', 'acceleration')))
    limits = robot.settings.planning.scaled(velocity, acceleration)
    speed = getattr(request, 'max_cartesian_speed', 0.0)  # not in all versions
    if not speed > 0.0 or not isfinite(speed):
        return limits
    return replace(limits, tip=replace(limits.tip, speed=min(limits.tip.speed, speed)))


def _is_pose(goal: np.ndarray | Goal) -> bool:
    return isinstance(goal, Goal) and goal.is_exact


# ---- constraints ------------------------------------------------------------

def _goal(requests: MoveItRequests, robot: Robot, q_start: np.ndarray,
          constraints: Any) -> np.ndarray | Goal:
    """Return the goal of a moveit_msgs/Constraints."""
    joints = list(constraints.joint_constraints)
    positions = list(constraints.position_constraints)
    orientations = list(constraints.orientation_constraints)
    if constraints.visibility_constraints:
        raise RequestError('INVALID_GOAL_CONSTRAINTS', 'visibility constraints are not kept; '
                           'leave them out')
    if bool(joints) == bool(positions or orientations) or max(
            len(positions), len(orientations)) > 1:
        raise RequestError(
            'INVALID_GOAL_CONSTRAINTS', f'a goal has {len(joints)} joint constraints, '
            f'{len(positions)} of the position and {len(orientations)} of the orientation; it '
            'needs joint constraints, or at most one of the position and of the orientation')
    if joints:
        try:
            return joints_from_state(JointState(
                name=[each.joint_name for each in joints],
                position=[each.position for each in joints]), robot.chain, q_start)
        except GoalError as error:
            raise RequestError('INVALID_GOAL_CONSTRAINTS', str(error)) from None
    if not orientations:
        return _position_goal(requests, robot, positions[0])
    orientation = orientations[0]
    if positions and positions[0].link_name != orientation.link_name:
        raise RequestError('INVALID_GOAL_CONSTRAINTS', 'position and orientation are those of '
                           f'two links, {quote(positions[0].link_name)} and '
                           f'{quote(orientation.link_name)}')
    T_link_tip = requests.tip_in_link(orientation.link_name, robot)
    T_base_link = requests.pose(orientation.header, Pose(orientation=orientation.orientation),
                                robot)
    if positions:
        T_base_link[:3, 3] = _point(requests, robot, positions[0]) \
            - T_base_link[:3, :3] @ _offset(positions[0])
        T_base_tip = T_base_link @ T_link_tip
    else:
        T_base_tip = T_base_link @ T_link_tip
        T_base_tip[:3, 3] = forward_kinematics(robot.chain, q_start)[:3, 3]
    if not np.array_equal(T_link_tip, np.eye(4)) or positions and _offset(positions[0]).any():
        return Goal(T_base_tip)
    free = [getattr(orientation, f'absolute_{axis}_axis_tolerance') >= FREE_TOLERANCE_RAD
            for axis in 'xyz']
    if positions and all(free):
        return Goal.position(T_base_tip[:3, 3])
    return Goal.pointing(T_base_tip) if free == [False, False, True] else Goal(T_base_tip)


def _wider_goals(requests: MoveItRequests, robot: Robot, constraints: Any,
                 exact: np.ndarray | Goal) -> list[Goal]:
    """
    Return the goal to come within the tolerances of constraints, if they are wide.

    Its box is inside of theirs: a cube inside a sphere or a turned box, and angles about fixed
    axes that are small enough however MoveIt composes them.
    """
    if not _is_pose(exact) or not constraints.position_constraints:
        return []
    position, orientation = constraints.position_constraints[0], \
        constraints.orientation_constraints[0]
    if _offset(position).any() or not np.array_equal(
            requests.tip_in_link(orientation.link_name, robot), np.eye(4)):
        return []
    angles = np.array([getattr(orientation, f'absolute_{axis}_axis_tolerance') for axis in 'xyz'])
    if not ((angles >= 0.0) & (angles < MAX_ANGLE_RAD)).all():
        return []
    angles = inner_angles(angles)
    box = _box_of(position.constraint_region, requests.frame(position.header, robot),
                  exact.T_base_tip[:3, :3])
    if not (box > WIDE_TOLERANCE_M).any() and not (angles > WIDE_TOLERANCE_RAD).any():
        return []
    return [Goal(exact.T_base_tip, (*box, *angles))]


def inner_angles(tolerance: np.ndarray) -> np.ndarray:
    """
    Return tolerances (3,), rad, of a rotation vector that keep MoveIt's angles within theirs.

    MoveIt composes the angles as Rx Ry Rz, or takes the rotation vector itself.  The two differ
    by half the product of the others, and in the third order.
    """
    x, y, z = tolerance
    others = np.array([y * z, x * z, x * y])
    return np.maximum(0.0, tolerance - 0.5 * others - ANGLE_SHARE * max(tolerance)**3)


def _box_of(region: Any, T_base_frame: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Return half the edges (3,), m, of a box in axes R that is inside of a region."""
    shape, place = region.primitives[0], region.primitive_poses[0]
    size = np.array(shape.dimensions, dtype=float)
    if not np.isfinite(size).all() or (size < 0.0).any():
        return np.zeros(3)
    if shape.type == shape.SPHERE and len(size) == 1:
        return np.full(3, size[0] / np.sqrt(3.0))
    if shape.type == shape.BOX and len(size) == 3:
        try:
            turned = R.T @ T_base_frame[:3, :3] @ matrix_from_pose(place)[:3, :3]
        except GoalError:  # its orientation is not set
            turned = np.zeros((3, 3))
        if np.abs(turned - np.eye(3)).max() < SAME_AXES:
            return 0.5 * size
        return np.full(3, 0.5 * size.min() / np.sqrt(3.0))
    return np.zeros(3)


def _position_goal(requests: MoveItRequests, robot: Robot, constraint: Any) -> Goal:
    at_tip = np.array_equal(requests.tip_in_link(constraint.link_name, robot), np.eye(4))
    if not at_tip or _offset(constraint).any():
        raise RequestError('INVALID_GOAL_CONSTRAINTS', 'a position without an orientation must be '
                           f'that of the tip {quote(robot.chain.tip_link)} itself')
    return Goal.position(_point(requests, robot, constraint))


def _point(requests: MoveItRequests, robot: Robot, constraint: Any) -> np.ndarray:
    """Return the centre (3,) of the first region of a position constraint, in the base link."""
    region = constraint.constraint_region
    if not region.primitives or len(region.primitives) != len(region.primitive_poses):
        raise RequestError(
            'INVALID_GOAL_CONSTRAINTS', f'a position constraint has {len(region.primitives)} '
            f'primitives and {len(region.primitive_poses)} poses of them; give one of each, '
            'such as a sphere at the goal')
    T_base_frame = requests.frame(constraint.header, robot)
    p = _numbers(region.primitive_poses[0].position)
    return T_base_frame[:3, :3] @ p + T_base_frame[:3, 3]


def _offset(constraint: Any) -> np.ndarray:
    """Return the point (3,) of the link that a position constraint is about, in its frame."""
    return _numbers(constraint.target_point_offset)


def _numbers(point: Point) -> np.ndarray:
    p = np.array([point.x, point.y, point.z])
    if not np.isfinite(p).all():
        raise RequestError('INVALID_GOAL_CONSTRAINTS', f'the position {p.tolist()} has a number '
                           'that is not finite')
    return p


def _arc_point(requests: MoveItRequests, robot: Robot, constraints: Any) -> np.ndarray:
    """Return the position (3,) that a CIRC motion passes, in the base link."""
    positions = list(constraints.position_constraints)
    if constraints.name != ARC_POINT_NAME or len(positions) != 1:
        raise RequestError(
            'INVALID_GOAL_CONSTRAINTS', f'a motion by {ARC_PLANNER} needs one position constraint '
            f'of the path, and the name {quote(ARC_POINT_NAME)} for it: a point on the arc')
    return _point(requests, robot, positions[0])
