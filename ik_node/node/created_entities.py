# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Entities created on a node during configuration, to destroy them at cleanup."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rclpy.action import ActionClient, ActionServer
from rclpy.node import Node


class CreatedEntities:
    """Publishers, subscriptions, services, clients, timers, guards, actions of a node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._made: dict[Any, Callable[[Any], object]] = {}

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Record all entities created inside the block, also by libraries, also on errors."""
        before = _entities(self._node)
        try:
            yield
        finally:
            self._made = {entity: destroy for entity, destroy in _entities(self._node).items()
                          if entity not in before}

    def destroy(self) -> None:
        """Destroy the recorded entities."""
        while self._made:
            entity, destroy = self._made.popitem()
            destroy(entity)
        group = self._node.default_callback_group
        # rclpy keeps dead references in the callback group.
        group.entities = {reference for reference in group.entities if reference() is not None}


def _entities(node: Node) -> dict[Any, Callable[[Any], object]]:
    """Return the entities of a node, each with what destroys it."""
    return {**dict.fromkeys(node.publishers, node.destroy_publisher),
            **dict.fromkeys(node.subscriptions, node.destroy_subscription),
            **dict.fromkeys(node.services, node.destroy_service),
            **dict.fromkeys(node.clients, node.destroy_client),
            **dict.fromkeys(node.timers, node.destroy_timer),
            **dict.fromkeys(node.guards, node.destroy_guard_condition),
            **{waitable: kind.destroy for waitable in node.waitables
               for kind in (ActionClient, ActionServer) if isinstance(waitable, kind)}}
