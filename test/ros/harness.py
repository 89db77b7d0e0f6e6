# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Real processes over real DDS: what the tests start, and what they see."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
import fcntl
from functools import cache, cached_property
from importlib.util import find_spec
import math
import os
from pathlib import Path
import re
import signal
import socket
import subprocess
import sys
from tempfile import gettempdir, TemporaryFile
from time import monotonic

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Pose, PoseStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
import motion_checker
from nav_msgs.msg import Path as PathMessage
import numpy as np
import pinocchio as pin
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.action import ActionClient
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory
from warm import Child, WarmServer
import yaml

from ik_node.ros.middleware.executor import make_executor
from ik_node.ros.middleware.handshake import ANSWER_TIMEOUT_S, greet
from ik_node.ros.parameters.tables import IK_NODE, SIM_CONTROLLER

ROOT = Path(__file__).parents[2]
ARM = ROOT / 'urdf/six_axis_arm.urdf'
LATCHED = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
PATIENCE_S = 60.0  # for what comes at once on a machine that is not busy
COLD_START = 240.0  # s; the first node of a machine compiles its kernels, on a slow one, too
WAY_STEP = 0.005  # s
FORGET_S = 30.0  # DDS remembers for 20 s what a process had that was killed
FINAL = {'reached', 'rejected', 'failed', 'superseded', 'stopped'}
MODEL = pin.buildModelFromUrdf(str(ARM))
DATA = MODEL.createData()
DOWN = tuple(pin.Quaternion(pin.rpy.rpyToMatrix(math.pi, 0.0, 0.0)).coeffs())
FORWARD = tuple(pin.Quaternion(pin.rpy.rpyToMatrix(0.0, math.pi / 2, 0.0)).coeffs())
FIRST_DDS_PORT, PORTS_PER_DOMAIN = 7400, 250  # of domain 0; DDSI-RTPS 2.5, 9.6.2.3
UDP_TABLES = Path('/proc/net/udp'), Path('/proc/net/udp6')
NOT_BUILT = 'its messages are missing: see scripts/build_messages.py'
# Older versions of control_msgs do not have it.
SEQUENCE_MODULE = ('control_msgs' + '.action._execute_motion_primitive_sequence'
                   * (find_spec('control_msgs') is not None))
IS_FAST_DDS_3 = find_spec('fastdds') is not None  # of kilted; jazzy has fastrtps
PROFILES_VARIABLE = f'FAST{"DDS" if IS_FAST_DDS_3 else "RTPS"}_DEFAULT_PROFILES_FILE'
LOCKS = []  # open files, whose locks end with this process
PROGRAM = 'from ik_node.tools.entry import {name}; {name}()'
NAMES = [f'joint_{k}' for k in range(1, 7)]  # of the joints of ARM
READY = [0.0, 0.3, -0.4, 0.0, 1.0, 0.0]  # a posture of ARM away from singularities
# Limits of a node whose motions are only waited for: they take half as long as by default.
QUICK = {'motion.acceleration_limits': '[10.0]', 'motion.jerk_limits': '[200.0]'}
# Of simulated controllers.  Where nobody judges how the arm moves, fewer messages leave more of
# the machine to the tests beside.
SIM_DEFAULTS = {'rate': 25.0}


