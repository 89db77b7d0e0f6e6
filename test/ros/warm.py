# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Forks the processes under test from one that has imported and loaded what they need.

Most of a start is imports and the loading of compiled kernels.  The server does both once,
before ROS is initialised, and forks a child for each start.  A child is a process like any
other: it has its own pid, output, environment, arguments, signals, DDS participant and exit
code.  It is killed when the server ends, and the server ends when the test run does.

A test run of several processes has one that loads, and forks a server for each of them.

``python test/ros/warm.py --compile`` compiles all kernels beforehand, in two processes.
"""

from __future__ import annotations

import atexit
from collections.abc import Mapping
from contextlib import suppress
import ctypes
import gc
import inspect
import json
import logging
import os
from pathlib import Path
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from time import monotonic, sleep
from typing import NamedTuple, TYPE_CHECKING

if TYPE_CHECKING:
    from ik_node.collision.distances.model import CollisionModel
    from ik_node.model.chain import Chain
    from ik_node.model.description.urdf import Tree

LOADER_VARIABLE = 'IK_NODE_TEST_LOADER'  # the socket of the process that forks servers
START_TIMEOUT_S = 240.0  # the kernels may have to be compiled first
MAX_REQUEST_BYTES = 1_000_000
FAILED_START = 127  # exit code of the server if it cannot be used
COMPILE, OTHERS = '--compile', '--others'  # arguments: all kernels, those of other arms
PR_SET_PDEATHSIG = 1
# Variables that are read when a node starts, not when Python or a library is loaded.
READ_AT_START = 'IK_NODE_', 'FASTDDS_', 'FASTRTPS_', 'PYTEST_', 'ROS_', 'XDG_CACHE_'
PROGRAMS = ('ik_node.node.node', 'ik_node.node.arms.arms_node', 'ik_node.simulation.node',
            'ik_node.ui.viewer.node', 'ik_node.ui.handheld.node', 'ik_node.client',
            'ik_node.tools.workspace.command', 'ik_node.tools.send_goal', 'ik_node.tools.teach',
            'ik_node.tools.doctor.command')
# Of packages that are not on PyPI, which a node imports where they are there.
MESSAGES = ('control_msgs.action', 'control_msgs.msg', 'controller_manager_msgs.srv',
            'moveit_msgs.action', 'moveit_msgs.msg', 'moveit_msgs.srv', 'nav2_msgs.action')


# ---- the side of the test run -----------------------------------------------

class WarmLoader:
    """A process that loads everything, and then forks servers for other processes."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._folder = tempfile.TemporaryDirectory()
        path = os.environ[LOADER_VARIABLE] = f'{self._folder.name}/socket'
        # It ends with its standard input, which is closed when this process ends.
        self._popen = subprocess.Popen([sys.executable, __file__, path], text=True,
                                       env=environment, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE)

    def wait(self) -> None:
        """Wait until it has loaded."""
        assert self._popen.stdout.readline() == 'ready\n', 'the kernels cannot be loaded'


class WarmServer:
    """A running server; its environment is that of the moment at which it was started."""

    def __init__(self) -> None:
        self._control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if LOADER_VARIABLE in os.environ:
            self._control.connect(os.environ[LOADER_VARIABLE])
        else:
            self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MAX_REQUEST_BYTES)
            with theirs:
                subprocess.Popen([sys.executable, __file__, str(theirs.fileno())],
                                 env=dict(os.environ),  # without what C libraries have added
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 pass_fds=[theirs.fileno()])
        self._control.settimeout(START_TIMEOUT_S)
        self._control.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MAX_REQUEST_BYTES)
        greeting = json.loads(self._control.recv(MAX_REQUEST_BYTES))
        self._pid, self._environment = greeting['pid'], greeting['environment']

    def differences(self, environment: Mapping[str, str]) -> set[str]:
        """Return the variables by which a child would differ from a new process."""
        names = self._environment.keys() | environment.keys()
        return {name for name in names if not name.startswith(READ_AT_START)
                and self._environment.get(name) != environment.get(name)}

    def kill(self) -> None:
        """End the server, and with it all its children."""
        os.kill(self._pid, signal.SIGKILL)
        with suppress(ConnectionResetError):
            self._control.recv(16)
        self._control.close()

    def start(self, name: str, arguments: list[str], environment: Mapping[str, str],
              output: int, errors: int, script: str = '', folder: str = '') -> Child:
        """
        Start a script, and then one of the programs of ``ik_node.tools.entry`` if it has a name.

        They write to two open files, and run in a folder, by default the present one.
        """
        ours, theirs = socket.socketpair()
        request = {'name': name, 'arguments': arguments, 'folder': folder or os.getcwd(),
                   'script': script, 'environment': {
                       key: value for key, value in environment.items()
                       if key.startswith(READ_AT_START)}}
        with theirs:
            socket.send_fds(self._control, [json.dumps(request).encode()],
                            [output, errors, theirs.fileno()])
        return Child([name, *arguments], int(self._control.recv(16)), ours)


