# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Files of poses: what they say, and what is wrong with them."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from ik_node.base.errors import ParameterError
from ik_node.tools.pose_files import read_goals, read_poses

EXAMPLES = Path(__file__).parents[2] / 'examples'
RPY = 0.3, -0.7, 2.0
QUATERNION = pin.Quaternion(pin.rpy.rpyToMatrix(*RPY)).coeffs()
XYZ = 0.1, -0.2, 0.3


def row(values):
    return ', '.join(map(repr, map(float, values))) + '\n'


@pytest.mark.parametrize('name, text, frame', [
    ('a.csv', row([*XYZ, *RPY]), ''),
    ('a.csv', '\ufeffx, y,z,roll, pitch,yaw\n' + row([*XYZ, *RPY]) + '\n', ''),
    ('a.csv', row([*XYZ, *QUATERNION]), ''),
    ('a.csv', 'x,y,z,qx,qy,qz,qw\n' + row([*XYZ, *QUATERNION]), ''),
    ('a.yaml', f'goals: [{{xyz: {list(XYZ)}, rpy: {list(RPY)}}}]', ''),
    ('a.txt', f'goals: [{{xyz: {list(XYZ)}, quat: {QUATERNION.tolist()}, frame: tool0}}]',
     'tool0')])
def test_one_pose_in_every_form(tmp_path, name, text, frame):
    """The same pose by angles and by quaternion; Pinocchio converts between them."""
    (tmp_path / name).write_text(text, encoding='utf-8')
    found, = read_poses(tmp_path / name)
    assert found.xyz == XYZ and found.frame == frame
    assert abs(abs(np.dot(found.quaternion, QUATERNION)) - 1.0) < 1e-12


def test_rows_keep_their_order(tmp_path):
    """Rows of both forms may be mixed; without an orientation there is no rotation."""
    file = tmp_path / 'a.csv'
    file.write_text(''.join(row([k, 0, 0, 0, 0, 0]) for k in range(5))
                    + row([5, 0, 0, 0, 0, 0, 1]))
    assert [found.xyz[0] for found in read_poses(file)] == [0, 1, 2, 3, 4, 5]
    file = tmp_path / 'a.yaml'
    file.write_text('goals: [{xyz: [1, 2, 3]}]')
    assert read_poses(file)[0].quaternion == (0.0, 0.0, 0.0, 1.0)


def test_shipped_examples():
    """They can be read."""
    assert len(read_poses(EXAMPLES / 'corners.csv')) == 4
    assert len(read_goals(EXAMPLES / 'goals.yaml')) == 13


@pytest.mark.parametrize('name, text, words', [
    ('a.csv', '', 'has no pose'),
    ('a.csv', 'x,y,z,roll,pitch,yaw\n', 'has no pose'),
    ('a.csv', '1,2,3\n', 'line 1 of .* has 3 columns; it takes x,y,z,roll'),
    ('a.csv', 'x,y,z,yaw,pitch,roll\n1,2,3,0,0,0\n', 'line 1 of .* must be 6 finite numbers'),
    ('a.csv', '1,2,3,0,0,0\n\n1,2,nan,0,0,0\n', 'line 3 of .* must be 6 finite numbers'),
    ('a.yaml', 'goals: []', 'has no pose'),
    ('a.yaml', 'goals: [1]', 'has no list of goals'),
    ('a.yaml', '[1, 2', 'has no list of goals'),
    ('a.yaml', 'poses: []', 'has no list of goals'),
    ('a.yaml', 'goals: !!int ""', 'has no list of goals'),
    ('a.yaml', 'goals: !!bool "xx"', 'has no list of goals'),
    ('a.yaml', 'goals: !!timestamp "xx"', 'has no list of goals'),
    ('a.yaml', 'goals: [{rpy: [0, 0, 0]}]', 'xyz of goal 1 of .* must be 3 finite numbers'),
    ('a.yaml', 'goals: [{xyz: [0, 0, 0]}, {xyz: [0, .inf, 0]}]', 'xyz of goal 2'),
    ('a.yaml', 'goals: [{xyz: [0, 0, 0], rpy: 1}]', 'rpy of goal 1'),
    ('a.yaml', 'goals: [{xyz: [0, 0, 0], quat: [0, 0, 1]}]', 'must be 4 finite'),
    ('a.yaml', 'goals: [{xyz: [0, 0, up]}]', 'xyz of goal 1')])
def test_bad_files_are_one_sentence(tmp_path, name, text, words):
    """The error and its place."""
    (tmp_path / name).write_text(text)
    with pytest.raises(ParameterError, match=words) as caught:
        read_poses(tmp_path / name)
    assert '\n' not in str(caught.value)


def test_files_that_are_not_text(tmp_path):
    """Neither reader fails with another error."""
    for name in ('a.csv', 'a.yaml'):
        (tmp_path / name).write_bytes(b'\xff\xfe\x00x')
        with pytest.raises(ParameterError):
            read_poses(tmp_path / name)
