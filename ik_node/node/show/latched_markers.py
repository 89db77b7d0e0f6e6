# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A latched topic of markers, which are made only while somebody subscribes."""

from __future__ import annotations

from collections.abc import Callable
import traceback
from typing import Any

from rclpy.node import Node
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.ros.middleware.clocks import steady_clock
from ik_node.ros.middleware.qos import LATCHED_QOS

try:
    from rclpy.event_handler import PublisherEventCallbacks
except ImportError:  # Humble has no event for new subscribers
    PublisherEventCallbacks = None

DISPLAY_DELAY_S = 0.2  # after a change: a camera sends many, and the arm is braked first


class LatchedMarkers:
    """
    Publishes all markers of a topic together, some time after a change.

    Parameters
    ----------
    topic : str
    make : callable
        Returns the markers.

    """

    def __init__(self, node: Node, topic: str, make: Callable[[], list[Marker]]) -> None:
        self._node, self._make = node, make
        self._behind = False  # whether the latched message is older than the last change
        self._publisher = node.create_publisher(
            MarkerArray, topic, LATCHED_QOS, event_callbacks=PublisherEventCallbacks
            and PublisherEventCallbacks(matched=self._on_matched))
        self._timer = node.create_timer(DISPLAY_DELAY_S, self._publish, clock=steady_clock())
        self._timer.cancel()

    def show(self) -> None:
        """Show what there is, soon."""
        if self._timer.is_canceled():
            self._timer.reset()

    def _publish(self) -> None:
        self._timer.cancel()
        self._behind = bool(PublisherEventCallbacks) \
            and self._publisher.get_subscription_count() == 0
        if self._behind:
            return
        try:
            self._publisher.publish(MarkerArray(markers=self._make()))
        except Exception:  # noqa: BLE001  a display must not disturb goals
            self._node.get_logger().error(f'not shown: {traceback.format_exc()}',
                                          throttle_duration_sec=60.0)

    def _on_matched(self, _info: Any) -> None:
        if self._behind:
            self.show()
