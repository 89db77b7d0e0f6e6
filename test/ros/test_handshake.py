# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What a tool waits for."""

import signal

import pytest
from std_msgs.msg import Empty

from ik_node.ros.middleware.handshake import wait_for


def test_ctrl_c_takes_effect_between_two_messages(probe):
    """Within one, rclpy would lose the exception."""
    taken = []

    def take(_message):
        signal.raise_signal(signal.SIGINT)
        taken.append('whole')

    publisher = probe.create_publisher(Empty, 'something', 10)
    probe.create_subscription(Empty, 'something', take, 10)
    probe.wait(publisher.get_subscription_count, what='the subscription')
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            publisher.publish(Empty())
            wait_for(probe, lambda: False, 20.0)
    finally:
        signal.signal(signal.SIGINT, before)
    assert taken == ['whole']
