# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Objects around the arm that are told by markers and point clouds."""

from __future__ import annotations

from typing import Any

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.node import Node
from sensor_msgs.msg import PointCloud2
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.node.robot import Robot
from ik_node.node.scene_changes import SceneChanges
from ik_node.ros.qos import BEST_EFFORT_QOS, KEEP_ALL_QOS, STATUS_QOS
from ik_node.ros.scene_messages import apply_marker, marker_id, points_of
from ik_node.ros.status_messages import stamp_text

POINTS_ID = 'points'


class SceneTopics:
    """
    Takes objects from ``~/scene`` and ``~/scene_points``.

    Each message on ``~/scene`` is answered on ``~/scene_status``.
    """

    def __init__(self, node: Node, changes: SceneChanges) -> None:
        self._changes = changes
        self._name = f'{node.get_fully_qualified_name()}: scene'
        self._answers = node.create_publisher(DiagnosticStatus, '~/scene_status', STATUS_QOS)
        node.create_subscription(MarkerArray, '~/scene', self._on_markers, KEEP_ALL_QOS)
        node.create_subscription(PointCloud2, '~/scene_points', self._on_points,
                                 BEST_EFFORT_QOS)

    def _on_markers(self, message: MarkerArray, info: Any) -> None:
        def change(robot: Robot) -> None:
            scene = robot.scene
            for marker in message.markers:
                if marker.action == Marker.DELETEALL:
                    for id in robot.told_objects & {*scene.objects}:
                        scene.remove(id)
                    continue
                self._changes.check_stamp(marker.header, robot, info)
                apply_marker(scene, marker, lambda header: self._changes.place(header, robot))
                robot.told_objects.add(marker_id(marker))

        taken = self._changes.take(f'{len(message.markers)} markers', change)
        stamp = message.markers[0].header.stamp if message.markers else Time()
        self._answers.publish(DiagnosticStatus(
            level=DiagnosticStatus.OK if taken else DiagnosticStatus.ERROR, name=self._name,
            message='the scene has changed' if taken else self._changes.complaint,
            values=[KeyValue(key='stamp', value=stamp_text(stamp))]))

    def _on_points(self, message: PointCloud2, info: Any) -> None:
        def change(robot: Robot) -> None:
            self._changes.check_stamp(message.header, robot, info)
            points = points_of(message)
            if len(points):
                # They are where they were seen, though a camera may move with the arm.
                T = self._changes.pose(message.header, robot)
                robot.scene.add_points(POINTS_ID, points @ T[:3, :3].T + T[:3, 3],
                                       robot.settings.surroundings.voxel)
            elif POINTS_ID in robot.scene:
                robot.scene.remove(POINTS_ID)

        self._changes.take('a point cloud', change)
