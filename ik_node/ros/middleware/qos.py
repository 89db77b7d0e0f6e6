# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The QoS profiles of our topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.publisher import Publisher
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    qos_check_compatible,
    qos_policy_name_from_kind,
    QoSCompatibility,
    QoSProfile,
    ReliabilityPolicy,
)
from rclpy.subscription import Subscription

from ik_node.ros.middleware.clocks import steady_clock

# Measurements: only the latest matters, and lost ones are not sent again.
BEST_EFFORT_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
# Joint states: several publish at the same moment, each of other joints, such as of a gripper.
STATES_QOS = QoSProfile(depth=20, reliability=ReliabilityPolicy.BEST_EFFORT)
# Reliable, but only the latest matters.
NEWEST_QOS = QoSProfile(depth=1)
# Late joiners get the latest message.
LATCHED_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE,
                         durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Goals: each is answered, so none may be overwritten.
KEEP_ALL_QOS = QoSProfile(history=HistoryPolicy.KEEP_ALL)
# Subscriptions to ~/answers, and the publisher of ~/scene_answers.
ANSWERS_QOS = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE,
                         durability=DurabilityPolicy.TRANSIENT_LOCAL)
# The publisher of ~/answers: a reader that is further behind loses the oldest ones.
MANY_ANSWERS_QOS = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Subscriptions to joint states that look at each of them.
EVERY_STATE_QOS = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
# Feedback of a handle: with depth 1 the latest would replace others.
FEEDBACK_QOS = QoSProfile(depth=100)
# Announcements of several nodes on one topic, each latched.
INSTANCE_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE,
                          durability=DurabilityPolicy.TRANSIENT_LOCAL)


try:
    from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import PublisherEventCallbacks, SubscriptionEventCallbacks

End = Publisher | Subscription
DISCOVERY_TIME_S = 1.0  # from discovery of an endpoint until the name of its node is known


class QosLog:
    """
    Mixin for rclpy.Node: logs which node offers or requests incompatible QoS.

    rclpy alone logs topic and policy, without the other node.  ik_doctor reports the same only
    when it is run, and by then a publisher that sends one goal is gone.  rclpy's other default
    callbacks, for types that differ, are left out: Fast DDS does not call them, and each takes
    its time in every round of the executor.
    """

    def create_subscription(self, *args: Any,
                            event_callbacks: SubscriptionEventCallbacks | None = None,
                            **others: Any) -> Subscription:
        """As rclpy.Node, with our QoS event callbacks, but for one that is given."""
        events = event_callbacks or SubscriptionEventCallbacks()
        events.use_default_callbacks = False
        events.incompatible_qos = events.incompatible_qos or self._teller(lambda: made)
        made = super().create_subscription(*args, event_callbacks=events, **others)
        return made

    def create_publisher(self, *args: Any, event_callbacks: PublisherEventCallbacks | None = None,
                         **others: Any) -> Publisher:
        """As rclpy.Node, with our QoS event callbacks."""
        events = event_callbacks or PublisherEventCallbacks()
        events.use_default_callbacks = False
        events.incompatible_qos = self._teller(lambda: made)
        made = super().create_publisher(*args, event_callbacks=events, **others)
        return made

    def _teller(self, own: Callable[[], End]) -> Callable[[Any], None]:
        """Return the event callback of an endpoint of ours for incompatible QoS."""
        told: set[bytes] = set()
        waits = False

        def on_event(event: Any) -> None:
            nonlocal waits
            if waits:
                return
            waits = True
            topic, qos, ours_offers = (  # the endpoint may be destroyed later
                own().topic_name, own().qos_profile, isinstance(own(), Publisher))

            def once() -> None:
                nonlocal told, waits
                waits = False
                self.destroy_timer(timer)
                found = self._misfits(topic, qos, ours_offers)
                for identity, sentence in found.items():
                    if identity not in told:
                        self.get_logger().warning(sentence)
                if found.keys() <= told:
                    self.get_logger().warning(
                        f'what was on {topic} for a moment did not fit '
                        f'{self.get_fully_qualified_name()} '
                        f'({qos_policy_name_from_kind(event.last_policy_kind)})')
                told = {*found}

            timer = self.create_timer(DISCOVERY_TIME_S, once, clock=steady_clock())

        return on_event

    def _misfits(self, topic: str, own: QoSProfile, ours_offers: bool) -> dict[bytes, str]:
        """Return a sentence for each incompatible endpoint, by its identity."""
        way, theirs, ours, ends = (
            ('gets to', 'asks for', 'offers', self.get_subscriptions_info_by_topic(topic))
            if ours_offers else
            ('comes from', 'offers', 'asks for', self.get_publishers_info_by_topic(topic)))
        found = {}
        for end in ends:
            other = end.qos_profile
            why = mismatch(own, other) if ours_offers else mismatch(other, own)
            if why:
                found[bytes(end.endpoint_gid)] = (
                    f'nothing on {topic} {way} {node_of(end)}: '
                    f'it {theirs} {_words(other)}; {self.get_fully_qualified_name()} {ours} '
                    f'{_words(own)} ({why})')
        return found


def node_of(end: Any) -> str:
    """Return the full name of the node of a publisher or subscription on the graph."""
    return f'{end.node_namespace.rstrip("/")}/{end.node_name}'


def mismatch(offered: QoSProfile, asked: QoSProfile) -> str:
    """Return why publisher and subscription are incompatible; '' if they are not."""
    compatible, why = qos_check_compatible(offered, asked)
    if compatible != QoSCompatibility.ERROR:
        return ''
    return why.replace('ERROR: ', '').strip(';').replace(';', ', ')


def _words(qos: QoSProfile) -> str:
    return ', '.join(policy.name.lower().replace('_', ' ')
                     for policy in (qos.reliability, qos.durability))
