# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The SRDF: of a file, or on the latched topic ``robot_description_semantic`` as of MoveIt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rclpy.node import Node
from std_msgs.msg import String

from ik_node.base.errors import IkNodeError
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.scene.srdf import (
    GroupState,
    parse_group_states,
    parse_srdf,
    read_group_states,
)
from ik_node.model.description.urdf import Tree
from ik_node.node.robot.robot import Robot, RobotHolder
from ik_node.node.robot.settings import StartOptions
from ik_node.ros.middleware.qos import LATCHED_QOS

SEMANTIC_TOPIC = 'robot_description_semantic'


class SemanticDescription:
    """
    Leaves out the pairs of links that an SRDF on the topic disables, and has its named poses.

    The topic is not looked at if the parameter collision.srdf_file is set.  A text that cannot
    be used is logged and changes nothing.

    Parameters
    ----------
    changed : callable
        Called with the robot after each new text.

    """

    def __init__(self, node: Node, holder: RobotHolder, options: StartOptions,
                 changed: Callable[[Robot], None]) -> None:
        self._logger = node.get_logger()
        self._holder = holder
        self._changed = changed
        self._file = options.srdf_file
        self._text: str | None = None
        self._topic = node.resolve_topic_name(SEMANTIC_TOPIC)
        if not self._file:
            node.create_subscription(String, SEMANTIC_TOPIC, self._on_text, LATCHED_QOS)

    def apply(self, model: CollisionModel | None, tree: Tree) -> CollisionModel | None:
        """Return a model without the pairs that the latest text disables, if there is one."""
        if model is None or self._text is None:
            return model
        disabled = parse_srdf(self._text, tree.links)
        for note in disabled.notes:
            self._logger.warning(f'{self._topic}: {note}')
        self._logger.info(f'{self._topic}: {len(disabled)} pairs of links are not checked '
                          'against each other')
        return model.with_disabled_pairs(disabled.reasons)

    def states(self) -> tuple[GroupState, ...]:
        """
        Return the named poses of the SRDF; none if there is no SRDF.

        Raises
        ------
        UrdfError
            If the file cannot be used.

        """
        if self._file:
            return read_group_states(Path(self._file))
        return () if self._text is None else parse_group_states(self._text)

    def _on_text(self, message: String) -> None:
        if message.data == self._text:
            return
        try:
            parse_srdf(message.data)
        except IkNodeError as error:
            self._logger.error(f'{self._topic}: {error}; it changed nothing')
            return
        self._text, robot = message.data, self._holder.robot
        if robot is not None:  # else it is applied to the robot that comes
            robot.collisions = self.apply(robot.collisions, robot.tree)
            self._changed(robot)
