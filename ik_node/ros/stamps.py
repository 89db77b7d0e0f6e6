# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the stamp of what a user sent can be acted on."""

from __future__ import annotations

from builtin_interfaces.msg import Time as TimeMessage
from rclpy.node import Node
from rclpy.time import Time

from ik_node.errors import GoalError, Reason
from ik_node.ros.health import Health

FUTURE_SLACK = 0.5  # s, clocks of two machines


class Stamps:
    """Refuses stamps that are too old, in the future, or none after a pause of the process."""

    def __init__(self, node: Node, health: Health) -> None:
        self._node = node
        self._health = health

    def checked(self, message: TimeMessage, max_age: float) -> Time:
        """
        Return the time of a stamp, 0 = none, that is at most `max_age` (s) old.

        Raises
        ------
        GoalError
            GOAL_STALE, GOAL_FROM_FUTURE, or CLOCK_STOPPED without simulated time.

        """
        now = self._node.get_clock().now()
        if message.sec < 0:
            raise GoalError('the stamp of the goal is negative; set it to now, or to 0',
                            Reason.GOAL_STALE)
        stamp = Time.from_msg(message, clock_type=now.clock_type)
        if now.nanoseconds == 0:
            raise GoalError('use_sim_time is true, but no time has arrived on /clock',
                            Reason.CLOCK_STOPPED)
        if stamp.nanoseconds == 0:
            if self._health.was_paused():
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
