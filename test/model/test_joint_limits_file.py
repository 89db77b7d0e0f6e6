# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The limits of a joint_limits.yaml narrow those of the URDF."""

from pathlib import Path

import numpy as np
import pytest

from ik_node.base.errors import ParameterError
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import read_urdf
from ik_node.model.user_files.joint_limits_file import with_joint_limits

TREE = read_urdf(Path(__file__).parents[2] / 'urdf/six_axis_arm.urdf')
FIRST = TREE.joints[0].name if TREE.joints[0].moves else \
    next(joint.name for joint in TREE.joints if joint.moves)


def limited(tmp_path, *lines, name=FIRST):
    """Return the chain with the limits of one joint in a file."""
    path = tmp_path / 'joint_limits.yaml'
    path.write_text('\n'.join(['default_velocity_scaling_factor: 0.1', 'joint_limits:',
                               f'  {name}:', *(f'    {line}' for line in lines)]))
    tree = with_joint_limits(TREE, str(path))
    return make_chain(tree), tree.notes


def test_each_limit_narrows(tmp_path):
    """Those that the file has; the others are those of the URDF."""
    whole = make_chain(TREE)
    chain, notes = limited(
        tmp_path, 'has_position_limits: true', 'min_position: -0.5', 'max_position: 100.0',
        'has_velocity_limits: true', 'max_velocity: 0.25', 'has_acceleration_limits: true',
        'max_acceleration: 0.75', 'has_deceleration_limits: true', 'max_deceleration: 0.5',
        'has_jerk_limits: true', 'max_jerk: 7')
    assert (chain.lower[0], chain.upper[0]) == (-0.5, whole.upper[0])
    assert (chain.velocity[0], chain.acceleration[0], chain.jerk[0]) == (0.25, 0.5, 7.0)
    for name in ('lower', 'upper', 'velocity', 'acceleration', 'jerk'):
        assert np.array_equal(getattr(chain, name)[1:], getattr(whole, name)[1:])
    assert notes == TREE.notes
    wider, _ = limited(tmp_path, 'has_velocity_limits: true', 'max_velocity: 99.0',
                       'has_acceleration_limits: false', 'max_acceleration: 0.01')
    assert wider.velocity[0] == whole.velocity[0] and np.isinf(wider.acceleration[0])


@pytest.mark.fault('parameters', 'a joint_limits.yaml with a limit that is none',
                   'refused with the joint and the value')
@pytest.mark.parametrize('lines, words', [
    (['has_velocity_limits: true'], 'max_velocity is None'),
    (['has_velocity_limits: true', 'max_velocity: -1.0'], 'is -1.0; it must be a positive'),
    (['has_jerk_limits: true', 'max_jerk: .nan'], 'max_jerk is nan'),
    (['has_jerk_limits: true', f'max_jerk: 1{400 * "0"}'], 'max_jerk is 1000'),
    (['has_velocity_limits: 1', 'max_velocity: 1.0'], 'has_velocity_limits is 1'),
    (['has_position_limits: true', 'min_position: 90', 'max_position: 91'], 'no range')])
def test_limits_that_are_none(tmp_path, lines, words):
    """One sentence names the file, the joint and the value."""
    with pytest.raises(ParameterError, match=words) as refused:
        limited(tmp_path, *lines)
    assert f"'{FIRST}'" in str(refused.value) and 'joint_limits.yaml' in str(refused.value)


@pytest.mark.fault('parameters', 'a joint_limits.yaml of another robot', 'refused')
def test_joints_of_another_robot(tmp_path):
    """A file of which no joint is known is not the right one."""
    with pytest.raises(ParameterError, match="'elbow_of_another', none of which is a joint"):
        limited(tmp_path, 'has_velocity_limits: true', 'max_velocity: 1.0',
                name='elbow_of_another')


def test_no_file():
    """Without a path the tree is as it was."""
    assert with_joint_limits(TREE, '') is TREE
    with pytest.raises(ParameterError, match='No such file'):
        with_joint_limits(TREE, '/nowhere/joint_limits.yaml')
