# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A client of a running node.

    answers     Answers of the node to goals and previews, and the errors of a client
    arm         An arm that an ik_node moves, for programs in Python
    chunks      Chunks of timed poses, one after another, as a learned policy makes them
    goals       The methods of the client that send goals, of each kind in goal_kinds
    gripper     A gripper behind an action of control_msgs; the node has no part in it
    handles     What a call returns: a request to the node, and later its result
    poses       Poses, joint positions, orientations and twists of users as messages
    robot       A robot with several arms, for programs in Python
    scene       Objects around the arm, as the node checks them for collisions
    sequences   Sequences of PTP, LIN and CIRC motions, by the action ``~/motion_sequence``
    streams     Goals of many messages: a stream of poses, or a jog
    transport/  How a client finds its node, and how both talk

>>> from ik_node.client import Arm
>>> with Arm() as arm:
...     arm.move([0.4, 0.1, 0.4], rpy=[3.1416, 0.0, 0.0]).wait()
"""

from ik_node.client.answers import (
    Answer,
    AnswerTimeoutError,
    ClientError,
    GoalNotReachedError,
    NodeUnreachableError,
    PostureEntry,
    PreviewReport,
)
from ik_node.client.arm import Arm
from ik_node.client.chunks import Chunks
from ik_node.client.gripper import Gripper, GripperState
from ik_node.client.handles import GoalHandle, Handle
from ik_node.client.robot import GoalHandles, Robot
from ik_node.client.scene import SceneClient
from ik_node.client.sequences import circ, lin, Motion, ptp
from ik_node.client.streams import Jog, Stream
from ik_node.motion.constrained.keep import Keep, upright
from ik_node.motion.joint_path.taught_path import TaughtPath

__all__ = [
    'Answer',
    'AnswerTimeoutError',
    'Arm',
    'Chunks',
    'ClientError',
    'GoalHandle',
    'GoalHandles',
    'GoalNotReachedError',
    'Gripper',
    'GripperState',
    'Handle',
    'Jog',
    'Keep',
    'Motion',
    'NodeUnreachableError',
    'PostureEntry',
    'PreviewReport',
    'Robot',
    'SceneClient',
    'Stream',
    'TaughtPath',
    'circ',
    'lin',
    'ptp',
    'upright',
]
