# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What all that speaks to MoveIt's clients needs: its types, its error codes, other servers."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node


def moveit_types() -> tuple[Any, Any] | None:
    """Return moveit_msgs.msg and moveit_msgs.srv; None where moveit_msgs is not installed."""
    try:
        from moveit_msgs import msg, srv
    except ImportError:
        return None
    return msg, srv


def set_error_code(code: Any, name: str, sentence: str = '') -> None:
    """Write a moveit_msgs/MoveItErrorCodes by its name, with a sentence where it has room."""
    code.val = getattr(type(code), name)
    if hasattr(code, 'message'):  # not before Jazzy
        code.message, code.source = sentence, 'ik_node'


def look_for_others(node: Node, service: str) -> None:
    """Warn of another server, such as a move_group: a client gets the answer of one of them."""
    name = node.resolve_service_name(service)
    if node.count_services(name) > 1:
        node.get_logger().warning(
            f'{name} is served by another node, too, such as a move_group; set moveit.services to '
            'false', throttle_duration_sec=60.0)
