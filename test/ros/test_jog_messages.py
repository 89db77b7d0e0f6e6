# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What messages of jog commands say, also where control_msgs is not installed."""

from types import SimpleNamespace

from geometry_msgs.msg import Twist, Vector3
from harness import ARM
import pytest

from ik_node.base.errors import GoalError
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import read_urdf
from ik_node.motion.following.jog import JogOptions
from ik_node.node.stream.jog import joint_rates, twist_numbers

CHAIN = make_chain(read_urdf(ARM))


def joint_jog(joint_names, velocities, displacements=()):
    """Return what has the fields of control_msgs/JointJog."""
    return SimpleNamespace(joint_names=joint_names, velocities=velocities,
                           displacements=displacements)


def test_named_joints_move_and_the_others_rest():
    """In any order, times the scale."""
    message = joint_jog(['joint_5', 'joint_2'], [0.5, -1.0])
    rates = joint_rates(message, CHAIN, JogOptions(joint=0.4))
    assert rates == pytest.approx([0.0, -0.4, 0.0, 0.0, 0.2, 0.0])
    twist = Twist(linear=Vector3(x=1.0, y=2.0, z=3.0), angular=Vector3(x=4.0, y=5.0, z=6.0))
    assert twist_numbers(twist).tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


@pytest.mark.parametrize('message, words', [
    (joint_jog([], []), '0 names'), (joint_jog(['joint_1'], []), '0 velocities'),
    (joint_jog(['joint_1', 'joint_1'], [0.1, 0.1]), '1 different'),
    (joint_jog(['joint_9'], [0.1]), "'joint_9' is not one of 'joint_1'"),
    (joint_jog(['joint_1'], [0.1], [0.1]), 'displacements'),
    (joint_jog(['joint_1'], [float('inf')]), 'finite'),
    (joint_jog(['joint_1'], [-2.0]), 'from -1 to 1')])
def test_invalid_commands_are_refused(message, words):
    """In a sentence."""
    with pytest.raises(GoalError, match=words):
        joint_rates(message, CHAIN, JogOptions())
