# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The end of a node, or of its components, while a scene of 10,000 boxes is made."""

from harness import run_system
import pytest
from test_large_scenes import boxes, NODE_LIMITS, TAKEN, Teller
from test_scene_topics import LEFT, post


@pytest.mark.fault('start, end and middleware',
                   'the node is cleaned up, or ended, while a large scene is made',
                   'it does so at once, the scene is answered, and the node can be used again')
@pytest.mark.nightly
def test_the_end_of_a_node_that_makes_a_scene(tmp_path, probe):
    """Also what waits is answered."""
    with run_system(tmp_path, probe, NODE_LIMITS) as system:
        tell = Teller(system)
        for _ in range(2):
            probe.wait(lambda: tell.topic.get_subscription_count()
                       and probe.count_publishers('/ik_node/scene_answers'))
            first, second = tell.send(boxes()), tell.send(post())
            probe.spin_for(0.3)
            for label in ('deactivate', 'cleanup'):
                assert probe.change_state(label)
            for stamp in (first, second):
                assert tell.answer(stamp, 5.0) in (TAKEN, 'a message of the scene changed '
                                                   'nothing: the node is cleaned up')
            for label in ('configure', 'activate'):
                assert probe.change_state(label)
        probe.wait_until_ready()
        assert probe.final(probe.send_joints(LEFT))['state'] == 'reached'
        tell.send(boxes())
        probe.spin_for(0.3)
        assert system.node.stop() == 0