class Process:
    """
    One of the package's executables, its output in a file.

    It is forked from a process that has imported and loaded what it needs, or is new in
    every respect: if it is to be `fresh`, with a command `inside` which it runs, or with other
    variables of the environment than the warm process has.  A `script` is run before it in its
    process.
    """

    def __init__(self, name: str, log: Path, parameters: dict[str, object] | None = None,
                 remap: dict[str, str] | None = None, arguments: list[str] = (),
                 inside: list[str] = (), script: str = '', fresh: bool = False) -> None:
        given = ['--ros-args']
        defaults = SIM_DEFAULTS if name == 'sim_controller' else {}
        for key, value in {**defaults, **(parameters or {})}.items():
            given += ['-p', f'{key}:={value}']
        for old, new in (remap or {}).items():
            given += ['-r', f'{old}:={new}']
        given += arguments
        self.log = log
        with log.open('w') as file:
            if not (fresh or inside or warm_server().differences(os.environ)):
                self._popen = warm_server().start(name, given, os.environ, file.fileno(),
                                                  file.fileno(), script)
            else:
                script += PROGRAM.format(name=name)
                self._popen = subprocess.Popen([*inside, sys.executable, '-c', script, *given],
                                               stdout=file, stderr=subprocess.STDOUT)

    def send(self, number: int) -> None:
        """Send a signal; after SIGSTOP, return when all threads stand still."""
        self._popen.send_signal(number)
        while number == signal.SIGSTOP and not self._stands():
            os.sched_yield()

    def _stands(self) -> bool:
        try:
            return all(task.read_text().rpartition(')')[2].split()[0] == 'T'
                       for task in Path(f'/proc/{self.pid}/task').glob('*/stat'))
        except FileNotFoundError:  # a thread has just ended
            return False

    @property
    def pid(self) -> int:
        """Return the number of the process."""
        return self._popen.pid

    def running(self) -> bool:
        """Return whether the process lives."""
        return self._popen.poll() is None

    def catches(self, number: int) -> bool:
        """Return whether the process has a handler of its own for a signal."""
        status = Path(f'/proc/{self.pid}/status').read_text()
        return bool(int(status.split('SigCgt:')[1].split()[0], 16) >> number - 1 & 1)

    def wait(self, seconds: float = PATIENCE_S) -> int:
        """Return the exit code; an error if the process does not end in time."""
        return self._popen.wait(seconds)

    def stop(self, number: int = signal.SIGINT) -> int:
        """End the process by a signal and return its exit code."""
        if self.running():
            self.send(number)
        try:
            return self.wait()
        except subprocess.TimeoutExpired:
            self._popen.kill()
            raise

    def kill(self) -> None:
        """End the process at once."""
        self._popen.kill()
        self._popen.wait()

    @property
    def output(self) -> str:
        """Return what the process has written so far."""
        return self.log.read_text()


@cache
def warm_server() -> WarmServer:
    """Return the process from which those under test are forked, started once."""
    return WarmServer()


def tool(name: str, *arguments: object, errors: bool = False,
         **environment: str) -> subprocess.Popen | Child:
    """
    Start one of the package's executables for what it writes.

    Its output can be read from ``stdout``, and with `errors` what else it says from ``stderr``.
    """
    given, known = [*map(str, arguments)], {**os.environ, **environment}
    if warm_server().differences(known):
        return subprocess.Popen([sys.executable, '-c', PROGRAM.format(name=name), *given],
                                stdout=subprocess.PIPE, env=known, text=True,
                                stderr=subprocess.PIPE if errors else None)
    out, into = os.pipe()
    said, saying = os.pipe() if errors else (None, os.dup(2))
    child = warm_server().start(name, given, known, into, saying)
    os.close(into)
    os.close(saying)
    child.stdout, child.stderr = os.fdopen(out), said and os.fdopen(said)
    return child


def ran(code: str, folder: Path, *arguments: str) -> tuple[str, str]:
    """Run a program of Python in a folder; return its output, and what else it said."""
    with TemporaryFile('w+') as output, TemporaryFile('w+') as errors:
        child = warm_server().start('', list(arguments), os.environ, output.fileno(),
                                    errors.fileno(), code, str(folder))
        try:
            code = child.wait(180.0)
        finally:
            child.kill()
        output.seek(0)
        errors.seek(0)
        said = output.read(), errors.read()
    assert code == 0 and 'Traceback' not in said[1], said
    return said


@contextmanager
def process(name: str, folder: Path, *arguments, **named):
    """Run an executable for the time of a test; it must end cleanly."""
    running = Process(name, folder / f'{name}.log', *arguments, **named)
    try:
        yield running
    except BaseException:
        running.kill()
        raise
    if running.running():
        assert running.stop() == 0, running.output
    assert 'Traceback' not in running.output


