# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Time from a goal message to the trajectory message, measured between two processes.

    .venv/bin/python benchmarks/goal_latency.py [--goals 500]

This process publishes goals and takes the trajectories as a controller would,
so the figures hold two trips over DDS, TF and joint states, the solve, the plan
and its checks.
"""

import argparse
import os
from pathlib import Path
import signal
import subprocess
import sys
from time import perf_counter, sleep

from geometry_msgs.msg import PoseStamped
import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from ik_node.kinematics.arm import forward_kinematics
from ik_node.model.chain import make_chain
from ik_node.model.urdf import read_urdf
from ik_node.ros.handshake import greet
from ik_node.ros.messages import pose_stamped
from ik_node.ros.process import leave
from ik_node.share import share_file


def main() -> None:
    """Run the measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--goals', type=int, default=500)
    parser.add_argument('--urdf', type=Path, default=share_file('urdf/six_axis_arm.urdf'))
    options = parser.parse_args()
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    chain = make_chain(read_urdf(options.urdf))
    child = subprocess.Popen(
        [sys.executable, '-c', 'from ik_node.entry import ik_node; ik_node()', '--ros-args',
         '-p', f'urdf_file:={options.urdf}', '--log-level', 'fatal'])
    rclpy.init()
    node = rclpy.create_node('goal_latency')
    goals = node.create_publisher(PoseStamped, '/ik_node/goal_pose', 10)
    states = node.create_publisher(JointState, 'joint_states', 10)
    arrived: list[float] = []
    node.create_subscription(JointTrajectory, 'joint_trajectory',
                             lambda _message: arrived.append(perf_counter()), 10)
    posture = JointState(name=list(chain.joint_names), position=chain.middle.tolist())
    node.create_timer(0.01, lambda: states.publish(posture))
    if not greet(node, 'ik_node', 300.0, goals):
        sys.exit('the node did not start')
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    until = perf_counter() + 3.0
    while perf_counter() < until:
        executor.spin_once(timeout_sec=0.01)
    random = np.random.default_rng(0)
    lower, upper = np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi)
    times, lost = [], 0
    for _ in range(options.goals):
        T = forward_kinematics(chain, random.uniform(lower, upper))
        message = pose_stamped(T, chain.base_link)
        message.header.stamp = node.get_clock().now().to_msg()
        count, sent = len(arrived), perf_counter()
        goals.publish(message)
        while len(arrived) == count and perf_counter() < sent + 1.0:
            executor.spin_once(timeout_sec=0.05)
        if len(arrived) > count:
            times.append(1e3 * (arrived[-1] - sent))
        else:
            lost += 1
        sleep(0.002)
    p = np.percentile(times, (50, 90, 99, 100))
    print(f'{len(times)} goals, {lost} without a trajectory: median {p[0]:.2f} ms, '
          f'90 % {p[1]:.2f} ms, 99 % {p[2]:.2f} ms, longest {p[3]:.2f} ms')
    child.send_signal(signal.SIGINT)
    child.wait(10.0)
    leave(node, 0 if lost == 0 else 1)


if __name__ == '__main__':
    main()
