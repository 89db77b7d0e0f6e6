# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A node for each arm of a robot, in one process, with all that the node of one arm has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os.path import commonprefix
import re
from typing import Any, NamedTuple

from rclpy.node import Node

from ik_node.base.errors import ParameterError
from ik_node.base.text import quote
from ik_node.kinematics.links import path_between
from ik_node.node.arms.arms_robot import ArmsOptions, ArmsRobot
from ik_node.node.node import IkNode
from ik_node.node.state.team import TeamSeat
from ik_node.ros.controller_manager import prefix_of
from ik_node.ros.parameters.tables import IK_ARMS, IK_NODE

# What all arms hear, by the names that the node of the robot has for them.
SHARED_NAMES = ('joint_states', 'robot_description', 'robot_description_semantic',
                'collision_object', 'attached_collision_object', 'planning_scene',
                'trajectory_execution_event')
# What each arm offers to MoveIt's clients, by a name of its own.
OWN_NAMES = ('compute_ik', 'compute_fk', 'plan_kinematic_path', 'compute_cartesian_path',
             'get_planning_scene', 'apply_planning_scene', 'move_action', 'execute_trajectory',
             'sequence_move_group', 'plan_sequence_path')
ARM_NAME = re.compile(r'[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*')
RESERVED_NAMES = frozenset(('answers', 'goal_poses', 'halt', 'status', 'stop'))  # of the robot
MARGIN = 'collision.margin'  # as wide as that of the robot, which is wider than that of one arm
PER_JOINT = tuple(f'motion.{name}_limits' for name in ('velocity', 'acceleration', 'jerk'))


class Arm(NamedTuple):
    """An arm of a robot: a chain that one controller moves."""

    name: str
    base_link: str
    tip_link: str
    controller: str
    joint_names: tuple[str, ...]


def arms_of(robot: ArmsRobot, options: ArmsOptions) -> list[Arm]:
    """
    Return the arms that have a controller each; none if no names are given and not all have.

    Raises
    ------
    ParameterError
        If names are given, and there is not one for each tip, or an arm has no controller of its
        own.

    """
    tips, names = robot.tree.tip_links, [name for name in options.arms if name]
    if options.arms and not names:
        return []
    if names and (len(names) != len(tips) or len({*names}) < len(names)):
        raise ParameterError(f'arms has {len(names)} names ({len({*names})} different); it needs '
                             f'one for each of {", ".join(map(quote, tips))}')
    for name in names:
        if not ARM_NAME.fullmatch(name) or name in RESERVED_NAMES:
            raise ParameterError(f'arms has the name {quote(name)}; names are letters, digits and '
                                 'single underscores, begin with a letter, and are none of '
                                 + ', '.join(sorted(RESERVED_NAMES)))
    arms = []
    for tip, name in zip(tips, names or _names(tips)):
        path = [joint for joint, _ in path_between(robot.tree.tree, robot.tree.base_link, tip)
                if joint.name in robot.tree.joint_names]
        controller = robot.owner_of(path[-1].name)
        own = [joint for joint in path if joint.name in robot.controllers[controller]]
        whole = path[-len(own):] == own and len(own) == len(robot.controllers[controller]) \
            and all(arm.controller != controller for arm in arms)
        if not whole and not names:
            return []
        if not whole:
            raise ParameterError(f'the arm {quote(name)} has no controller of its own: '
                                 f'{quote(controller)} moves other joints than the last ones '
                                 f'before {quote(tip)}')
        arms.append(Arm(name, own[0].parent, tip, controller,
                        tuple(joint.name for joint in own)))
    return arms


def _names(tips: Sequence[str]) -> list[str]:
    """Return the names of tips without the words that all have at both ends."""
    words = [tip.split('_') for tip in tips]
    if len(tips) > 1:
        before = len(commonprefix(words))
        words = [those[before:] for those in words]
        after = len(commonprefix([those[::-1] for those in words]))
        words = [those[:len(those) - after] for those in words]
    names = ['_'.join(those) for those in words]
    return names if all(map(ARM_NAME.fullmatch, names)) else list(tips)


def arm_node(robot_node: Node, arm: Arm, robot: ArmsRobot, values: Mapping[str, Any],
             seat: TeamSeat) -> IkNode:
    """
    Return the node of an arm: `~/left/...` of the robot's node is `~/...` of it.

    Parameters
    ----------
    values : mapping
        Parameters of the robot's node.  Those that are set there are the defaults of the arms.

    """
    known, usual = {row.name for row in IK_NODE}, {row.name: row.default for row in IK_ARMS}
    defaults = {name: value for name, value in values.items()
                if name in known and (value != usual[name] or name == MARGIN)}
    for name in PER_JOINT:
        if len(defaults.get(name, ())) == robot.tree.n:
            defaults[name] = tuple(defaults[name][robot.tree.joint_names.index(joint)]
                                   for joint in arm.joint_names)
    topic = robot_node.resolve_topic_name(f'{prefix_of(arm.controller)}joint_trajectory')
    fixed = {'base_link': arm.base_link, 'tip_link': arm.tip_link,
             'controller': topic.rpartition('/')[0]}
    defaults['moveit.group'] = arm.name
    defaults['chunk.gripper'] = robot_node.resolve_topic_name(
        f'{arm.name}_gripper_controller/commands')
    remaps = {'__ns': robot_node.get_fully_qualified_name(), '__node': arm.name,
              **{name: robot_node.resolve_topic_name(name) for name in SHARED_NAMES},
              **{name: f'~/{name}' for name in OWN_NAMES}}
    clock = robot_node.get_parameter('use_sim_time').value
    arguments = ['--ros-args', '-p', f'use_sim_time:={str(clock).lower()}']
    for name, to in remaps.items():
        arguments += ['-r', f'{name}:={to}']
    return IkNode(arm.name, defaults, fixed, arguments, [row.name for row in IK_ARMS], seat)
