# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A controller behind a slow link, as a process, and a judge of its output.

The rig stands where the controller stands for the node: what is published on
``joint_trajectory`` reaches the controller late, and its joint states reach the node late.
The controller has exact cycles however late this process is; what it commands in each of
them is kept.  The judge knows the limits and the cycle, and nothing of what was planned.
"""

from collections import deque
from dataclasses import dataclass
import json
import os
from pathlib import Path
import sys
from threading import Lock
from time import sleep, time

import numpy as np
import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from ik_node.simulation.controller import ControllerOptions, SimulatedController
from ik_node.simulation.joints import Following, LaggingPlant

FASTEST_STATES = 0.004  # s, between two joint states
STEP_ROOM = 1e-4        # rad, beside what the acceleration limit allows in a cycle
SHARE_OF_LIMIT = 1.05
SLOW = 1e-3             # rad/s; slower is no direction


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
        self._count = 0
        self._begin(Setting())
        self._publisher = self.create_publisher(JointState, 'joint_states', 10)
        self._dumped = self.create_publisher(String, 'rig/dumped', 10)
        self.create_subscription(JointTrajectory, 'joint_trajectory', self._take, 10)
        self.create_subscription(String, 'rig/setting', self._on_setting, 10)

    def _begin(self, setting):
        self._setting, self._period = setting, 1.0 / setting.rate
        self._plant = Recorder(self._q, Following(setting.lag))
        self._controller = SimulatedController(
            self._joints, np.zeros(len(self._joints), dtype=bool), self._q,
            ControllerOptions(interpolate_from_desired_state=setting.from_desired), self._plant)
        self._cycle, self._next_state = round(time() / self._period), 0.0
        self._under_way.clear()
        self._states.clear()

    def _take(self, message):
        with self._lock:
            late = self._setting.late[self._count % len(self._setting.late)]
            self._count += 1
            arrives = time() + late
            if self._under_way:  # a link keeps the order
                arrives = max(arrives, self._under_way[-1][0])
            self._under_way.append((arrives, message))

    def _on_setting(self, message):
        with self._lock:
            given = json.loads(message.data)
            file = given.pop('file')
            if self._plant.commands:
                np.save(file, np.array(self._plant.commands))
            self._q = self._plant.state.q
            self._begin(Setting(**given))
        self._dumped.publish(String(data=file))

    def work(self):
        """Do the cycles that are due."""
        with self._lock:
            now = time()
            while self._cycle * self._period <= now:
                at = self._cycle * self._period
                while self._under_way and self._under_way[0][0] <= at:
                    why = self._controller.offer(self._under_way.popleft()[1], at)
                    if why:
                        self.get_logger().error(why)
                state = self._controller.update(at, self._period)
                self._cycle += 1
                if at >= self._next_state:
                    self._next_state = at + FASTEST_STATES - 1e-6
                    self._states.append((at + self._setting.states_late, at, state))
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
    """
    Judge what was commanded cycle by cycle, (N, 3, n): q, qd, qdd.

    Returns
    -------
    dict
        ``step``: largest step (rad) of a position beyond the mean speed of its cycle;
        ``allowed``: what the acceleration limit makes of it, and STEP_ROOM;
        ``backwards``: cycles in which a joint went against its velocity;
        ``acceleration``: largest of the reference (rad/s^2);
        ``speed_step``: largest step of a velocity, as an acceleration (rad/s^2).

    """
    T = 1.0 / rate
    q, qd, qdd = commands.swapaxes(0, 1)
    way, before, after = np.diff(q, axis=0), qd[:-1], qd[1:]
    steps = np.abs(way - T * before)
    against = (way * before < 0.0) & (way * after < 0.0) & (np.abs(before) > SLOW) \
        & (np.abs(way) > STEP_ROOM)
    return {'step': float(steps.max()), 'allowed': 0.5 * acceleration * T * T + STEP_ROOM,
            'backwards': int(against.any(axis=1).sum()),
            'acceleration': float(np.abs(qdd).max()),
            'speed_step': float(np.abs(np.diff(qd, axis=0)).max() / T)}


def faults_of(commands, rate, acceleration):
    """Return what of a controller's output is a kick, in words; an empty list: nothing."""
    found = judged(commands, rate, acceleration)
    words = []
    if found['step'] > found['allowed']:
        words.append(f'a step of {1e3 * found["step"]:.3f} mrad beyond velocity x cycle, '
                     f'{1e3 * found["allowed"]:.3f} are allowed')
    if found['backwards']:
        words.append(f'{found["backwards"]} cycles backwards')
    if found['acceleration'] > SHARE_OF_LIMIT * acceleration:
        words.append(f'the reference is accelerated by {found["acceleration"]:.3f} rad/s^2')
    return words


def main():
    """Run until the process is told to end; joints and posture come as JSON."""
    given = json.loads(sys.argv[1])
    rclpy.init()
    rig, executor = Rig(given['joints'], given['q']), SingleThreadedExecutor()
    executor.add_node(rig)
    Path(given['ready']).touch()
    try:
        while os.getppid() == given['parent']:
            due = rig.work()
            executor.spin_once(timeout_sec=0.0)
            sleep(min(max(due - time(), 1e-4), 1e-3))
    except (KeyboardInterrupt, ExternalShutdownException):
        pass


if __name__ == '__main__':
    main()
