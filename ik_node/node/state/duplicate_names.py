# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Whether another node has the name of this one.

Both would take the same goals and move the same arm.  So while there are two, each refuses
goals, and the one that started first gives the answer.  The ROS graph alone does not do: it
shows a killed node for up to 20 s more, in which its successor would refuse goals.
"""

from __future__ import annotations

import os
import re
from socket import gethostname
from time import monotonic, time_ns
from uuid import uuid4

from rclpy.node import Node
from rclpy.serialization import deserialize_message
from std_msgs.msg import String

from ik_node.base.errors import IkNodeError, Reason
from ik_node.base.text import quote
from ik_node.ros.middleware.clocks import steady_clock
from ik_node.ros.middleware.qos import INSTANCE_QOS, LATCHED_QOS

ANNOUNCE_PERIOD_S = 1.0
SILENCE_S = 3.5  # after which another node is gone, or its process stands still
MAX_ANNOUNCEMENT_BYTES = 400
MAX_OTHERS = 10  # nodes of one name that are told apart
ANNOUNCEMENT_PATTERN = re.compile(r'\d{20} [0-9a-f]{32} process \d+ on .+')


class DuplicateNames:
    """Announces this node to others of the same name, on ``~/instance``."""

    def __init__(self, node: Node) -> None:
        self._node = node
        # Sorts by the time of the start; the rest decides between two of the same instant.
        self._own = f'{time_ns():020d} {uuid4().hex} process {os.getpid()} on {gethostname()}'
        self._heard: dict[str, float] = {}
        self._warned = 0
        self._publisher = node.create_publisher(String, '~/instance', LATCHED_QOS)
        node.create_subscription(String, '~/instance', self._on_announcement, INSTANCE_QOS,
                                 raw=True)
        node.create_timer(ANNOUNCE_PERIOD_S, self._announce, clock=steady_clock())
        self._announce()

    def _announce(self) -> None:
        self._publisher.publish(String(data=self._own))
        self._warned = min(self._warned, len(self._others()))

    def _on_announcement(self, data: bytes) -> None:
        if len(data) > MAX_ANNOUNCEMENT_BYTES or len(self._others()) > MAX_OTHERS:
            return
        try:
            text = deserialize_message(data, String).data
        except (RuntimeError, UnicodeDecodeError):
            return
        if text == self._own or not ANNOUNCEMENT_PATTERN.fullmatch(text):
            return
        self._heard[text] = monotonic()
        others = self._others()
        if len(others) > self._warned:
            self._warned = len(others)
            self._node.get_logger().warning(self._sentence(others))

    def _others(self) -> list[str]:
        """Return the announcements of the others that are alive."""
        if self._heard:
            alive = monotonic() - SILENCE_S
            # One that ended cleanly takes its publisher with it.
            alone = self._node.count_publishers(self._publisher.topic_name) <= 1
            self._heard = {} if alone else {
                text: time for text, time in self._heard.items() if time > alive}
        return [*self._heard]

    def _sentence(self, others: list[str]) -> str:
        where = ', '.join(quote(' '.join(text.split()[2:])) for text in others)
        return (f'{len(others) + 1} nodes are named {self._node.get_fully_qualified_name()}, so '
                f'none of them takes goals; end all but one, or give them other names (beside '
                f'this one, process {os.getpid()}: {where})')

    def require_none(self) -> None:
        """
        Raise an error if another node has this name.

        Raises
        ------
        IkNodeError
            DUPLICATE_NAME, with what to do.

        """
        others = self._others()
        if others:
            raise IkNodeError(self._sentence(others), Reason.DUPLICATE_NAME)

    def another_answers(self) -> bool:
        """Return whether another node of this name started before, and gives the answers."""
        return any(text < self._own for text in self._others())
