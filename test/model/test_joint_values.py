# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Angles that can only be meant in degrees are told, wherever users give them."""

from math import pi

import numpy as np
import pytest
import robots

from ik_node.base.errors import ParameterError
from ik_node.collision.scene.scene_file import read_scene
from ik_node.model.joints import outside_limits, require_radians
from ik_node.model.tool import tool_pose
from ik_node.tools.pose_files import read_poses

CHAIN = robots.chain('six_axis_arm')


@pytest.mark.parametrize('angle', [7.0, -90.0, 360.0])
def test_more_than_a_turn(angle):
    """The angle, and what it is in rad."""
    with pytest.raises(ParameterError, match=f'{angle:g} degrees are {np.radians(angle):.4g}'):
        require_radians((0.0, angle, 0.0), 'rpy')


@pytest.mark.parametrize('angle', [0.0, pi, -3.1416, 2.0 * pi, -6.2832])
def test_a_turn(angle):
    """A whole turn, also rounded, is no degree."""
    require_radians((0.0, angle, 0.0), 'rpy')


def test_tool():
    with pytest.raises(ParameterError, match='tool.orientation has the angle 180'):
        tool_pose((0.0, 0.0, 0.1), (180.0, 0.0, 0.0))


@pytest.mark.parametrize('name, text, read', [
    ('poses.csv', '0.4,0,0.4,180,0,0\n', read_poses),
    ('goals.yaml', 'goals: [{xyz: [0.4, 0, 0.4], rpy: [180, 0, 0]}]', read_poses),
    ('scene.yaml', 'objects: {table: {box: [1, 1, 0.1], rpy: [0, 0, 90]}}',
     lambda path: read_scene(path, 'base_link', {}))])
def test_files(tmp_path, name, text, read):
    """Poses and scenes."""
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ParameterError, match='degrees are'):
        read(path)


@pytest.mark.parametrize('value, hinted', [
    (30.0, True), (-60.0, True), (3.0, False), (1e4, False), (-100.0, True), (200.0, False)])
def test_joint_outside(value, hinted):
    """Where the same number of degrees would be inside, and is no number of rad."""
    k = 1
    inside = CHAIN.lower[k] <= np.radians(value) <= CHAIN.upper[k]
    assert hinted == (inside and abs(value) > 2.0 * pi + 1e-3)
    said = outside_limits(CHAIN, k, value)
    assert ('degrees' in said) == hinted
    assert said.startswith(f'{value:.6g}, outside its limits [-1.9, 2.2]')
