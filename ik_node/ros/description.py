# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The robot description: from a parameter, a file, or the latched topic."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from rclpy.node import Node
from std_msgs.msg import String

from ik_node.base.errors import IkNodeError
from ik_node.model.description.file_paths import file_of
from ik_node.model.description.urdf import parse_urdf, read_urdf, Tree
from ik_node.ros.middleware.clocks import steady_clock
from ik_node.ros.middleware.qos import LATCHED_QOS

DESCRIPTION_TOPIC = 'robot_description'
RETRY_PERIOD_S = 0.5  # between two checks whether the arm is at rest


class DescriptionOptions(Protocol):
    """Options of a node that has a robot description, by parameter, by file or by topic."""

    @property
    def robot_description(self) -> str:
        """Return the URDF text, '' without."""

    @property
    def urdf_file(self) -> str:
        """Return the path of a file, '' without; of a text, where it is from."""


def _folder_of(urdf_file: str) -> Path | None:
    try:
        return file_of(urdf_file).parent if urdf_file else None
    except LookupError:  # it may have been expanded on another machine
        return None


class Description:
    """
    Delivers the robot description: immediately from a parameter or file, later from the topic.

    Parameters
    ----------
    node : Node
    options : DescriptionOptions
    take : callable
        Called with the parsed tree; from the topic again for each new text.
    busy : callable
        Returns whether the arm moves; a new text on the topic then waits until it rests.

    Raises
    ------
    IkNodeError
        From parameter and file.  An invalid text on the topic is logged and kept as
        ``complaint``.

    """

    def __init__(self, node: Node, options: DescriptionOptions,
                 take: Callable[[Tree], None],
                 busy: Callable[[], bool] = lambda: False) -> None:
        self._node = node
        self._take = take
        self._busy = busy
        self._text: str | None = None
        self._refused: str | None = None  # or waiting
        self.complaint = 'none has arrived'
        if options.robot_description:
            take(parse_urdf(options.robot_description, _folder_of(options.urdf_file)))
        elif options.urdf_file:
            take(read_urdf(options.urdf_file))
        else:
            self._timer = node.create_timer(RETRY_PERIOD_S, self._when_at_rest,
                                            clock=steady_clock())
            self._timer.cancel()
            self._subscription = node.create_subscription(
                String, DESCRIPTION_TOPIC, self._on_text, LATCHED_QOS)
            node.get_logger().info(f'waiting for {self._subscription.topic_name} '
                                   '(or start with the parameter urdf_file)')

    def _on_text(self, message: String) -> None:
        self._timer.cancel()
        self._refused = None
        if message.data == self._text:
            return
        if not self._busy():
            self._try(message.data)
            return
        # A latched publisher does not repeat it.
        self._refused = message.data
        self._timer.reset()
        self._node.get_logger().warning(
            f'{self._subscription.topic_name}: a new robot description came during a motion; it '
            'is looked at when the arm rests')

    def _when_at_rest(self) -> None:
        if not self._busy():
            self._timer.cancel()
            self.retry()

    def retry(self) -> None:
        """Try the latest text again, after a change of parameters or the end of a motion."""
        if self._refused is not None:
            self._try(self._refused)

    def _try(self, text: str) -> None:
        self._refused = None
        try:
            self._take(parse_urdf(text))
            self._text = text
        except IkNodeError as error:
            self._refused = text
            self.complaint = f'the last one was refused: {error}'
            rest = 'waiting for another' if self._text is None else 'the robot stays as it is'
            self._node.get_logger().error(f'{self._subscription.topic_name}: {error}; {rest}')
