# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The workspace as others see it over DDS: the cloud, whole, for who comes late, until Ctrl-C."""

import struct

from harness import ARM, COLD_START, process
import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import PointCloud2, PointField

from ik_node.tools.workspace.plots import share_colours
from ik_node.tools.workspace.sampling import Workspace

SAMPLE = ['--box', '-0.6', '0.7', '-0.5', '0.6', '0.0', '0.9', '--spacing', '0.2',
          '--orientations', '7', '--no-picture']


def running(folder, *words, **named):
    """Run the command with its own arguments, behind those of ROS."""
    return process('workspace', folder, arguments=['--', *words], **named)


@pytest.fixture
def clouds(probe):
    """Return the clouds that come on a topic."""
    def listen(topic='/workspace'):
        came = []
        probe.create_subscription(
            PointCloud2, topic, came.append,
            QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        return came
    return listen


def fields_of(cloud):
    """Return the fields as a reader that knows nothing of the writer would."""
    assert (cloud.height, cloud.is_bigendian, cloud.is_dense) == (1, False, True)
    assert cloud.row_step == cloud.point_step * cloud.width == len(cloud.data)
    assert {(field.datatype, field.count) for field in cloud.fields} == {(PointField.FLOAT32, 1)}
    data = bytes(cloud.data)
    return {field.name: np.array([
        struct.unpack_from('<f', data, k * cloud.point_step + field.offset)[0]
        for k in range(cloud.width)], dtype=np.float32) for field in cloud.fields}


def test_the_cloud_is_the_file(tmp_path, probe, clouds):
    """Sampled and published, then loaded and published again: the cells of the .npz."""
    file = tmp_path / 'w.npz'
    with running(tmp_path, '--urdf', str(ARM), *SAMPLE, '--out', str(file.with_suffix('')),
                 '--publish') as command:
        probe.wait(lambda: 'until Ctrl-C' in command.output, COLD_START, 'the cloud')
        first = clouds()
        probe.wait(lambda: first, 60.0, 'the cloud for who comes late')
        assert command.stop() == 0
    made = Workspace.load(file)
    reachable = made.reachable.ravel()
    assert 50 < reachable.sum() < reachable.size
    with running(tmp_path, '--load', str(file), '--publish', '--frame-prefix', 'left_',
                 remap={'__ns': '/left'}) as command:
        again = clouds('/left/workspace')
        probe.wait(lambda: again, 60.0, 'the cloud of the file')
        assert command.stop() == 0
    assert (first[0].header.frame_id, again[0].header.frame_id) == ('base_link', 'left_base_link')
    assert bytes(first[0].data) == bytes(again[0].data)
    fields = fields_of(first[0])
    assert list(fields) == ['x', 'y', 'z', 'rgb', 'share']
    seen = np.stack([fields['x'], fields['y'], fields['z']], axis=1)
    assert seen == pytest.approx(made.points[reachable], abs=1e-6)
    assert np.array_equal(fields['share'], made.share.ravel()[reachable].astype(np.float32))
    packed = fields['rgb'].view(np.uint32)
    channels = np.stack([packed >> 16, packed >> 8 & 255, packed & 255], axis=1)
    assert channels == pytest.approx(255.0 * share_colours(fields['share']), abs=0.51)
    assert np.isfinite(fields['rgb']).all()
