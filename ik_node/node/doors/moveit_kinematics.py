# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse and forward kinematics by the services of MoveIt; nothing moves."""

from __future__ import annotations

from math import inf
from typing import Any

from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from std_msgs.msg import Header

from ik_node.base.errors import IkNodeError, Reason
from ik_node.base.se3 import inverse
from ik_node.base.system import how_to_install
from ik_node.base.text import quote
from ik_node.kinematics.links import link_poses
from ik_node.motion.constrained.constraint import described_excess, SLACK
from ik_node.node.doors.moveit_goals import MoveItRequests, read_path_constraints, RequestError
from ik_node.node.doors.moveit_motion import MoveItMotion
from ik_node.node.doors.moveit_scene import MoveItScene
from ik_node.node.intake.context import NodeContext
from ik_node.node.robot.robot import Robot
from ik_node.node.scene.scene_changes import SceneChanges
from ik_node.ros.messages.conversion import fill_pose
from ik_node.ros.messages.moveit_types import look_for_others, moveit_types, set_error_code
from ik_node.solver.solver import Solver

SHORTEST_TIMEOUT_S = 1e-6


class MoveItKinematics:
    """
    Offers ``compute_ik`` and ``compute_fk``.

    Parameters
    ----------
    srv : module
        moveit_msgs.srv.

    """

    def __init__(self, node: Node, requests: MoveItRequests, srv: Any) -> None:
        self._node = node
        self._requests = requests
        node.create_service(srv.GetPositionIK, 'compute_ik', self._on_ik)
        node.create_service(srv.GetPositionFK, 'compute_fk', self._on_fk)

    async def _on_ik(self, request: Any, response: Any) -> Any:
        look_for_others(self._node, 'compute_ik')
        await self._requests.changes.settled()
        try:
            robot = self._requests.robot(request.ik_request.group_name)
            positions = self._solved(robot, request.ik_request)
        except RequestError as error:
            set_error_code(response.error_code, error.code, str(error))
            return response
        state = response.solution.joint_state
        state.header.frame_id = self._requests.prefix + robot.chain.base_link
        state.name, state.position = list(positions), list(positions.values())
        set_error_code(response.error_code, 'SUCCESS')
        return response

    def _on_fk(self, request: Any, response: Any) -> Any:
        """
        Return the poses of the links that are known; INVALID_LINK_NAME if one is not.

        The parameter tool.frame names the tool centre point.
        """
        look_for_others(self._node, 'compute_fk')
        try:
            robot = self._requests.robot()
            frame = request.header.frame_id or self._requests.prefix + robot.chain.base_link
            T_frame_base = inverse(self._requests.frame(Header(
                frame_id=frame, stamp=request.header.stamp), robot))
            poses = link_poses(robot.tree, robot.chain.base_link,
                               self._requests.positions(robot, request.robot_state))
        except RequestError as error:
            set_error_code(response.error_code, error.code, str(error))
            return response
        if robot.chain.tip_link in poses:  # a link of that name comes first
            poses.setdefault(robot.settings.tool_frame,
                             poses[robot.chain.tip_link] @ robot.chain.T_link_tool)
        for name in request.fk_link_names:
            if name in poses:
                made = PoseStamped(header=Header(frame_id=frame, stamp=request.header.stamp))
                fill_pose(made.pose, T_frame_base @ poses[name])
                response.pose_stamped.append(made)
                response.fk_link_names.append(name)
        links = {*robot.tree.links, robot.settings.tool_frame}
        unknown = [name for name in request.fk_link_names if name not in links]
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

    # ---- inverse kinematics -------------------------------------------------

    def _solved(self, robot: Robot, query: Any) -> dict[str, float]:
        """Return the positions of all joints, for the chain by inverse kinematics."""
        constraints = read_path_constraints(self._requests, robot, query.constraints, '')
        link, stamped = _target(query)
        T_link_tip = self._requests.tip_in_link(link, robot)
        positions = self._requests.positions(robot, query.robot_state)
        seed = self._requests.joint_vector(robot, positions)
        T_base_link = self._requests.pose(stamped.header, stamped.pose, robot)
        solver = _solver(robot, query)
        try:
            result = solver.solve(T_base_link @ T_link_tip, seed)
        except IkNodeError as error:
            raise RequestError('INVALID_ROBOT_STATE', str(error)) from None
        if not result.success:
            raise RequestError('TIMED_OUT' if result.status is Reason.DEADLINE
                               else 'NO_IK_SOLUTION', result.message)
        for constraint in constraints:
            what, excess = constraint.excess(T_base_link @ T_link_tip)
            if excess > SLACK:
                raise RequestError('GOAL_CONSTRAINTS_VIOLATED', described_excess(what, excess))
        return {**positions, **dict(zip(robot.chain.joint_names, result.q.tolist()))}


def _target(query: Any) -> tuple[str, PoseStamped]:
    """Return the one link of a moveit_msgs/PositionIKRequest, '' for the tip, and its pose."""
    links, poses = list(query.ik_link_names), list(query.pose_stamped_vector)
    if len(links) > 1 or len(poses) > 1:
        raise RequestError('INVALID_LINK_NAME', f'{max(len(links), len(poses))} links are asked '
                           'for; this arm has one tip')
    return (links or [query.ik_link_name])[0], (poses or [query.pose_stamped])[0]


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


def offer_moveit(context: NodeContext, changes: SceneChanges) -> None:
    """Take the topics of MoveIt, and offer its services if these are asked for."""
    node, options, types = context.node, context.options, moveit_types()
    if types is None:
        why = 'no topics and services of MoveIt: moveit_msgs is not installed'
        if options.moveit_services:
            node.get_logger().warning(f'{why}: {how_to_install("moveit_msgs")}')
        else:
            node.get_logger().debug(why)
        return
    MoveItScene(node, context.robot_slot, context.arm, changes, options, types.msg, types.srv)
    if options.moveit_services:
        requests = MoveItRequests(context.robot_slot, context.arm, context.conversion, changes,
                                  options)
        MoveItKinematics(node, requests, types.srv)
        MoveItMotion(context, requests, types.action, types.srv)
