# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of the age of goals."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic, thread_time, time_ns

from builtin_interfaces.msg import Time as TimeMessage
import numpy as np
from rclpy.clock import JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.time import Time

from ik_node.base.errors import GoalError, Reason
from ik_node.ros.middleware.clocks import MessageInfo, steady_clock

TIMER_PERIOD_S = 0.05
NOTICED_DELAY_S = 0.1  # shorter delays are not kept
CATCH_UP_S = 3.5  # after a pause, until old messages have arrived; DDS resends after 3 s


@dataclass(frozen=True)
class Delay:
    """One time in which no callback ran."""

    end: float      # monotonic time (s) at which callbacks ran again
    seconds: float  # how long it lasted
    # How much of it (s) the thread was not running at all: the process was stopped, or the
    # processor was given to others.  In the rest it was busy with a long callback.
    idle: float


class CallbackDelay:
    """
    A steady timer; whatever keeps the node from its callbacks makes it late.

    Parameters
    ----------
    node : Node
    on_tick : callable
        Called at each tick of the timer, before anything else.

    """

    def __init__(self, node: Node, on_tick: Callable[[], None]) -> None:
        self._due = np.inf
        self._used = thread_time()
        self._latest = 0.0
        self._delays: deque[Delay] = deque(maxlen=100)
        self._on_tick = on_tick
        self._timer = node.create_timer(TIMER_PERIOD_S, self._tick, clock=steady_clock())

    def _tick(self) -> None:
        self._on_tick()
        now = self._now()
        self._latest = max(self._latest, now.seconds)
        if now.seconds > NOTICED_DELAY_S:
            self._delays.append(now)
        self._used = thread_time()
        self._due = now.end + 1e-9 * self._timer.time_until_next_call()

    def _now(self) -> Delay:
        """Return by how much the timer is late at present."""
        now = monotonic()
        late = max(now - self._due, 0.0)
        # The time of a thread is slow to read: 8 % of the cycles of two streams.
        busy = thread_time() - self._used if late > NOTICED_DELAY_S else late
        return Delay(now, late, max(late - busy, 0.0))

    def latest(self) -> float:
        """Return the longest delay (s) since this was last called."""
        latest, self._latest = max(self._latest, self._now().seconds), 0.0
        return latest

    def since(self, time: float) -> float:
        """Return how long (s) callbacks did not run after a monotonic time (s)."""
        return sum(min(delay.seconds, max(delay.end - time, 0.0)) for delay in self._all())

    def stood_still(self) -> float:
        """Return how long (s) the process did not run, just now or within CATCH_UP_S."""
        recent = monotonic() - CATCH_UP_S
        return max((delay.idle for delay in self._all() if delay.end > recent), default=0.0)

    def _all(self) -> list[Delay]:
        now = self._now()
        return [*self._delays, now] if now.seconds > NOTICED_DELAY_S else [*self._delays]


SMALLEST_JUMP_S = 0.5
RATE_WINDOW = 40  # samples over which the rate of simulated time is estimated
RATE_TIME_S = 0.1  # of samples at least, before the rate is known
RATE_MARGIN = 2.0  # simulated time may become this much faster without a jump
JUMP_MEMORY_S = 60.0  # for which a jump is remembered


