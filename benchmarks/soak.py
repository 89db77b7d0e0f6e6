# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Two arms under load for minutes or hours: every goal is to be answered once, nothing is to grow.

    .venv/bin/python -m benchmarks.soak [--minutes 30] [--json soak.json]

Two ik_nodes with a simulated controller each, in two namespaces.  This process sends goals of
which some can be reached, some not, and some make no sense, and once a minute a burst of them
to one side; it knows the answers by their stamps.  Memory, open files, threads and
time are the kernel's figures (/proc) of both ik_nodes, lateness is their own, from /diagnostics.

Exit code 1, with a sentence for each, if a goal was not answered exactly once, or memory, open
files or threads grew after the first third of the time.  Latency and lateness are
printed only: the machine decides them, by how long the nodes wait for a core (`waited_share`).
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
from typing import Any

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
from ik_node.base.system import share_file
from ik_node.kinematics.arm import forward_kinematics
from ik_node.model.chain import Chain, make_chain
from ik_node.model.description.urdf import read_urdf
from ik_node.node.state.health_checks import READY_TEXT
from ik_node.ros.messages.conversion import pose_stamped
from ik_node.ros.messages.status_messages import GoalState, stamp_text
from ik_node.ros.middleware.clocks import take_message
from ik_node.ros.middleware.handshake import greet
from ik_node.ros.middleware.process import leave
from ik_node.tools.demo.command import running

SIDES = 'left', 'right'
URDF = share_file('urdf/six_axis_arm.urdf')
PATIENCE = 300.0  # s; the first start of a machine compiles
ANSWERED = 60.0   # s after the last goal, until an answer counts as missing
SETTLE = 2.0      # s more, for second answers
ALL = QoSProfile(history=HistoryPolicy.KEEP_ALL)
MEGABYTE = 2.0**20
GROWTH = 25.0    # MB after the first third, in which what is kept on purpose fills up
IN_TIME = 0.05   # s, the period of the timer that tells how late callbacks are


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
    bursts : list of float
        Monotonic time (s) of each burst to it.

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
        self.bursts: list[float] = []
        self.lost = 0
        self.ready = False
        self._last_stamp = 0
        queue = QoSProfile(depth=depth)
        self.poses = node.create_publisher(PoseStamped, f'/{name}/ik_node/goal_pose', queue)
        self._joints = node.create_publisher(JointState, f'/{name}/ik_node/goal_joints', queue)
        self._answers = node.create_subscription(
            DiagnosticStatus, f'/{name}/ik_node/answers', self._on_status, ALL)

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
        while (found := take_message(self._answers)) is not None:
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
        self.ready = status.message.startswith(READY_TEXT)
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


def waited(pid: int) -> float:
    """Return how long (s) the main thread of a process waited for a core; nan: not known."""
    file = Path(f'/proc/{pid}/schedstat')  # some kernels have none
    return 1e-9 * int(file.read_text().split()[1]) if file.exists() else nan


def entries(pid: int, folder: str) -> int:
    """Return how many open files ('fd') or threads ('task') a process has."""
    return len(os.listdir(f'/proc/{pid}/{folder}'))


def slope(times: np.ndarray, values: np.ndarray) -> float:
    """Return by how much values grow an hour, after the first fifth of the time (s)."""
    warm = times >= times[0] + 0.2 * (times[-1] - times[0])
    return float(3600.0 * np.polyfit(times[warm], values[warm], 1)[0])


def quarter(side: Side, begin: float, end: float, without: set[str]) -> list[float]:
    """Return median and 99th percentile (ms) of the answers to what was sent in a time."""
    took = [side.answers[stamp] - at for stamp, at in side.sent.items()
            if begin <= at < end and stamp in side.answers and stamp not in without]
    return (1e3 * np.percentile(took, (50, 99))).round(1).tolist() if took else []


def course(times: np.ndarray, values: np.ndarray) -> list[float]:
    """Return the first of all values, the one after a third of the time, the largest, the last."""
    third = values[np.searchsorted(times, times[0] + (times[-1] - times[0]) / 3.0)]
    return [round(float(each), 1) for each in (values[0], third, values.max(), values[-1])]


def after_bursts(bursts: list[float], times: np.ndarray, values: np.ndarray) -> list[float]:
    """Return the last value before the second burst, and the last of all."""
    until = bursts[1] if len(bursts) > 1 else np.inf
    return [round(float(values[np.searchsorted(times, end) - 1]), 1) for end in (until, np.inf)]


