# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Goal frames: the base, any link of the URDF by forward kinematics, others by TF.

TF needs tf2_ros, which is not on PyPI; without it only the robot's own links are known.
"""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.time import Time

from ik_node.base.errors import GoalError, Reason
from ik_node.base.se3 import pose, rotation_from_quaternion
from ik_node.base.text import quote
from ik_node.kinematics.arm import link_pose
from ik_node.model.description.urdf import Tree

try:
    import tf2_ros
except ImportError:
    tf2_ros = None


MAX_COMPARED_LENGTH = 200  # letters of a frame name; comparing longer ones is slow


class NotYet(Exception):
    """The transform may still arrive."""


class Frames:
    """
    Poses of frames in the base link.

    Parameters
    ----------
    node : Node
        For its TF subscription, where tf2_ros is installed.
    prefix : str
        Prefix of link names in TF.

    """

    def __init__(self, node: Node, prefix: str) -> None:
        self._prefix = prefix
        self._buffer: Any = None
        if tf2_ros is not None:
            self._buffer = tf2_ros.Buffer(node=node)
            self._listener = tf2_ros.TransformListener(self._buffer, node)

    def link_of(self, frame: str, tree: Tree) -> str | None:
        """Return the link of the robot that a frame is; None if it is none."""
        link = self._without_prefix(frame)
        return link if link in tree.links else None

    def _without_prefix(self, frame: str) -> str:
        link = frame.lstrip('/')
        return link[len(self._prefix):] if self._prefix and link.startswith(self._prefix) else link

    def pose_of(self, frame: str, stamp: Time, tree: Tree, base_link: str,
                positions: dict[str, float]) -> np.ndarray:
        """
        Return ``T_base_frame`` (4, 4) at the time `stamp`, 0 = the latest.

        Links of the URDF follow from the present joint positions.

        Raises
        ------
        GoalError
            FRAME_MISSING for an empty name, FRAME_UNKNOWN for one that nobody knows.
        StateError
            If a joint between the link and the base has no position.
        NotYet
            With the reason, if TF knows the frame but has no transform yet.

        """
        if not frame:
            raise GoalError(f'the goal has no frame_id; give a frame, e.g. {quote(base_link)}',
                            Reason.FRAME_MISSING)
        link = self._without_prefix(frame)
        if link in tree.links:
            return link_pose(tree, link, base_link, positions)
        if self._buffer is None:
            near = difflib.get_close_matches(link[:MAX_COMPARED_LENGTH], tree.links, 1, 0.6)
            raise GoalError(
                f'the frame {quote(frame)} is not a link of the robot'
                + (f' (did you mean {quote(near[0])}?)' if near else '')
                + '; for other frames install tf2_ros, which is missing here',
                Reason.FRAME_UNKNOWN)
        try:
            found = self._buffer.lookup_transform(self._prefix + base_link, frame, stamp)
        except tf2_ros.TransformException as error:
            raise NotYet(f'the frame {quote(frame)} is not a link of the robot, and TF cannot '
                         f'connect it to {quote(self._prefix + base_link)}: '
                         f'{quote(str(error).strip(), 300)}') from None
        t, r = found.transform.translation, found.transform.rotation
        return pose(rotation_from_quaternion((r.x, r.y, r.z, r.w)), np.array([t.x, t.y, t.z]))
