# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Goals that are sent to a node, and its answers to them, which repeat their stamps."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.time import Time

from ik_node.ros.messages.status_messages import is_final, stamp_text, values_of
from ik_node.ros.middleware.qos import ANSWERS_QOS

RECENT_ANSWERS = 100  # that are kept for goals whose number is learnt after them

# An answer: the values of its message by their keys, and its sentence as `message`.
GoalValues = dict[str, str]


def publish_stamped(node: Node, publisher: Publisher, message: Any, age: float = 0.0) -> str:
    """Stamp a message with the time of `node`, `age` (s) ago, and publish it; return the text."""
    now = node.get_clock().now().nanoseconds
    message.header.stamp = Time(nanoseconds=max(now - round(1e9 * age), 0)).to_msg()
    publisher.publish(message)
    return stamp_text(message.header.stamp)


class GoalAnswers:
    """
    Hands each answer on ``~/answers`` to the sender of its goal, until the final one.

    Goals are expected before they are published, or their answers might come first.

    Parameters
    ----------
    target : str
        Name of the node that answers.
    qos : QoSProfile, optional
        Of the subscription.

    """

    def __init__(self, node: Node, target: str, qos: QoSProfile = ANSWERS_QOS) -> None:
        self._lock = Lock()
        self._by_stamp: dict[str, Callable[[GoalValues], None]] = {}
        self._by_test: list[tuple[Callable[[GoalValues], bool],
                                  Callable[[GoalValues], None]]] = []
        self._recent: deque[tuple[int, GoalValues]] = deque(maxlen=RECENT_ANSWERS)
        self.count = 0
        self.subscription = node.create_subscription(
            DiagnosticStatus, f'{target}/answers', self._on_status, qos)

    def expects(self, stamp: str) -> bool:
        """Return whether a goal with this stamp has no final answer yet."""
        return stamp in self._by_stamp

    def expect(self, stamp: str, take: Callable[[GoalValues], None]) -> None:
        """Call `take` with each answer to the goal that has this stamp."""
        with self._lock:
            self._by_stamp[stamp] = take

    def expect_where(self, test: Callable[[Mapping[str, str]], bool],
                     take: Callable[[GoalValues], None], since: int | None = None) -> None:
        """
        Call `take` with each answer for which `test` is true.

        Parameters
        ----------
        since : int, optional
            A former :attr:`count`: answers that have come since then are looked at, too.

        """
        with self._lock:
            self._by_test.append((test, take))
            recent = [] if since is None else [values for number, values in self._recent
                                               if number > since]
        for values in recent:
            self._hand_over(values)

    def forget(self, stamp: str) -> None:
        """Expect no more answers to the goal with this stamp."""
        with self._lock:
            self._by_stamp.pop(stamp, None)

    def forget_where(self, test: Callable[[Mapping[str, str]], bool]) -> None:
        """Expect no more answers for which this test is true."""
        with self._lock:
            self._by_test = [pair for pair in self._by_test if pair[0] is not test]

    def _on_status(self, message: DiagnosticStatus) -> None:
        values = {**values_of(message), 'message': message.message}
        if 'stamp' in values and 'state' in values:
            with self._lock:
                self.count += 1
                self._recent.append((self.count, values))
            self._hand_over(values)

    def _hand_over(self, values: GoalValues) -> None:
        with self._lock:
            takers = [self._by_stamp[values['stamp']]] if values['stamp'] in self._by_stamp \
                else []
            tested = [pair for pair in self._by_test if pair[0](values)]
            takers += [take for _, take in tested]
            if is_final(values):
                self._by_stamp.pop(values['stamp'], None)
                self._by_test = [pair for pair in self._by_test if pair not in tested]
        for take in takers:
            take(values)
