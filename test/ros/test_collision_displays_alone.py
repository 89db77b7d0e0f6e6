# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What is shown of the collision check by a node that makes none."""

from harness import LATCHED, run_system
from visualization_msgs.msg import Marker, MarkerArray


def test_without_the_check_nothing_is_shown(tmp_path, probe):
    """Neither bodies nor clearance: they are not checked."""
    with run_system(tmp_path, probe, {'collision.check': False}):
        for topic in ('body_markers', 'clearance_markers'):
            heard = []
            probe.create_subscription(MarkerArray, f'/ik_node/{topic}', heard.append, LATCHED)
            probe.wait(lambda heard=heard: heard, what=topic)
            assert [each.action for each in heard[-1].markers] == [Marker.DELETEALL]
