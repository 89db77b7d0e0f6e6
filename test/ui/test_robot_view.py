# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What is sent to the windows of the page."""

from importlib.util import find_spec

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(find_spec('viser') is None,
                                reason='viser is not installed (extra "viewer")')


@pytest.fixture
def server(monkeypatch):
    """Return a server that listens on a free port of this machine, and what it has sent."""
    from viser import ViserServer
    running = ViserServer('127.0.0.1', 0, verbose=False)
    running.sent, running.held_back = [], []
    buffer = running._websock_server._broadcast_buffer

    def queue(message):
        running.sent.append(message)
        running.held_back.append(buffer.atomic_counter > 0)

    monkeypatch.setattr(running.scene, '_queue_scene_message', queue)
    yield running
    running.stop()


def test_a_pose_reaches_the_window_that_has_moved_the_node(server):
    """``place`` sends nothing if the server knows the pose; ``send`` sends it to all windows."""
    from ik_node.ui.viewer.drawing.robot_view import place, send
    node = server.scene.add_frame('/node')
    T = np.eye(4)
    T[:3, 3] = 0.1, 0.2, 0.3
    place(node, T)
    server.sent.clear()
    place(node, T)
    assert not server.sent
    server.held_back.clear()
    send(server, node, T)
    position, orientation = [next(message for message in reversed(server.sent)
                                  if hasattr(message, name)) for name in ('position', 'wxyz')]
    assert np.allclose(position.position, T[:3, 3]) and np.allclose(orientation.wxyz, (1, 0, 0, 0))
    assert position.excluded_self_client is orientation.excluded_self_client is None
    # Of the messages with one key only the last is sent, as none is before there are all.
    assert len(server.held_back) == len(server.sent) == 4 and all(server.held_back)
    assert len({message.redundancy_key() for message in server.sent}) == 2