class TimeJumps:
    """
    Tells jumps of ``/clock`` from a simulation that runs fast or was not heard for a while.

    An update of simulated time is a jump if it is SMALLEST_JUMP_S more than the time since the
    one before, at RATE_MARGIN times the rate of the last seconds, accounts for.
    """

    def __init__(self, node: Node) -> None:
        self._clock = node.get_clock()
        self._logger = node.get_logger()
        # What the time (ns) is, and the latest monotonic time (s) at which it was not yet so.
        self._samples: deque[tuple[float, int]] = deque(maxlen=RATE_WINDOW)
        self._sampled = monotonic()
        # When (monotonic s), by how much (s), and the time before (ns).
        self._jumps: deque[tuple[float, float, int]] = deque(maxlen=100)
        self._handle = self._clock.create_jump_callback(
            JumpThreshold(min_forward=Duration(seconds=SMALLEST_JUMP_S), min_backward=None,
                          on_clock_change=False), post_callback=self._on_jump)

    def sample(self) -> None:
        """Note the time; called periodically."""
        if not self._clock.ros_time_is_active:
            return
        before, self._sampled = self._sampled, monotonic()
        now = self._clock.now().nanoseconds
        if now and (not self._samples or now != self._samples[-1][1]):
            if self._samples and now < self._samples[-1][1]:
                self._samples.clear()  # it was set back
            self._samples.append((before, now))

    def longest(self, seconds: float) -> float:
        """Return by how much (s) simulated time may advance in `seconds` without a jump."""
        if not self._clock.ros_time_is_active or not self._samples:
            return np.inf
        (first, begin), (last, end) = self._samples[0], self._samples[-1]
        if last - first < RATE_TIME_S:
            return np.inf  # it has just begun; the rate is not known yet
        rate = max(1e-9 * (end - begin) / (last - first), 1.0)
        return SMALLEST_JUMP_S + RATE_MARGIN * rate * seconds

    def _on_jump(self, jump: TimeJump) -> None:
        if not self._samples:
            return
        now, delta = monotonic(), 1e-9 * jump.delta.nanoseconds
        if delta <= self.longest(now - self._samples[-1][0]):
            return
        # The rate is estimated as if the time before had jumped, too.
        self._samples = deque(((at, time + jump.delta.nanoseconds) for at, time in self._samples),
                              maxlen=RATE_WINDOW)
        before = self._clock.now().nanoseconds - jump.delta.nanoseconds
        self._jumps.append((now, delta, before))
        self._logger.warning(f'simulated time jumped forward by {delta:.1f} s',
                             throttle_duration_sec=5.0)

    def since(self, time: float) -> float:
        """Return by how much (s) time jumped forward after a monotonic time (s), in all."""
        after = max(time, monotonic() - JUMP_MEMORY_S)
        return sum(delta for at, delta, _ in self._jumps if at > after)

    def since_stamp(self, stamp: int) -> float:
        """Return by how much (s) time jumped forward after a stamp (ns), in all."""
        after = monotonic() - JUMP_MEMORY_S
        return sum(delta for at, delta, before in self._jumps if at > after and before >= stamp)

    def close(self) -> None:
        """Look no more."""
        self._handle.unregister()


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


def waited_here(info: MessageInfo) -> float:
    """Return how long ago (s) a message was received; 0 if the middleware does not say."""
    received = info['received_timestamp']
    return max(1e-9 * (time_ns() - received), 0.0) if received > 0 else 0.0


class StampCheck:
    """
    Refuses goals that are too old, or stamped in the future.

    A message is as old as its stamp says, or as the middleware says if that is more: it may
    have waited while the process stood still.
    """

    def __init__(self, node: Node, delay: CallbackDelay, clock_jumps: TimeJumps) -> None:
        self._node = node
        self._delay = delay
        self._clock_jumps = clock_jumps

    def age(self, info: MessageInfo) -> float:
        """Return how long ago (s) a message was sent, by what the middleware says of it."""
        return message_age(info, self._delay.stood_still())

    def waited(self, info: MessageInfo) -> float:
        """Return how long ago (s) a message came, or was sent if the process stood still then."""
        still = self._delay.stood_still()
        return message_age(info, still) if still else waited_here(info)

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
            age = max(age - self._clock_jumps.since_stamp(stamp.nanoseconds), 0.0)
        if age > max_age:
            raise GoalError(f'the goal is {age:.1f} s old by its stamp, at most {max_age:g} s are '
                            'allowed; set the stamp to now, or to 0', Reason.GOAL_STALE)
        if age < -FUTURE_SLACK_S:
            raise GoalError(f'the stamp of the goal is {-age:.1f} s in the future; do the clocks '
                            'agree?', Reason.GOAL_FROM_FUTURE)
        return stamp
