# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Make sure that another node hears us before we say something only once."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from rcl_interfaces.srv import GetParameters
import rclpy
from rclpy.node import Node
from rclpy.publisher import Publisher

ANSWER_TIMEOUT_S = 0.5


def wait_for(node: Node, condition: Callable[[], object], seconds: float) -> bool:
    """Spin until a condition holds; return False if the time runs out."""
    end = monotonic() + seconds
    while not condition():
        if monotonic() > end:
            return False
        rclpy.spin_once(node, timeout_sec=0.05)
    return True


def greet(node: Node, target: str, seconds: float, publisher: Publisher) -> bool:
    """
    Exchange a message with another node, so that both sides are known to be connected.

    DDS discovers in each direction by itself: that we see the other's subscription
    does not mean that it knows our publisher yet, and what is published before that
    is lost.  An answered service call shows that all that we created before it is known
    there; that we know whom we publish to, the publisher itself.

    Parameters
    ----------
    node : Node
        Ours; its publishers and subscriptions exist already.
    target : str
        Name of the other node, with its namespace if it has one.
    seconds : float
        How long to try.
    publisher : Publisher
        Ours, to a topic that the other node listens on.

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
