# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Our own two arms, their collision model, and an oracle for it."""

from functools import cache

from geometry_oracle import Oracle
import robots

from ik_node import load_tree
from ik_node.collision.bodies.links import arm_bodies
from ik_node.collision.distances.model import CollisionModel

TWO_ARMS = robots.OWN / 'two_arms.urdf'
LEFT, RIGHT = 'left_tool', 'right_tool'
MARGIN_M = 0.01
TREE = load_tree(TWO_ARMS, 'base_link', (LEFT, RIGHT))
ARM_JOINTS = {'left_controller': [name for name in TREE.joint_names if 'left' in name],
              'right_controller': [name for name in TREE.joint_names if 'left' not in name]}


@cache
def model():
    """Return the collision model of both arms."""
    return CollisionModel(TREE, TREE.tree, arm_bodies(TREE.tree).bodies, margin=MARGIN_M)


def oracle(of, objects=()):
    """Return Pinocchio and coal for a collision model of the arms."""
    return Oracle(robots.Reference(TWO_ARMS.read_text(encoding='utf-8')), of, of.bodies, objects)


def both(pan=0.0, lift=0.0, elbow=0.0, pitch=0.0, torso=0.0):
    """Return the joint positions in which the arms are mirror images."""
    at = {'torso_joint': torso, 'left_wrist_roll': 0.0, 'right_wrist_roll': 0.0,
          'left_tool_roll': 0.0, 'right_tool_roll': 0.0}
    for side, sign in (('left', 1.0), ('right', -1.0)):
        at |= {f'{side}_shoulder_pan': sign * pan, f'{side}_shoulder_lift': lift,
               f'{side}_elbow': elbow, f'{side}_wrist_pitch': pitch}
    return TREE.positions(at)
