# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Stream a moving target to ik_node: a circle in front of the arm of this package.

``python3 stream_circle.py [--seconds 10]``, with the tip near the start.  It waits until a node
listens.
"""

import argparse
from math import cos, pi, sin

from geometry_msgs.msg import PoseStamped
import rclpy
from rclpy.node import Node

CENTRE_M = (0.5, 0.0, 0.4)  # in base_link
RADIUS_M = 0.1
LAP_S = 5.0
RATE_HZ = 100.0
RAMP_S = 1.0                # the radius grows for so long, so that the target starts gently


def position_at(t: float) -> tuple[float, float, float]:
    """Return where the target is after `t` seconds, m in base_link."""
    radius, angle = RADIUS_M * min(t / RAMP_S, 1.0), 2.0 * pi * t / LAP_S
    return (CENTRE_M[0], CENTRE_M[1] + radius * sin(angle), CENTRE_M[2] + radius * cos(angle))


class Circle(Node):
    """Publishes stamped poses of the target on ik_node/goal_stream."""

    def __init__(self) -> None:
        super().__init__('stream_circle')
        self.seconds = 0.0
        self._publisher = self.create_publisher(PoseStamped, 'ik_node/goal_stream', 1)
        self._began = self.get_clock().now()
        self.create_timer(1.0 / RATE_HZ, self._publish)

    def _publish(self) -> None:
        now = self.get_clock().now()
        if not self._publisher.get_subscription_count():
            self._began = now  # the circle begins when a node listens
        self.seconds = 1e-9 * (now - self._began).nanoseconds
        pose = PoseStamped()
        pose.header.stamp, pose.header.frame_id = now.to_msg(), 'base_link'
        position, orientation = pose.pose.position, pose.pose.orientation
        position.x, position.y, position.z = position_at(self.seconds)
        orientation.x, orientation.w = 1.0, 0.0  # the tool points down
        self._publisher.publish(pose)


def main() -> None:
    """Publish until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=10.0)
    options = parser.parse_args()
    rclpy.init()
    circle = Circle()
    while circle.seconds < options.seconds:
        rclpy.spin_once(circle)
    circle.destroy_node()
    rclpy.shutdown()


if __name__ == '__main__':
    main()
