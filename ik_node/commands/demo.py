# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Node and simulated controller as two processes, and example goals sent to them.

Each goal goes through the command line ``send_goal``; what is printed as error is
measured here, from the joint states that the controller reports.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager, ExitStack
from itertools import cycle
import json
import os
from pathlib import Path
import shlex
import signal
import subprocess
import sys
import tempfile
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from ik_node.commands.pose_files import file_pose, FilePose, read_goals, read_poses
from ik_node.commands.send_goal import make_goal, parse as parse_goal
from ik_node.errors import IkNodeError
from ik_node.kinematics.arm import link_pose
from ik_node.model.chain import Chain, make_chain
from ik_node.model.urdf import read_urdf, Tree
from ik_node.motion.controller_rules import seconds
from ik_node.node.health_checks import READY
from ik_node.ros.handshake import greet, wait_for
from ik_node.ros.joint_states import JointStates
from ik_node.ros.process import leave
from ik_node.ros.qos import LATEST, STATUS_QOS
from ik_node.ros.rotations import rotation_from_quaternion
from ik_node.ros.status_messages import GoalState
from ik_node.se3 import distance, pose
from ik_node.share import share_file
from ik_node.text import printable
from ik_node.ui.node_client import publish_stamped

START_TIMEOUT = 300.0  # s; the first start compiles for a minute, on a slow machine for more
STATE_TIMEOUT = 10.0   # s, for a joint state to arrive
GOAL_TIMEOUT = 60.0    # s, for a goal to end
OPEN = (None, GoalState.ACCEPTED.value)
PAUSE = 0.5            # s between two goals, to see whether somebody took over
TOLERANCE = 1e-5       # m and rad, between goal and measured pose


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog='demo', description=__doc__)
    parser.add_argument('--urdf', type=Path, default=share_file('urdf/six_axis_arm.urdf'),
                        help='the arm (default: the one of this package)')
    parser.add_argument('--goals', type=Path, default=share_file('examples/goals.yaml'),
                        help='goals and what is expected of them')
    parser.add_argument('--config', type=Path, default=share_file('config/ik_node.yaml'),
                        help='parameters of both nodes')
    parser.add_argument('--keep', action='store_true',
                        help='show the arm in the browser, go through the goals over and over '
                        'until somebody else sends one, and stay up until Ctrl-C')
    return parser.parse_args(argv)


class Witness(Node):
    """
    Sees what anybody on the network sees: joint states, diagnostics, answers to goals.

    Attributes
    ----------
    ours : set of str
        Stamps of the goals that this demonstration has sent.

    """

    def __init__(self) -> None:
        super().__init__('demo', start_parameter_services=False)
        self.states = JointStates()
        self.ours: set[str] = set()
        self._goals: dict[str, str] = {}  # stamp -> state
        self._ways: dict[str, Publisher] = {}
        self._dragged = False
        self._health = ''
        self.create_subscription(DiagnosticStatus, 'ik_node/status', self._on_status, STATUS_QOS)
        self.create_subscription(DiagnosticStatus, 'ik_node/preview', self._on_preview, 1)
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)
        self.create_subscription(
            JointState, 'joint_states', self._on_joint_states, LATEST)

    def ready(self) -> bool:
        """Return whether the node says that it would take a goal now."""
        return self._health.startswith(READY)

    def taken_over(self) -> bool:
        """Return whether somebody else has sent a goal, or dragged the handle."""
        return self._dragged or bool(self._goals.keys() - self.ours)

    def go(self, command: list[str]) -> None:
        """Send what send_goal would, and wait until it ends or somebody takes over."""
        topic, goal = make_goal(parse_goal(command))
        if topic not in self._ways:
            self._ways[topic] = self.create_publisher(type(goal), f'ik_node/{topic}', 1)
            greet(self, 'ik_node', STATE_TIMEOUT, self._ways[topic])
        if self.taken_over():
            return
        stamp = publish_stamped(self, self._ways[topic], goal)
        self.ours.add(stamp)
        wait_for(self, lambda: self.taken_over() or self._goals.get(stamp) not in OPEN,
                 GOAL_TIMEOUT)

    def _on_status(self, message: DiagnosticStatus) -> None:
        values = {pair.key: pair.value for pair in message.values}
        self._goals[values['stamp']] = values['state']

    def _on_preview(self, _message: DiagnosticStatus) -> None:
        self._dragged = True

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == '/ik_node: health':
                self._health = status.message

    def fresh_positions(self, names: tuple[str, ...]) -> dict[str, float]:
        """Return joint positions, those of `names` measured after the call, by their stamps."""
        # While this process waited for another one, an old message may have been kept for it.
        called = 1e-9 * self.get_clock().now().nanoseconds
        wait_for(self, lambda: self.states.age(names, called) < 0.0, STATE_TIMEOUT)
        return self.states.positions

    def _on_joint_states(self, message: JointState) -> None:
        self.states.take(message, seconds(message.header.stamp))


