# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The simulated controller for the tests of other packages, as fixtures of pytest.

In a ``conftest.py``: ``pytest_plugins = ['ik_node.simulation.pytest_fixtures']``.  It is a
process of its own, and the real controller's rules: what a joint_trajectory_controller refuses it
refuses, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
import fcntl
from os import environ, getpid
from pathlib import Path
import signal
import subprocess
import sys
from tempfile import gettempdir
from threading import Event, Thread
from time import monotonic
from typing import IO

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import pytest
from rcl_interfaces.msg import Parameter
from rcl_interfaces.srv import SetParametersAtomically
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter as RclpyParameter
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ik_node.ros.middleware.qos import STATES_QOS

FIRST_TEST_DOMAIN, LAST_TEST_DOMAIN = 1, 101
FIRST_UDP_PORT, UDP_PORTS_PER_DOMAIN = 7400, 250  # of domain 0; DDSI-RTPS 2.5, 9.6.2.3
UDP_TABLE_PATHS = Path('/proc/net/udp'), Path('/proc/net/udp6')
START_PATIENCE_S = 60.0
ANSWER_PATIENCE_S = 20.0
END_PATIENCE_S = 10.0
SPIN_STEP_S = 0.05
LOOK_PERIOD_S = 0.01  # between two looks at a condition
SIMULATOR_PROGRAM = 'from ik_node.tools.entry import sim_controller; sim_controller()'


