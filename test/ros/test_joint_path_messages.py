# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What users give as positions and waypoints of the joints, and what is wrong with it in words."""

import numpy as np
import pytest

from ik_node.client.answers import ClientError
from ik_node.client.poses import joint_message, joint_path_message


@pytest.mark.parametrize('points, times, words', [
    ([], None, 'the path has no point; give one at least'),
    (np.empty((0, 6)), None, 'the path has no point'),
    ([[0.0, 1.0], [0.0]], None,
     'point 2 of the path has 1 positions, and the first one 2; give one for each joint'),
    ([{'a': 1.0}, {'b': 1.0}], None, 'are of different joints'),
    ([{'a': 1.0}, [1.0]], None, 'are of different joints'),
    ([[1.0], {'a': 1.0}], None, 'are of different joints'),
    ([{'a': 'far'}], None, r"point 1 of the path \['far'\] must be numbers"),
    ([[0.0, None]], None, 'must be numbers in a row'),
    ([[[0.0, 1.0], [2.0, 3.0]]], None, 'must be numbers in a row'),
    ([[0.0]], [1.0, 2.0], 'there are 2 times for 1 points'),
    ([[0.0]], 'soon', "the times 'soon' must be numbers"),
    ([[0.0]], [np.inf], 'infinite, NaN or too large')])
def test_what_is_no_path(points, times, words):
    """In a sentence of ours, not of numpy's."""
    with pytest.raises(ClientError, match=words):
        joint_path_message(points, times)


@pytest.mark.parametrize('positions', ['x', [1.0, 'x'], {'a': None}, [[1.0, 2.0], [3.0, 4.0]],
                                       [[1.0], [2.0, 3.0]]])
def test_what_is_no_position(positions):
    with pytest.raises(ClientError, match='the positions .* must be numbers in a row'):
        joint_message(positions)


def test_good_ones():
    """Rows, arrays and mappings."""
    for points in ([[0.0, 1.0], [2.0, 3.0]], np.arange(4.0).reshape(2, 2),
                   [{'a': 0.0, 'b': 1.0}, {'b': 3.0, 'a': 2.0}]):
        message = joint_path_message(points, [0.0, 1.5])
        assert [list(point.positions) for point in message.points] == [[0.0, 1.0], [2.0, 3.0]]
        assert message.points[1].time_from_start.nanosec == 500_000_000
    assert list(joint_message(np.array([1, 2])).position) == [1.0, 2.0]
    assert joint_message({'a': np.float32(0.5)}).name == ['a']
