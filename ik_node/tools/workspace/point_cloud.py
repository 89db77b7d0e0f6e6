# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Publish a workspace as a point cloud, for RViz and the viewer."""

from __future__ import annotations

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import PointCloud2, PointField
from std_msgs.msg import Header

from ik_node.ros.middleware.qos import LATCHED_QOS
from ik_node.tools.workspace.plots import share_colours
from ik_node.tools.workspace.sampling import Workspace

CLOUD_TOPIC = 'workspace'
CLOUD_FIELDS = ('x', 'y', 'z', 'rgb', 'share')


def point_cloud(workspace: Workspace, frame_id: str) -> PointCloud2:
    """
    Return the reachable cells as a message with stamp 0.

    ``rgb`` is a float with the bits 0x00RRGGBB, as RViz expects.
    """
    reachable = workspace.reachable.ravel()
    share = workspace.share.ravel()[reachable]
    red, green, blue = np.rint(255.0 * share_colours(share)).astype(np.uint32).T
    rows = np.empty((len(share), len(CLOUD_FIELDS)), dtype='<f4')
    rows[:, :3] = workspace.points[reachable]
    rows[:, 3] = (red << 16 | green << 8 | blue).astype('<u4').view('<f4')
    rows[:, 4] = share
    cloud = PointCloud2(header=Header(frame_id=frame_id), height=1, width=len(rows),
                        is_bigendian=False, is_dense=True,
                        point_step=rows.itemsize * len(CLOUD_FIELDS), row_step=rows.nbytes)
    cloud.fields = [PointField(name=name, offset=rows.itemsize * k, datatype=PointField.FLOAT32,
                               count=1) for k, name in enumerate(CLOUD_FIELDS)]
    cloud.data = rows.tobytes()
    return cloud


class WorkspaceCloud(Node):
    """Publish a workspace once, latched for late subscribers."""

    def __init__(self, workspace: Workspace, frame_prefix: str = '') -> None:
        super().__init__('workspace', start_parameter_services=False)
        cloud = point_cloud(workspace, frame_prefix + workspace.base_link)
        self._publisher = self.create_publisher(PointCloud2, CLOUD_TOPIC, LATCHED_QOS)
        self._publisher.publish(cloud)
        self.get_logger().info(f'{cloud.width} cells on {self._publisher.topic_name} in '
                               f'{cloud.header.frame_id}, until Ctrl-C')

    def close(self) -> None:
        """Do nothing; there is nothing to report at the end."""
