# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Objects around the arm that are told by markers and point clouds."""

from __future__ import annotations

from math import inf

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.duration import Duration
from rclpy.node import Node
from sensor_msgs.msg import PointCloud2
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.node.scene_changes import SceneChanges
from ik_node.node.scene_draft import Change, SceneDraft, SceneTopic
from ik_node.node.scene_messages import (
    apply_marker,
    marker_id,
    MESH_TYPES,
    points_of,
)
from ik_node.ros.qos import BEST_EFFORT_QOS, KEEP_ALL_QOS, STATUS_QOS
from ik_node.ros.status_messages import stamp_text

POINTS_ID = 'points'


class SceneTopics:
    """
    Takes objects from ``~/scene`` and ``~/scene_points``.

    Each message on ``~/scene`` is answered on ``~/scene_status``.
    """

    def __init__(self, node: Node, changes: SceneChanges) -> None:
        self._name = f'{node.get_fully_qualified_name()}: scene'
        self._answers = node.create_publisher(DiagnosticStatus, '~/scene_status', STATUS_QOS)
        changes.subscribe('~/scene', SceneTopic(
            MarkerArray, by_markers, parts_of_markers, self._answer), KEEP_ALL_QOS)
        changes.subscribe('~/scene_points', SceneTopic(
            PointCloud2, by_points, lambda cloud: cloud.width * cloud.height,
            replaces_earlier=True), BEST_EFFORT_QOS)

    def flush(self, seconds: float) -> None:
        """Wait at most `seconds` until all answers are acknowledged."""
        self._answers.wait_for_all_acked(Duration(seconds=seconds))

    def _answer(self, message: MarkerArray, complaint: str) -> None:
        stamp = message.markers[0].header.stamp if message.markers else Time()
        self._answers.publish(DiagnosticStatus(
            level=DiagnosticStatus.ERROR if complaint else DiagnosticStatus.OK, name=self._name,
            message=complaint or 'the scene has changed',
            values=[KeyValue(key='stamp', value=stamp_text(stamp))]))


def parts_of_markers(message: MarkerArray) -> float:
    """Return about how many parts markers have; infinity with a mesh, which may take long."""
    return sum(inf if marker.type in MESH_TYPES else max(1, len(marker.points))
               for marker in message.markers)


def by_markers(message: MarkerArray) -> Change:
    """Return the change of a scene by markers."""
    def change(draft: SceneDraft) -> None:
        for marker in message.markers:
            if marker.action == Marker.DELETEALL:
                for id in draft.told & {*draft.scene.objects}:
                    draft.scene.remove(id)
                continue
            draft.check_stamp(marker.header)
            apply_marker(draft.scene, marker, draft.place)
            draft.told.add(marker_id(marker))

    return f'{len(message.markers)} markers', change


def by_points(message: PointCloud2) -> Change:
    """Return the change of a scene by the points of a cloud."""
    def change(draft: SceneDraft) -> None:
        draft.check_stamp(message.header)
        points = points_of(message)
        if len(points):
            # They are where they were seen, though a camera may move with the arm.
            T = draft.pose(message.header)
            draft.scene.add_points(POINTS_ID, points @ T[:3, :3].T + T[:3, 3],
                                   draft.robot.settings.surroundings.voxel)
        elif POINTS_ID in draft.scene:
            draft.scene.remove(POINTS_ID)

    return 'a point cloud', change
