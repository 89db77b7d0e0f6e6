# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A controller behind a slow link, as a process, and a judge of its output.

The rig stands where the controller stands for the node: what is published on
``joint_trajectory``, or sent by action, reaches the controller late, and its joint states
reach the node late.
The controller has exact cycles however late this process is; what it commands in each of
them is kept.  The judge knows the limits and the cycle, and nothing of what was planned.
"""

from collections import deque
from dataclasses import dataclass
import gc
import json
import os
import sys
from threading import Lock
from time import sleep, time

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from benchmarks.takeover.judge import judge
from ik_node.ros.action_client import action_type
from ik_node.ros.middleware.executor import make_executor
from ik_node.simulation.controller import ControllerOptions, SimulatedController
from ik_node.simulation.joints import Following, LaggingPlant
from ik_node.simulation.node import TrajectoryServer

FASTEST_STATES = 0.004  # s, between two joint states


@dataclass(frozen=True)
class Setting:
    """
    One kind of controller and link.

    `late` are the delays (s) of the trajectories, taken in turn; `states_late` (s) that of
    the joint states; `lag` (s) how far the joints are behind their commands.
    """

    rate: float = 100.0
    from_desired: bool = False
    lag: float = 0.0
    late: tuple[float, ...] = (0.0,)
    states_late: float = 0.0

    @property
    def name(self):
        """Return it in one word."""
        return '-'.join([
            f'{self.rate:g}Hz', 'desired' if self.from_desired else 'measured',
            f'lag{1e3 * self.lag:g}', 'late' + '+'.join(f'{1e3 * t:g}' for t in self.late),
            f'back{1e3 * self.states_late:g}'])


class Recorder(LaggingPlant):
    """Joints that keep what they are commanded."""

    def __init__(self, q, following):
        super().__init__(q, following)
        self.commands = []

    def step(self, command, dt):
        """Keep the command, and follow it."""
        self.commands.append((command.q, command.qd, command.qdd))
        super().step(command, dt)


class Rig(Node):
    """Runs one controller after another, as asked for on ``rig/setting``."""

    def __init__(self, joints, q):
        super().__init__('rig', start_parameter_services=False)
        self._joints, self._q = joints, np.array(q, dtype=float)
        self._lock = Lock()
        self._under_way = deque()  # (time at which it arrives, message)
        self._states = deque()
        self._begin(Setting())
        self._publisher = self.create_publisher(JointState, 'joint_states', 10)
        self._dumped = self.create_publisher(String, 'rig/dumped', 10)
        self.create_subscription(JointTrajectory, 'joint_trajectory', self._on_trajectory, 10)
        kind = action_type()
        self._server = None if kind is None else TrajectoryServer(
            self, kind, self._take, lambda goal: self._controller.cancel(goal))
        self.create_subscription(String, 'rig/setting', self._on_setting, 10)

    def _begin(self, setting):
        self._setting, self._period = setting, 1.0 / setting.rate
        self._plant = Recorder(self._q, Following(setting.lag))
        self._controller = SimulatedController(
            self._joints, np.zeros(len(self._joints), dtype=bool), self._q,
            ControllerOptions(interpolate_from_desired_state=setting.from_desired), self._plant)
        self._cycle, self._next_state = round(time() / self._period), 0.0
        self._count, self._overdue, self._behind, self._stalled = 0, 0.0, 0.0, 0.0
        self._under_way.clear()
        self._states.clear()

    def _on_trajectory(self, message, info):
        # From when it was sent on: the link is not later because this process is.
        self._take(message, sent=1e-9 * info['source_timestamp'])

    def _take(self, message, goal=None, sent=None):
        with self._lock:
            late = self._setting.late[self._count % len(self._setting.late)]
            self._count += 1
            arrives = (time() if sent is None else sent) + late
            if self._under_way:  # a link keeps the order
                arrives = max(arrives, self._under_way[-1][0])
            self._overdue = max(self._overdue, (self._cycle - 1) * self._period - arrives)
            begin = 1e-9 * Time.from_msg(message.header.stamp).nanoseconds
            if begin:
                self._behind = max(self._behind, arrives - begin)
            self._under_way.append((arrives, message, goal))

    def _on_setting(self, message):
        with self._lock:
            given = json.loads(message.data)
            file = given.pop('file')
            if self._plant.commands:
                np.save(file, np.array(self._plant.commands))
            self._q = self._plant.state.q
            told = json.dumps({'file': file, 'overdue': self._overdue, 'behind': self._behind,
                               'stalled': self._stalled})
            self._begin(Setting(**given))
        self._dumped.publish(String(data=told))

    def work(self):
        """Do the cycles that are due."""
        with self._lock:
            now = time()
            self._stalled = max(self._stalled, now - self._cycle * self._period)
            while self._cycle * self._period <= now:
                at = self._cycle * self._period
                while self._under_way and self._under_way[0][0] <= at:
                    _, message, goal = self._under_way.popleft()
                    why = self._controller.offer(message, at, goal)
                    if why:
                        self.get_logger().error(why)
                state = self._controller.update(at, self._period)
                self._cycle += 1
                if at >= self._next_state:
                    self._next_state = at + FASTEST_STATES - 1e-6
                    self._states.append((at + self._setting.states_late, at, state))
            if self._server is not None:
                self._server.update(self._controller)
            due = []
            while self._states and self._states[0][0] <= now:
                due.append(self._states.popleft())
        for _, at, state in due:
            message = JointState(name=list(self._joints), position=state.q.tolist(),
                                 velocity=state.qd.tolist())
            message.header.stamp = Time(nanoseconds=round(1e9 * at)).to_msg()
            self._publisher.publish(message)
        return self._cycle * self._period


def judged(commands, rate, acceleration):
    """Return the Findings about what was commanded in each cycle, (N, 3, n): q, qd, qdd."""
    q, qd, qdd = commands.swapaxes(0, 1)
    return judge(np.arange(len(q)) / rate, q, qd, rate, acceleration, qdd)


def main():
    """Run until the process is told to end; joints and posture come as JSON."""
    given = json.loads(sys.argv[1])
    gc.disable()  # it grows with the commands that are kept, and would stop the cycles
    rclpy.init()
    rig, executor = Rig(given['joints'], given['q']), make_executor()
    executor.add_node(rig)
    try:
        while os.getppid() == given['parent'] and rclpy.ok():
            due = rig.work()
            executor.spin_once(timeout_sec=0.0)
            sleep(min(max(due - time(), 1e-4), 1e-3))
    except KeyboardInterrupt:
        pass


if __name__ == '__main__':
    main()
