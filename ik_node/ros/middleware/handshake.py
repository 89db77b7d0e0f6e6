# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Discovery handshake: wait until another node receives messages that are published only once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any

from rcl_interfaces.srv import GetParameters
import rclpy
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.publisher import Publisher

from ik_node.base.system import signals_deferred

ANSWER_TIMEOUT_S = 0.5

Wait = Callable[[Callable[[], object], float], bool]


def wait_for(node: Node, condition: Callable[[], object], seconds: float,
             executor: Executor | None = None) -> bool:
    """
    Spin until a condition holds; return False if the time runs out.

    A signal whose handler raises, as that of Ctrl-C does, takes effect between two messages:
    within one, rclpy would lose the exception and raise another.
    """
    end = monotonic() + seconds
    while not condition():
        if monotonic() > end:
            return False
        with signals_deferred():
            rclpy.spin_once(node, executor=executor, timeout_sec=0.05)
    return True


def ask(node: Node, kind: Any, service: str, request: Any, seconds: float) -> Any:
    """
    Return the response of a service; None if it does not answer in time.

    A server that has not discovered this node yet loses the request, so it is sent again.
    """
    client = node.create_client(kind, service)
    end = monotonic() + seconds
    while monotonic() < end:
        if wait_for(node, client.service_is_ready, min(ANSWER_TIMEOUT_S, end - monotonic())):
            answer = client.call_async(request)
            if wait_for(node, answer.done, ANSWER_TIMEOUT_S):
                return answer.result()
            client.remove_pending_request(answer)
    return None


def greet(node: Node, target: str, seconds: float, publisher: Publisher,
          wait: Wait | None = None) -> bool:
    """
    Call a service of another node, to know that both sides have discovered each other.

    DDS discovers each direction separately: that we see the other's subscription does not
    mean that it knows our publisher, and messages published before that are lost.  An answered
    service call shows that all that was created before it is known there; the publisher itself
    shows that its subscription is known here.

    Parameters
    ----------
    node : Node
        This node; its publishers and subscriptions exist already.
    target : str
        Name of the other node, with its namespace if it has one.
    seconds : float
        How long to try.
    publisher : Publisher
        Of this node, to a topic that the other node subscribes to.
    wait : callable, optional
        Takes a condition and seconds, and waits as :func:`wait_for` does; by default that.
        For a node that another thread spins.

    Returns
    -------
    bool
        False if the other node did not answer.

    """
    wait = wait or partial(wait_for, node)
    client = node.create_client(GetParameters, f'{target}/get_parameters')
    end = monotonic() + seconds
    try:
        while monotonic() < end:
            if wait(client.service_is_ready, min(ANSWER_TIMEOUT_S, seconds)):
                answer = client.call_async(GetParameters.Request())
                if wait(answer.done, ANSWER_TIMEOUT_S):
                    return wait(publisher.get_subscription_count,
                                max(end - monotonic(), ANSWER_TIMEOUT_S))
                client.remove_pending_request(answer)
        return False
    finally:
        node.destroy_client(client)