class Child:
    """A forked process, with the methods of :class:`subprocess.Popen`."""

    def __init__(self, args: list[str], pid: int, channel: socket.socket) -> None:
        self.args, self.pid, self.returncode = args, pid, None
        self.stdout = self.stderr = None
        self._channel = channel

    def poll(self) -> int | None:
        """Return the exit code, or None while the process runs."""
        if self.returncode is None and select.select([self._channel], [], [], 0.0)[0]:
            self._take_code()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the process and return its exit code."""
        if self.returncode is None:
            if not select.select([self._channel], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout)
            self._take_code()
        return self.returncode

    def _take_code(self) -> None:
        code = self._channel.recv(16)
        self._channel.close()
        self.returncode = int(code) if code else -signal.SIGKILL  # killed with its server

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End the process at once."""
        self.send_signal(signal.SIGKILL)


# ---- the server --------------------------------------------------------------

class Job(NamedTuple):
    """What a child is to run."""

    name: str
    arguments: list[str]
    script: str


def load() -> None:
    """Import the programs, and load the kernels as a node does at its start."""
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')  # as in ik_node.tools.entry
    from importlib import import_module
    for module in (*PROGRAMS, *MESSAGES):
        with suppress(ImportError):  # the program will say so
            import_module(module)
    from ik_node.kinematics.arm import forward_kinematics, singular_values
    from ik_node.motion.direct.point_to_point import warm_up
    from ik_node.node.goals.preparation import Kernels, load_kernels
    from ik_node.node.robot.settings import make_settings
    from ik_node.solver.goal import Goal
    from ik_node.solver.solver import Solver
    tree, chain, values = robot()
    Solver(chain)  # of two processes that compile, the other one begins with the collision check
    settings = make_settings(values, chain, collisions_of(tree, chain, values))
    solved = settings.solver.solve(Goal(forward_kinematics(chain, chain.middle)), chain.middle)
    singular_values(chain, solved.q)
    warm_up(chain, settings.limits)
    for kernels in Kernels:
        load_kernels(kernels, chain, settings)
    for name, module in list(sys.modules.items()):  # the C libraries of the messages
        if '_msgs.msg._' in name or '_srvs.srv._' in name or '_interfaces.' in name:
            for kind in vars(module).values():
                if hasattr(type(kind), '__import_type_support__'):
                    kind.__import_type_support__()
    inspect.getmodule(inspect.currentframe())  # it keeps what rclpy asks of it for each log


def robot() -> tuple[Tree, Chain, dict[str, object]]:
    """Return the arm for which kernels are loaded, and the default parameters of the node."""
    from ik_node.model.chain import make_chain
    from ik_node.model.description.urdf import read_urdf
    from ik_node.ros.parameters.tables import IK_NODE
    tree = read_urdf(Path(__file__).parents[2] / 'urdf/six_axis_arm.urdf')
    return tree, make_chain(tree), {row.name: row.default for row in IK_NODE}


def collisions_of(tree: Tree, chain: Chain, values: dict[str, object]) -> CollisionModel:
    """Return the collision model of :func:`robot`, whose kernels are loaded with it."""
    from ik_node.node.robot.collisions import load_collisions
    from ik_node.node.robot.settings import start_options
    return load_collisions(tree, chain, start_options(values), logging.getLogger())


def compile_others() -> None:
    """Compile, or load, what :func:`load` needs second; then what other arms need."""
    from ik_node.kinematics.dynamics import ArmDynamics
    from ik_node.solver import warm_up
    collisions_of(*robot())
    warm_up.warm_up_closed_form(searched=True)
    warm_up.warm_up_bias()
    warm_up.warm_up_nearest()
    warm_up.warm_up_self_motion()
    warm_up.warm_up_tree()
    tree, chain, _ = robot()
    ArmDynamics(chain, tree).holding_torques(chain.middle[None])


