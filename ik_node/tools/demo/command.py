# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Run ik_node and a simulated controller as two processes, and send goals to them.

Each goal is that of a command ``send_goal``, which is printed.  The error that is printed is
measured here, from the joint states that the controller publishes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager, ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import cycle
import json
import os
from pathlib import Path
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from time import monotonic
from typing import Any

import numpy as np
import rclpy
from rclpy.signals import SignalHandlerOptions

from ik_node.base.errors import ChainError, IkNodeError, ParameterError
from ik_node.base.se3 import distance, pose, rotation_from_quaternion
from ik_node.base.system import INTERRUPTED_CODE, share_file
from ik_node.base.text import COMPILATION_TIME, printable, quote
from ik_node.collision.bodies.links import arm_bodies
from ik_node.collision.distances.model import CollisionModel
from ik_node.kinematics.arm import link_pose
from ik_node.model.chain import Chain, make_chain
from ik_node.model.description.mesh_files import mesh_search
from ik_node.model.description.urdf import read_urdf, Tree
from ik_node.model.description.xacro_file import expand_xacro
from ik_node.model.user_files.presets import description_file, Preset, read_preset
from ik_node.ros.messages.status_messages import GoalState
from ik_node.ros.middleware.handshake import wait_for
from ik_node.ros.middleware.process import leave
from ik_node.tools.arguments.demo import parse
from ik_node.tools.demo.demo_goals import free_start, goals_for, on_ground, Witness
from ik_node.tools.pose_files import file_pose, FilePose, read_goals, read_poses

START_TIMEOUT_S = 300.0  # without progress; the first start compiles, slowly on a busy machine
PROGRESS_CHECK_S = 1.0
EXIT_TIMEOUT_S = 5.0     # from SIGINT until a process is killed
GOAL_TIMEOUT_S = 300.0   # the first path waits for functions that are still being compiled
GOAL_PAUSE_S = 0.5       # between two goals, to notice whether somebody took over
SHORT_PAUSE_S = 0.05     # the same, while the goals are sent for the first time
GOAL_DISTANCE_M = 0.01   # from collisions, of the goals that are made
MAX_GOAL_ERROR = 1e-5    # m and rad, between the goal and the measured pose
LOG_CHARACTERS = 2000    # of each log that are shown if the processes do not start
# Velocity limits of joints to which the URDF gives none, in the simulation.
CAREFUL_SPEED_RAD_S, CAREFUL_SPEED_M_S = 0.5, 0.1
VELOCITY_PARAMETER = 'motion.velocity_limits'


@dataclass(frozen=True)
class DemoGoal:
    """A goal of the demonstration."""

    # name, frame: the frame is a link of the arm, or an unknown one
    name: str
    frame: str
    expected: str       # REACHED, ALREADY_THERE, or the reason for which the goal must be refused
    command: list[str]  # arguments of send_goal
    end: FilePose       # pose of the tip at its end, in `frame`


def demo_goal(fields: dict[str, Any], folder: Path, base_link: str) -> DemoGoal:
    """
    Return a goal of a YAML file.

    Parameters
    ----------
    fields : dict
        An entry of the file, as examples/goals.yaml has them.
    folder : Path
        Where the file is; paths in it start there.
    base_link : str
        The frame, if the goal names none.

    """
    name, frame = str(fields['name']), str(fields.get('frame') or base_link)
    if 'path' in fields:
        file = folder / fields['path']
        command, end = ['--path', str(file)], read_poses(file)[-1]
    else:
        end = file_pose(fields, f'the goal {name}')
        command = ['--line'] if fields.get('line') else []
        if 'through' in fields:
            command = ['--through', *map(_decimal, fields['through'])]
        command += ['--xyz', *map(_decimal, fields['xyz'])]
        for orientation in ('quat', 'rpy'):
            if orientation in fields:
                command += [f'--{orientation}', *map(_decimal, fields[orientation])]
                break
    return DemoGoal(name, frame, fields['expect'], [*command, '--frame', frame], end)


