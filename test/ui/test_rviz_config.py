# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The view in RViz, for a namespace and a frame prefix, and what RViz warns of."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from ik_node.base.errors import ParameterError
from ik_node.ui.rviz_config import adapted

ROOT = Path(__file__).parents[2]
VIEW = (ROOT / 'config/ik_node.rviz').read_text()


def leaves(value, path=()):
    """Return every value of a configuration by its path."""
    if isinstance(value, (dict, list)) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return {p: leaf for key, item in items for p, leaf in leaves(item, (*path, key)).items()}
    return {path: value}


def test_nothing_changes_without_namespace_and_prefix():
    """The view in config/ is that of a single robot."""
    assert yaml.safe_load(adapted(VIEW, '', '', 'base_link')) == yaml.safe_load(VIEW)


def test_the_dock_belongs_to_the_displays():
    """RViz stacks all panels in one dock: what nobody needs at first is left out."""
    view = yaml.safe_load(VIEW)
    assert [panel['Class'] for panel in view['Panels']] == ['rviz_common/Displays']
    assert {name for name, value in view['Window Geometry'].items()
            if isinstance(value, dict)} == {'Displays'}


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


@pytest.mark.parametrize('file', sorted(ROOT.glob('urdf/*.urdf')), ids=lambda file: file.stem)
def test_roots_have_no_inertia(file):
    """kdl_parser, which robot_state_publisher and RViz have, warns of a root link with one."""
    root = ElementTree.parse(file).getroot()
    children = {joint.find('child').get('link') for joint in root.iter('joint')}
    [link] = [link for link in root.iter('link') if link.get('name') not in children]
    assert link.find('inertial') is None


def test_types_survive():
    """Texts, numbers and booleans keep their types."""
    before, after = (leaves(yaml.safe_load(text)) for text in (
        VIEW, adapted(VIEW, 'a', 'b/', 'base_link')))
    assert all(type(after[path]) is type(value) for path, value in before.items())
