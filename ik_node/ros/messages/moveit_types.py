# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What all that speaks to MoveIt's clients needs: its types, its error codes, other servers."""

from __future__ import annotations

from typing import Any, NamedTuple

from rclpy.node import Node


class MoveItTypes(NamedTuple):
    """The modules moveit_msgs.msg, moveit_msgs.srv and moveit_msgs.action."""

    msg: Any
    srv: Any
    action: Any


def moveit_types() -> MoveItTypes | None:
    """Return the types of moveit_msgs; None where it is not installed."""
    try:
        from moveit_msgs import action, msg, srv
    except ImportError:
        return None
    return MoveItTypes(msg, srv, action)


def set_error_code(code: Any, name: str, sentence: str = '') -> None:
    """Write a moveit_msgs/MoveItErrorCodes by its name, with a sentence where it has room."""
    code.val = getattr(type(code), name, code.FAILURE)  # older versions lack some
    if hasattr(code, 'message'):  # not before Jazzy
        code.message, code.source = sentence, 'ik_node'


def look_for_others(node: Node, service: str) -> None:
    """Warn of another server, such as a move_group: a client gets the answer of one of them."""
    name = node.resolve_service_name(service)
    if node.count_services(name) > 1:
        node.get_logger().warning(
            f'{name} is served by another node, too, such as a move_group; set moveit.services to '
            'false', throttle_duration_sec=60.0)
