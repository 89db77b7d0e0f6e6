# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Objects around the arm that are told by markers and point clouds."""

from __future__ import annotations

from math import inf

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import ReliabilityPolicy
from sensor_msgs.msg import PointCloud2
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.base.text import listed, quote
from ik_node.kinematics.arguments import did_you_mean
from ik_node.node.intake.health import Health
from ik_node.node.scene.scene_changes import SceneChanges
from ik_node.node.scene.scene_draft import Change, SceneDraft, SceneTopic
from ik_node.node.scene.scene_messages import (
    apply_marker,
    marker_id,
    MESH_TYPES,
    POINTS_ID,
    points_of,
)
from ik_node.ros.messages.status_messages import stamp_text
from ik_node.ros.middleware.qos import BEST_EFFORT_QOS, KEEP_ALL_QOS, NEWEST_QOS, STATUS_QOS

try:
    from rclpy.event_handler import QoSMessageLostInfo, SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import QoSMessageLostInfo, SubscriptionEventCallbacks

CHANGED_TEXT = 'the scene has changed'


class SceneTopics:
    """
    Takes objects from ``~/scene`` and ``~/scene_points``.

    Each message on ``~/scene`` is answered on ``~/scene_status``.
    """

    def __init__(self, node: Node, changes: SceneChanges, health: Health) -> None:
        self._node, self._health = node, health
        self._name = f'{node.get_fully_qualified_name()}: scene'
        self._answers = node.create_publisher(DiagnosticStatus, '~/scene_status', STATUS_QOS)
        changes.subscribe('~/scene', SceneTopic(
            MarkerArray, by_markers, parts_of_markers, self._answer), KEEP_ALL_QOS)
        clouds = SceneTopic(PointCloud2, by_points, lambda cloud: cloud.width * cloud.height,
                            replaces_earlier=True)
        # Publishers that are reliable have what was lost sent again; the others are heard, too.
        changes.subscribe('~/scene_points', clouds, NEWEST_QOS, SubscriptionEventCallbacks(
            message_lost=self._count_lost, incompatible_qos=lambda _event: None))
        changes.subscribe('~/scene_points', clouds, BEST_EFFORT_QOS, SubscriptionEventCallbacks(
            message_lost=self._on_lost))

    def _on_lost(self, event: QoSMessageLostInfo) -> None:
        """Count clouds that did not come whole, unless their publisher sends them again."""
        topic = self._node.resolve_topic_name('~/scene_points')
        if any(end.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT
               for end in self._node.get_publishers_info_by_topic(topic)):
            self._count_lost(event)

    def _count_lost(self, event: QoSMessageLostInfo) -> None:
        self._health.lost_clouds += event.total_count_change

    def flush(self, seconds: float) -> None:
        """Wait at most `seconds` until all answers are acknowledged."""
        self._answers.wait_for_all_acked(Duration(seconds=seconds))

    def _answer(self, message: MarkerArray, complaint: str, remark: str) -> None:
        stamp = message.markers[0].header.stamp if message.markers else Time()
        self._answers.publish(DiagnosticStatus(
            level=DiagnosticStatus.ERROR if complaint else DiagnosticStatus.OK, name=self._name,
            message=complaint or remark or CHANGED_TEXT,
            values=[KeyValue(key='stamp', value=stamp_text(stamp))]))


def parts_of_markers(message: MarkerArray) -> float:
    """Return about how many parts markers have; infinity with a mesh, which may take long."""
    return sum(inf if marker.type in MESH_TYPES else max(1, len(marker.points))
               for marker in message.markers)


def by_markers(message: MarkerArray) -> Change:
    """Return the change of a scene by markers."""
    def change(draft: SceneDraft) -> None:
        missing: list[str] = []
        for marker in message.markers:
            if marker.action == Marker.DELETEALL:
                for id in draft.told & {*draft.scene.objects}:
                    draft.scene.remove(id)
                continue
            draft.check_stamp(marker.header)
            id = marker_id(draft.scene, marker, draft.told)
            if marker.action == Marker.DELETE and id not in draft.scene:
                missing.append(id)
            apply_marker(draft.scene, marker, id, draft.place, draft.find_mesh)
            draft.told.add(id)
        if missing:
            known = tuple(draft.scene.objects)
            draft.remark = ('nothing has changed' if len(missing) == len(message.markers)
                            else CHANGED_TEXT) + ': there is no object ' \
                + listed([*map(quote, missing)]) + (
                    did_you_mean(missing[0], known) if known else '; the scene is empty')

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
