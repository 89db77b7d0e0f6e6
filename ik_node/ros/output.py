# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""How trajectories reach the controller: its topic."""

from __future__ import annotations

from rclpy.duration import Duration
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from ik_node.errors import Reason, TrajectoryError
from ik_node.ros.messages import trajectory_message
from ik_node.trajectory.acceptance import refusal
from ik_node.trajectory.trajectory import Trajectory

LISTENER_SETTLE = 0.2  # s; what is published right after discovery may be lost


class TopicOutput:
    """
    Publishes to ``joint_trajectory`` of a controller.

    Parameters
    ----------
    controller : str
        Its name; '' for the topic without one.

    """

    def __init__(self, node: Node, controller: str) -> None:
        controller = controller.strip('/')
        self._publisher = node.create_publisher(
            JointTrajectory, f'{controller}/joint_trajectory' if controller
            else 'joint_trajectory', 10)
        self._listener_seen: float | None = None

    @property
    def name(self) -> str:
        """Return where the trajectories go."""
        return self._publisher.topic_name

    def listeners(self) -> int:
        """Return how many listen."""
        count = self._publisher.get_subscription_count()
        if not count:
            self._listener_seen = None
        return count

    def ready(self, now: float) -> bool:
        """
        Return whether a controller listens and has had time to settle.

        Raises
        ------
        TrajectoryError
            NO_LISTENER if none listens.

        """
        if not self.listeners():
            raise TrajectoryError(
                f'nobody listens on {self.name}; start the controller, or name it by the '
                'parameter controller', Reason.NO_LISTENER)
        if self._listener_seen is None:
            self._listener_seen = now
        return now - self._listener_seen >= LISTENER_SETTLE

    def send(self, trajectory: Trajectory) -> None:
        """
        Publish a trajectory.

        Raises
        ------
        TrajectoryError
            If the controller would refuse it.

        """
        message = trajectory_message(trajectory)
        why = refusal(message, trajectory.joint_names, 0.0)
        if why:
            raise TrajectoryError(f'the controller would refuse the trajectory: {why}')
        self._publisher.publish(message)

    def flush(self, seconds: float) -> None:
        """Wait until the controller has what was published, at most so long."""
        self._publisher.wait_for_all_acked(Duration(seconds=seconds))
