# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Objects around the arm that are told by markers and point clouds."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import inf
import re

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
import numpy as np
from rclpy.node import Node
from rclpy.qos import ReliabilityPolicy
from sensor_msgs.msg import PointCloud2, PointField
from std_msgs.msg import Header
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.base.errors import ParameterError
from ik_node.base.se3 import pose
from ik_node.base.text import listed, quote
from ik_node.collision.bodies.part_checks import NO_VERTICES
from ik_node.collision.bodies.parts import ConvexPart
from ik_node.collision.scene.scene import Scene
from ik_node.kinematics.arguments import did_you_mean
from ik_node.model.description.mesh_files import Resolve, resolve
from ik_node.node.intake.health import Health
from ik_node.node.scene.scene_changes import SceneChanges
from ik_node.node.scene.scene_draft import Change, SceneDraft, SceneTopic
from ik_node.ros.answer_publisher import AnswerPublisher
from ik_node.ros.messages.conversion import matrix_from_pose
from ik_node.ros.messages.status_messages import stamp_text
from ik_node.ros.middleware.qos import ANSWERS_QOS, BEST_EFFORT_QOS, KEEP_ALL_QOS, NEWEST_QOS

BODY_TYPES = {
    Marker.CUBE: 'box', Marker.SPHERE: 'sphere', Marker.CYLINDER: 'cylinder',
    Marker.CUBE_LIST: 'box', Marker.SPHERE_LIST: 'sphere', Marker.POINTS: 'box'}
LIST_TYPES = Marker.CUBE_LIST, Marker.SPHERE_LIST, Marker.POINTS
MESH_TYPES = Marker.TRIANGLE_LIST, Marker.MESH_RESOURCE
POINTS_ID = 'points'  # of the object that a cloud of points is
NAMESPACE_ALONE = re.compile(r'[^\W\d][^/]*')  # no number, and no '/' as before a number
FLOAT_FORMATS = {PointField.FLOAT32: 'f4', PointField.FLOAT64: 'f8'}

# Returns the link in whose frame an object is, and the pose (4, 4) of a header's frame in it.
Place = Callable[[Header], tuple[str, np.ndarray]]


def marker_id(scene: Scene, marker: Marker, told: Collection[str]) -> str:
    """
    Return the id of the object of a marker.

    It is the namespace alone if the marker is number 0 there, and that can be the id of nothing
    else: not of another marker, of the cloud, of a link or tool, or of an object that is not of
    those that messages have `told`.
    """
    if not marker.ns:
        return str(marker.id)
    alone = marker.id == 0 and NAMESPACE_ALONE.fullmatch(marker.ns) and marker.ns != POINTS_ID \
        and not scene.is_reserved(marker.ns) and (marker.ns not in scene or marker.ns in told)
    return marker.ns if alone else f'{marker.ns}/{marker.id}'


def apply_marker(scene: Scene, marker: Marker, id: str, place: Place,
                 find: Resolve = resolve) -> None:
    """
    Add, replace or remove the object of a marker.

    CUBE, SPHERE, CYLINDER, their lists, POINTS, TRIANGLE_LIST and MESH_RESOURCE are bodies.  A
    sphere or a cylinder that is not round becomes a round one that contains it.  An object that
    is to be removed and is not there is gone already.

    Parameters
    ----------
    id : str
        Of the object, by :func:`marker_id`.
    place : callable
    find : callable
        Finds the file of a mesh, as :func:`ik_node.model.description.mesh_files.resolve` does.

    """
    if marker.action == Marker.DELETE:
        if id in scene:
            scene.remove(id)
        return
    if marker.action != Marker.ADD:
        raise ParameterError(f'the marker {quote(id)} has the action {marker.action}; it must be '
                             'ADD, DELETE or DELETEALL')
    if marker.lifetime.sec or marker.lifetime.nanosec:
        raise ParameterError(f'the marker {quote(id)} has a lifetime; an object stays until it '
                             'is deleted, so set the lifetime to 0')
    T = matrix_from_pose(marker.pose)
    scale = np.array([marker.scale.x, marker.scale.y, marker.scale.z])
    if marker.type in MESH_TYPES:
        mesh = _mesh(marker, id, find)
        frame, T_frame = place(marker.header)
        scene.add_mesh(id, mesh, scale.tolist(), T_frame @ T, frame)
        return
    if marker.type not in BODY_TYPES:
        raise ParameterError(f'the marker {quote(id)} is of type {marker.type}, which is no body; '
                             'send cubes, spheres, cylinders, their lists, points or meshes')
    if marker.type == Marker.POINTS:
        scale[:] = scale[0]
    kind = BODY_TYPES[marker.type]
    size = {'box': tuple(scale), 'sphere': (0.5 * scale.max(),),
            'cylinder': (0.5 * scale[:2].max(), scale[2])}[kind]
    if not (scale > 0.0).all():
        raise ParameterError(f'the marker {quote(id)} has the scale {scale.tolist()}; its numbers '
                             'must be positive')
    centres = _array(marker.points) if marker.type in LIST_TYPES else np.zeros((1, 3))
    frame, T_frame = place(marker.header)
    scene.add_parts(id, [ConvexPart(kind, size, pose(np.eye(3), centre), NO_VERTICES)
                         for centre in centres], T_frame @ T, frame)