def _decimal(number: float) -> str:
    """Return a number without an exponent: -1e-09 would be taken for an option."""
    return np.format_float_positional(float(number), trim='0')


@contextmanager
def running(name: str, arguments: list[str], log_folder: Path) -> Iterator[subprocess.Popen]:
    """Run an executable of this package, with its output in a file; end it by SIGINT."""
    with (log_folder / f'{name}.log').open('w') as log:
        process = subprocess.Popen(
            [sys.executable, '-c', f'from ik_node.tools.entry import {name}; {name}()',
             *arguments],
            stdout=log, stderr=subprocess.STDOUT, env={**os.environ, 'OPENBLAS_NUM_THREADS': '1'})
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(EXIT_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()


def send(command: list[str], witness: Witness) -> dict[str, Any] | None:
    """Send the goal of a send_goal command; return its final answer, None without one."""
    stamp = witness.send(command)
    wait_for(witness, lambda: witness.final_answer(stamp), GOAL_TIMEOUT_S)
    return witness.final_answer(stamp)


def run_goal(goal: DemoGoal, witness: Witness, tree: Tree, chain: Chain) -> bool | None:
    """
    Send one goal, print its answer, and return whether it ended as expected.

    None if somebody else ended it.
    """
    before = dict(witness.fresh_positions(chain.joint_names))
    answer = send(goal.command, witness)
    if answer is None:
        print(f'  FAILED   {goal.name}: no answer')
        return False
    if answer['state'] in (GoalState.SUPERSEDED, GoalState.STOPPED):
        print(f'  left     {goal.name}: {printable(answer["message"])}', flush=True)
        return None
    line = f'{goal.name:<34} send_goal {shlex.join(goal.command)}\n           '
    good = answer['reason'] == goal.expected
    if answer['state'] == 'reached':
        T_base_frame = link_pose(tree, goal.frame, chain.base_link, before)
        T_goal = T_base_frame @ pose(rotation_from_quaternion(goal.end.quaternion),
                                     np.array(goal.end.xyz))
        T_tip = link_pose(tree, chain.tip_link, chain.base_link,
                          witness.fresh_positions(chain.joint_names))
        position, angle = distance(T_goal, T_tip)
        good = good and position < MAX_GOAL_ERROR and angle < MAX_GOAL_ERROR
        how = f'solved in {answer["solve_time_ms"]} ms' if 'solve_time_ms' in answer else \
            f'{answer["path_m"]} m of path, planned within {answer["path_deviation_m"]} m of it'
        line += (f'reached: {how}, moved {answer.get("duration_s", "0")} s, measured error '
                 f'{position:.1e} m {angle:.1e} rad')
    else:
        line += f'{answer["state"]} ({answer["reason"]}): {printable(answer["message"])}'
    print(('  ok       ' if good else '  NOT OK   ') + line, flush=True)
    if not good:
        print(f'           expected {goal.expected}')
    return good


def main(argv: list[str] | None = None) -> None:
    """Run the demonstration; exit code 0 only if each goal ended as expected."""
    options = parse(sys.argv[1:] if argv is None else argv)
    logs = Path(tempfile.mkdtemp(prefix='ik_node_demo_'))
    try:
        preset = _preset(options)
        urdf = _urdf_file(options, logs)
        tree = read_urdf(urdf)
        chain = _chain(tree, options)
        model = CollisionModel(chain, tree, arm_bodies(tree, mesh_search(tree,
                                                                         options.mesh_paths)))
        if model.unchecked:
            print(f'==> {model.unchecked}', flush=True)
        among, ground_height = on_ground(model, min(0.0, model.lowest_fixed_point),
                                         GOAL_DISTANCE_M)
        home = np.array(preset and preset.home_of(chain) or chain.middle)
        start = home if options.goals else free_start(among, home)
        goals = _goals(options, among, start)
        arguments = _arguments(options, urdf, ground_height)
        if preset is not None:
            arguments += _preset_arguments(preset, chain, options.config is None)
        if start is not home:
            print(f'==> it does not start where it would collide ({among.describe(home)}), but '
                  'beside that')
            arguments += ['-p', f'initial_positions:={json.dumps(start.tolist())}']
        arguments += _velocity_arguments(options, chain)
        arguments += [word for text in options.parameters for word in ('-p', text)]
    except BaseException as error:
        shutil.rmtree(logs, ignore_errors=True)
        if isinstance(error, (IkNodeError, OSError, TypeError)):
            sys.exit(f'ik_demo: {error}')
        raise
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    demonstration = _Demonstration(options, urdf, tree, chain, arguments, goals, logs)
    try:
        code = demonstration.run()
    except KeyboardInterrupt:
        code = 0 if options.keep or demonstration.witness.taken_over() else INTERRUPTED_CODE
    if code == 0:
        shutil.rmtree(logs, ignore_errors=True)
    leave(demonstration.witness, code)


def _preset(options: argparse.Namespace) -> Preset | None:
    """Return the preset that is asked for, and let it fill the options that are not given."""
    if options.robot is None:
        return None
    preset = read_preset(options.robot)
    options.urdf = description_file(preset)
    options.base_link = options.base_link or preset.base_link
    options.tip_link = options.tip_link or preset.tip_link
    options.xacro_args = [*preset.description.xacro_arguments.items(), *options.xacro_args]
    return preset


def _urdf_file(options: argparse.Namespace, folder: Path) -> Path:
    """Return the URDF file of the arm; a .xacro file is expanded into a folder."""
    if options.urdf is None:
        return share_file('urdf/six_axis_arm.urdf')
    if options.urdf.suffix != '.xacro' or not options.urdf.is_file():
        return options.urdf
    return expand_xacro(options.urdf, folder, dict(options.xacro_args))


def _chain(tree: Tree, options: argparse.Namespace) -> Chain:
    """Return the arm; raise a ChainError that asks for its links if it is not found."""
    try:
        return make_chain(tree, options.base_link, options.tip_link)
    except ChainError as error:
        ask = 'BASE=LINK and TIP=LINK' if _from_make() else '--base-link LINK and --tip-link LINK'
        raise ChainError(f'{error}. Give {ask}') from None


def _from_make() -> bool:
    return 'MAKELEVEL' in os.environ


def _velocity_arguments(options: argparse.Namespace, chain: Chain) -> list[str]:
    """Return the velocity limits that are given, or careful ones where the URDF has none."""
    limits = options.velocity
    if limits is None:
        unset = np.isinf(chain.velocity)
        config = options.config.read_text(encoding='utf-8', errors='replace') \
            if options.config else ''
        if not unset.any() or re.search(r'^[^#\n]*\bvelocity_limits\s*:', config, re.MULTILINE) \
                or any(text.startswith(VELOCITY_PARAMETER) for text in options.parameters):
            return []
        careful = np.where(chain.revolute, CAREFUL_SPEED_RAD_S, CAREFUL_SPEED_M_S)
        limits = np.where(unset, careful, chain.velocity).tolist()
        names = ', '.join(quote(name) for name, none in zip(chain.joint_names, unset) if none)
        how = 'VELOCITY="..."' if _from_make() else '--velocity ...'
        print(f'==> CAREFUL: the URDF has no velocity limit for {names}. In this simulation '
              f'{CAREFUL_SPEED_RAD_S:g} rad/s and {CAREFUL_SPEED_M_S:g} m/s are taken; give those '
              f'of your arm: {how}', flush=True)
    return ['-p', f'{VELOCITY_PARAMETER}:={json.dumps(limits)}']


def _goals(options: argparse.Namespace, model: CollisionModel,
           start: np.ndarray) -> list[DemoGoal]:
    """Return the goals of the file, or goals made for the arm and its surroundings."""
    file = options.goals
    if file is None and options.urdf is None and not (options.base_link or options.tip_link):
        file = share_file('examples/goals.yaml')
    if file is None:
        print('==> finding goals that this arm can reach', flush=True)
    folder = Path() if file is None else file.parent
    try:
        return [demo_goal(fields, folder, model.chain.base_link) for fields in (
            goals_for(model, start) if file is None else read_goals(file))]
    except KeyError as error:
        raise ParameterError(f'a goal in {file} has no {error}') from None


def _arguments(options: argparse.Namespace, urdf: Path, ground_height: float) -> list[str]:
    """Return the arguments of both nodes."""
    arguments = ['--ros-args', '--params-file',
                 str(options.config or share_file('config/ik_node.yaml')),
                 '-p', f'urdf_file:={urdf}']
    if options.config is None:
        arguments += ['-p', 'collision.ground:=true',
                      '-p', f'collision.ground_height:={ground_height:.4f}']
    if options.mesh_paths:
        arguments += ['-p', f'mesh_paths:={json.dumps(options.mesh_paths)}']
    for name, link in (('base_link', options.base_link), ('tip_link', options.tip_link)):
        if link:
            arguments += ['-p', f'{name}:="{link}"']
    return arguments


def _preset_arguments(preset: Preset, chain: Chain, with_limits: bool) -> list[str]:
    """Return the arguments of both nodes that a preset asks for; each ignores the other's."""
    home = preset.home_of(chain)
    values = preset.parameters_for(simulated=True) if with_limits else {}
    if home:
        values |= {'initial_positions': home, 'solver.preferred_positions': home}
    return [word for name, value in values.items()
            for word in ('-p', f'{name}:={json.dumps(value)}')]


class _Demonstration:
    """The processes, the goals that are sent to them, and the observing node."""

    def __init__(self, options: argparse.Namespace, urdf: Path, tree: Tree, chain: Chain,
                 arguments: list[str], goals: list[DemoGoal], logs: Path) -> None:
        self.witness = Witness()
        self._options, self._urdf, self._logs = options, urdf, logs
        self._tree, self._chain, self._goals = tree, chain, goals
        self._arguments = arguments

    def run(self) -> int:
        """Return the exit code."""
        chain = self._chain
        print(f'==> {quote(self._tree.name)} from {self._urdf.name}: {chain.n} joints from the '
              f'base {quote(chain.base_link)} to the tip {quote(chain.tip_link)}\n'
              f'==> starting ik_node and sim_controller (logs in {self._logs}; the first start on '
              f'a machine compiles: {COMPILATION_TIME})', flush=True)
        with running('sim_controller', self._arguments, self._logs) as simulator, \
                running('ik_node', self._arguments, self._logs) as node, ExitStack() as stack:
            def alive() -> bool:
                return simulator.poll() is None and node.poll() is None

            if not self._wait_until_ready(alive):
                self._show_logs()
                return 1
            if self._options.keep:
                self._open_page(stack)
            good = self._send_goals()
            if self._options.keep:
                self._stay(alive)
            elif self.witness.taken_over():
                print('==> somebody else moves the arm: this demonstration sends no more goals, '
                      'and stays up until Ctrl-C', flush=True)
                wait_for(self.witness, lambda: not alive(), float('inf'))
            else:
                print(f'==> to see the arm, and to drag it in the browser: {self._keep_command()}')
        return 0 if good else 1

    def _wait_until_ready(self, alive: Callable[[], bool]) -> bool:
        """Wait for the node, and show how its compilation goes on; return whether it is ready."""
        log = self._logs / 'ik_node.log'
        shown, last_progress = 0, monotonic()
        while not wait_for(self.witness, lambda: self.witness.ready() or not alive(),
                           PROGRESS_CHECK_S):
            told = [line.rpartition(']: ')[2] for line in log.read_text().splitlines()
                    if ']: compil' in line]
            for line in told[shown:]:
                print(f'    {line}', flush=True)
            if len(told) > shown:
                shown, last_progress = len(told), monotonic()
            if monotonic() > last_progress + START_TIMEOUT_S:
                break
        return self.witness.ready()

    def _show_logs(self) -> None:
        print('the processes did not start:')
        for log in sorted(self._logs.glob('*.log')):
            print(f'--- {log.name}\n{log.read_text()[-LOG_CHARACTERS:]}')

    def _send_goals(self) -> bool:
        """Send each goal; return whether all ended as expected."""
        print(f'==> sending {len(self._goals)} goals', flush=True)
        results: list[bool] = []
        for goal in self._goals:
            if wait_for(self.witness, self.witness.taken_over, SHORT_PAUSE_S):
                break
            result = run_goal(goal, self.witness, self._tree, self._chain)
            if result is None:
                break
            results.append(result)
        print(f'==> {sum(results)} of {len(results)} goals ended as expected', flush=True)
        return all(results)

    def _open_page(self, stack: ExitStack) -> None:
        """Start the viewer, until the stack ends it, and print its address."""
        arguments = [*self._arguments, '-p', 'follow:=true']
        process = stack.enter_context(running('viewer', arguments, self._logs))
        log = self._logs / 'viewer.log'
        wait_for(self.witness,
                 lambda: process.poll() is not None or 'open http' in log.read_text(),
                 START_TIMEOUT_S)
        text = log.read_text()
        if 'open http' in text:
            page = text.partition('open ')[2].split()[0]
            print(f'==> see the arm, and drag it: {page}\n'
                  '    it follows the hand; to preview goals instead, clear "Follow while '
                  'dragging"', flush=True)
        else:
            print(f'==> no page in the browser:\n{text[-LOG_CHARACTERS:]}', flush=True)

    def _stay(self, alive: Callable[[], bool]) -> None:
        """Repeat the goals until somebody takes over; then leave the arm to them."""
        print('==> staying up until Ctrl-C; the goals are repeated until you drag the handle in '
              'the browser\n    or send a goal from another terminal:\n'
              f'    {self._example_command()}', flush=True)
        for goal in cycle(self._goals):
            if wait_for(self.witness, self.witness.taken_over, GOAL_PAUSE_S) or not alive():
                break
            stamp = self.witness.send(goal.command)
            wait_for(self.witness, partial(self._over, stamp), GOAL_TIMEOUT_S)
        wait_for(self.witness, lambda: not alive(), float('inf'))

    def _over(self, stamp: str) -> bool:
        return self.witness.taken_over() or self.witness.final_answer(stamp) is not None

    def _keep_command(self) -> str:
        """Return the command that shows this arm in the browser."""
        options = self._options
        if not _from_make():
            return shlex.join(['ik_demo', *sys.argv[1:], '--keep'])
        named = {'ROBOT': options.robot, 'URDF': None if options.robot else options.urdf,
                 'BASE': options.base_link, 'TIP': options.tip_link,
                 'XACRO_ARGS': ' '.join(f'{name}:={value}' for name, value in options.xacro_args),
                 'MESHES': ' '.join(options.mesh_paths), 'PARAMS': ' '.join(options.parameters),
                 'VELOCITY': ' '.join(f'{value:g}' for value in options.velocity or ())}
        return shlex.join(['make', 'demo', 'KEEP=1',
                           *(f'{name}={value}' for name, value in named.items() if value)])

    def _example_command(self) -> str:
        """Return a command that sends a goal: a position that one of the goals has."""
        sender, here = Path(sys.executable).with_name('send_goal'), Path.cwd()
        if not sender.is_file():
            program = 'send_goal'
        else:
            program = str(sender.relative_to(here) if here in sender.parents else sender)
        base = self._chain.base_link
        xyz = next((goal.end.xyz for goal in self._goals
                    if goal.frame == base and goal.expected == 'REACHED'), (0.4, 0.2, 0.4))
        return shlex.join([program, '--position', '--xyz', *(f'{x:.2f}' for x in xyz),
                           '--frame', base])
