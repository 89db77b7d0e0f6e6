# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Goals of ``~/motion_sequence``: what the node that takes them shares with their senders."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from math import isfinite
from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np

from ik_node.base.errors import GoalError, Reason
from ik_node.base.se3 import pose, rotation_from_quaternion
from ik_node.base.text import quote
from ik_node.ros.messages.conversion import quaternion_from_rotation
from ik_node.ros.messages.status_messages import values_of

if TYPE_CHECKING:
    from ik_node.collision.scene.tool_file import Tool

SEQUENCE_ACTION = 'motion_sequence'
SEQUENCE_KIND = 'sequence'  # of these goals, in their answers
MAX_MOTIONS = 255  # the feedback counts them in a byte
LIMIT_ARGUMENTS = 'velocity', 'acceleration'
MIN_LIMIT_ARGUMENT = 1e-4  # per s or s^2


class PrimitiveType(Enum):
    """The motions there are; the values are constants of control_msgs/MotionPrimitive."""

    PTP = 'LINEAR_JOINT'
    LIN = 'LINEAR_CARTESIAN'
    CIRC = 'CIRCULAR_CARTESIAN'


def motion_error(number: int, sentence: str) -> GoalError:
    """Return the fault of a motion, by its number, from 1."""
    return GoalError(f'motion {number}: {sentence}', Reason.PATH_INVALID)


def require_count(count: int) -> None:
    """Raise a GoalError if a sequence cannot have so many motions."""
    if not 0 < count <= MAX_MOTIONS:
        raise GoalError(f'the sequence has {count} motions; 1 to {MAX_MOTIONS} are taken',
                        Reason.PATH_INVALID)


def require_blend_radius(number: int, radius: float) -> None:
    """Raise a GoalError if a motion cannot have a blend radius (m)."""
    if not (isfinite(radius) and radius >= 0.0):
        raise motion_error(number, f'blend_radius is {radius:g}; it must be a length in m, 0 = '
                           'rest there')


def require_limit(number: int, name: str, value: float) -> None:
    """Raise a GoalError if a motion cannot have one of the LIMIT_ARGUMENTS."""
    if name not in LIMIT_ARGUMENTS:
        raise motion_error(number, f'the argument {quote(name)} is not kept; known are '
                           f'{" and ".join(LIMIT_ARGUMENTS)}')
    if not (isfinite(value) and value >= MIN_LIMIT_ARGUMENT):
        raise motion_error(number, f'{name} is {value:g}; it must be at least '
                           f'{MIN_LIMIT_ARGUMENT:g}')


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
