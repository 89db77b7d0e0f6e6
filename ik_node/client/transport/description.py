# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The model of the arm that the node uses, for the solver in the client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rclpy.node import Node
from std_msgs.msg import String

from ik_node.base.text import quote
from ik_node.client.answers import AnswerTimeoutError, ClientError
from ik_node.model.chain import Chain, make_chain
from ik_node.model.description.urdf import parse_urdf, read_urdf, Tree
from ik_node.model.tool import tool_pose
from ik_node.motion.trajectory.limits import PositionLimits
from ik_node.ros.middleware.qos import LATCHED_QOS
from ik_node.ros.parameters.tables import filled, POSITION_LIMITS

if TYPE_CHECKING:
    from ik_node.client.transport.connection import Connection
    from ik_node.kinematics.arm import Arm as KinematicArm

DESCRIPTION_PATIENCE_S = 5.0
PARAMETER_NAMES = ('robot_description', 'urdf_file', 'base_link', 'tip_link',
                   'tool.name', 'tool.position', 'tool.orientation',
                   *(row.name for row in POSITION_LIMITS))
OTHER_TEXTS = 'instance', 'robot_description_semantic'  # topics of the same type


class ArmDescription:
    """
    The URDF, the links, the position limits and the tool of the node, asked of it once.

    Parameters
    ----------
    tools : callable
        Returns the poses (4, 4) of the named tools in the tip link; asked if one is mounted.

    Raises
    ------
    ClientError
        If the node reads a file that is not here, or does not answer.
    IkNodeError
        If the URDF cannot be used.

    """

    def __init__(self, connection: Connection,
                 tools: Callable[[], Mapping[str, np.ndarray]]) -> None:
        values = connection.parameters(PARAMETER_NAMES)
        self.tree = self._tree(connection, values['robot_description'], values['urdf_file'])
        self._values = values
        self._links = values['base_link'], values['tip_link']
        self._T_link_tool = self._tool(connection, tools)
        # Within ``motion.lower_limits`` and ``motion.upper_limits``, with the tool.
        self.chain: Chain = self._as_set(make_chain(self.tree, *self._links))

    def _tree(self, connection: Connection, text: str, file: str) -> Tree:
        if text:
            return parse_urdf(text)
        if file:
            if not file.startswith(('package://', 'file://')) and not Path(file).exists():
                raise ClientError(f'{connection.target} reads its URDF from {quote(file)}, which '
                                  'is not on this machine; give it robot_description instead')
            return read_urdf(file, expand=False)  # another program says which
        return parse_urdf(_latched_text(connection))

    def _tool(self, connection: Connection,
              tools: Callable[[], Mapping[str, np.ndarray]]) -> np.ndarray:
        """Return the pose (4, 4) of the tool in the tip link."""
        name = self._values['tool.name']
        if not name:
            return tool_pose(self._values['tool.position'], self._values['tool.orientation'])
        known = tools()
        if name not in known:
            raise ClientError(f'{connection.target} has the tool {quote(name)}, but does not tell '
                              'of it on ~/tools')
        return known[name]

    def kinematics(self) -> KinematicArm:
        """Return the arm as :func:`ik_node.load_urdf` does, with limits and tool of the node."""
        from ik_node.kinematics.arm import Arm as KinematicArm
        arm = KinematicArm.from_tree(self.tree, *self._links)
        as_set = self._as_set(arm)
        assert isinstance(as_set, KinematicArm)  # of the class it is given
        return as_set

    def _as_set(self, chain: Chain) -> Chain:
        """Return a chain with the limits and the tool that the node has."""
        limits = PositionLimits(**filled(POSITION_LIMITS, self._values)['position_limits'])
        return limits.narrow(chain).with_tool(self._T_link_tool)


def subscribed_topic(node: Node, target: str, kind: str, but: tuple[str, ...],
                     default: str) -> str:
    """
    Return the topic of a type that the node itself subscribes to, whatever it is renamed to.

    Parameters
    ----------
    kind : str
        Type, such as 'sensor_msgs/msg/JointState'.
    but : tuple of str
        Last parts of other topics of this type.
    default : str
        In the namespace of the node, if the graph does not tell.

    """
    space, _, name = target.rpartition('/')
    try:
        topics = node.get_subscriber_names_and_types_by_node(name, space or '/')
    except RuntimeError:  # rclpy's error for a node that the graph does not show
        topics = []
    found = [topic for topic, types in topics if kind in types
             and topic.rpartition('/')[2] not in but]
    return found[0] if len(found) == 1 else f'{space}/{default}'


def _latched_text(connection: Connection) -> str:
    topic = subscribed_topic(connection.node, connection.target, 'std_msgs/msg/String',
                             OTHER_TEXTS, 'robot_description')
    heard: list[str] = []
    subscription = connection.node.create_subscription(
        String, topic, lambda message: heard.append(message.data), LATCHED_QOS)
    try:
        if not connection.wait_until(lambda: heard, DESCRIPTION_PATIENCE_S):
            raise AnswerTimeoutError(f'no robot description came on {topic} within '
                                     f'{DESCRIPTION_PATIENCE_S:g} s')
    finally:
        connection.post(lambda: connection.node.destroy_subscription(subscription))
    return heard[-1]
