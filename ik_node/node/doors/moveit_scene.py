# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Objects around the arm that are told by the messages and services of MoveIt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

from geometry_msgs.msg import Pose
from rclpy.node import Node

from ik_node.base.text import quote
from ik_node.collision.distances.model import CollisionModel
from ik_node.kinematics.links import link_poses
from ik_node.node.robot.robot import Robot, RobotSlot
from ik_node.node.robot.settings import StartOptions
from ik_node.node.scene.moveit_scene_messages import (
    apply_attached_object,
    apply_collision_object,
    apply_planning_scene,
    fill_collision_object,
    fill_matrix,
    SceneTarget,
)
from ik_node.node.scene.scene_changes import NO_TIMES, SceneChanges
from ik_node.node.scene.scene_draft import Change, SceneDraft, SceneTopic
from ik_node.node.state.arm_state import ArmState
from ik_node.ros.messages.moveit_types import look_for_others
from ik_node.ros.middleware.qos import KEEP_ALL_QOS


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

    def __init__(self, node: Node, robot_slot: RobotSlot, arm: ArmState, changes: SceneChanges,
                 options: StartOptions, msg: Any, srv: Any) -> None:
        self._node = node
        self._robot_slot = robot_slot
        self._arm = arm
        self._changes = changes
        self._prefix = options.frame_prefix
        self._msg = msg
        self._scenes = SceneTopic(msg.PlanningScene, self._by_scene, _parts_of_scene)
        for name, topic in (
                ('collision_object', SceneTopic(msg.CollisionObject, self._by_object,
                                                _parts_of_object)),
                ('attached_collision_object', SceneTopic(
                    msg.AttachedCollisionObject, self._by_attached,
                    lambda message: _parts_of_object(message.object))),
                ('planning_scene', self._scenes)):
            changes.subscribe(name, topic, KEEP_ALL_QOS)
        if options.moveit_services:
            node.create_service(srv.GetPlanningScene, 'get_planning_scene', self._on_get)
            node.create_service(srv.ApplyPlanningScene, 'apply_planning_scene', self._on_apply)

    # ---- in -----------------------------------------------------------------

    async def _on_apply(self, request: Any, response: Any) -> Any:
        look_for_others(self._node, 'apply_planning_scene')
        told: list[str] = []
        self._changes.take(replace(
            self._scenes, answer=lambda _message, complaint, _remark: told.append(complaint)),
            request.scene, NO_TIMES)
        await self._changes.settled()
        response.success = told == ['']
        return response

    def _by_object(self, message: Any) -> Change:
        def change(target: SceneTarget, draft: SceneDraft) -> None:
            draft.check_stamp(message.header)
            apply_collision_object(target, message)

        return self._change(f'the collision object {quote(message.id)}', change)

    def _by_attached(self, message: Any) -> Change:
        def change(target: SceneTarget, draft: SceneDraft) -> None:
            draft.check_stamp(message.object.header)
            apply_attached_object(target, message)

        return self._change(f'the attached object {quote(message.object.id)}', change)

    def _by_scene(self, message: Any) -> Change:
        attached = message.robot_state.attached_collision_objects

        def change(target: SceneTarget, draft: SceneDraft) -> None:
            for each in (*message.world.collision_objects, *(each.object for each in attached)):
                draft.check_stamp(each.header)
            apply_planning_scene(target, message, draft.robot.tree.name)

        return self._change(f'a planning scene with {len(message.world.collision_objects)} and '
                            f'{len(attached)} attached objects', change)

    def _change(self, what: str, change: Callable[[SceneTarget, SceneDraft], None]) -> Change:
        """Return a change for :class:`SceneChanges`."""
        def changed(draft: SceneDraft) -> None:
            target = SceneTarget(draft.scene, draft.told, draft.robot.tree.links, draft.link_of,
                                 draft.pose, _unchecked(draft.robot.collisions),
                                 _paddings(draft.robot.collisions))
            change(target, draft)
            draft.notes += [f'{what}: {note}' for note in target.notes]

        return what, changed

    # ---- out ----------------------------------------------------------------

    async def _on_get(self, request: Any, response: Any) -> Any:
        """Return what is asked for, all of it without components."""
        look_for_others(self._node, 'get_planning_scene')
        await self._changes.settled()
        robot, wanted, flags = self._robot_slot.robot, request.components.components, \
            self._msg.PlanningSceneComponents
        if robot is None:
            self._node.get_logger().warning(
                f'get_planning_scene: there is no robot description yet: {self._robot_slot.why()}')
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
                        robot.scene.objects.values(),
                        _unchecked(robot.settings.solver.collisions))
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


def _unchecked(model: CollisionModel | None) -> dict[frozenset[str], str]:
    """Return for each pair of links why it is not checked; '' for those that are."""
    return {} if model is None else {frozenset(pair.links): pair.reason for pair in model.report}


def _paddings(model: CollisionModel | None) -> dict[str, float]:
    """Return the padding (m) of each link that has a body."""
    return {} if model is None else {body.name: body.padding for body in model.bodies}


def _parts_of_object(message: Any) -> float:
    """Return how many parts an object has; infinity with a mesh, which may take long."""
    return inf if message.meshes else max(1, len(message.primitives) + len(message.planes))


def _parts_of_scene(message: Any) -> float:
    attached = message.robot_state.attached_collision_objects
    return sum(map(_parts_of_object, (*message.world.collision_objects,
                                      *(each.object for each in attached))))
