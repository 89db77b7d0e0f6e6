# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Processes, quality of service, and where and when messages were sent.

    clocks     The clocks of a node, and the stamps of messages
    executor   An executor for one thread that takes less processor time for each message than ...
    handshake  Discovery handshake
    process    Runs one node in one process, with a clean end on SIGINT and SIGTERM
    qos        The QoS profiles of our topics
"""
