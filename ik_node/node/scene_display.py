# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Display of the objects that the arm keeps away from: ~/scene_markers."""

from __future__ import annotations

import traceback
from typing import Any

from rclpy.node import Node
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.node.robot import RobotHolder
from ik_node.ros.body_markers import body_markers, GROUND_NAMESPACE, OBJECT_NAMESPACE
from ik_node.ros.clocks import steady_clock
from ik_node.ros.markers import marker
from ik_node.ros.qos import LATCHED_QOS

try:
    from rclpy.event_handler import PublisherEventCallbacks
except ImportError:  # Humble has no event for new subscribers
    PublisherEventCallbacks = None

DISPLAY_DELAY_S = 0.2  # after a change: a camera sends many, and the arm is braked first


class SceneDisplay:
    """
    Shows the ground and the objects as they are checked.

    Each message has the whole scene.  Markers are only made while somebody subscribes, and some
    time after a change, which may be followed by others.
    """

    def __init__(self, node: Node, holder: RobotHolder, frame_prefix: str) -> None:
        self._node, self._holder, self._prefix = node, holder, frame_prefix
        self._behind = False  # whether the latched message is older than the scene
        self._publisher = node.create_publisher(
            MarkerArray, '~/scene_markers', LATCHED_QOS, event_callbacks=PublisherEventCallbacks
            and PublisherEventCallbacks(matched=self._on_matched))

        self._timer = node.create_timer(DISPLAY_DELAY_S, self._publish, clock=steady_clock())
        self._timer.cancel()

    def show(self) -> None:
        """Show the scene as it is, soon."""
        if self._timer.is_canceled():
            self._timer.reset()

    def _publish(self) -> None:
        self._timer.cancel()
        self._behind = bool(PublisherEventCallbacks) \
            and self._publisher.get_subscription_count() == 0
        if self._behind:
            return
        try:
            self._publisher.publish(MarkerArray(markers=self._made()))
        except Exception:  # noqa: BLE001  a display must not disturb goals
            self._node.get_logger().error(f'not shown: {traceback.format_exc()}',
                                          throttle_duration_sec=60.0)

    def _on_matched(self, _info: Any) -> None:
        if self._behind:
            self.show()

    def _made(self) -> list[Marker]:
        robot = self._holder.robot
        if robot is None:
            return []
        base_link = robot.chain.base_link
        everything = marker('', 0, self._prefix + base_link, Marker.CUBE)
        everything.action = Marker.DELETEALL
        model = robot.settings.solver.collisions
        if model is None:
            return [everything]
        ground = [body for body in model.objects if body.name not in robot.scene]
        objects = [body for body in model.objects if body.name in robot.scene]
        return [everything, *body_markers(GROUND_NAMESPACE, ground, base_link, self._prefix),
                *body_markers(OBJECT_NAMESPACE, objects, base_link, self._prefix)]