class SimulatedArm:
    """
    A simulated joint_trajectory_controller and its arm, in a process of its own.

    Parameters
    ----------
    urdf : str or path
        File of the robot description.
    log : path
        File for the output of the process.
    namespace : str
        Of its topics.
    parameters : mapping
        Of sim_controller, such as ``{'rate': 100.0, 'initial_positions': [...]}``.

    Attributes
    ----------
    names : tuple of str
        Its joints, in the order of the joint states.

    """

    def __init__(self, urdf: str | Path, log: Path, namespace: str = '',
                 parameters: dict[str, object] | None = None) -> None:
        self.trajectories: list[JointTrajectory] = []  # what was sent to it, also what it refused
        self._log, self._state, self._complaint = log, None, ''
        arguments = ['--ros-args', '-r', f'__ns:=/{namespace.strip("/")}']
        for name, value in {'urdf_file': urdf, **(parameters or {})}.items():
            arguments += ['-p', f'{name}:={_yaml(value)}']
        with log.open('w') as file:
            self._process = subprocess.Popen([sys.executable, '-c', SIMULATOR_PROGRAM, *arguments],
                                             stdout=file, stderr=subprocess.STDOUT)
        self._context = Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node('simulated_arm_watcher', context=self._context,
                                       namespace=namespace, start_parameter_services=False)
        self._sender = self._node.create_publisher(JointTrajectory, 'joint_trajectory', 10)
        self._node.create_subscription(JointTrajectory, 'joint_trajectory',
                                       self.trajectories.append, 100)
        self._node.create_subscription(JointState, 'joint_states', self._take, STATES_QOS)
        self._node.create_subscription(DiagnosticArray, '/diagnostics', self._listen, 10)
        self._setter = self._node.create_client(SetParametersAtomically,
                                                'sim_controller/set_parameters_atomically')
        self._name = f'{self._node.get_namespace().rstrip("/")}/sim_controller'
        self._ending = Event()
        self._thread = Thread(target=self._spin, daemon=True)
        self._thread.start()
        try:
            self.wait(lambda: self._state is not None and self._sender.get_subscription_count()
                      > 1 and self._setter.service_is_ready(), START_PATIENCE_S,
                      'the simulated controller')
        except AssertionError:
            self.close()
            raise

    # ---- what it does -------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """Return the joints."""
        return tuple(self._state.name)

    @property
    def q(self) -> np.ndarray:
        """Return the latest measured positions (n,), rad or m."""
        return np.array(self._state.position)

    @property
    def qd(self) -> np.ndarray:
        """Return the latest measured velocities (n,), per s."""
        return np.array(self._state.velocity)

    @property
    def complaint(self) -> str:
        """Return why it refused or gave up a trajectory last; empty if it did neither."""
        return self._complaint

    @property
    def output(self) -> str:
        """Return the output of the process."""
        return self._log.read_text()

    def wait(self, condition: Callable[[], object], seconds: float = ANSWER_PATIENCE_S,
             what: str = 'the condition') -> None:
        """Wait until a condition holds; an AssertionError if it does not in time."""
        end, pause = monotonic() + seconds, Event()
        while not condition():
            if self._process.poll() is not None:
                raise AssertionError(f'the simulated controller has ended: {self.output}')
            if monotonic() > end:
                raise AssertionError(f'{what} did not come within {seconds:g} s; the simulated '
                                     f'controller says: {self.output}')
            pause.wait(LOOK_PERIOD_S)

    # ---- what can be done with it -------------------------------------------

    def set(self, **parameters: object) -> None:
        """
        Change parameters, by which faults begin and end; ``__`` stands for a dot.

        For example ``arm.set(following__blocked_joints=['joint_3'])``.  An AssertionError if
        they are refused.
        """
        request = SetParametersAtomically.Request(parameters=[
            _parameter(name.replace('__', '.'), value) for name, value in parameters.items()])
        answer = self._setter.call_async(request)
        self.wait(answer.done, what='the answer to the parameters')
        result = answer.result().result
        assert result.successful, result.reason

    def send(self, q: np.ndarray, seconds: float) -> None:
        """Send a trajectory to positions (n,), in the order of the joints."""
        whole = int(seconds)
        point = JointTrajectoryPoint(positions=[float(value) for value in q],
                                     velocities=[0.0] * len(q))
        point.time_from_start.sec = whole
        point.time_from_start.nanosec = int(1e9 * (seconds - whole))
        self._sender.publish(JointTrajectory(joint_names=list(self.names), points=[point]))

    def close(self) -> None:
        """End it."""
        self._ending.set()
        self._thread.join()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(END_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    # ---- from ROS -----------------------------------------------------------

    def _spin(self) -> None:
        executor = SingleThreadedExecutor(context=self._context)
        executor.add_node(self._node)
        while not self._ending.is_set():
            executor.spin_once(timeout_sec=SPIN_STEP_S)
        executor.shutdown()

    def _take(self, message: JointState) -> None:
        self._state = message

    def _listen(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == f'{self._name}: trajectories':
                said = status.message
                self._complaint = said if said.startswith('last ') else ''


@pytest.fixture(scope='session')
def own_ros_domain() -> Iterator[int]:
    """Keep the tests of this session apart from whatever else talks on this machine."""
    number, lock = _free_domain()
    before = environ.get('ROS_DOMAIN_ID')
    environ['ROS_DOMAIN_ID'] = str(number)
    yield number
    lock.close()
    if before is None:
        del environ['ROS_DOMAIN_ID']
    else:
        environ['ROS_DOMAIN_ID'] = before


@pytest.fixture
def simulated_arm(own_ros_domain: int, tmp_path: Path) -> Iterator[Callable[..., SimulatedArm]]:
    """
    Start simulated arms: ``simulated_arm(urdf, namespace='', **parameters)``.

    ``__`` in the name of a parameter stands for a dot.  They end with the test.
    """
    with ExitStack() as arms:
        count = 0

        def start(urdf: str | Path, namespace: str = '', **parameters: object) -> SimulatedArm:
            nonlocal count
            count += 1
            arm = SimulatedArm(urdf, tmp_path / f'sim_controller_{count}.log', namespace, {
                name.replace('__', '.'): value for name, value in parameters.items()})
            arms.callback(arm.close)
            return arm

        yield start


def _free_domain() -> tuple[int, IO[str]]:
    """Return a ROS domain in which nobody talks, and the lock that keeps it."""
    ports = [int(line.split()[1].rpartition(':')[2], 16) for table in UDP_TABLE_PATHS
             if table.exists() for line in table.read_text().splitlines()[1:]]
    taken = {(port - FIRST_UDP_PORT) // UDP_PORTS_PER_DOMAIN for port in ports}
    count = LAST_TEST_DOMAIN - FIRST_TEST_DOMAIN
    for k in range(count):
        domain = FIRST_TEST_DOMAIN + (getpid() + k) % count
        if domain in taken:
            continue
        lock = open(Path(gettempdir()) / f'ik_node_test_domain_{domain}', 'a')
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            continue
        return domain, lock
    raise RuntimeError(f'all ROS domains from {FIRST_TEST_DOMAIN} to {LAST_TEST_DOMAIN} are taken')


def _parameter(name: str, value: object) -> Parameter:
    return RclpyParameter(name, value=value).to_parameter_msg()


def _yaml(value: object) -> str:
    """Return a parameter as the command line takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple, np.ndarray)):
        return f'[{", ".join(_yaml(each) for each in value)}]'
    return str(value)
