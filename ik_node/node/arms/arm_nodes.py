# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A node for each arm of a robot, in one process, with all that the node of one arm has."""

from __future__ import annotations

from collections.abc import Mapping
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
MARGIN = 'collision.margin'  # as wide as that of the robot, which is wider than that of one arm
PER_JOINT = tuple(f'motion.{name}_limits' for name in ('velocity', 'acceleration', 'jerk'))


class Arm(NamedTuple):
    """An arm of a robot: a chain that one controller moves."""

    name: str
    base_link: str
    tip_link: str
    controller: str
    joint_names: tuple[str, ...]

    def __str__(self) -> str:
        return (f'{quote(self.name)}: {quote(self.base_link)} -> {quote(self.tip_link)}, '
                f'{len(self.joint_names)} joints of {self.controller}')


def arms_of(robot: ArmsRobot, options: ArmsOptions) -> list[Arm]:
    """
    Return the arms that have a controller each; none if no names are given and not all have.

    The base of an arm is that of the robot, if no joint between that and the arm moves.

    Raises
    ------
    ParameterError
        If names are given, and an arm has no controller of its own.

    """
    named = any(options.arms)
    if options.arms and not named:
        return []
    arms = []
    for tip, name in zip(robot.tree.tip_links, robot.arms.names):
        path = [joint for joint, _ in path_between(robot.tree.tree, robot.tree.base_link, tip)
                if joint.name in robot.tree.joint_names]
        controller = robot.owner_of(path[-1].name)
        own = [joint for joint in path if joint.name in robot.controllers[controller]]
        whole = path[-len(own):] == own and len(own) == len(robot.controllers[controller]) \
            and all(arm.controller != controller for arm in arms)
        if not whole and not named:
            return []
        if not whole:
            raise ParameterError(f'the arm {quote(name)} has no controller of its own: '
                                 f'{quote(controller)} moves other joints than the last ones '
                                 f'before {quote(tip)}')
        base = robot.tree.base_link if own == path else own[0].parent
        arms.append(Arm(name, base, tip, controller, tuple(joint.name for joint in own)))
    return arms


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
