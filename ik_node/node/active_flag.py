# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the arm may be moved."""

from __future__ import annotations

from rclpy.node import Node

from ik_node.errors import IkNodeError, Reason


class ActiveFlag:
    """
    Open while the node is active; nothing goes to the arm while it is shut.

    Attributes
    ----------
    open : bool

    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.open = False

    def require(self) -> None:
        """
        Go on if it is open.

        Raises
        ------
        IkNodeError
            INACTIVE, with the command that opens it.

        """
        if not self.open:
            raise IkNodeError('the node is inactive: ros2 lifecycle set '
                              f'{self._node.get_fully_qualified_name()} activate', Reason.INACTIVE)
