# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Changes of the scene while the node runs, and what becomes of a motion among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from rclpy.node import Node
from rclpy.time import Time
from std_msgs.msg import Header

from ik_node.errors import IkNodeError, ParameterError
from ik_node.node.arm_state import ArmState
from ik_node.node.frames import Frames, NotYet
from ik_node.node.motion import Motion
from ik_node.node.robot import Robot, RobotHolder
from ik_node.node.stamp_check import MessageInfo, StampCheck


class SceneChanges:
    """
    Changes the scene of the robot by messages, each as a whole or not at all.

    After each, the rest of a motion that is under way is checked, and the arm is brought to rest
    if it would collide.

    Parameters
    ----------
    renew : callable
        Makes the settings of a robot anew, after its scene has changed.

    Attributes
    ----------
    complaint : str
        Why the latest change that was not made was not.

    """

    def __init__(self, node: Node, holder: RobotHolder, arm: ArmState, frames: Frames,
                 motion: Motion, stamps: StampCheck, renew: Callable[[Robot], None]) -> None:
        self._node = node
        self._holder = holder
        self._arm = arm
        self._frames = frames
        self._motion = motion
        self._stamps = stamps
        self._renew = renew
        self.complaint = ''

    def take(self, what: str, change: Callable[[Robot], None]) -> bool:
        """
        Change the scene of the robot as a whole, or not at all; return whether it changed.

        If not, :attr:`complaint` says why.

        Parameters
        ----------
        what : str
            What has come, for the log.
        change : callable
            Changes the scene; an IkNodeError or NotYet that it raises goes to the log.

        """
        return self.take_each([(what, change)]) == 1

    def take_each(self, changes: Iterable[tuple[str, Callable[[Robot], None]]]) -> int:
        """
        Make several changes, each as :meth:`take`; return how many were made.

        What follows from them is done once, at the end.
        """
        made, robot = 0, None
        for what, change in changes:
            changed = self._changed(what, change)
            if changed is not None:
                made, robot = made + 1, changed
        if robot is not None:
            self._renew(robot)
            self._motion.brake_before_contact()
        return made

    def _changed(self, what: str, change: Callable[[Robot], None]) -> Robot | None:
        """Make a change; return the robot, or None if nothing was changed."""
        try:
            robot = self._holder.require()
            if robot.collisions is None:
                raise ParameterError('collisions are not checked, so there is no scene; set '
                                     'collision.check')
            before, told = robot.scene.snapshot, set(robot.told_objects)
            try:
                change(robot)
            except Exception:
                robot.scene.restore(before)
                robot.told_objects = told
                raise
        except (IkNodeError, NotYet) as error:
            self.complaint = f'{what} of the scene changed nothing: {error}'
            self._node.get_logger().warning(self.complaint)
            return None
        return robot

    def check_stamp(self, header: Header, robot: Robot, info: MessageInfo) -> None:
        """
        Raise a GoalError if a message is too old, or of the future.

        How long it waited until this node could take it does not count where nothing moves
        meanwhile: in the base link, or without a frame.
        """
        oldest = robot.settings.max_goal_age
        if self.link_of(header.frame_id, robot) == robot.chain.base_link or not header.frame_id:
            oldest += self._stamps.age(info)
        self._stamps.checked(header.stamp, oldest, info)

    def link_of(self, frame: str, robot: Robot) -> str | None:
        """Return the link of the robot that a frame is; None if it is none."""
        return self._frames.link_of(frame, robot.tree)

    def place(self, header: Header, robot: Robot) -> tuple[str, np.ndarray]:
        """Return a link, with which an object moves, and the pose of a header's frame in it."""
        link = self.link_of(header.frame_id, robot)
        return (robot.chain.base_link, self.pose(header, robot)) if link is None \
            else (link, np.eye(4))

    def pose(self, header: Header, robot: Robot) -> np.ndarray:
        """Return ``T_base_frame`` (4, 4) of a header; errors as :meth:`Frames.pose_of`."""
        stamp = Time.from_msg(header.stamp, clock_type=self._node.get_clock().clock_type)
        return self._frames.pose_of(header.frame_id, stamp, robot.tree, robot.chain.base_link,
                                    self._arm.joints.positions)