def complaints(side: str, found: dict[str, Any]) -> list[str]:
    """Return a sentence for each limit that the figures of a side break."""
    counts = {'unanswered': 'goals have no answer', 'answered_twice': 'answers came again',
              'answers_to_nothing': 'answers are to no goal', 'lost': 'goals were lost'}
    told = [f'{side}: {found[key]} {what}' for key, what in counts.items() if found[key]]
    _, third, _, last = found['memory_mb']
    if last - third > GROWTH:
        told.append(f'{side}: memory grew by {last - third:.1f} MB after the first third, '
                    f'at most {GROWTH:g} are allowed')
    for key in ('open_files', 'threads'):
        _, third, _, last = found[key]
        if last != third:
            told.append(f'{side}: {key.replace("_", " ")} were {third:g} after the first third, '
                        f'{last:g} at the end')
    return told


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
        self.samples: dict[str, list[tuple[float, ...]]] = {name: [] for name in SIDES}
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
        """Send goals for the time that was asked for, or longer until all bursts are sent."""
        options, begin = self._options, monotonic()
        seconds = 60.0 * options.minutes
        due = sampled = begin
        burst = begin + 0.5 * min(options.burst_every, seconds)
        burst_count = max(1, round(seconds / options.burst_every))
        both = [*self.sides.values()]
        turn = sent = 0
        while (now := monotonic()) < begin + seconds or turn < burst_count:
            if now >= burst and turn < burst_count:
                side = both[turn % 2]
                turn += 1
                side.bursts.append(now)
                self.bursts.update(side.send() for _ in range(options.burst))
                due = max(due, monotonic())
                burst = max(burst + options.burst_every, due)
            # What could not be sent in time is not sent faster afterwards.
            due = max(due, now - 1.0)
            while due <= now:
                both[sent % 2].send()
                sent += 1
                due += 1.0 / options.rate
            if now >= sampled:
                self._sample(processes)
                sampled += 1.0
            self._executor.spin_once(timeout_sec=max(0.0, due - monotonic()))
        self.spin_until(lambda: not any(side.missing() for side in both), ANSWERED)
        self.spin_until(lambda: False, SETTLE)
        self._sample(processes)

    def _sample(self, processes: dict[str, int]) -> None:
        for name, pid in processes.items():
            self.samples[name].append((monotonic(), memory(pid), cpu_seconds(pid), waited(pid),
                                       entries(pid, 'fd'), entries(pid, 'task')))

    def report(self) -> dict[str, Any]:
        """Return the figures."""
        found: dict[str, Any] = {'minutes': self._options.minutes,
                                 'load_average': [*os.getloadavg()]}
        seconds = 60.0 * self._options.minutes
        for name, side in self.sides.items():
            t, rss, cpu, wait, files, threads = np.array(self.samples[name]).T
            late = np.array(side.late)
            found[name] = {
                'sent': len(side.sent), 'unanswered': side.missing(),
                'answered_twice': len(side.twice),
                'answers_to_nothing': len(side.answers.keys() - side.sent.keys()),
                'lost': side.lost, **dict(side.states),
                'first_quarter_ms': quarter(side, t[0], t[0] + 0.25 * seconds, self.bursts),
                'last_quarter_ms': quarter(side, t[0] + 0.75 * seconds, np.inf, self.bursts),
                'memory_mb': course(t, rss),
                'memory_after_bursts_mb': after_bursts(side.bursts, t, rss),
                'memory_slope_mb_per_hour': round(slope(t, rss), 2),
                'open_files': course(t, files), 'threads': course(t, threads),
                'cpu_share': round((cpu[-1] - cpu[0]) / (t[-1] - t[0]), 3),
                'waited_share': round((wait[-1] - wait[0]) / (t[-1] - t[0]), 3),
                'late_ms_max': round(1e3 * float(late.max()), 1),
                'late_ms_p99': round(1e3 * float(np.percentile(late, 99)), 1),
                'seconds_in_time': round(float((late <= IN_TIME).mean()), 3)}
        return found


def main() -> None:
    """Run the load and print what was seen; exit code 1 if a limit is broken."""
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
    print(f'{"":28}{SIDES[0]:>30}{SIDES[1]:>30}')
    for key in sorted({*sides[0], *sides[1]}, key=[*sides[0], *sides[1]].index):
        print(f'{key:28}' + ''.join(f'{side.get(key, 0)!s:>30}' for side in sides))
    print(f'load average {" ".join(f"{each:.1f}" for each in found["load_average"])}')
    told = [sentence for name in SIDES for sentence in complaints(name, found[name])]
    print('\n'.join(told) or 'every goal was answered once, nothing grew')
    sys.stdout.flush()
    leave(node, 1 if told else 0)


if __name__ == '__main__':
    main()
