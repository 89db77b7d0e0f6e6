# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Where a node gets its robot from: parameter, file, or latched topic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import String

from ik_node.errors import IkNodeError
from ik_node.model.urdf import parse_urdf, read_urdf, Tree

LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE,
                     durability=DurabilityPolicy.TRANSIENT_LOCAL)
TOPIC = 'robot_description'


class Description:
    """
    Delivers the robot: at once from a parameter or file, later from the topic.

    Parameters
    ----------
    node : Node
    values : mapping
        Parameters robot_description and urdf_file.
    take : callable
        Called with the checked tree and the text, once or, from the topic,
        again for every other text.

    Raises
    ------
    IkNodeError
        From parameter and file.  A bad text on the topic is logged and kept as
        ``complaint``, and the wait goes on.

    """

    def __init__(self, node: Node, values: Mapping[str, Any],
                 take: Callable[[Tree], None]) -> None:
        self._node = node
        self._take = take
        self._text: str | None = None
        self._refused: str | None = None
        self.complaint = 'none has arrived'
        if values['robot_description']:
            take(parse_urdf(values['robot_description']))
        elif values['urdf_file']:
            take(read_urdf(values['urdf_file']))
        else:
            self._subscription = node.create_subscription(
                String, TOPIC, self._on_text, LATCHED)
            node.get_logger().info(f'waiting for {self._subscription.topic_name} '
                                   '(or start with the parameter urdf_file)')

    def _on_text(self, message: String) -> None:
        if message.data != self._text:
            self._try(message.data)

    def retry(self) -> None:
        """Try the text that was refused last again, after a parameter has changed."""
        if self._refused is not None:
            self._try(self._refused)

    def _try(self, text: str) -> None:
        self._refused = None
        try:
            self._take(parse_urdf(text))
            self._text = text
        except IkNodeError as error:
            self._refused = text
            self.complaint = f'the last one was refused: {error}'
            self._node.get_logger().error(
                f'{self._subscription.topic_name}: {error}; waiting for another')
