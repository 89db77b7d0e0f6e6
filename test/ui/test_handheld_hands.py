# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What arms are called on the page for a phone or a headset, and which hand leads which."""

import pytest

from ik_node.base.errors import ParameterError
from ik_node.ui.handheld.hands import hands_of, named


@pytest.mark.parametrize('targets, names', [
    (['ik_node'], ['ik_node']),
    (['/ik_arms/left', '/ik_arms/right'], ['left', 'right']),
    (['/a/ik_node', '/b/ik_node'], ['/a/ik_node', '/b/ik_node'])])
def test_names(targets, names):
    assert named(targets) == dict(zip(names, targets))


@pytest.mark.parametrize('targets', [['/x', '/x'], ['/x', 'x'], ['/x', ''], ['/']])
def test_names_that_are_none(targets):
    with pytest.raises(ParameterError, match='a different name for each arm'):
        named(targets)


@pytest.mark.parametrize('arms, left, right', [
    (['right', 'left'], 'left', 'right'), (['r', 'l'], 'r', 'l'),
    (['/x_Left/ik_node', '/x_right/ik_node'], '/x_Left/ik_node', '/x_right/ik_node'),
    (['lift', 'right_arm'], 'lift', 'right_arm'), (['a', 'b', 'c'], 'a', 'b'),
    (['torso', 'right', 'left'], 'left', 'right'), (['torso', 'left', 'head'], 'left', 'torso'),
    (['left_front', 'left_rear'], 'left_front', None), (['only'], None, None)])
def test_hands(arms, left, right):
    """By the words of the names; arms without such a word get what hands remain."""
    hands = hands_of(arms)
    assert [*hands] == arms
    assert [name for name, hand in hands.items() if hand] == [
        name for name in arms if name in (left, right)]
    for hand, arm in (('left', left), ('right', right)):
        assert arm is None or hands[arm] == hand


def test_the_only_arm():
    """Both hands lead it, unless it is the first that was found of several."""
    assert hands_of(['left']) == {'left': ''}
    assert hands_of(['right'], of_robot=True) == {'right': 'right'}
