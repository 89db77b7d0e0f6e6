# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Objects around the arm that are told by the messages and services of MoveIt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

from geometry_msgs.msg import Pose
from rclpy.node import Node

from ik_node.kinematics.links import link_poses
from ik_node.node.arm_state import ArmState
from ik_node.node.goal_subscriptions import take_next
from ik_node.node.robot import Robot, RobotHolder
from ik_node.node.scene_changes import SceneChanges
from ik_node.node.settings import StartOptions
from ik_node.node.stamp_check import MessageInfo
from ik_node.ros.moveit import look_for_others
from ik_node.ros.moveit_scene import (
    apply_attached_object,
    apply_collision_object,
    apply_planning_scene,
    fill_collision_object,
    fill_matrix,
    SceneTarget,
)
from ik_node.ros.qos import KEEP_ALL_QOS
from ik_node.text import quote

Change = tuple[str, Callable[[Robot], None]]  # what has come, and what changes the scene

# Messages that wait are taken together for so long; each set of them is checked once.
GATHER_TIME_S = 0.1
# A service has no times of its request: it is as old as it can be.
NO_TIMES: MessageInfo = {'source_timestamp': 0, 'received_timestamp': 0}


class MoveItScene:
    """
    Takes ``collision_object``, ``attached_collision_object`` and ``planning_scene``.

    With the parameter moveit.services it offers ``get_planning_scene`` and
    ``apply_planning_scene`` as well.  Objects have one name space with those of ``~/scene``.

    Parameters
    ----------
    msg, srv : module
        moveit_msgs.msg and moveit_msgs.srv.

    """

    def __init__(self, node: Node, holder: RobotHolder, arm: ArmState, changes: SceneChanges,
                 options: StartOptions, msg: Any, srv: Any) -> None:
        self._node = node
        self._holder = holder
        self._arm = arm
        self._changes = changes
        self._prefix, self._padding = options.frame_prefix, options.collision_padding
        self._msg = msg
        for kind, topic, change_by in (
                (msg.CollisionObject, 'collision_object', self._by_object),
                (msg.AttachedCollisionObject, 'attached_collision_object', self._by_attached),
                (msg.PlanningScene, 'planning_scene', self._by_scene)):
            self._subscribe(kind, topic, change_by)
        if options.moveit_services:
            node.create_service(srv.GetPlanningScene, 'get_planning_scene', self._on_get)
            node.create_service(srv.ApplyPlanningScene, 'apply_planning_scene', self._on_apply)

    # ---- in -----------------------------------------------------------------

    def _subscribe(self, kind: Any, topic: str,
                   change_by: Callable[[Any, MessageInfo], Change]) -> None:
        """Take the messages of a topic; those that wait together, together."""
        def waiting(message: Any, info: MessageInfo) -> Iterator[Change]:
            end, taken = monotonic() + GATHER_TIME_S, (message, info)
            while taken is not None:
                yield change_by(*taken)
                taken = take_next(subscription) if monotonic() < end else None

        def on_message(message: Any, info: MessageInfo) -> None:
            self._changes.take_each(waiting(message, info))

        subscription = self._node.create_subscription(kind, topic, on_message, KEEP_ALL_QOS)

    def _by_object(self, message: Any, info: MessageInfo) -> Change:
        def change(target: SceneTarget, robot: Robot) -> None:
            self._changes.check_stamp(message.header, robot, info)
            apply_collision_object(target, message)

        return self._change(f'the collision object {quote(message.id)}', change)

    def _by_attached(self, message: Any, info: MessageInfo) -> Change:
        def change(target: SceneTarget, robot: Robot) -> None:
            self._changes.check_stamp(message.object.header, robot, info)
            apply_attached_object(target, message)

        return self._change(f'the attached object {quote(message.object.id)}', change)

    def _by_scene(self, message: Any, info: MessageInfo) -> Change:
        attached = message.robot_state.attached_collision_objects

        def change(target: SceneTarget, robot: Robot) -> None:
            for each in (*message.world.collision_objects, *(each.object for each in attached)):
                self._changes.check_stamp(each.header, robot, info)
            apply_planning_scene(target, message, robot.tree.name)

        return self._change(f'a planning scene with {len(message.world.collision_objects)} and '
                            f'{len(attached)} attached objects', change)

    def _on_apply(self, request: Any, response: Any) -> Any:
        look_for_others(self._node, 'apply_planning_scene')
        response.success = self._changes.take(*self._by_scene(request.scene, NO_TIMES))
        return response

    def _change(self, what: str, change: Callable[[SceneTarget, Robot], None]) -> Change:
        """Return a change for :class:`SceneChanges`."""
        def changed(robot: Robot) -> None:
            target = SceneTarget(
                robot.scene, robot.told_objects, robot.tree.links,
                lambda name: self._changes.link_of(name, robot),
                lambda header: self._changes.pose(header, robot), _unchecked(robot),
                self._padding)
            change(target, robot)
            for note in target.notes:
                self._node.get_logger().info(f'{what}: {note}')

        return what, changed

    # ---- out ----------------------------------------------------------------

    def _on_get(self, request: Any, response: Any) -> Any:
        """Return what is asked for, all of it without components."""
        look_for_others(self._node, 'get_planning_scene')
        robot, wanted, flags = self._holder.robot, request.components.components, \
            self._msg.PlanningSceneComponents
        if robot is None:
            self._node.get_logger().warning(
                f'get_planning_scene: there is no robot description yet: {self._holder.why()}')
            return response

        def asked(*kinds: int) -> bool:
            return not wanted or any(wanted & kind for kind in kinds)

        scene = response.scene
        if asked(flags.SCENE_SETTINGS):
            scene.robot_model_name = robot.tree.name
        if asked(flags.ROBOT_STATE):
            positions = self._arm.joints.positions
            state = scene.robot_state.joint_state
            state.header.stamp = self._node.get_clock().now().to_msg()
            state.header.frame_id = self._prefix + robot.chain.base_link
            state.name, state.position = list(positions), list(positions.values())
        if asked(flags.ROBOT_STATE_ATTACHED_OBJECTS):
            scene.robot_state.attached_collision_objects = self._attached(robot)
        if asked(flags.WORLD_OBJECT_NAMES, flags.WORLD_OBJECT_GEOMETRY):
            scene.world.collision_objects = self._world(robot, asked(flags.WORLD_OBJECT_GEOMETRY))
        if asked(flags.ALLOWED_COLLISION_MATRIX):
            fill_matrix(scene.allowed_collision_matrix, self._msg.AllowedCollisionEntry,
                        robot.scene.objects.values(), _unchecked(robot))
        return response

    def _attached(self, robot: Robot) -> list[Any]:
        made = []
        for item in robot.scene.objects.values():
            if item.attached:
                each = self._msg.AttachedCollisionObject(
                    link_name=item.frame, touch_links=sorted(item.touch_links))
                fill_collision_object(each.object, item, item.T, self._prefix + item.frame)
                made.append(each)
        return made

    def _world(self, robot: Robot, geometry: bool) -> list[Any]:
        """Return the objects that no link holds, in the base link, where that is known."""
        base_link, made = robot.chain.base_link, []
        poses = link_poses(robot.tree, base_link, self._arm.joints.positions)
        for item in robot.scene.objects.values():
            if not item.attached and item.frame in poses:
                each = self._msg.CollisionObject(pose=Pose())
                fill_collision_object(each, item, poses[item.frame] @ item.T,
                                      self._prefix + base_link, geometry)
                made.append(each)
        return made


def _unchecked(robot: Robot) -> dict[frozenset[str], str]:
    """Return for each pair of links why it is not checked; '' for those that are."""
    model = robot.collisions
    return {} if model is None else {frozenset(pair.links): pair.reason for pair in model.report}
