# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Names of frames that nobody should have: the library below the node, without its process."""

from time import process_time
from types import SimpleNamespace

from harness import ARM
import pytest
from rclpy.time import Time

from ik_node.base.errors import GoalError
from ik_node.model.description.urdf import read_urdf
from ik_node.node.state import frames

TREE = read_urdf(ARM)


def test_a_frame_of_a_long_name(monkeypatch):
    """To look for a similar one does not take the node's only thread."""
    monkeypatch.setattr(frames, 'tf2_ros', None)
    began = process_time()
    with pytest.raises(GoalError) as caught:
        frames.Frames(None, '').pose_of('tool0' * 4_000_000, Time(), TREE, 'base_link', {})
    assert process_time() - began < 1.0 and len(str(caught.value)) < 300


def test_words_of_tf_are_escaped(monkeypatch):
    """TF repeats the name as it is; tf2_ros, which is not on PyPI, is played."""
    class Unknown(Exception):
        pass

    def lookup(_target, frame, _stamp):
        raise Unknown(f'"{frame}" passed to lookupTransform does not exist.')

    monkeypatch.setattr(frames, 'tf2_ros', SimpleNamespace(
        TransformException=Unknown, TransformListener=lambda buffer, node: None,
        Buffer=lambda node: SimpleNamespace(lookup_transform=lookup)))
    for frame in ('table\x1b[2J', 'x' * 100_000):
        with pytest.raises(frames.NotYet, match='TF cannot connect it') as caught:
            frames.Frames(None, '').pose_of(frame, Time(), TREE, 'base_link', {})
        assert str(caught.value).isprintable() and len(str(caught.value)) < 600
