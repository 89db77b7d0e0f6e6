# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Named tools in the messages on ``~/tools``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np

from ik_node.base.se3 import pose, rotation_from_quaternion
from ik_node.ros.messages.rotations import quaternion_from_rotation
from ik_node.ros.messages.status_messages import values_of

if TYPE_CHECKING:  # programs that only move an arm do without the compiler
    from ik_node.collision.scene.tool_file import Tool

MOUNTED_TEXT = 'mounted'  # the message of the tool that is


def tool_values(tool: Tool) -> dict[str, str]:
    """Return what a message says of a tool, by key; its pose as x y z (m), and x y z w."""
    T = tool.T_link_tool
    numbers = *T[:3, 3].tolist(), *quaternion_from_rotation(T[:3, :3]).tolist()
    return {'pose': ' '.join(map(repr, numbers)), 'link': tool.link,
            'shapes': str(0 if tool.body is None else len(tool.body.parts)),
            'touch': ' '.join(sorted(tool.touch)), 'mass': repr(tool.mass)}


def tool_poses(message: DiagnosticArray) -> dict[str, np.ndarray]:
    """Return the poses (4, 4) of the tools of a message in the tip link, by their names, m."""
    return {status.name: _pose(values_of(status)) for status in message.status}


def mounted_tool(message: DiagnosticArray) -> str:
    """Return the name of the tool of a message that is mounted; '' if none is."""
    return next((status.name for status in message.status if status.message == MOUNTED_TEXT), '')


def _pose(values: Mapping[str, str]) -> np.ndarray:
    numbers = np.array(values['pose'].split(), dtype=float)
    return pose(rotation_from_quaternion(numbers[3:]), numbers[:3])