def _array(points: list) -> np.ndarray:
    return np.array([(p.x, p.y, p.z) for p in points], dtype=float).reshape(-1, 3)


def _mesh(marker: Marker, id: str, find: Resolve) -> object:
    """Return the mesh of a marker as :meth:`Scene.add_mesh` takes it."""
    if marker.type == Marker.MESH_RESOURCE:
        path, why_not = find(marker.mesh_resource)
        if path is None:
            raise ParameterError(f'the marker {quote(id)}: {why_not}')
        return path
    vertices = _array(marker.points)
    return vertices, np.arange(3 * (len(vertices) // 3)).reshape(-1, 3)


def points_of(cloud: PointCloud2) -> np.ndarray:
    """
    Return the finite points (N, 3) of a cloud, m, in its frame.

    One without points and data is empty, whatever its fields.
    """
    if not cloud.width * cloud.height and not len(cloud.data):
        return np.empty((0, 3))
    fields = {field.name: field for field in cloud.fields}
    formats = [FLOAT_FORMATS.get(fields[name].datatype) if name in fields else None
               for name in 'xyz']
    if None in formats:
        raise ParameterError('the point cloud has no fields x, y and z of type FLOAT32 or '
                             'FLOAT64; it has ' + (', '.join(map(quote, fields)) or 'none'))
    offsets = [fields[name].offset for name in 'xyz']
    ends = [offset + int(format[1]) for offset, format in zip(offsets, formats)]
    needed = cloud.row_step * max(cloud.height - 1, 0) + cloud.point_step * cloud.width
    if not cloud.width * cloud.height or max(ends) > cloud.point_step \
            or cloud.point_step * cloud.width > cloud.row_step or len(cloud.data) < needed:
        raise ParameterError(
            f'the point cloud has {len(cloud.data)} bytes for {cloud.height} rows of '
            f'{cloud.row_step} bytes, with {cloud.width} points of {cloud.point_step} bytes each; '
            'these do not fit')
    order = '>' if cloud.is_bigendian else '<'
    kind = np.dtype({'names': list('xyz'), 'formats': [order + format for format in formats],
                     'offsets': offsets, 'itemsize': cloud.point_step})
    rows = np.ndarray((cloud.height, cloud.width), kind, bytes(cloud.data),
                      strides=(cloud.row_step, cloud.point_step))
    points = np.stack([rows[name].ravel().astype(float) for name in 'xyz'], axis=1)
    return points[np.isfinite(points).all(axis=1)]


try:
    from rclpy.event_handler import QoSMessageLostInfo, SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import QoSMessageLostInfo, SubscriptionEventCallbacks

CHANGED_TEXT = 'the scene has changed'


class SceneTopics:
    """
    Takes objects from ``~/scene`` and ``~/scene_points``.

    Each message on ``~/scene`` is answered on ``~/scene_answers`` and ``~/scene_status``.
    """

    def __init__(self, node: Node, changes: SceneChanges, health: Health) -> None:
        self._node, self._health = node, health
        self._name = f'{node.get_fully_qualified_name()}: scene'
        self._answers = AnswerPublisher(node, '~/scene_answers', ANSWERS_QOS,
                                        '~/scene_status')
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
        self._answers.flush(seconds)

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
