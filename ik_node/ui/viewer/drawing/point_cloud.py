# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Points and colours of a sensor_msgs/PointCloud2."""

from __future__ import annotations

import numpy as np
from sensor_msgs.msg import PointCloud2, PointField

from ik_node.base.errors import ParameterError

DEFAULT_GREY = 160  # 0 to 255


def points_and_colours(message: PointCloud2) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the finite points (N, 3), m, and their colours (N, 3), uint8.

    Raises
    ------
    ParameterError
        If x, y and z are not float32 fields, or the data is too short.

    """
    order = '>' if message.is_bigendian else '<'
    offsets = {field.name: field.offset for field in message.fields
               if field.datatype == PointField.FLOAT32
               and field.offset + 4 <= message.point_step}
    if not {'x', 'y', 'z'} <= offsets.keys():
        raise ParameterError('the point cloud has no x, y and z of type float32 within a point')
    count = message.width * message.height
    if message.row_step != message.width * message.point_step \
            or len(message.data) < count * message.point_step:
        raise ParameterError(f'the point cloud says that it has {count} points of '
                             f'{message.point_step} bytes without gaps, and has '
                             f'{len(message.data)} bytes')
    names = [name for name in ('x', 'y', 'z', 'rgb') if name in offsets]
    table = np.frombuffer(bytes(message.data), count=count, dtype=np.dtype({
        'names': names, 'offsets': [offsets[name] for name in names],
        'formats': [f'{order}f4'] * len(names), 'itemsize': message.point_step}))
    points = np.stack([table['x'], table['y'], table['z']], axis=1)
    finite = np.isfinite(points).all(axis=1)
    if 'rgb' not in names:
        return points[finite], np.full((int(finite.sum()), 3), DEFAULT_GREY, np.uint8)
    packed = np.ascontiguousarray(table['rgb']).view(f'{order}u4')
    colours = np.stack([packed >> 16 & 255, packed >> 8 & 255, packed & 255], axis=1)
    return points[finite], colours[finite].astype(np.uint8)
