# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse and forward kinematics by the services of MoveIt; nothing moves."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite
from typing import Any

from geometry_msgs.msg import PoseStamped
import numpy as np
from rclpy.node import Node
from std_msgs.msg import Header

from ik_node.errors import IkNodeError, Reason, StateError
from ik_node.kinematics.links import link_pose, link_poses, path_between
from ik_node.node.arm_state import ArmState
from ik_node.node.frames import NotYet
from ik_node.node.goal_conversion import GoalConversion
from ik_node.node.robot import Robot, RobotHolder
from ik_node.node.settings import StartOptions
from ik_node.ros.messages import fill_pose
from ik_node.ros.moveit import look_for_others, set_error_code
from ik_node.se3 import inverse
from ik_node.solver.solver import Solver
from ik_node.text import quote

CONSTRAINT_KINDS = ('joint_constraints', 'position_constraints', 'orientation_constraints',
                    'visibility_constraints')
FRAME_REASONS = Reason.FRAME_MISSING, Reason.FRAME_UNKNOWN
SHORTEST_TIMEOUT_S = 1e-6


class RequestError(Exception):
    """A request has no answer: the name of an error code of MoveIt, and a sentence."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class MoveItKinematics:
    """
    Offers ``compute_ik`` and ``compute_fk``.

    Parameters
    ----------
    srv : module
        moveit_msgs.srv.

    """

    def __init__(self, node: Node, holder: RobotHolder, arm: ArmState, targets: GoalConversion,
                 options: StartOptions, srv: Any) -> None:
        self._node = node
        self._holder = holder
        self._arm = arm
        self._targets = targets
        self._group, self._prefix = options.moveit_group, options.frame_prefix
        node.create_service(srv.GetPositionIK, 'compute_ik', self._on_ik)
        node.create_service(srv.GetPositionFK, 'compute_fk', self._on_fk)

    def _on_ik(self, request: Any, response: Any) -> Any:
        look_for_others(self._node, 'compute_ik')
        try:
            robot = self._robot()
            positions = self._solved(robot, request.ik_request)
        except RequestError as error:
            set_error_code(response.error_code, error.code, str(error))
            return response
        state = response.solution.joint_state
        state.header.frame_id = self._prefix + robot.chain.base_link
        state.name, state.position = list(positions), list(positions.values())
        set_error_code(response.error_code, 'SUCCESS')
        return response

    def _on_fk(self, request: Any, response: Any) -> Any:
        """Return the poses of the links that are known; INVALID_LINK_NAME if one is not."""
        look_for_others(self._node, 'compute_fk')
        try:
            robot = self._robot()
            frame = request.header.frame_id or self._prefix + robot.chain.base_link
            T_frame_base = inverse(self._frame_pose(Header(
                frame_id=frame, stamp=request.header.stamp), robot))
            poses = link_poses(robot.tree, robot.chain.base_link,
                               self._positions(robot, request.robot_state))
        except RequestError as error:
            set_error_code(response.error_code, error.code, str(error))
            return response
        for name in request.fk_link_names:
            if name in poses:
                made = PoseStamped(header=Header(frame_id=frame, stamp=request.header.stamp))
                fill_pose(made.pose, T_frame_base @ poses[name])
                response.pose_stamped.append(made)
                response.fk_link_names.append(name)
        unknown = [name for name in request.fk_link_names if name not in robot.tree.links]
        if unknown or not request.fk_link_names:
            set_error_code(response.error_code, 'INVALID_LINK_NAME',
                           f'{", ".join(map(quote, unknown))}: not links of the robot'
                           if unknown else 'the request names no links')
        elif len(response.fk_link_names) < len(request.fk_link_names):
            set_error_code(response.error_code, 'INVALID_ROBOT_STATE',
                           'the position of a joint before a link is not known')
        else:
            set_error_code(response.error_code, 'SUCCESS')
        return response

    def _robot(self) -> Robot:
        try:
            return self._holder.require()
        except IkNodeError as error:
            raise RequestError('FAILURE', str(error)) from None

    # ---- inverse kinematics -------------------------------------------------

    def _solved(self, robot: Robot, query: Any) -> dict[str, float]:
        """
        Return the positions of all joints, those of the chain by inverse kinematics.

        Raises
        ------
        RequestError
            If there are none.

        """
        if self._group and query.group_name != self._group:
            raise RequestError('INVALID_GROUP_NAME', f'the group {quote(query.group_name)} is not '
                               f'that of moveit.group, {quote(self._group)}')
        for kind in CONSTRAINT_KINDS:
            if getattr(query.constraints, kind):
                raise RequestError('INVALID_GOAL_CONSTRAINTS',
                                   f'{kind.replace("_", " ")} are not kept; leave them out')
        link, stamped = _target(query)
        T_link_tip = _at_tip(robot, link)
        positions = self._positions(robot, query.robot_state)
        missing = [name for name in robot.chain.joint_names if name not in positions]
        if missing:
            raise RequestError('INVALID_ROBOT_STATE', 'neither the request nor joint states have '
                               'the position of ' + ', '.join(map(quote, missing)))
        T_base_link = self._goal(stamped, robot)
        solver = _solver(robot, query)
        seed = np.array([positions[name] for name in robot.chain.joint_names])
        try:
            result = solver.solve(T_base_link @ T_link_tip, seed)
        except IkNodeError as error:
            raise RequestError('INVALID_ROBOT_STATE', str(error)) from None
        if not result.success:
            raise RequestError('TIMED_OUT' if result.status is Reason.DEADLINE
                               else 'NO_IK_SOLUTION', result.message)
        return {**positions, **dict(zip(robot.chain.joint_names, result.q.tolist()))}

    def _goal(self, stamped: PoseStamped, robot: Robot) -> np.ndarray:
        """Return ``T_base_link`` (4, 4) of a pose."""
        try:
            return self._targets.pose(stamped.header, stamped.pose, robot)
        except (NotYet, StateError) as error:
            raise RequestError('FRAME_TRANSFORM_FAILURE', str(error)) from None
        except IkNodeError as error:
            code = 'FRAME_TRANSFORM_FAILURE' if error.reason in FRAME_REASONS \
                else 'INVALID_GOAL_CONSTRAINTS'
            raise RequestError(code, str(error)) from None

    def _frame_pose(self, header: Header, robot: Robot) -> np.ndarray:
        """Return ``T_base_frame`` (4, 4) of a header."""
        stamped = PoseStamped(header=header)
        stamped.pose.orientation.w = 1.0
        return self._goal(stamped, robot)

    def _positions(self, robot: Robot, state: Any) -> dict[str, float]:
        """Return the measured positions, and in their place those of a moveit_msgs/RobotState."""
        joints = state.joint_state
        if state.attached_collision_objects or state.multi_dof_joint_state.joint_names:
            raise RequestError('INVALID_ROBOT_STATE', 'attached objects and joints of several '
                               'axes in a robot state are not read; attach objects by '
                               'attached_collision_object')
        if len(joints.name) != len(joints.position) or len({*joints.name}) < len(joints.name):
            raise RequestError('INVALID_ROBOT_STATE', f'the robot state has {len(joints.name)} '
                               f'joint names ({len({*joints.name})} different) and '
                               f'{len(joints.position)} positions')
        # Joint states may be those of several robots.
        given = {name: position for name, position in zip(joints.name, joints.position)
                 if name in robot.joint_names}
        for name, position in given.items():
            if not isfinite(position):
                raise RequestError('INVALID_ROBOT_STATE', f'the robot state has the position '
                                   f'{position} for {quote(name)}; it must be a finite number')
        return {**self._measured(robot), **given}

    def _measured(self, robot: Robot) -> Mapping[str, float]:
        return {name: position for name, position in self._arm.joints.positions.items()
                if name in robot.joint_names}


def _target(query: Any) -> tuple[str, PoseStamped]:
    """Return the one link of a moveit_msgs/PositionIKRequest, '' for the tip, and its pose."""
    links, poses = list(query.ik_link_names), list(query.pose_stamped_vector)
    if len(links) > 1 or len(poses) > 1:
        raise RequestError('INVALID_LINK_NAME', f'{max(len(links), len(poses))} links are asked '
                           'for; this arm has one tip')
    return (links or [query.ik_link_name])[0], (poses or [query.pose_stamped])[0]


def _at_tip(robot: Robot, link: str) -> np.ndarray:
    """Return ``T_link_tip`` (4, 4) of a link that moves with the tip, '' for the tip itself."""
    tree, tip = robot.tree, robot.chain.tip_link
    if link in ('', tip):
        return np.eye(4)
    if link not in tree.links or any(joint.moves for joint, _ in path_between(tree, tip, link)):
        raise RequestError('INVALID_LINK_NAME', f'{quote(link)} is not a link that is fixed to '
                           f'the tip {quote(tip)}')
    return link_pose(tree, tip, link, {})


def _solver(robot: Robot, query: Any) -> Solver:
    """Return the solver for a request; no request may take longer than solver.deadline."""
    solver = robot.settings.solver
    if query.avoid_collisions and solver.collisions is None:
        raise RequestError('COLLISION_CHECKING_UNAVAILABLE',
                           'collisions are not checked; set collision.check')
    timeout, longest = query.timeout.sec + 1e-9 * query.timeout.nanosec, solver.options.deadline
    options = {**vars(solver.options), 'nearest': False, 'max_jump': inf,
               'deadline': min(timeout, longest) if timeout >= SHORTEST_TIMEOUT_S else longest}
    return Solver(robot.chain, solver.collisions if query.avoid_collisions else None, **options)
