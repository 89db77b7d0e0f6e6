# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Time from a goal message to the trajectory message, beside a bare echo of the same messages.

    .venv/bin/python -m benchmarks.goal_latency [--goals 200]
    .venv/bin/python -m benchmarks.goal_latency --idle 30

This process publishes goals to the node and takes the trajectories; the simulated controller
moves the arm.  After each goal it publishes the pose to the echo, which answers with the last
trajectory, made anew from its arrays, so that both are measured at the same time on the same
machine.  Half of the goals come while the arm rests, half while it moves.  The processor time
within the node is that of its thread from the goal callback to the return of publish.

With --idle it measures the processor time of node and simulated controller, with all their
threads, while the arm rests for so many seconds; beside them that of a bare node of rclpy, which
takes the same joint states and does nothing with them.
"""

from __future__ import annotations

import argparse
from contextlib import contextmanager
import os
from pathlib import Path
import signal
import subprocess
import sys
from time import perf_counter, sleep, thread_time
from typing import NoReturn

from geometry_msgs.msg import PoseStamped
import numpy as np
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from trajectory_msgs.msg import JointTrajectory

from ik_node.base.system import share_file
from ik_node.kinematics.arm import forward_kinematics
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import read_urdf
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.ros.messages.conversion import pose_stamped, trajectory_message
from ik_node.ros.middleware.clocks import seconds_of
from ik_node.ros.middleware.handshake import greet, wait_for
from ik_node.ros.middleware.process import leave
from ik_node.ros.middleware.qos import STATES_QOS

STEP_RANGE_RAD = 0.5, 1.0  # of each joint, from its middle to the goals
IN_MOTION_S = 0.15  # after the start of a motion
REST_S = 0.4  # after the end of a motion; with it the answer is on the way
ANSWER_S = 2.0
START_S = 300.0
SETTLE_S = 5.0  # until the node has loaded what it did not need to start
COST_TOPIC = 'goal_cost'
ECHO = 'from benchmarks.goal_latency import echo; echo()'
MEASURED_NODE = 'from benchmarks.goal_latency import measured_node; measured_node()'
BARE = 'from benchmarks.goal_latency import bare; bare()'
NODE = 'from ik_node.tools.entry import ik_node; ik_node()'
SIMULATION = 'from ik_node.tools.entry import sim_controller; sim_controller()'


def echo() -> None:
    """Answer each pose with the last trajectory, built and published as the node does."""
    rclpy.init()
    node = rclpy.create_node('goal_echo')
    publisher = node.create_publisher(JointTrajectory, 'echo_trajectory', 1)
    last: list[Trajectory] = []

    def keep(message: JointTrajectory) -> None:
        q, qd, qdd = (np.array([getattr(point, name) for point in message.points])
                      for name in ('positions', 'velocities', 'accelerations'))
        times = np.array([seconds_of(point.time_from_start) for point in message.points])
        last[:] = [Trajectory(tuple(message.joint_names), MotionState.at_rest(q[0]), times, q, qd,
                              qdd)]

    def answer(message: PoseStamped) -> None:
        stamp = node.get_clock().now().nanoseconds
        publisher.publish(trajectory_message(last[0], stamp))

    node.create_subscription(JointTrajectory, 'joint_trajectory', keep, 10)
    node.create_subscription(PoseStamped, '/goal_echo/goal_pose', answer, 10)
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        leave(None, 0)


def bare() -> None:
    """Take joint states."""
    rclpy.init()
    node = rclpy.create_node('bare')
    node.create_subscription(JointState, 'joint_states', lambda message: None, STATES_QOS)
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        leave(None, 0)


def measured_node() -> None:
    """Run the node, which tells the processor time (s) of each goal on a topic."""
    from ik_node.node.execution import outputs
    from ik_node.node.intake import goal_subscriptions
    from ik_node.node.node import main as run_node
    began = 0.0
    take, make_output = goal_subscriptions.GoalSubscriptions._go_on, outputs.TopicOutput.__init__
    send = outputs.TopicOutput.send

    def timed_take(self) -> None:
        nonlocal began
        began = thread_time()
        take(self)

    def with_publisher(self, node: Node, *rest) -> None:
        make_output(self, node, *rest)
        self.costs = node.create_publisher(Float64, COST_TOPIC, 10)

    def timed_send(self, *given, **named) -> None:
        send(self, *given, **named)
        self.costs.publish(Float64(data=thread_time() - began))

    goal_subscriptions.GoalSubscriptions._go_on = timed_take
    outputs.TopicOutput.__init__, outputs.TopicOutput.send = with_publisher, timed_send
    run_node()


class Client(Node):
    """Publishes goals, and notes when trajectories come."""

    def __init__(self) -> None:
        super().__init__('goal_latency')
        self.goals = self.create_publisher(PoseStamped, '/ik_node/goal_pose', 10)
        self.echoes = self.create_publisher(PoseStamped, '/goal_echo/goal_pose', 10)
        self.answered: dict[str, tuple[float, JointTrajectory]] = {}
        self.moved = perf_counter()
        self.costs: list[float] = []
        for topic in ('joint_trajectory', 'echo_trajectory'):
            self.create_subscription(
                JointTrajectory, topic, lambda message, topic=topic: self.answered.update(
                    {topic: (perf_counter(), message)}), 10)
        self.create_subscription(JointState, 'joint_states', self._on_state, 10)
        self.create_subscription(Float64, COST_TOPIC,
                                 lambda message: self.costs.append(message.data), 10)

    def _on_state(self, message: JointState) -> None:
        if np.abs(message.velocity).max() > 1e-6:
            self.moved = perf_counter()

    def ask(self, publisher, message: PoseStamped, topic: str) -> float | None:
        """Return the time (ms) until a trajectory comes; None if none does."""
        self.answered.pop(topic, None)
        message.header.stamp = self.get_clock().now().to_msg()
        sent = perf_counter()
        publisher.publish(message)
        come = wait_for(self, lambda: topic in self.answered, ANSWER_S)
        return 1e3 * (self.answered[topic][0] - sent) if come else None


@contextmanager
def running(code: str, *arguments: str):
    """Run a process of Python; yield its identifier."""
    child = subprocess.Popen([sys.executable, '-c', code, '--ros-args', *arguments,
                              '--log-level', 'error'])
    try:
        yield child.pid
    finally:
        child.send_signal(signal.SIGINT)
        child.wait(10.0)


def main() -> None:
    """Run the measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--goals', type=int, default=200)
    parser.add_argument('--idle', type=float, metavar='SECONDS')
    parser.add_argument('--urdf', type=Path, default=share_file('urdf/six_axis_arm.urdf'))
    options = parser.parse_args()
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    chain = make_chain(read_urdf(options.urdf))
    rclpy.init()
    urdf = ('-p', f'urdf_file:={options.urdf}')
    if options.idle:
        _idle(options.idle, urdf)
    client = Client()
    with running(SIMULATION, *urdf), running(ECHO), running(MEASURED_NODE, *urdf):
        if not all(greet(client, name, START_S, publisher) for name, publisher in (
                ('ik_node', client.goals), ('goal_echo', client.echoes))):
            sys.exit('the node did not start')
        wait_for(client, lambda: False, 2.0)
        figures, points = _measure(client, chain, options.goals)
    for when, (node, bare) in figures.items():
        _report(when, node, bare)
    print(f'trajectories have {np.median(points):.0f} points in the median; processor time in the '
          f'node, from the goal callback to the return of publish: median '
          f'{1e3 * np.median(client.costs):.2f} ms, 99 % '
          f'{1e3 * np.percentile(client.costs, 99):.2f} ms')
    leave(client, 0)


