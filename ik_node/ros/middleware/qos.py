# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The QoS profiles of our topics."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

# Measurements: only the latest matters, and lost ones are not sent again.
BEST_EFFORT_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
# Reliable, but only the latest matters.
NEWEST_QOS = QoSProfile(depth=1)
# Late joiners get the latest message.
LATCHED_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE,
                         durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Goals: each is answered, so none may be overwritten.
KEEP_ALL_QOS = QoSProfile(history=HistoryPolicy.KEEP_ALL)
# Subscriptions to ~/status.
STATUS_QOS = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE,
                        durability=DurabilityPolicy.TRANSIENT_LOCAL)
# The publisher of ~/status: a reader that is further behind loses the oldest answers.
ANSWERS_QOS = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Subscriptions to joint states that look at each of them.
EVERY_STATE_QOS = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
# Feedback of a handle: with depth 1 the latest would replace others.
FEEDBACK_QOS = QoSProfile(depth=100)
# Announcements of several nodes on one topic, each latched.
INSTANCE_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE,
                          durability=DurabilityPolicy.TRANSIENT_LOCAL)
