# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A stop that is asked for until the arm is being stopped, so that lost packets matter little."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from math import inf
from threading import Lock
from time import monotonic
from typing import Any

from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.task import Future
from std_msgs.msg import Empty
from std_srvs.srv import Trigger

from ik_node.ros.middleware.clocks import steady_clock
from ik_node.ros.middleware.qos import BEST_EFFORT_QOS

HALT_PERIOD_S = 0.02
REQUEST_PERIOD_S = 0.04  # at least: a request costs more
NO_ANSWER_S = 0.2  # after which a request, or its answer, is taken to be lost
PATIENCE_S = 10.0  # of a stop without an answer
REFUSED_PATIENCE_S = 3.0  # of a stop that is answered by a failure, or whose service is not found

Take = Callable[[Trigger.Response], None]


@dataclass(eq=False)
class OpenStop:
    """A stop that was not answered yet."""

    take: Take  # gets the answer, once
    began: float = field(default_factory=monotonic)  # monotonic time (s)
    refusal: Trigger.Response | None = None  # the last answer that is a failure


class RepeatedStop:
    """
    Publishes ``~/halt`` and calls ``~/stop`` of a node until a call succeeds.

    It begins before the node is discovered.  Neither ends a goal that is sent later, if that is
    told before: see :meth:`cease`.  Stops may be begun, given up and ceased in any thread.

    Parameters
    ----------
    node : Node
        Its executor repeats.
    target : str
        Name of the ik_node.
    post : callable
        Has something called by that executor, for a caller in another thread.
    search_time : float, optional
        How long (s) the service may not be found; a new node finds it late where packets are lost.

    """

    def __init__(self, node: Node, target: str,
                 post: Callable[[Callable[[], Any]], Any] = lambda call: call(),
                 search_time: float = REFUSED_PATIENCE_S) -> None:
        self._target = target
        self._search_time = search_time
        self._post = post
        self._node = node
        self._halts = node.create_publisher(Empty, f'{target}/halt', BEST_EFFORT_QOS)
        self.client = node.create_client(Trigger, f'{target}/stop')  # of ``~/stop``
        self.count = 0  # how many stops were begun
        self._lock = Lock()  # of the attributes below; held while something is sent
        self._open: list[OpenStop] = []
        self._asked: list[Future] = []
        self._last: Future | None = None
        self._sends = False  # whether it is repeated
        self._asked_at = -inf
        self._timer = node.create_timer(HALT_PERIOD_S, self._tick, clock=steady_clock())
        self._timer.cancel()

    def begin(self, take: Take) -> OpenStop:
        """
        Stop the arm; `take` gets one answer, unless the stop is forgotten before.

        That is the first success; or, when the patience is over, the last failure of the node,
        or one that says that there was no answer.
        """
        stop = OpenStop(take)
        with self._lock, suppress(RuntimeError, InvalidHandle):  # ROS may be shut down by now
            self.count += 1
            self._open.append(stop)
            self._sends, self._asked_at = True, -inf
            self._halts.publish(Empty())  # at once, whatever keeps the executor
        self._post(self._repeat)
        return stop

    @property
    def is_open(self) -> bool:
        """Return whether a stop waits for its answer."""
        return bool(self._open)

    def cease(self) -> None:
        """Send nothing more, because a goal is about to be sent that no later stop may end."""
        with self._lock:
            self._sends = False

    def forget(self, stop: OpenStop) -> None:
        """Give a stop up; it may be answered already."""
        with self._lock:
            self._remove(stop)

    def destroy(self) -> None:
        """Leave the ROS graph; stops that are open are not answered."""
        self._node.destroy_timer(self._timer)
        self._node.destroy_publisher(self._halts)
        self._node.destroy_client(self.client)

    def _repeat(self) -> None:
        if self._open:
            self._timer.reset()
            self._tick()

    def _tick(self) -> None:
        asked = None
        with self._lock:
            if self._sends:
                self._halts.publish(Empty())
                asked = self._request()
            stops = [*self._open]
            ended = [(stop, answer) for stop in self._open
                     if (answer := self._failure(stop)) is not None]
            for stop, _ in ended:
                self._remove(stop)
        if asked is not None:  # without the lock: it may be answered already
            asked.add_done_callback(partial(self._on_answer, stops))
        for stop, answer in ended:
            stop.take(answer)

    def _request(self) -> Future | None:
        """Ask again if the last request was answered, or may be lost.  With the lock."""
        waited = monotonic() - self._asked_at
        if waited < REQUEST_PERIOD_S or waited < NO_ANSWER_S and self._last in self._asked:
            return None
        self._asked_at, self._last = monotonic(), self.client.call_async(Trigger.Request())
        self._asked.append(self._last)
        return self._last

    def _on_answer(self, stops: list[OpenStop], asked: Future) -> None:
        """Take the answer to a request that was sent when there were these stops."""
        answer = asked.result()
        with self._lock:
            if asked in self._asked:
                self._asked.remove(asked)
            stops = [stop for stop in stops if stop in self._open]
            for stop in stops:
                stop.refusal = answer
                if answer.success:
                    self._remove(stop)
        for stop in stops if answer.success else ():
            stop.take(answer)

    def _failure(self, stop: OpenStop) -> Trigger.Response | None:
        """Return the answer to a stop whose patience is over; None before."""
        waited = monotonic() - stop.began
        if waited > REFUSED_PATIENCE_S and stop.refusal is not None:
            return stop.refusal
        if waited > self._search_time and not self.client.service_is_ready():
            return Trigger.Response(message=f'nobody offers {self._target}/stop; is '
                                    f'{self._target} running, in this ROS_DOMAIN_ID and '
                                    'namespace?')
        if waited > PATIENCE_S:
            return Trigger.Response(
                message=f'{self._target}/stop did not answer within {PATIENCE_S:g} s')
        return None

    def _remove(self, stop: OpenStop) -> None:
        """Remove a stop; nothing is sent any more after the last.  With the lock."""
        if stop in self._open:
            self._open.remove(stop)
        if self._open:
            return
        self._sends = False
        self._timer.cancel()
        asked, self._asked = self._asked, []
        for each in asked:
            self.client.remove_pending_request(each)
