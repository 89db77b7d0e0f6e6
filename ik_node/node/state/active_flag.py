# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the node is active: only then may it move the arm."""

from __future__ import annotations

from rclpy.node import Node

from ik_node.base.errors import IkNodeError, Reason


class ActiveFlag:
    """
    Set while the node is active; nothing is sent to the arm while it is not.

    Attributes
    ----------
    is_set : bool

    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.is_set = False

    def require(self) -> None:
        """
        Raise an error unless it is set.

        Raises
        ------
        IkNodeError
            INACTIVE, with the command that activates the node.

        """
        if not self.is_set:
            raise IkNodeError('the node is inactive: ros2 lifecycle set '
                              f'{self._node.get_fully_qualified_name()} activate', Reason.INACTIVE)