@contextmanager
def running(name: str, arguments: list[str], log_folder: Path) -> Iterator[subprocess.Popen]:
    """Run one of this package's executables, with its output in a file; end it by SIGINT."""
    with (log_folder / f'{name}.log').open('w') as log:
        process = subprocess.Popen(
            [sys.executable, '-c', f'from ik_node.entry import {name}; {name}()', *arguments],
            stdout=log, stderr=subprocess.STDOUT, env={**os.environ, 'OPENBLAS_NUM_THREADS': '1'})
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(5.0)
            except subprocess.TimeoutExpired:
                process.kill()


def command_line(goal: dict[str, Any], folder: Path) -> tuple[list[str], FilePose]:
    """
    Return what send_goal takes for a goal, and the pose where it ends; files are in `folder`.

    Raises
    ------
    ParameterError, OSError
        If the goal has no pose, or its file cannot be read.

    """
    if 'path' in goal:
        file = folder / goal['path']
        return ['--path', str(file), '--frame', goal['frame']], read_poses(file)[-1]
    way = ['--line'] if goal.get('line') else []
    if 'through' in goal:
        way = ['--through', *map(str, goal['through'])]
    return [*way, '--xyz', *map(str, goal['xyz']), '--rpy', *map(str, goal['rpy']),
            '--frame', goal['frame']], file_pose(goal, f'the goal {goal["name"]}')


def send(command: list[str], witness: Witness) -> dict[str, Any] | None:
    """Send one goal by the command line and return its answer; None without one."""
    done = subprocess.run(
        [sys.executable, '-c', 'from ik_node.entry import send_goal; send_goal()', *command,
         '--json'], stdout=subprocess.PIPE, text=True)
    if not done.stdout:
        return None
    answer = json.loads(done.stdout)
    witness.ours.add(answer['stamp'])
    return answer


def run_goal(goal: dict[str, Any], command: list[str], end: FilePose, witness: Witness,
             tree: Tree, chain: Chain) -> bool:
    """Send one goal by the command line and print what came; return whether it is as expected."""
    before = dict(witness.fresh_positions(chain.joint_names))
    answer = send(command, witness)
    if answer is None:
        print(f'  FAILED   {goal["name"]}: no answer')
        return False
    line = f'{goal["name"]:<34} send_goal {shlex.join(command)}\n           '
    good = answer['reason'] == goal['expect']
    if answer['state'] == 'reached':
        T_base_frame = link_pose(tree, goal['frame'], chain.base_link, before)
        T_goal = T_base_frame @ pose(rotation_from_quaternion(end.quaternion), np.array(end.xyz))
        T_tip = link_pose(tree, chain.tip_link, chain.base_link,
                          witness.fresh_positions(chain.joint_names))
        position, angle = distance(T_goal, T_tip)
        good = good and position < TOLERANCE and angle < TOLERANCE
        how = f'solved in {answer["solve_time_ms"]} ms' if 'solve_time_ms' in answer else \
            f'{answer["path_m"]} m of path, planned within {answer["path_deviation_m"]} m of it'
        line += (f'reached: {how}, moved {answer.get("duration_s", "0")} s, measured error '
                 f'{position:.1e} m {angle:.1e} rad')
    else:
        line += f'{answer["state"]} ({answer["reason"]}): {printable(answer["message"])}'
    print(('  ok       ' if good else '  NOT OK   ') + line, flush=True)
    if not good:
        print(f'           expected {goal["expect"]}')
    return good


