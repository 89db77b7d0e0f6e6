# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Answers of a node: each one for programs, and the newest one for whoever looks later."""

from __future__ import annotations

from time import monotonic

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message

from ik_node.ros.middleware.qos import LATCHED_QOS


class AnswerPublisher:
    """
    Publishes each answer on two topics.

    The depth of a publisher is the number of messages that whoever joins late is sent, oldest
    first, and also the number by which a reader may be behind before it loses some.  So the
    topic for programs has a great depth, and the one that shows the newest answer has depth 1.

    Parameters
    ----------
    every : str
        Topic of all answers.
    qos : QoSProfile
        Of `every`.
    newest : str
        Topic of which late joiners get the newest answer alone; a slow reader may miss others.

    """

    def __init__(self, node: Node, every: str, qos: QoSProfile, newest: str) -> None:
        self._every = node.create_publisher(DiagnosticStatus, every, qos)
        self._newest = node.create_publisher(DiagnosticStatus, newest, LATCHED_QOS)

    def publish(self, answer: DiagnosticStatus) -> None:
        """Publish an answer."""
        data = serialize_message(answer)  # once for both
        self._every.publish(data)
        self._newest.publish(data)

    def keeps_up(self) -> bool:
        """Return whether the readers of all answers have acknowledged them."""
        return self._every.wait_for_all_acked(Duration())

    def flush(self, seconds: float) -> bool:
        """
        Wait at most `seconds` until answers are acknowledged.

        Return whether the readers of all answers have done that; those of the newest one may
        be stuck.
        """
        end = monotonic() + seconds
        come, _ = [publisher.wait_for_all_acked(Duration(seconds=max(end - monotonic(), 0.0)))
                   for publisher in (self._every, self._newest)]
        return come
