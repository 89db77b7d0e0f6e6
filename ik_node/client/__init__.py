# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A client of a running node.

>>> from ik_node.client import Arm
>>> with Arm() as arm:
...     arm.move([0.4, 0.1, 0.4], rpy=[3.1416, 0.0, 0.0]).wait()
"""

from ik_node.client.answers import Answer, PostureEntry, PreviewReport
from ik_node.client.arm import Arm
from ik_node.client.errors import (
    AnswerTimeoutError,
    ClientError,
    GoalNotReachedError,
    NodeUnreachableError,
)
from ik_node.client.gripper import Gripper, GripperState
from ik_node.client.handles import GoalHandle, Handle
from ik_node.client.scene import SceneClient
from ik_node.client.sequences import circ, lin, Motion, ptp
from ik_node.client.streams import Jog, Stream
from ik_node.motion.taught_path import TaughtPath

__all__ = [
    'Answer',
    'AnswerTimeoutError',
    'Arm',
    'ClientError',
    'GoalHandle',
    'GoalNotReachedError',
    'Gripper',
    'GripperState',
    'Handle',
    'Jog',
    'Motion',
    'NodeUnreachableError',
    'PostureEntry',
    'PreviewReport',
    'SceneClient',
    'Stream',
    'TaughtPath',
    'circ',
    'lin',
    'ptp',
]
