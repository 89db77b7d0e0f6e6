# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Two arms under load for minutes or hours: every goal is to be answered once, nothing is to grow.

    .venv/bin/python -m benchmarks.soak [--minutes 30] [--json soak.json]

Two ik_nodes with a simulated controller each, in two namespaces.  This process sends goals of
which some can be reached, some not, and some make no sense, and once a minute a burst of them
to one side; it knows the answers by their stamps.  Memory and time are the kernel's figures
(/proc) of both ik_nodes, lateness is their own, from /diagnostics.
"""

from __future__ import annotations

import argparse
from collections import Counter
from contextlib import ExitStack
import json
from math import nan
import os
from pathlib import Path
import sys
from tempfile import TemporaryDirectory
from time import monotonic

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped
import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile
from rclpy.time import Time as RosTime
from sensor_msgs.msg import JointState

from benchmarks.viewer_cpu import cpu_seconds
from ik_node.kinematics.arm import forward_kinematics
from ik_node.model.chain import Chain, make_chain
from ik_node.model.urdf import read_urdf
from ik_node.ros.checks import READY
from ik_node.ros.greeting import greet
from ik_node.ros.intake import take_next
from ik_node.ros.messages import pose_stamped
from ik_node.ros.process import leave
from ik_node.ros.status import GoalState, stamp_text
from ik_node.tools.demo import running
from ik_node.tools.share import share_file

SIDES = 'left', 'right'
URDF = share_file('urdf/six_axis_arm.urdf')
PATIENCE = 300.0  # s; the first start of a machine compiles
ANSWERED = 60.0   # s after the last goal, until an answer counts as missing
SETTLE = 2.0      # s more, for second answers
ALL = QoSProfile(history=HistoryPolicy.KEEP_ALL)
MEGABYTE = 2.0**20


class Side:
    """
    What was sent to one ik_node, and what it answered.

    Attributes
    ----------
    sent : dict of str to float
        Monotonic time (s) at which each goal was sent, by its stamp.
    answers : dict of str to float
        The same of its final answer.
    twice : list of str
        Stamps of further final answers.
    late : list of float
        By how much (s) its callbacks were late, once a second.

    """

    def __init__(self, node: Node, name: str, chain: Chain, random: np.random.Generator,
                 depth: int) -> None:
        self._node = node
        self._chain = chain
        self._random = random
        self._name = name
        self.sent: dict[str, float] = {}
        self.answers: dict[str, float] = {}
        self.states: Counter[str] = Counter()
        self.twice: list[str] = []
        self.late: list[float] = []
        self.lost = 0
        self.ready = False
        self._last_stamp = 0
        queue = QoSProfile(depth=depth)
        self.poses = node.create_publisher(PoseStamped, f'/{name}/ik_node/goal_pose', queue)
        self._joints = node.create_publisher(JointState, f'/{name}/ik_node/goal_joints', queue)
        self._answers = node.create_subscription(
            DiagnosticStatus, f'/{name}/ik_node/status', self._on_status, ALL)

    def send(self) -> str:
        """Send a goal of some kind; return its stamp."""
        kind, random = self._random.random(), self._random
        lower, upper = np.maximum(self._chain.lower, -np.pi), np.minimum(self._chain.upper, np.pi)
        q = random.uniform(lower, upper)
        if kind < 0.2:
            return self._publish(self._joints, JointState(
                name=list(self._chain.joint_names), position=(q + 10.0 * (kind < 0.05)).tolist()))
        goal = pose_stamped(forward_kinematics(self._chain, q), self._chain.base_link)
        if kind > 0.9:  # faulty
            fault = random.integers(5)
            if fault == 0:
                goal.pose.position.x = nan
            elif fault == 1:
                goal.pose.orientation.w = 9.0
            elif fault == 2:
                goal.header.frame_id = ''
            elif fault == 3:
                goal.header.frame_id = 'nowhere'
            else:
                return self._publish(self.poses, goal, age=1000.0)
        elif kind > 0.7:  # out of reach
            goal.pose.position.x += 5.0
        return self._publish(self.poses, goal)

    def _publish(self, publisher, goal, age: float = 0.0) -> str:
        now = self._node.get_clock().now().nanoseconds
        self._last_stamp = max(self._last_stamp + 1, now)
        goal.header.stamp = RosTime(nanoseconds=self._last_stamp - int(1e9 * age)).to_msg()
        stamp = stamp_text(goal.header.stamp)
        self.sent[stamp] = monotonic()
        publisher.publish(goal)
        return stamp

    def _on_status(self, message: DiagnosticStatus) -> None:
        self._take(message)
        while (found := take_next(self._answers)) is not None:
            self._take(found[0])

    def _take(self, message: DiagnosticStatus) -> None:
        values = {pair.key: pair.value for pair in message.values}
        if values['state'] == GoalState.ACCEPTED.value:
            return
        stamp = values['stamp']
        if stamp in self.answers:
            self.twice.append(stamp)
        self.answers[stamp] = monotonic()
        self.states[values['state']] += 1

    def hear(self, status: DiagnosticStatus) -> None:
        """Take what a node says of its health."""
        if status.name != f'/{self._name}/ik_node: health':
            return
        self.ready = status.message.startswith(READY)
        values = {pair.key: pair.value for pair in status.values}
        self.late.append(1e-3 * float(values['heartbeat_late_ms_max']))
        self.lost = int(values['goals_lost'])

    def missing(self) -> int:
        """Return how many goals have no answer."""
        return len(self.sent.keys() - self.answers.keys())


def memory(pid: int) -> float:
    """Return the resident memory of a process, MB."""
    pages = int(Path(f'/proc/{pid}/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE') / MEGABYTE


def slope(times: np.ndarray, values: np.ndarray) -> float:
    """Return by how much values grow an hour, after the first fifth of the time (s)."""
    warm = times >= times[0] + 0.2 * (times[-1] - times[0])
    return float(3600.0 * np.polyfit(times[warm], values[warm], 1)[0])


def quarter(side: Side, begin: float, end: float, without: set[str]) -> list[float]:
    """Return median and 99th percentile (ms) of the answers to what was sent in a time."""
    took = [side.answers[stamp] - at for stamp, at in side.sent.items()
            if begin <= at < end and stamp in side.answers and stamp not in without]
    return (1e3 * np.percentile(took, (50, 99))).round(1).tolist() if took else []


class Soak:
    """The load, and what is seen of it."""

    def __init__(self, node: Node, options: argparse.Namespace) -> None:
        self._node = node
        self._options = options
        self._executor = SingleThreadedExecutor()
        random = np.random.default_rng(options.seed)
        chain = make_chain(read_urdf(URDF))
        self.sides = {name: Side(node, name, chain, random, 2 * options.burst + 1000)
                      for name in SIDES}
        self.samples: dict[str, list[tuple[float, float, float]]] = {name: [] for name in SIDES}
        self.bursts: set[str] = set()
        node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 100)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            for side in self.sides.values():
                side.hear(status)

    def spin_until(self, condition, seconds: float) -> bool:
        """Take what comes until a condition holds; return whether it does."""
        end = monotonic() + seconds
        while not condition() and monotonic() < end:
            self._executor.spin_once(timeout_sec=0.05)
        return condition()

    def start(self) -> None:
        """Wait until both nodes would take goals."""
        for name, side in self.sides.items():
            if not greet(self._node, f'/{name}/ik_node', PATIENCE, side.poses):
                raise SystemExit(f'{name} did not start')
        self._executor.add_node(self._node)
        if not self.spin_until(lambda: all(side.ready for side in self.sides.values()), PATIENCE):
            raise SystemExit('the nodes do not become ready')
        for side in self.sides.values():
            side.late.clear()

    def run(self, processes: dict[str, int]) -> None:
        """Send goals for the time that was asked for."""
        options, begin = self._options, monotonic()
        end = begin + 60.0 * options.minutes
        due = sampled = begin
        burst = begin + 0.5 * min(options.burst_every, end - begin)
        both = [*self.sides.values()]
        turn = sent = 0
        while (now := monotonic()) < end:
            if now >= burst:
                side = both[turn % 2]
                turn += 1
                self.bursts.update(side.send() for _ in range(options.burst))
                burst += options.burst_every
                due = max(due, monotonic())
            # What could not be sent in time is not sent faster afterwards.
            due = max(due, now - 1.0)
            while due <= now:
                both[sent % 2].send()
                sent += 1
                due += 1.0 / options.rate
            if now >= sampled:
                for name, pid in processes.items():
                    self.samples[name].append((now, memory(pid), cpu_seconds(pid)))
                sampled += 1.0
            self._executor.spin_once(timeout_sec=max(0.0, due - monotonic()))
        self.spin_until(lambda: not any(side.missing() for side in both), ANSWERED)
        self.spin_until(lambda: False, SETTLE)

    def report(self) -> dict[str, object]:
        """Return the figures."""
        found: dict[str, object] = {'minutes': self._options.minutes,
                                    'load_average': [*os.getloadavg()]}
        for name, side in self.sides.items():
            t, rss, cpu = np.array(self.samples[name]).T
            span = 0.25 * (t[-1] - t[0])
            found[name] = {
                'sent': len(side.sent), 'unanswered': side.missing(),
                'answered_twice': len(side.twice),
                'answers_to_nothing': len(side.answers.keys() - side.sent.keys()),
                'lost': side.lost, **dict(side.states),
                'first_quarter_ms': quarter(side, t[0], t[0] + span, self.bursts),
                'last_quarter_ms': quarter(side, t[-1] - span, np.inf, self.bursts),
                'memory_mb': [round(float(each), 1) for each in (rss[0], rss.max(), rss[-1])],
                'memory_slope_mb_per_hour': round(slope(t, rss), 2),
                'cpu_share': round((cpu[-1] - cpu[0]) / (t[-1] - t[0]), 3),
                'late_ms_max': round(1e3 * max(side.late), 1),
                'late_ms_p99': round(1e3 * float(np.percentile(side.late, 99)), 1)}
        return found


def main() -> None:
    """Run the load and print what was seen; exit code 1 if a goal was not answered once."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--minutes', type=float, default=30.0)
    parser.add_argument('--rate', type=float, default=200.0, help='goals a second, to both sides')
    parser.add_argument('--state-rate', type=float, default=1000.0, help='joint states a second')
    parser.add_argument('--burst', type=int, default=10_000, help='goals at once')
    parser.add_argument('--burst-every', type=float, default=60.0, help='s between two of them')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--json', type=Path, help='where to write the figures')
    options = parser.parse_args()
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    rclpy.init()
    node = rclpy.create_node('soak')
    soak = Soak(node, options)
    with TemporaryDirectory() as folder, ExitStack() as stack:
        processes = {}
        for name in SIDES:
            logs = Path(folder) / name
            logs.mkdir()
            common = ['--ros-args', '-r', f'__ns:=/{name}', '--log-level', 'fatal',
                      '-p', f'urdf_file:={URDF}']
            stack.enter_context(running(
                'sim_controller', [*common, '-p', f'rate:={options.state_rate}'], logs))
            processes[name] = stack.enter_context(running('ik_node', common, logs)).pid
        soak.start()
        soak.run(processes)
        found = soak.report()
    if options.json:
        options.json.write_text(json.dumps(found, indent=2))
    sides = [found[name] for name in SIDES]
    print(f'{"":28}{SIDES[0]:>22}{SIDES[1]:>22}')
    for key in sorted({*sides[0], *sides[1]}, key=[*sides[0], *sides[1]].index):
        print(f'{key:28}' + ''.join(f'{side.get(key, 0)!s:>22}' for side in sides))
    print(f'load average {" ".join(f"{each:.1f}" for each in found["load_average"])}')
    once = not any(side[key] for side in sides
                   for key in ('unanswered', 'answered_twice', 'answers_to_nothing', 'lost'))
    print('every goal was answered once' if once else 'NOT every goal was answered once')
    sys.stdout.flush()
    leave(node, 0 if once else 1)


if __name__ == '__main__':
    main()
