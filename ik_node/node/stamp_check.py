# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the stamp of what a user sent can be acted on."""

from __future__ import annotations

from collections.abc import Callable

from builtin_interfaces.msg import Time as TimeMessage
from rclpy.node import Node
from rclpy.time import Time

from ik_node.errors import GoalError, Reason

FUTURE_SLACK = 0.5  # s, clocks of two machines


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


class Stamps:
    """
    Refuses stamps that are too old, in the future, or none after a pause of the process.

    Parameters
    ----------
    was_paused : callable
        Tells whether the process was stopped until just now.

    """

    def __init__(self, node: Node, was_paused: Callable[[], bool]) -> None:
        self._node = node
        self._was_paused = was_paused

    def checked(self, message: TimeMessage, max_age: float) -> Time:
        """
        Return the time of a stamp, 0 = none, that is at most `max_age` (s) old.

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
        if stamp.nanoseconds == 0:
            if self._was_paused():
                raise GoalError('the goal has no stamp, and this process was stopped for a while, '
                                'so it may be old; send it again', Reason.GOAL_STALE)
            return stamp
        age = 1e-9 * (now - stamp).nanoseconds
        if age > max_age:
            raise GoalError(f'the goal is {age:.1f} s old by its stamp, at most {max_age:g} s are '
                            'allowed; set the stamp to now, or to 0', Reason.GOAL_STALE)
        if age < -FUTURE_SLACK:
            raise GoalError(f'the stamp of the goal is {-age:.1f} s in the future; do the clocks '
                            'agree?', Reason.GOAL_FROM_FUTURE)
        return stamp
