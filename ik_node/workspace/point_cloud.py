# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A workspace as a point cloud, for RViz and whoever else looks."""

from __future__ import annotations

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import PointCloud2, PointField
from std_msgs.msg import Header

from ik_node.ros.qos import LATCHED_QOS
from ik_node.workspace.colours import share_colours
from ik_node.workspace.sampling import Workspace

TOPIC = 'workspace'
FIELDS = ('x', 'y', 'z', 'rgb', 'share')


def point_cloud(workspace: Workspace, frame_id: str) -> PointCloud2:
    """
    Return the cells that are reached as a message, stamp 0.

    ``rgb`` is a float whose bits are 0x00RRGGBB, as RViz wants it.
    """
    reachable = workspace.reachable.ravel()
    share = workspace.share.ravel()[reachable]
    red, green, blue = np.rint(255.0 * share_colours(share)).astype(np.uint32).T
    rows = np.empty((len(share), len(FIELDS)), dtype='<f4')
    rows[:, :3] = workspace.points[reachable]
    rows[:, 3] = (red << 16 | green << 8 | blue).astype('<u4').view('<f4')
    rows[:, 4] = share
    cloud = PointCloud2(header=Header(frame_id=frame_id), height=1, width=len(rows),
                        is_bigendian=False, is_dense=True, point_step=rows.itemsize * len(FIELDS),
                        row_step=rows.nbytes)
    cloud.fields = [PointField(name=name, offset=rows.itemsize * k, datatype=PointField.FLOAT32,
                               count=1) for k, name in enumerate(FIELDS)]
    cloud.data = rows.tobytes()
    return cloud


class WorkspaceCloud(Node):
    """Publishes a workspace once, for all who come while it is there."""

    def __init__(self, workspace: Workspace, frame_prefix: str = '') -> None:
        super().__init__('workspace', start_parameter_services=False)
        cloud = point_cloud(workspace, frame_prefix + workspace.base_link)
        self._publisher = self.create_publisher(PointCloud2, TOPIC, LATCHED_QOS)
        self._publisher.publish(cloud)
        self.get_logger().info(f'{cloud.width} cells on {self._publisher.topic_name} in '
                               f'{cloud.header.frame_id}, until Ctrl-C')

    def close(self) -> None:
        """Have nothing to say."""
