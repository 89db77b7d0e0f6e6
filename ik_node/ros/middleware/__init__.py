# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Processes, quality of service, and where and when messages were sent.

    clocks     Clocks and stamps; when and by which host a message was sent
    executor   An executor that takes less processor time for each message than rclpy's
    handshake  Waits until another node hears what is published only once
    process    One node in one process, with a clean end; reports once a second
    qos        Profiles of topics, and what is said if two do not fit
"""
