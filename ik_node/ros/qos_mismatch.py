# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Logs incompatible QoS with the names of both nodes and their profiles."""

from __future__ import annotations

from typing import Any

from rclpy.publisher import Publisher
from rclpy.qos import qos_check_compatible, QoSCompatibility, QoSProfile
from rclpy.subscription import Subscription
from rclpy.topic_endpoint_info import TopicEndpointInfo

from ik_node.ros.clocks import steady_clock

try:
    from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import PublisherEventCallbacks, SubscriptionEventCallbacks

GRAPH_CHECK_PERIOD_S = 1.0
UNKNOWN_NAME = '_NODE_NAME_UNKNOWN_'  # of a node that has just been discovered


class QosLog:
    """
    Mixin for rclpy.Node: logs which node offers or requests incompatible QoS.

    rclpy alone logs topic and policy, without the other node.  ik_doctor reports the same only
    when it is run.  The graph is looked at once a second; an event callback for each publisher
    and subscription, as rclpy has by default, would take its time in every round of the
    executor.
    """

    def __init__(self, *args: Any, **others: Any) -> None:
        super().__init__(*args, **others)
        self._known_ends: dict[Publisher | Subscription, int] = {}  # of the other ends
        self._told_misfits: set[bytes] = set()
        self.create_timer(GRAPH_CHECK_PERIOD_S, self._check_profiles, clock=steady_clock())

    def create_subscription(self, *args: Any,
                            event_callbacks: SubscriptionEventCallbacks | None = None,
                            **others: Any) -> Subscription:
        """As that of rclpy."""
        events = event_callbacks or SubscriptionEventCallbacks()
        events.use_default_callbacks = False
        return super().create_subscription(*args, event_callbacks=events, **others)

    def create_publisher(self, *args: Any, event_callbacks: PublisherEventCallbacks | None = None,
                         **others: Any) -> Publisher:
        """As that of rclpy."""
        events = event_callbacks or PublisherEventCallbacks()
        events.use_default_callbacks = False
        return super().create_publisher(*args, event_callbacks=events, **others)

    def _check_profiles(self) -> None:
        """Look at the profiles on the topics where the number of ends has changed."""
        ours = [(end, self.count_subscribers, self.get_subscriptions_info_by_topic)
                for end in self.publishers]
        ours += [(end, self.count_publishers, self.get_publishers_info_by_topic)
                 for end in self.subscriptions]
        before, self._known_ends = self._known_ends, {}
        for end, count, look in ours:
            there = count(end.topic_name)
            if there == before.get(end) or self._check(end, look(end.topic_name)):
                self._known_ends[end] = there

    def _check(self, own: Publisher | Subscription, others: list[TopicEndpointInfo]) -> bool:
        """Log which of the other ends do not fit, each once; return whether all are known."""
        offers, ours, known = isinstance(own, Publisher), own.qos_profile, True
        way, ask, offer = ('gets to', 'asks for', 'offers') if offers else \
            ('comes from', 'offers', 'asks for')
        for end in others:
            other, identity = end.qos_profile, bytes(end.endpoint_gid)
            why = mismatch(ours, other) if offers else mismatch(other, ours)
            if end.node_name == UNKNOWN_NAME:
                known = False
            elif why and identity not in self._told_misfits:
                self._told_misfits.add(identity)
                self.get_logger().warning(
                    f'nothing on {own.topic_name} {way} {end.node_namespace.rstrip("/")}/'
                    f'{end.node_name}: it {ask} {_words(other)}; '
                    f'{self.get_fully_qualified_name()} {offer} {_words(ours)} ({why})')
        return known


def mismatch(offered: QoSProfile, asked: QoSProfile) -> str:
    """Return why publisher and subscription are incompatible; '' if they are not."""
    compatible, why = qos_check_compatible(offered, asked)
    if compatible != QoSCompatibility.ERROR:
        return ''
    return why.replace('ERROR: ', '').strip(';').replace(';', ', ')


def _words(qos: QoSProfile) -> str:
    return ', '.join(policy.name.lower().replace('_', ' ')
                     for policy in (qos.reliability, qos.durability))
