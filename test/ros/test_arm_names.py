# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Which arms have nodes of their own."""

from types import SimpleNamespace

import pytest
from two_arms import TREE

from ik_node.base.errors import ParameterError
from ik_node.node.arms.arm_nodes import arms_of

LEFT = tuple(name for name in TREE.joint_names if 'right' not in name)
RIGHT = tuple(name for name in TREE.joint_names if 'right' in name)


def arms(*names, controllers=None):
    """Return the arms of our two arms, by names and controllers."""
    controllers = controllers or {'one': LEFT, 'other': RIGHT}
    robot = SimpleNamespace(
        tree=TREE, controllers=controllers,
        arms=SimpleNamespace(names=names or ('left', 'right')),
        owner_of=lambda joint: next(
            name for name, joints in controllers.items() if joint in joints))
    return arms_of(robot, SimpleNamespace(arms=names))


def test_an_arm_begins_where_the_joints_of_its_controller_do():
    """If nothing moves before it, its base is that of the robot."""
    left, right = arms()
    assert (left.name, left.base_link, left.tip_link, left.controller) == (
        'left', 'base_link', 'left_tool', 'one')
    assert (right.name, right.base_link, right.joint_names) == ('right', 'torso', RIGHT)
    assert str(right) == "'right': 'torso' -> 'right_tool', 6 joints of other"
    assert [arm.name for arm in arms('l', 'r')] == ['l', 'r']


def test_arms_that_share_a_controller_are_none():
    """They move in step; with names that is an error."""
    whole = {'all': TREE.joint_names}
    assert arms(controllers=whole) == [] and arms('') == []
    with pytest.raises(ParameterError, match="'l' has no controller of its own"):
        arms('l', 'r', controllers=whole)
