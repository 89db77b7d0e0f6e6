# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What runs on the hosts of lossy_network: a client that stops what it began, and a witness."""

from functools import partial
import json
from random import Random
import sys
from time import monotonic, sleep

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState, PointCloud2, PointField
from visualization_msgs.msg import MarkerArray

from ik_node.client import Arm, ClientError, GoalHandle, GoalNotReachedError
from ik_node.ros.middleware.handshake import greet, wait_for
from ik_node.ros.middleware.qos import LATCHED_QOS

POSTURES = [0.0, 0.3, -0.4, 0.0, 1.0, 0.0], [1.0, -0.2, -0.2, 0.5, 0.6, 0.5]
PATIENCE_S = 60.0
CLOUD_POINTS = 100_000
RAMP_S = 0.6  # until every ramp is over


def connected() -> Arm:
    """Return the arm, once the processor is free to start the node."""
    end = monotonic() + PATIENCE_S
    while True:
        try:
            return Arm(timeout=PATIENCE_S)
        except ClientError:
            if monotonic() > end:
                raise


def begin(arm: Arm) -> list[float]:
    """Move to the first posture, once the controller is there; return another."""
    end = monotonic() + PATIENCE_S
    while True:
        try:
            arm.joints(POSTURES[0]).wait(PATIENCE_S)
            return farther(arm)
        except GoalNotReachedError:
            if monotonic() > end:
                raise
            sleep(0.2)


def client(tries: int, seed: int, patience: int) -> None:
    """
    Send goals, stop each of them soon after, and say when and what was answered.

    The answer to a goal may come after `patience` (s): then it is not waited for.
    """
    draw = Random(seed)
    with connected() as arm:
        begin(arm)
        print(json.dumps('ready'), flush=True)
        sys.stdin.readline()
        for _ in range(tries):
            after = draw.choice([0.02, 0.02, draw.uniform(0.02, 1.0)])
            sent, goal = sent_goal(arm)
            sleep(after)
            asked = monotonic()
            stop = arm.stop()
            stop.wait(PATIENCE_S)
            answered = monotonic()
            while not goal.done and monotonic() < answered + patience:
                sleep(0.01)
            print(json.dumps({
                'sent': sent, 'stop': asked, 'answered': answered,
                'state': goal.result.state if goal.done else '',
                'sentence': goal.result.message if goal.done else stop.result}), flush=True)
            sleep(RAMP_S)


def sent_goal(arm: Arm) -> tuple[float, GoalHandle]:
    """Send a goal; return when, and the goal.  The client may miss its node for a while."""
    end = monotonic() + PATIENCE_S
    while True:
        try:
            sent = monotonic()
            return sent, arm.joints(farther(arm))
        except ClientError:
            if monotonic() > end:
                raise


def farther(arm: Arm) -> list[float]:
    """Return the posture to which the way is longer."""
    return max(POSTURES, key=lambda posture: np.abs(arm.q - posture).max())


def camera(reliability: str, clouds: int) -> None:
    """Publish large clouds; say whether the last one became solid, and how many were lost."""
    rclpy.init()
    node, markers, lost = rclpy.create_node('camera'), [], ['0']

    def take_health(message: DiagnosticArray) -> None:
        for status in message.status:
            lost.extend(pair.value for pair in status.values if pair.key == 'point_clouds_lost')

    node.create_subscription(MarkerArray, '/ik_node/scene_markers', markers.append, LATCHED_QOS)
    node.create_subscription(DiagnosticArray, '/diagnostics', take_health, 10)
    publisher = node.create_publisher(PointCloud2, '/ik_node/scene_points', QoSProfile(
        depth=1, reliability=ReliabilityPolicy[reliability]))
    assert greet(node, '/ik_node', PATIENCE_S, publisher)
    print(json.dumps('ready'), flush=True)
    sys.stdin.readline()
    for k in range(clouds):
        # Far from the arm, in few cells.
        draw = np.random.default_rng(k).uniform(0.0, 0.1, (CLOUD_POINTS, 3))
        cloud = point_cloud(draw + [2.0, 0.0, 0.1 * k])
        sleep(1.0)
        publisher.publish(cloud)
    is_there = partial(any_solid_near, markers, 0.1 * (clouds - 1))
    came = wait_for(node, is_there, PATIENCE_S if reliability == 'RELIABLE' else 1.0)
    wait_for(node, lambda: lost[-1] != '0', 3.0)
    print(json.dumps({'came': came, 'lost': int(lost[-1])}), flush=True)


def point_cloud(points: np.ndarray) -> PointCloud2:
    """Return a cloud of points (N, 3) in the base link."""
    count = len(points)
    cloud = PointCloud2(
        height=1, width=count, point_step=12, row_step=12 * count,
        data=points.astype('<f4').tobytes(),
        fields=[PointField(name=name, offset=4 * k, datatype=PointField.FLOAT32, count=1)
                for k, name in enumerate('xyz')])
    cloud.header.frame_id = 'base_link'
    return cloud


def any_solid_near(markers: list[MarkerArray], height: float) -> bool:
    """Return whether the last markers show cells of a cloud that begins at a height (m)."""
    cells = [marker.pose.position.z for message in markers[-1:] for marker in message.markers
             if marker.ns == 'objects']
    return bool(cells) and height < min(cells) < height + 0.1


def witness() -> None:
    """Write when each joint state came, and how fast the fastest joint was."""
    rclpy.init()
    node = rclpy.create_node('witness')

    def take(message: JointState) -> None:
        print(f'{monotonic():.4f} {max(map(abs, message.velocity)):.5f} '
              + ' '.join(f'{value:.5f}' for value in message.position))

    node.create_subscription(JointState, 'joint_states', take, 1000)
    rclpy.spin(node)


if __name__ == '__main__':
    {'client': lambda: client(*map(int, sys.argv[2:])), 'witness': witness,
     'camera': lambda: camera(sys.argv[2], int(sys.argv[3]))}[sys.argv[1]]()