def _idle(seconds: float, urdf: tuple[str, ...]) -> NoReturn:
    node = rclpy.create_node('idle')
    publisher = node.create_publisher(PoseStamped, '/ik_node/goal_pose', 10)
    with running(SIMULATION, *urdf) as controller, running(BARE) as nothing, \
            running(NODE, *urdf) as ours:
        if not greet(node, 'ik_node', START_S, publisher):
            sys.exit('the node did not start')
        sleep(SETTLE_S)
        processes = {'node': ours, 'simulated controller': controller, 'bare node': nothing}
        before = {name: _processor_time(pid) for name, pid in processes.items()}
        sleep(seconds)
        print('at rest: ' + ', '.join(
            f'{name} {100.0 * (_processor_time(pid) - before[name]) / seconds:.1f} % of a core'
            for name, pid in processes.items()))
    leave(node, 0)


def _processor_time(pid: int) -> float:
    """Return the processor time (s) that all threads of a process have taken."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def _measure(client: Client, chain, goals: int) -> tuple[dict[str, tuple], list[int]]:
    random = np.random.default_rng(0)
    figures: dict[str, tuple[list[float], list[float]]] = {'at rest': ([], []),
                                                           'in motion': ([], [])}
    points = []
    for k in range(-2, goals):  # the node waits for a controller that it has just discovered
        when = ('at rest', 'in motion')[k % 2]
        if when == 'at rest':
            wait_for(client, lambda: perf_counter() > client.moved + REST_S, 30.0)
        else:
            wait_for(client, lambda: False, IN_MOTION_S)
        step = random.uniform(*STEP_RANGE_RAD, chain.n) * random.choice([-1.0, 1.0], chain.n)
        q = np.clip(chain.middle + step, chain.lower + 0.1, chain.upper - 0.1)
        message = pose_stamped(forward_kinematics(chain, q), chain.base_link)
        node = client.ask(client.goals, message, 'joint_trajectory')
        if node is None:
            print(f'goal {k} had no trajectory', file=sys.stderr)
            continue
        points.append(len(client.answered['joint_trajectory'][1].points))
        wait_for(client, lambda: False, 0.05)  # the echo has the trajectory, too
        bare = client.ask(client.echoes, message, 'echo_trajectory')
        if bare is not None and k >= 0:
            figures[when][0].append(node)
            figures[when][1].append(bare)
    return figures, points


def _report(when: str, node: list[float], bare: list[float]) -> None:
    def shown(times: list[float]) -> str:
        return '{:.2f} ms, 90 % {:.2f} ms, 99 % {:.2f} ms'.format(
            *np.percentile(times, (50, 90, 99)))

    more = np.subtract(np.percentile(node, (50, 99)), np.percentile(bare, (50, 99)))
    print(f'{when}, {len(node)} goals: node median {shown(node)}; echo median {shown(bare)}; '
          f'the node takes {more[0]:.2f} ms more at the median, {more[1]:.2f} ms more at 99 %')


if __name__ == '__main__':
    main()
