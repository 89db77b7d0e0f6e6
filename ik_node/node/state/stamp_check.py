# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of the age of goals."""

from __future__ import annotations

from time import time_ns

from builtin_interfaces.msg import Time as TimeMessage
from rclpy.node import Node
from rclpy.time import Time

from ik_node.base.errors import GoalError, Reason
from ik_node.node.state.callback_delay import CallbackDelay
from ik_node.node.state.time_jumps import TimeJumps
from ik_node.ros.middleware.message_origin import MessageInfo

FUTURE_SLACK_S = 0.5  # by which the clocks of two machines may differ


def running_time(node: Node) -> Time:
    """
    Return the time of the node.

    Raises
    ------
    GoalError
        CLOCK_STOPPED without simulated time.

    """
    now = node.get_clock().now()
    if now.nanoseconds == 0:
        raise GoalError('use_sim_time is true, but no time has arrived on /clock',
                        Reason.CLOCK_STOPPED)
    return now


def message_age(info: MessageInfo, stood_still: float) -> float:
    """
    Return how long ago (s) a message was sent.

    The middleware stamps a message when it is sent and when it is received.  A process that
    stood still for `stood_still` (s) received late what was sent meanwhile: then the stamp of
    the sender counts.  Where the clock of the sender cannot be ours, the message is as old as it
    can be.
    """
    now = time_ns()
    sent, received = info['source_timestamp'], info['received_timestamp']
    if sent <= 0 or received <= 0:  # the middleware has no such stamps
        return stood_still
    on_the_way = 1e-9 * (received - sent)
    if -FUTURE_SLACK_S <= on_the_way <= stood_still + FUTURE_SLACK_S:
        return max(1e-9 * (now - sent), 0.0)
    return max(1e-9 * (now - received), 0.0) + stood_still


class StampCheck:
    """
    Refuses goals that are too old, or stamped in the future.

    A message is as old as its stamp says, or as the middleware says if that is more: it may
    have waited while the process stood still.
    """

    def __init__(self, node: Node, delay: CallbackDelay, jumps: TimeJumps) -> None:
        self._node = node
        self._delay = delay
        self._jumps = jumps

    def age(self, info: MessageInfo) -> float:
        """Return how long ago (s) a message was sent, by what the middleware says of it."""
        return message_age(info, self._delay.stood_still())

    def waited(self, info: MessageInfo) -> float:
        """Return how long ago (s) a message came, or was sent if the process stood still then."""
        still, received = self._delay.stood_still(), info['received_timestamp']
        if still:
            return message_age(info, still)
        return max(1e-9 * (time_ns() - received), 0.0) if received > 0 else 0.0

    def checked(self, message: TimeMessage, max_age: float, info: MessageInfo) -> Time:
        """
        Return the time of a stamp, 0 = none, of a message that is at most `max_age` (s) old.

        Errors as :meth:`checked_by_age`.
        """
        return self.checked_by_age(message, max_age, self.age(info))

    def checked_by_age(self, message: TimeMessage, max_age: float, waited: float) -> Time:
        """
        Return as :meth:`checked` of a message that was sent `waited` (s) ago; in any thread.

        Raises
        ------
        GoalError
            GOAL_STALE, GOAL_FROM_FUTURE, or as :func:`running_time`.

        """
        now = running_time(self._node)
        if message.sec < 0:
            raise GoalError('the stamp of the goal is negative; set it to now, or to 0',
                            Reason.GOAL_STALE)
        stamp = Time.from_msg(message, clock_type=now.clock_type)
        if waited > max_age:
            raise GoalError(f'the goal was sent {waited:.1f} s ago, at most {max_age:g} s are '
                            'allowed: it waited until this node could take it; send it again',
                            Reason.GOAL_STALE)
        if stamp.nanoseconds == 0:
            return stamp
        age = 1e-9 * (now.nanoseconds - stamp.nanoseconds)
        if age > 0.0:
            age = max(age - self._jumps.since_stamp(stamp.nanoseconds), 0.0)
        if age > max_age:
            raise GoalError(f'the goal is {age:.1f} s old by its stamp, at most {max_age:g} s are '
                            'allowed; set the stamp to now, or to 0', Reason.GOAL_STALE)
        if age < -FUTURE_SLACK_S:
            raise GoalError(f'the stamp of the goal is {-age:.1f} s in the future; do the clocks '
                            'agree?', Reason.GOAL_FROM_FUTURE)
        return stamp
