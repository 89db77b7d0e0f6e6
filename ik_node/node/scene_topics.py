# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Objects around the arm that are told by messages, and what becomes of a motion among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.time import Time
from sensor_msgs.msg import PointCloud2
from std_msgs.msg import Header
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.errors import IkNodeError, ParameterError
from ik_node.node.arm_state import ArmState
from ik_node.node.frames import Frames, NotYet
from ik_node.node.motion import Motion
from ik_node.node.robot import Robot, RobotHolder
from ik_node.node.stamp_check import StampCheck
from ik_node.ros.qos import BEST_EFFORT_QOS, KEEP_ALL_QOS
from ik_node.ros.scene_messages import apply_marker, marker_id, points_of

POINTS_ID = 'points'


class SceneTopics:
    """
    Takes objects from ``~/scene`` and ``~/scene_points``.

    A message is taken as a whole or not at all.  After each, the rest of a motion that is under
    way is checked, and the arm is brought to rest if it would collide.

    Parameters
    ----------
    renew : callable
        Makes the settings of a robot anew, after its scene has changed.

    """

    def __init__(self, node: Node, holder: RobotHolder, arm: ArmState, frames: Frames,
                 motion: Motion, stamps: StampCheck, renew: Callable[[Robot], None]) -> None:
        self._node = node
        self._holder = holder
        self._arm = arm
        self._frames = frames
        self._motion = motion
        self._stamps = stamps
        self._renew = renew
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
                self._stamps.checked(marker.header.stamp, robot.settings.max_goal_age, info)
                apply_marker(scene, marker, lambda header: self._place(header, robot))
                robot.told_objects.add(marker_id(marker))

        self._take(f'{len(message.markers)} markers', change)

    def _on_points(self, message: PointCloud2, info: Any) -> None:
        def change(robot: Robot) -> None:
            self._stamps.checked(message.header.stamp, robot.settings.max_goal_age, info)
            points = points_of(message)
            if len(points):
                # They are where they were seen, though a camera may move with the arm.
                T = self._pose(message.header, robot)
                robot.scene.add_points(POINTS_ID, points @ T[:3, :3].T + T[:3, 3],
                                       robot.settings.surroundings.voxel)
            elif POINTS_ID in robot.scene:
                robot.scene.remove(POINTS_ID)

        self._take('a point cloud', change)

    def _take(self, what: str, change: Callable[[Robot], None]) -> None:
        """Change the scene of the robot as a whole, or not at all."""
        logger = self._node.get_logger()
        try:
            robot = self._holder.require()
            if robot.collisions is None:
                raise ParameterError('collisions are not checked, so there is no scene; set '
                                     'collision.check')
            before, told = robot.scene.snapshot, set(robot.told_objects)
            try:
                change(robot)
            except Exception:
                robot.scene.restore(before)
                robot.told_objects = told
                raise
        except (IkNodeError, NotYet) as error:
            logger.warning(f'{what} of the scene changed nothing: {error}')
            return
        self._renew(robot)
        self._motion.brake_before_contact()

    def _place(self, header: Header, robot: Robot) -> tuple[str, np.ndarray]:
        """Return a link, with which an object moves, and the pose of a header's frame in it."""
        link = self._frames.link_of(header.frame_id, robot.tree)
        return (robot.chain.base_link, self._pose(header, robot)) if link is None \
            else (link, np.eye(4))

    def _pose(self, header: Header, robot: Robot) -> np.ndarray:
        stamp = Time.from_msg(header.stamp, clock_type=self._node.get_clock().clock_type)
        return self._frames.pose_of(header.frame_id, stamp, robot.tree, robot.chain.base_link,
                                    self._arm.joints.positions)
