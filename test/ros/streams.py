# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A target that moves, and the stream of its poses."""

from time import monotonic

from geometry_msgs.msg import PoseStamped
from harness import FINAL, pose, positions_of, READY, stamp_of, stamped, tip
import numpy as np
import pinocchio as pin
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

HERE = tip(READY)
TURNED = pin.Quaternion(HERE.rotation).coeffs()


class Target:
    """A pose that moves on a circle, and the stream of it."""

    def __init__(self, probe, radius=0.1, speed=0.15, rate=100.0, here=HERE):
        self.here = here
        self.probe, self.radius, self.omega, self.rate = probe, radius, speed / radius, rate
        self.stream = probe.publisher(PoseStamped, 'goal_stream')
        # Of the stamps; the largest, as other processes may run between the two clocks.
        self._ahead = max(self._stamp_ahead() for _ in range(20))
        self.began = monotonic()
        self.sent = []

    def _stamp_ahead(self):
        """Return by how much (s) a stamp of now is ahead of the monotonic time."""
        now = JointState(header=Header(stamp=self.probe.get_clock().now().to_msg()))
        return stamp_of(now) - monotonic()

    def time_of(self, message):
        """Return the monotonic time of the stamp of a message."""
        return stamp_of(message) - self._ahead

    def at(self, time):
        """Return where the target is (3,), at a monotonic time; it begins at rest."""
        t = time - self.began
        angle = self.omega * (t - 0.5 if t > 1.0 else 0.5 * max(t, 0.0)**2)
        return self.here.translation + self.radius * np.array(
            [0.0, np.sin(angle), np.cos(angle) - 1.0])

    def run(self, seconds, until=None):
        """Stream for a while, receiving meanwhile; say until what, to end sooner."""
        end = monotonic() + seconds
        while monotonic() < end and not (until is not None and until()):
            message = PoseStamped()
            self.sent.append(stamped(self.probe, message))
            message.pose = pose(self.at(self.time_of(message)), self.here.rotation)
            self.stream.publish(message)
            again = monotonic() + 1.0 / self.rate
            while monotonic() < again:
                self.probe.spin_once(max(0.0, again - monotonic()))

    def errors(self, messages):
        """
        Return how far the tip was from the target at each joint state, m.

        By the stamps: on a busy machine joint states are late when they are received.
        """
        return np.array([np.linalg.norm(tip(positions_of(message)).translation
                                        - self.at(self.time_of(message)))
                         for message in messages])

    def session(self):
        """Return the answers to the goals that the stream has become, in order."""
        stamps = set(self.sent)
        return [status for status in self.probe.statuses if status['stamp'] in stamps]


def stream_answer(probe, sent):
    """Return the final answer to a stream; its first poses may be lost."""
    def final():
        return [each for each in probe.statuses
                if each['stamp'] in sent and each['state'] in FINAL]

    probe.wait(final, 60.0, 'the final answer to the stream')
    return final()[0]


def speeds(probe):
    return np.array([message.velocity[:6] for _, message in probe.states])