def main(argv: list[str] | None = None) -> None:
    """Run the demonstration; exit code 0 only if each goal ended as its file expects."""
    options = parse(argv)
    try:
        goals = read_goals(options.goals)
        sent = [(goal, *command_line(goal, options.goals.parent)) for goal in goals]
        tree = read_urdf(options.urdf)
        chain = make_chain(tree)
    except KeyError as error:
        sys.exit(f'demo: a goal in {options.goals} has no {error}')
    except (IkNodeError, OSError, TypeError) as error:
        sys.exit(f'demo: {error}')
    logs = Path(tempfile.mkdtemp(prefix='ik_node_demo_'))
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    witness = Witness()
    try:
        code = _demonstrate(options, sent, tree, chain, witness, logs)
    except KeyboardInterrupt:
        code = 0 if options.keep else 130
    leave(witness, code)


def _demonstrate(options: argparse.Namespace, sent: list[tuple[dict, list[str], FilePose]],
                 tree: Tree, chain: Chain, witness: Witness, logs: Path) -> int:
    arguments = ['--ros-args', '--params-file', str(options.config),
                 '-p', f'urdf_file:={options.urdf}']
    print(f'==> starting ik_node and sim_controller with {options.urdf.name} (logs in {logs}; '
          'the first start on a machine compiles for about a minute)', flush=True)
    with running('sim_controller', arguments, logs) as simulator, \
            running('ik_node', arguments, logs) as node:
        def up() -> bool:
            return witness.ready() or any(p.poll() is not None for p in (simulator, node))

        if not wait_for(witness, up, START_TIMEOUT) or not witness.ready():
            print('the processes did not start:')
            for log in sorted(logs.glob('*.log')):
                print(f'--- {log.name}\n{log.read_text()[-2000:]}')
            return 1
        with ExitStack() as stack:
            if options.keep:
                _open_page(stack, arguments, logs, witness)
            print(f'==> sending {len(sent)} goals', flush=True)
            results = []
            for goal in sent:
                if options.keep and witness.taken_over():
                    break
                results.append(run_goal(*goal, witness, tree, chain))
            print(f'==> {sum(results)} of {len(results)} goals ended as expected')
            if options.keep:
                _stay(sent, witness, lambda: all(p.poll() is None for p in (simulator, node)))
    return 0 if all(results) else 1


def _open_page(stack: ExitStack, arguments: list[str], logs: Path, witness: Witness) -> None:
    """Start the viewer, until the stack ends it, and print its address."""
    process = stack.enter_context(running('viewer', arguments, logs))
    log = logs / 'viewer.log'
    wait_for(witness, lambda: process.poll() is not None or 'open http' in log.read_text(),
             START_TIMEOUT)
    text = log.read_text()
    if 'open http' in text:
        print(f'==> see the arm, and drag it: {text.partition("open ")[2].split()[0]}', flush=True)
    else:
        print(f'==> no page in the browser:\n{text[-2000:]}', flush=True)


def _stay(sent: list[tuple[dict, list[str], FilePose]], witness: Witness,
          up: Callable[[], bool]) -> None:
    """Go through the goals until somebody takes over; then leave the arm to them."""
    print('==> staying up until Ctrl-C; the goals come again and again, until you drag the handle '
          'in\n    the browser or send a goal from another terminal, in this folder:\n'
          '    .venv/bin/send_goal --xyz 0.5 0.1 0.5 --rpy 0 1.57 0 --frame base_link', flush=True)
    for _, command, _ in cycle(sent):
        if wait_for(witness, witness.taken_over, PAUSE) or not up():
            break
        witness.go(command)
    wait_for(witness, lambda: not up(), float('inf'))