def wait_for_one_thread() -> None:
    """
    Wait until no other thread of Python runs: a fork would stop it wherever it is.

    Two others belong to LTTng, which rclpy brings along: they sleep until somebody traces.
    """
    end = monotonic() + 5.0
    while threading.active_count() > 1:
        if monotonic() > end:
            print('the warm server has threads:', threading.enumerate(), file=sys.stderr)
            os._exit(FAILED_START)
        sleep(0.01)


def die_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(FAILED_START)


def fork_servers(path: str) -> socket.socket:
    """Fork a server for each connection; returns its connection in the servers only."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(path)
    listening.listen()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the servers
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    poll = select.poll()
    poll.register(listening, select.POLLIN)
    poll.register(sys.stdin, select.POLLHUP)
    print('ready', flush=True)
    while True:
        ready = {file for file, _ in poll.poll()}
        if sys.stdin.fileno() in ready:
            os._exit(0)
        control, _ = listening.accept()
        loader, pid = os.getpid(), os.fork()
        if pid == 0:
            die_with(loader)
            listening.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for number, handler in handlers.items():
                signal.signal(number, handler)
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, 0)
            os.dup2(nowhere, 1)
            os.close(nowhere)
            return control
        control.close()


def serve(control: socket.socket, environment: dict[str, str]) -> Job:
    """Fork a child for each request; returns in the children only."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for the test run and its nodes
    running: dict[int, tuple[int, int]] = {}  # by pidfd: pid, and where its exit code goes
    poll = select.poll()
    poll.register(control, select.POLLIN)
    control.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MAX_REQUEST_BYTES)
    control.send(json.dumps({'pid': os.getpid(), 'environment': environment}).encode())
    while True:
        for file, _ in poll.poll():
            if file != control.fileno():
                pid, channel = running.pop(file)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                poll.unregister(file)
                try:
                    os.write(channel, str(code).encode())
                except BrokenPipeError:  # nobody wants to know
                    pass
                os.close(channel)
                os.close(file)
                continue
            message, files, _, _ = socket.recv_fds(control, MAX_REQUEST_BYTES, 3)
            if not message:
                os._exit(0)
            output, errors, channel = files
            request = json.loads(message)
            server, pid = os.getpid(), os.fork()
            if pid == 0:
                die_with(server)
                for number, handler in handlers.items():
                    signal.signal(number, handler)
                os.dup2(output, 1)
                os.dup2(errors, 2)
                for each in (*files, *running, *(pipe for _, pipe in running.values())):
                    os.close(each)
                control.close()
                os.chdir(request['folder'])
                for key in [key for key in os.environ if key.startswith(READ_AT_START)]:
                    del os.environ[key]
                os.environ.update(request['environment'])
                return Job(request['name'], request['arguments'], request['script'])
            os.close(output)
            os.close(errors)
            file = os.pidfd_open(pid)
            running[file] = pid, channel
            poll.register(file, select.POLLIN)
            control.send(str(pid).encode())


def keep_frozen() -> None:
    """
    Let the first ``gc.unfreeze()`` of a child do nothing.

    With its first robot a program looks at all that it has, and in a child the pages of what
    the server has loaded would be copied for it.  A new process has nothing frozen then either.
    """
    unfreeze = gc.unfreeze

    def the_first() -> None:
        gc.unfreeze = unfreeze

    gc.unfreeze = the_first


def main() -> None:
    """Serve until the test run ends; in a child, be the program that was asked for."""
    sys.path[0] = ''  # as of python -c
    if sys.argv[1] == OTHERS:
        compile_others()
        return
    if sys.argv[1] == COMPILE:
        others = subprocess.Popen([sys.executable, __file__, OTHERS])
        load()
        sys.exit(others.wait())
    environment = dict(os.environ)
    load()
    from ik_node.solver.warm_up import warm_up_tree
    warm_up_tree()
    wait_for_one_thread()
    gc.collect()
    gc.freeze()  # or the collector of each child would copy all pages
    control = socket.socket(fileno=int(sys.argv[1])) if sys.argv[1].isdigit() \
        else fork_servers(sys.argv[1])
    job = serve(control, environment)
    keep_frozen()
    sys.argv, code = ['-c', *job.arguments], 0
    from ik_node.tools import entry
    try:
        exec(job.script, {'__name__': '__main__'})
        if job.name:
            getattr(entry, job.name)()
    except SystemExit as end:
        if not isinstance(end.code, int):
            raise
        code = end.code
    # As Python ends, but for its last look at all objects: all pages would be copied.
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == '__main__':
    main()