class Probe(Node):
    """Sends what a user sends and keeps what a user sees."""

    def __init__(self, name: str = 'probe', target: str = '/ik_node') -> None:
        super().__init__(name, start_parameter_services=False)
        self._spinner = make_executor()
        self.statuses: list[dict[str, str]] = []
        self.trajectories: list[JointTrajectory] = []
        self.states: list[tuple[float, JointState]] = []
        self.health: dict[str, DiagnosticStatus] = {}
        self.refusals: list[str] = []
        self.goals = self.create_publisher(PoseStamped, f'{target}/goal_pose', 1000)
        self.joint_states = self.create_publisher(JointState, 'joint_states', 10)
        self.descriptions = self.create_publisher(
            String, 'robot_description', QoSProfile(
                depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        self.commands = self.create_publisher(JointTrajectory, 'joint_trajectory', 10)
        self.create_subscription(DiagnosticStatus, f'{target}/answers', self._on_status,
                                 QoSProfile(depth=1000,
                                            durability=DurabilityPolicy.TRANSIENT_LOCAL))
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 100)
        self.stop = self.create_client(Trigger, f'{target}/stop')
        self.home = self.create_client(Trigger, f'{target}/home')
        self._changes = self.create_client(ChangeState, f'{target}/change_state')
        self._looks = self.create_client(GetState, f'{target}/get_state')
        self._target = target
        self.goal_publishers = {}
        self.given: dict[str, object] = {}  # to the ik_node at its start
        self._changed: dict[str, set[str]] = {}
        self._setters = {}

    def create_subscription(self, *args, **named):
        """Without the callbacks of rclpy for events, which make each round slower."""
        return super().create_subscription(*args, **{
            'event_callbacks': SubscriptionEventCallbacks(use_default_callbacks=False), **named})

    def create_publisher(self, *args, **named):
        """As :meth:`create_subscription`."""
        return super().create_publisher(*args, **{
            'event_callbacks': PublisherEventCallbacks(use_default_callbacks=False), **named})

    def watch_motion(self) -> None:
        """Keep trajectories, as a controller would, and joint states."""
        self.create_subscription(JointTrajectory, 'joint_trajectory',
                                 self.trajectories.append, 100)
        self.create_subscription(
            JointState, 'joint_states',
            lambda message: self.states.append((monotonic(), message)), 1000)

    @cached_property
    def tip_poses(self) -> list[PoseStamped]:
        """Poses of the tip since this was first asked for: few tests do, and each pose costs."""
        poses = []
        self.create_subscription(PoseStamped, f'{self._target}/tip_pose', poses.append, 100)
        return poses

    def _on_status(self, message: DiagnosticStatus) -> None:
        values = {pair.key: pair.value for pair in message.values}
        self.statuses.append({**values, 'message': message.message,
                              'level': int.from_bytes(message.level, 'little')})

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.health[status.name] = status

    def wait(self, condition, seconds: float = PATIENCE_S, what: str = '') -> None:
        """Spin until a condition holds; fail if it does not in time."""
        end = monotonic() + seconds
        while not condition():
            assert monotonic() < end, f'{what or "the condition"} did not come within {seconds} s'
            self.spin_once()

    def spin_once(self, seconds: float = 0.05) -> None:
        """Receive one message, if one comes in time."""
        # rclpy.spin_once would add the node and remove it again, and each of that wakes it.
        if self.executor is not self._spinner:
            self._spinner.add_node(self)
        self._spinner.spin_once(timeout_sec=seconds)

    def destroy_node(self) -> None:
        """Leave the ROS graph."""
        self._spinner.shutdown()
        super().destroy_node()
        # Or the garbage collector would stop the next tests for longer and longer.
        for seen in (self.statuses, self.trajectories, self.states,
                     vars(self).get('tip_poses', [])):
            seen.clear()

    def publisher(self, kind, topic: str):
        """Return a publisher to a topic of the node; both have discovered each other."""
        made = self.create_publisher(kind, f'{self._target}/{topic}', 10)
        assert greet(self, self._target, PATIENCE_S, made), f'{topic} is not heard'
        return made

    def spin_for(self, seconds: float) -> None:
        """Keep receiving for a while, to see that something does not come."""
        end = monotonic() + seconds
        while monotonic() < end:
            self.spin_once()

    def wait_for_node(self, seconds: float = COLD_START) -> None:
        """Wait until the node hears us and we hear it."""
        assert greet(self, self._target, seconds, self.goals), f'no node {self._target}'

    def wait_until_ready(self) -> None:
        """Wait until the node itself says that a goal would be taken."""
        self.wait(lambda: self.says_ready(self._target), COLD_START, 'ready')

    def wait_for_health(self, level: bytes, *words: str) -> None:
        """Wait until the node says so on /diagnostics."""
        name = f'{self._target}: health'
        self.wait(lambda: name in self.health and self.health[name].level == level
                  and all(word in self.health[name].message for word in words),
                  what=f'{words} on /diagnostics')

    def says_ready(self, node: str) -> bool:
        """Return whether a node has said so on /diagnostics."""
        said = self.health.get(f'{node}: health')
        return said is not None and said.message.startswith('ready')

    def send(self, xyz, quaternion=(0.0, 0.0, 0.0, 1.0), frame='base_link', stamp=None) -> str:
        """Publish a goal pose; return the stamp by which its answers are known."""
        goal = PoseStamped()
        goal.header.frame_id = frame
        goal.header.stamp = stamp or self.get_clock().now().to_msg()
        p, o = goal.pose.position, goal.pose.orientation
        p.x, p.y, p.z = map(float, xyz)
        o.x, o.y, o.z, o.w = map(float, quaternion)
        self.goals.publish(goal)
        return f'{goal.header.stamp.sec}.{goal.header.stamp.nanosec:09d}'

    def send_goal(self, kind: str, goal, frame: str = 'base_link') -> str:
        """Publish a goal of any kind; return the stamp by which its answers are known."""
        if kind not in self.goal_publishers:
            self.goal_publishers[kind] = self.publisher(type(goal), f'goal_{kind}')
        stamp = stamped(self, goal, frame)
        self.goal_publishers[kind].publish(goal)
        return stamp

    def send_joints(self, q) -> str:
        """Publish a goal for all joints of ARM; return the stamp."""
        return self.send_goal('joints', JointState(name=NAMES, position=[*map(float, q)]), '')

    def answers(self, stamp: str) -> list[dict[str, str]]:
        """Return the answers to a goal so far."""
        return [status for status in self.statuses if status['stamp'] == stamp]

    def final(self, stamp: str, seconds: float = PATIENCE_S) -> dict[str, str]:
        """Wait for the final answer to a goal and return it; what is longer away is lost."""
        self.wait(lambda: any(answer['state'] in FINAL for answer in self.answers(stamp)),
                  seconds, f'the final answer (heard: {self.answers(stamp)})')
        return next(answer for answer in self.answers(stamp) if answer['state'] in FINAL)

    def call(self, client, request=None, seconds: float = PATIENCE_S):
        """Call a service, of type Trigger without a request, and return its response."""
        assert client.wait_for_service(seconds)
        future = client.call_async(request or Trigger.Request())
        self.wait(future.done, seconds, 'the service')
        return future.result()

    def change_state(self, label: str) -> bool:
        """Ask for a transition; return whether the node has made it."""
        request = ChangeState.Request(transition=Transition(label=label))
        return self.call(self._changes, request, COLD_START).success

    def state(self) -> str:
        """Return the state in the life of the node; it hears our other requests then, too."""
        return self._asked(self._looks, GetState.Request(), ANSWER_TIMEOUT_S,
                           COLD_START).current_state.label

    def set_parameters(self, node: str, values: dict[str, object]):
        """Set parameters of a node together, all or nothing; return the result."""
        request = SetParametersAtomically.Request(parameters=[
            Parameter(name, Parameter.Type.DOUBLE_ARRAY if value == [] else None,
                      value).to_parameter_msg() for name, value in values.items()])
        return self._asked(self.setter(node), request, 4 * ANSWER_TIMEOUT_S, 30.0).result

    def change(self, node: str, **values: object) -> None:
        """Set parameters, with `__` for each point in their names, until :meth:`set_back`."""
        values = {name.replace('__', '.'): value for name, value in values.items()}
        result = self.set_parameters(node, values)
        assert result.successful, result.reason
        self._changed.setdefault(node, set()).update(values)

    def set_back(self) -> None:
        """Give the parameters that were changed the values that they had at the start."""
        for node, names in self._changed.items():
            table = IK_NODE if node == '/ik_node' else SIM_CONTROLLER
            rows = {row.name: row for row in table if row.name in names}
            values = {name: row.default for name, row in rows.items()}
            if node == '/ik_node':
                values |= {name: yaml.safe_load(str(self.given[name]))
                           for name in names & self.given.keys()}
            lists = {name: list(value) or ([''] if rows[name].strings else [])
                     for name, value in values.items() if isinstance(value, tuple)}
            assert self.set_parameters(node, {**values, **lists}).successful
        self._changed.clear()

    def _asked(self, client, request, patience: float, seconds: float):
        """
        Return the response of a service.

        A node may not know us yet, and its answer is lost then: it is asked again.
        """
        answers, asked = [], 0.0

        def answered() -> bool:
            nonlocal asked
            if not answers or monotonic() - asked > patience:
                answers.append(client.call_async(request))
                asked = monotonic()
            return any(answer.done() for answer in answers)

        self.wait(answered, seconds, client.srv_name)
        return next(answer for answer in answers if answer.done()).result()

    def setter(self, node: str):
        """Return the client that sets parameters of a node, once that has discovered it."""
        if node not in self._setters:
            self._setters[node] = self.create_client(SetParametersAtomically,
                                                     f'{node}/set_parameters_atomically')
        assert self._setters[node].wait_for_service(PATIENCE_S), node
        return self._setters[node]

    def publish_state(self, names, positions, velocities=None) -> None:
        """Publish a joint state, as a controller would."""
        message = JointState(name=list(names), position=[float(v) for v in positions])
        if velocities is not None:
            message.velocity = [float(v) for v in velocities]
        message.header.stamp = self.get_clock().now().to_msg()
        self.joint_states.publish(message)


class ActionUser:
    """Sends goals of an action."""

    def __init__(self, probe: Probe, kind, name: str) -> None:
        self.probe, self.told = probe, []
        self._client = ActionClient(probe, kind, name)
        probe.wait(self._client.server_is_ready, what=name)

    def begin(self, goal):
        """Send a goal, whose feedback is in `told`; return the handle of what was accepted."""
        self.told = told = []
        sent = self._client.send_goal_async(goal, lambda message: told.append(message.feedback))
        self.probe.wait(sent.done)
        assert sent.result().accepted
        return sent.result()

    def end(self, handle):
        """Return the status and the result of a goal."""
        asked = handle.get_result_async()
        self.probe.wait(asked.done, 60.0, 'the result')
        return asked.result().status, asked.result().result


@contextmanager
def run_sim(folder: Path, **parameters):
    """Run the simulated controller alone, seen by a probe of its own from its first state on."""
    probe = Probe()
    probe.watch_motion()
    with process('sim_controller', folder, {
            'urdf_file': ARM, 'initial_positions': READY, 'rate': 200.0, **parameters}) as sim:
        probe.running = sim
        probe.wait(lambda: probe.states and '/sim_controller: trajectories' in probe.health
                   and probe.commands.get_subscription_count() > 1)
        yield probe
    probe.destroy_node()


@contextmanager
def run_system(folder: Path, probe: Probe, node: dict[str, object] | None = None,
               sim: dict[str, object] | None = None, **named):
    """Run node, as `named` for its process, and simulated controller; the probe sees them."""
    with process('sim_controller', folder, {
            'urdf_file': ARM, 'initial_positions': READY, **(sim or {})}) as running_sim, \
            process('ik_node', folder, {'urdf_file': ARM, **(node or {})},
                    **named) as running_node:
        probe.watch_motion()
        probe.sim, probe.node, probe.given = running_sim, running_node, node or {}
        probe.wait_for_node()
        probe.wait_until_ready()
        probe.wait(lambda: probe.states, what='joint states')  # the node heard them before
        yield probe


@contextmanager
def lent(probe: Probe):
    """Lend a running system at READY; what is set by :meth:`Probe.change` is set back."""
    yield probe
    probe.set_back()
    latest(probe)  # joint states come again
    probe.spin_for(0.1)
    for _ in range(3):  # a leap of what the test moved is remembered for a second
        answer = probe.final(probe.send_joints(READY))
        if answer['state'] == 'reached':
            break
        probe.spin_for(1.0)
    assert answer['state'] == 'reached', answer
    for seen in (probe.statuses, probe.trajectories, probe.states):
        seen.clear()


def environment() -> None:
    """Keep the tests apart from whatever else talks on this machine."""
    # With LOCALHOST, rmw_fastrtps takes no transports but its own.
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'SYSTEM_DEFAULT'
    os.environ[PROFILES_VARIABLE] = str(_profiles())
    os.environ['ROS_DOMAIN_ID'] = str(_own_domain())


def _profiles() -> Path:
    """Return loopback.xml, for Fast DDS 3 with the name that it has for what is in there."""
    file = Path(__file__).with_name('loopback.xml')
    if not IS_FAST_DDS_3:
        return file
    renamed = Path(gettempdir()) / f'ik_node_test_{os.getuid()}_{file.name}'
    part = renamed.with_suffix(f'.{os.getpid()}')
    part.write_text(file.read_text().replace('heartbeatPeriod', 'heartbeat_period'))
    return part.replace(renamed)


@cache
def _own_domain() -> int:
    """Return a domain, 1 to 100, in which nobody talks, and which no other test run has taken."""
    taken = talking_domains()
    for k in range(100):
        domain = 1 + (os.getpid() + k) % 100
        if domain in taken:
            continue
        try:
            file = open(Path(gettempdir()) / f'ik_node_test_domain_{domain}', 'a')
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # locked, or the file of another user
            continue
        LOCKS.append(file)
        return domain
    raise RuntimeError('100 test runs have all ROS domains from 1 to 100')


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def talking_domains() -> set[int]:
    """Return the ROS domains in which a DDS participant of this machine has a UDP port open."""
    ports = [int(line.split()[1].rpartition(':')[2], 16) for table in UDP_TABLES
             if table.exists() for line in table.read_text().splitlines()[1:]]
    return {(port - FIRST_DDS_PORT) // PORTS_PER_DOMAIN for port in ports
            if port >= FIRST_DDS_PORT}


def tip(positions) -> pin.SE3:
    """Return the pose of tool0 of ARM in base_link, by Pinocchio."""
    pin.framesForwardKinematics(MODEL, DATA, np.array(positions))
    return DATA.oMf[MODEL.getFrameId('tool0')].copy()


def same(found: pin.SE3, expected: pin.SE3) -> bool:
    """Return whether two poses are the same, to 1e-5 m and rad."""
    return np.linalg.norm(pin.log6(expected.actInv(found)).vector) < 1e-5


def positions_of(message) -> np.ndarray:
    """Return the positions of joint_1 to joint_6 in a JointState."""
    by_name = dict(zip(message.name, message.position))
    return np.array([by_name[name] for name in NAMES])


def stamped(probe: Probe, message, frame: str = 'base_link') -> str:
    """Fill in the header of a message; return the stamp by which its answers are known."""
    message.header.frame_id = frame
    message.header.stamp = probe.get_clock().now().to_msg()
    return f'{message.header.stamp.sec}.{message.header.stamp.nanosec:09d}'


def pose(xyz, R=None) -> Pose:
    """Return a message; by default with the orientation that the tip has at READY."""
    message = Pose()
    message.position.x, message.position.y, message.position.z = map(float, xyz)
    o = message.orientation
    o.x, o.y, o.z, o.w = map(float, pin.Quaternion(tip(READY).rotation if R is None
                                                   else R).coeffs())
    return message


def se3(message: Pose) -> pin.SE3:
    """Return a message as a pose of Pinocchio."""
    p, o = message.position, message.orientation
    return pin.XYZQUATToSE3(np.array([p.x, p.y, p.z, o.x, o.y, o.z, o.w]))


def path_of(*poses: Pose) -> PathMessage:
    """Return a path through poses, in the frame of its header."""
    return PathMessage(poses=[PoseStamped(pose=p) for p in poses])


def places(postures):
    """Return the positions of the tip (N, 3), and its rotations, at joint positions."""
    tips = [tip(q) for q in postures]
    return np.array([T.translation for T in tips]), [T.rotation for T in tips]


def way(probe):
    """Return the :func:`places` of all joint states."""
    latest(probe)  # none that was measured before is still on its way
    return places(positions_of(message) for _, message in probe.states)


def sent_way(probe, first=0):
    """
    Return the :func:`places` along the trajectories that were sent, from number `first` on.

    Joint states are missing where a process got no processor for a while.
    """
    paths = [motion_checker.path_of(message) for message in probe.trajectories[first:]]
    return places(q for path in paths for q, _, _ in motion_checker.states_at(
        path, np.arange(path.times[0], path.times[-1] + WAY_STEP, WAY_STEP)))


def off_sent_way(probe):
    """Return how far (m) the tip was from the trajectories that were sent, by joint states."""
    sent, (points, _) = sent_way(probe)[0], way(probe)
    return max(np.linalg.norm(sent - point, axis=1).min() for point in points)


def off_line(points, a, b):
    """Return how far points (N, 3) are from the segment between a and b."""
    d = b - a
    share = np.clip((points - a) @ d / (d @ d or 1.0), 0.0, 1.0)  # a may be b: the arm rests
    return np.linalg.norm(points - a - share[:, None] * d, axis=1)


def latest(probe: Probe) -> np.ndarray:
    """Return joint positions that were measured from now on."""
    called = probe.get_clock().now().to_msg()
    probe.wait(lambda: probe.states and (
        probe.states[-1][1].header.stamp.sec, probe.states[-1][1].header.stamp.nanosec)
        > (called.sec, called.nanosec))
    return positions_of(probe.states[-1][1])


def rests(probe: Probe) -> bool:
    """Return whether the arm is where it is a moment later."""
    before = latest(probe)
    probe.spin_for(0.1)
    return bool(np.abs(latest(probe) - before).max() < 1e-6)


def seconds(duration) -> float:
    """Return a Duration in seconds."""
    return duration.sec + 1e-9 * duration.nanosec


def reasons(probe: Probe, stamp: str) -> list[str]:
    """Wait for the final answer and a little longer; return the reasons of all answers."""
    probe.final(stamp)
    probe.spin_for(0.2)
    once_each(probe.statuses, [stamp])
    answers = probe.answers(stamp)
    for answer in answers:  # shown if the test fails
        print(answer['state'], answer['reason'], answer['message'])
    return [answer['reason'] for answer in answers]


def once_each(statuses: list[dict[str, str]], stamps: list[str]) -> None:
    """Assert that each of some goals has one final answer among all answers."""
    finals = Counter(status['stamp'] for status in statuses if status['state'] in FINAL)
    lost = [stamp for stamp in stamps if not finals[stamp]]
    assert not lost, f'{len(lost)} of {len(stamps)} goals were not answered: {lost[:5]}'
    twice = [status for status in statuses if finals[status['stamp']] > 1
             and status['stamp'] in stamps]
    assert not twice, f'answered twice: {twice[:10]}'


def goes_on_from_here(probe: Probe, q) -> None:
    """Reach joint positions by a trajectory that begins where the resting arm is measured."""
    count, start = len(probe.trajectories), latest(probe)
    stamp = probe.send_joints(q)
    assert reasons(probe, stamp) == ['ACCEPTED', 'REACHED'], probe.answers(stamp)
    first = probe.trajectories[count].points[0]
    assert np.abs(np.array(first.positions) - start).max() < 2e-3
    assert np.abs(first.velocities).max() < 0.1
    assert np.abs(latest(probe) - q).max() < 1e-6


def narrow_arm() -> str:
    """Return the URDF of an arm as ARM, 'narrow_arm', whose first joint turns by 0.1 rad only."""
    text = re.sub(r'(<joint name="joint_1".*?lower=)"[^"]*"( upper=)"[^"]*"', r'\1"-0.1"\2"0.1"',
                  ARM.read_text(), flags=re.DOTALL)
    assert 'upper="0.1"' in text
    return text.replace('name="six_axis_arm"', 'name="narrow_arm"')


def stamp_of(message) -> float:
    """Return the stamp of a message in seconds, counted from a recent instant."""
    return message.header.stamp.sec % 1_000_000 + 1e-9 * message.header.stamp.nanosec
