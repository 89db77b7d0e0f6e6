# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Whether another node has the name of this one."""

from __future__ import annotations

from rclpy.node import Node

from ik_node.ros.clocks import steady_clock

PERIOD = 1.0  # s between two looks at the graph


class Namesakes:
    """Warns of other nodes with the name of this one: both would move the arm."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._seen = 1
        node.create_timer(PERIOD, self._look, clock=steady_clock())

    def _look(self) -> None:
        node, seen = self._node, self._seen
        own = node.get_name(), node.get_namespace()
        self._seen = node.get_node_names_and_namespaces().count(own)
        if self._seen > max(seen, 1):
            node.get_logger().warning(
                f'{self._seen} nodes are named {node.get_fully_qualified_name()}: each takes the '
                'goals, and sends the arm on its way; end all but one, or give them other names '
                '(one that was killed is seen for up to 20 s more)')
