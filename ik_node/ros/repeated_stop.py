# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A stop that is asked for until it is answered, so that lost packets matter little."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.task import Future
from std_msgs.msg import Empty
from std_srvs.srv import Trigger

from ik_node.ros.clocks import steady_clock
from ik_node.ros.qos import BEST_EFFORT_QOS

HALT_PERIOD_S = 0.02
HALTS_PER_REQUEST = 2  # a request costs more

Take = Callable[[Trigger.Response], None]


@dataclass(eq=False)
class OpenStop:
    """A stop without an answer; `take` gets it, once."""

    take: Take


class RepeatedStop:
    """
    Publishes ``~/halt`` and calls ``~/stop`` of a node until a call is answered.

    Neither ends a goal that is sent later, if the node is told: see :meth:`cease`.

    Parameters
    ----------
    node : Node
        Its executor repeats.
    target : str
        Name of the ik_node.
    post : callable
        Has something called by that executor, for a caller in another thread.

    Attributes
    ----------
    client : Client
        Of ``~/stop``.

    """

    def __init__(self, node: Node, target: str,
                 post: Callable[[Callable[[], Any]], Any] = lambda call: call()) -> None:
        self._post = post
        self._halts = node.create_publisher(Empty, f'{target}/halt', BEST_EFFORT_QOS)
        self.client = node.create_client(Trigger, f'{target}/stop')
        self._open: list[OpenStop] = []
        self._asked: list[Future] = []
        self._ticks = 0
        self._timer = node.create_timer(HALT_PERIOD_S, self._tick, clock=steady_clock())
        self._timer.cancel()

    def begin(self, take: Take) -> OpenStop:
        """Stop the arm; `take` gets the first answer, unless the stop is forgotten before."""
        stop = OpenStop(take)
        with suppress(RuntimeError, InvalidHandle):  # ROS may be shut down at this moment
            self._halts.publish(Empty())  # at once, whatever keeps the executor
        self._post(partial(self._begin, stop))
        return stop

    def _begin(self, stop: OpenStop) -> None:
        self._open.append(stop)
        self._ticks = 0
        self._request()
        self._timer.reset()

    def cease(self) -> None:
        """Repeat no longer, because a goal is being sent that no later stop may end."""
        self._timer.cancel()

    def forget(self, stop: OpenStop) -> None:
        """Give a stop up; it may be answered already."""
        if stop in self._open:
            self._open.remove(stop)
        if not self._open:
            self._end()

    def _tick(self) -> None:
        self._halts.publish(Empty())
        self._ticks += 1
        if self._ticks % HALTS_PER_REQUEST == 0:
            self._request()

    def _request(self) -> None:
        asked = self.client.call_async(Trigger.Request())
        self._asked.append(asked)
        asked.add_done_callback(partial(self._on_answer, [*self._open]))

    def _on_answer(self, stops: list[OpenStop], answer: Future) -> None:
        """Take the answer to a request that was sent when there were these stops."""
        if answer in self._asked:
            self._asked.remove(answer)
        for stop in stops:
            if stop in self._open:
                self._open.remove(stop)
                stop.take(answer.result())
        if not self._open:
            self._end()

    def _end(self) -> None:
        self._timer.cancel()
        asked, self._asked = self._asked, []
        for each in asked:
            self.client.remove_pending_request(each)
