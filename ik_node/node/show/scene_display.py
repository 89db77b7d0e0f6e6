# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Display of the collision bodies: ~/scene_markers and ~/body_markers."""

from __future__ import annotations

from collections.abc import Callable
import traceback
from typing import Any

from rclpy.node import Node
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.collision.bodies.ground import GROUND_NAME
from ik_node.node.robot.robot import Robot, RobotSlot
from ik_node.ros.messages.markers import (
    BODY_ALPHA,
    BODY_COLOUR,
    BODY_GROWTH_M,
    body_markers,
    BODY_NAMESPACE,
    delete_all,
    GROUND_NAMESPACE,
    OBJECT_NAMESPACE,
    page_box_markers,
)
from ik_node.ros.middleware.clocks import steady_clock
from ik_node.ros.middleware.qos import LATCHED_QOS

try:
    from rclpy.event_handler import PublisherEventCallbacks
except ImportError:  # Humble has no event for new subscribers
    PublisherEventCallbacks = None

DISPLAY_DELAY_S = 0.2  # after a change: a camera sends many, and the arm is braked first


class LatchedMarkers:
    """
    Publishes all markers of a topic together, some time after a change.

    Parameters
    ----------
    topic : str
    make : callable
        Returns the markers.

    """

    def __init__(self, node: Node, topic: str, make: Callable[[], list[Marker]]) -> None:
        self._node, self._make = node, make
        self._behind = False  # whether the latched message is older than the last change
        self._publisher = node.create_publisher(
            MarkerArray, topic, LATCHED_QOS, event_callbacks=PublisherEventCallbacks
            and PublisherEventCallbacks(matched=self._on_matched))
        self._timer = node.create_timer(DISPLAY_DELAY_S, self._publish, clock=steady_clock())
        self._timer.cancel()

    def show(self) -> None:
        """Show what there is, soon."""
        if self._timer.is_canceled():
            self._timer.reset()

    def _publish(self) -> None:
        self._timer.cancel()
        self._behind = bool(PublisherEventCallbacks) \
            and self._publisher.get_subscription_count() == 0
        if self._behind:
            return
        try:
            self._publisher.publish(MarkerArray(markers=self._make()))
        except Exception:  # noqa: BLE001  a display must not disturb goals
            self._node.get_logger().error(f'not shown: {traceback.format_exc()}',
                                          throttle_duration_sec=60.0)

    def _on_matched(self, _info: Any) -> None:
        if self._behind:
            self.show()


class SceneDisplay:
    """
    Shows the bodies of the links, the ground and the objects as they are checked.

    Each message has all of them.  Markers are only made while somebody subscribes.
    """

    def __init__(self, node: Node, robot_slot: RobotSlot, frame_prefix: str) -> None:
        self._robot_slot, self._prefix = robot_slot, frame_prefix
        self._scene = LatchedMarkers(node, '~/scene_markers', self._scene_markers)
        self._links = LatchedMarkers(node, '~/body_markers', self._link_markers)
        self._robot: Robot | None = None  # whose links are shown

    def show(self) -> None:
        """Show the present bodies soon."""
        self._scene.show()
        if self._robot is not self._robot_slot.robot:
            self._robot = self._robot_slot.robot
            self._links.show()

    def _scene_markers(self) -> list[Marker]:
        robot = self._robot_slot.robot
        if robot is None:
            return []
        base_link = robot.chain.base_link
        everything = delete_all(self._prefix + base_link)
        model = robot.settings.solver.collisions
        if model is None:
            return [everything]
        ground = [body for body in model.objects
                  if body.name == GROUND_NAME and body.name not in robot.scene]
        objects = [body for body in model.objects if body not in ground]
        boxes, others = page_box_markers(objects, base_link, self._prefix)
        return [everything, *body_markers(GROUND_NAMESPACE, ground, base_link, self._prefix),
                *boxes, *body_markers(OBJECT_NAMESPACE, others, base_link, self._prefix)]

    def _link_markers(self) -> list[Marker]:
        robot = self._robot_slot.robot
        if robot is None:
            return []
        base_link = robot.chain.base_link
        bodies = () if robot.collisions is None else robot.collisions.bodies
        return [delete_all(self._prefix + base_link), *body_markers(
            BODY_NAMESPACE, bodies, base_link, self._prefix, BODY_COLOUR, BODY_ALPHA,
            BODY_GROWTH_M)]
