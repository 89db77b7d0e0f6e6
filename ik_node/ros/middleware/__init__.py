# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Processes, quality of service, and where and when messages were sent.

    clocks           The clocks of a node, and the stamps of messages
    executor         An executor for one thread that takes less processor time for each ...
    handshake        Discovery handshake
    message_origin   Which host sent a message or a request, of which rclpy says only when
    periodic_report  Reports on /diagnostics: once a second, and at once when something changes
    process          Runs one node in one process, with a clean end on SIGINT and SIGTERM
    qos              The QoS profiles of our topics
    qos_mismatch     Logs incompatible QoS with the names of both nodes and their profiles
"""
