# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Discovery handshake: wait until another node receives what is published only once."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from rcl_interfaces.srv import GetParameters
import rclpy
from rclpy.node import Node
from rclpy.publisher import Publisher

from ik_node.command_line.signals import signals_deferred

ANSWER_TIMEOUT_S = 0.5


def wait_for(node: Node, condition: Callable[[], object], seconds: float) -> bool:
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
            rclpy.spin_once(node, timeout_sec=0.05)
    return True


def greet(node: Node, target: str, seconds: float, publisher: Publisher) -> bool:
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

    Returns
    -------
    bool
        False if the other node did not answer.

    """
    client = node.create_client(GetParameters, f'{target}/get_parameters')
    end = monotonic() + seconds
    try:
        while monotonic() < end:
            if wait_for(node, client.service_is_ready, min(ANSWER_TIMEOUT_S, seconds)):
                answer = client.call_async(GetParameters.Request())
                if wait_for(node, answer.done, ANSWER_TIMEOUT_S):
                    return wait_for(node, publisher.get_subscription_count,
                                    max(end - monotonic(), ANSWER_TIMEOUT_S))
                client.remove_pending_request(answer)
        return False
    finally:
        node.destroy_client(client)
