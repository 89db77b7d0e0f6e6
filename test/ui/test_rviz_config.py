# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The view for a namespace and a frame prefix: what changes, and that nothing else does."""

from pathlib import Path

import pytest
import yaml

from ik_node.errors import ParameterError
from ik_node.ui.rviz_config import adapted

VIEW = (Path(__file__).parents[2] / 'config/ik_node.rviz').read_text()


def leaves(value, path=()):
    """Return every value of a configuration by its path."""
    if isinstance(value, (dict, list)) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return {p: leaf for key, item in items for p, leaf in leaves(item, (*path, key)).items()}
    return {path: value}


def test_nothing_changes_without_namespace_and_prefix():
    """The view in config/ is that of a single robot."""
    assert yaml.safe_load(adapted(VIEW, '', '', 'base_link')) == yaml.safe_load(VIEW)


@pytest.mark.parametrize('namespace', ['cell/left', '/cell/left/'])
def test_names_follow_the_namespace(namespace):
    """Topics, the fixed frame and the prefix of the robot change, and nothing else."""
    before = leaves(yaml.safe_load(VIEW))
    after = leaves(yaml.safe_load(adapted(VIEW, namespace, 'left/', 'base_1')))
    changed = {before[path]: after[path] for path in after if after[path] != before[path]}
    assert before.keys() == after.keys()
    assert changed.pop('base_link') == 'left/base_1'
    assert changed.pop('') == 'left'
    assert changed == {topic: f'/cell/left{topic}' for topic in (
        '/robot_description', '/ik_node/tip_pose', '/ik_node/markers', '/ik_node/scene_markers',
        '/ik_node/body_markers', '/ik_node/clearance_markers', '/interactive_goal',
        '/workspace')}


def test_a_prefix_that_rviz_does_not_have():
    """It is refused with one sentence."""
    with pytest.raises(ParameterError, match="'left_' does not end with /.* take 'left_/'"):
        adapted(VIEW, '', 'left_', 'base_link')


def test_types_survive():
    """Texts, numbers and booleans keep their types."""
    before, after = (leaves(yaml.safe_load(text)) for text in (
        VIEW, adapted(VIEW, 'a', 'b/', 'base_link')))
    assert all(type(after[path]) is type(value) for path, value in before.items())
