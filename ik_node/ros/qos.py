# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The QoS profiles of our topics."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

# Measurements: only the newest counts, and one that is lost is not sent again.
LATEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
# Only the newest counts, and it has to arrive.
LAST = QoSProfile(depth=1)
# What is so until told otherwise: who comes later gets it, too.
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE,
                     durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Goals: each is to be answered.
ALL = QoSProfile(history=HistoryPolicy.KEEP_ALL)
# Answers, as readers ask for them.
STATUS_QOS = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE,
                        durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Who is there: every announcement counts, and late joiners get the last one of each.
INSTANCE_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE,
                          durability=DurabilityPolicy.TRANSIENT_LOCAL)
